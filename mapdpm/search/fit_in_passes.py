"""A fit of many points in passes: it searches a sample, and climbs from the clusters found there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mapdpm.data import point_set
from mapdpm.protocol import Labels, Model, Weights
from mapdpm.search import chunks, passes
from mapdpm.search.ascent import unheard
from mapdpm.search.chunks import Chunk, Frame, Held, Labelling, Passed, Picked, Sums
from mapdpm.search.climb_in_passes import Climb, Limits, Passes, Start
from mapdpm.search.moves.merge_split import Merge, Split
from mapdpm.search.moves.split_in_passes import SplitInPasses
from mapdpm.search.problem import Problem
from mapdpm.search.runs import Starts, best_of_runs
from mapdpm.search.settings import SearchSettings, reporter
from mapdpm.threads import Threads

T = TypeVar("T")

SAMPLE = 1 << 16
"""About so many points are searched first."""


class Climbed(NamedTuple):
    """The clusters of a climb in order of first appearance, the labelling of points, and the names of its slots."""

    clusters: Sums
    labelling: Labelling
    names: Labels
    """The number of the cluster of each slot; -1 for one that is empty."""
    history: list[float]
    n_passes: int
    converged: bool


class InThreads:
    """Passes over points in memory, or in a file that is mapped to it, in threads."""

    def __init__(self, points: Any, weights: Weights, n_jobs: int | None) -> None:
        self._parts = Chunk(points, weights, 0).parts()
        self._n_jobs = n_jobs
        self.n_points, self.n_parts = point_set(points).n_points, len(self._parts)

    def __call__(self, frame: Frame, function: Callable[..., Passed], *arguments: Any) -> Passed:
        """``function(frame, part, *arguments)`` of all parts, joined in order."""
        return chunks.joined(frame, self.map(lambda part: function(frame, part, *arguments), self._parts))

    def labels(self, frame: Frame, labelling: Labelling) -> Labels:
        """The label of each point."""
        return np.concatenate(self.map(lambda part: passes.labelled(frame, part, labelling).labels, self._parts))

    def map(self, function: Callable[[Any], T], jobs: list[Any]) -> list[T]:
        """``function`` of each job, in order."""
        with Threads(self._n_jobs) as threads:
            return threads.each(function, jobs)


def has_passes(moves: tuple[Any, ...]) -> bool:
    """Whether a search by these moves can be made in passes."""
    return bool(moves) and set(moves) <= {Merge, Split}


def sample_of(run: Passes, frame: Frame) -> Picked:
    """About ``SAMPLE`` points, less the anchor."""
    return run(frame, passes.drawn, min(1.0, SAMPLE / run.n_points)).picked


def climbed(
    run: Passes,
    frame: Frame,
    sample: Picked,
    init: str | Labels,
    max_clusters: int | None,
    search: SearchSettings,
) -> Climbed:
    """Climb from the best clusters of a sample to a mode of all points; ``init`` is the start of the sample."""
    rng = search.generator()
    prior = frame.prior.of_sample(len(sample.numbers) / run.n_points)
    model = Model(frame.likelihood, prior, sample.points, sample.weights)
    soon = search.deadline.of_sample()
    problem = Problem.of(model, frame.backend, max_clusters, soon.expired)
    plan = search._replace(deadline=soon).plan()
    starts = Starts(init, problem.later(plan), search.n_restarts)
    best, _ = best_of_runs(problem, starts, plan, rng, unheard, search.n_jobs)
    nothing = point_set(sample.points).rows(np.empty(0, dtype=np.int64))
    limits = Limits(max_clusters, search.max_sweeps, search.deadline.expired, reporter(search))
    climb = Climb(run, frame, Start(chunks.sums_in(frame, best.state), nothing), limits, rng)
    climb.climb(Merge in search.moves, SplitInPasses() if Split in search.moves else None)
    return _in_order(climb)


def _in_order(climb: Climb) -> Climbed:
    """The clusters in order of first appearance, as a last pass finds them."""
    used = climb.labelling
    passed = climb.run(climb.frame, passes.firsts, used)
    (sums,), first = passed.sums, passed.picked
    at = np.argsort(first.numbers, kind="stable")  # chunks may each have a first point of a slot
    slots, places = np.unique(first.slots[at], return_index=True)
    order = slots[np.argsort(places)]
    names = np.full(len(used.constants), -1)
    names[order] = np.arange(len(order))
    clusters = sums.only(order)
    history = [*climb.history, max(climb.joint, climb.joint_of(climb.frame.prior, clusters))]
    return Climbed(clusters, used, names, history, climb.n_passes, climb.converged)


def in_order(found: Climbed) -> Labelling:
    """The labelling with slots in the order of the clusters: where scores tie, the lowest slot is another one."""
    order = np.argsort(found.names)[np.count_nonzero(found.names < 0) :]
    used = found.labelling
    held = Held(used.held.numbers, found.names[used.held.slots])
    return Labelling(used.constants[order], used.parameters[order], held)
