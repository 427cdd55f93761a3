"""The evidence of a prior for given clusters, and its largest value: a search over logarithms, without slopes.

c_kernels/batch/widths.c is the twin of the search, operation by operation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods._full_evidence import full_clusters, full_evidence
from mapdpm.likelihoods._restated import restated
from mapdpm.likelihoods._skipping import like
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.line_search import highest
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.state import ClusterState, empty

_MOST_CYCLES = 50


def log_evidence(backend: Any, likelihood: Any, made_by: Any, counts: Labels, statistics: Matrix) -> float:
    """sum_k log p(x_{c_k}) of clusters under the prior in ``likelihood``, from ``statistics`` (K, S) alone; O(K D).

    ``made_by`` is the likelihood under which the statistics were made.
    """
    parts = np.ascontiguousarray(restated(statistics, made_by, likelihood)[None])
    likelihood = like(made_by, likelihood)
    state = empty(likelihood, 0, len(counts))
    state.counts[:] = counts
    backend.join_rows(likelihood, parts, state)
    return float(backend.log_marginals(likelihood, state).sum())


class Box(NamedTuple):
    """The range of each logarithm, and the tolerances of the search: of a logarithm, and of the gain of a cycle.

    A cycle whose gain is at most ``gain`` (1 + |value|) is the last.
    """

    low: Vector
    high: Vector
    tolerance: float
    gain: float


class Widths(NamedTuple):
    """Parameters of a family as multiples of those of ``likelihood``: those in ``names``, within a box."""

    likelihood: Any
    names: tuple[str, ...]
    box: Box

    def at(self, logs: Vector) -> Any:
        """The likelihood at a place: each parameter times the exponential of its logarithm."""
        # the box keeps values in their domain; the checks of `_replace` would take longer than the evidence
        factors = [math.exp(each) for each in logs.tolist()]  # numpy's differ from one processor to another
        changed = {name: getattr(self.likelihood, name) * by for name, by in zip(self.names, factors, strict=True)}
        return tuple.__new__(type(self.likelihood), (self.likelihood._asdict() | changed).values())


class Part(NamedTuple):
    """A part of a product, or a family by itself, whose prior is sought."""

    made_by: Any
    """The likelihood of its rows."""
    row: slice
    """The place of its numbers in the rows of a state."""
    widths: Widths | None
    """None where the prior stays."""
    place: Vector
    """The start of the search."""


class Climbed(NamedTuple):
    """The place of largest evidence, and the evidence where the search began and at that place.

    Where nothing is sought, or time is up, both are that under the prior of the rows.
    """

    place: Vector
    before: float
    after: float

    @property
    def gain(self) -> float:
        """How much larger the evidence became."""
        return self.after - self.before


def largest_evidence(
    backend: Any, state: ClusterState, parts: Sequence[Part], expired: Callable[[], bool] = bool
) -> list[Climbed]:
    """The place of largest evidence of each part for the clusters of ``state``, by a search from its own start.

    O(K D) for each place that is tried. Where time is up, the place is the best so far.
    """
    found = []
    for part in parts:
        rows = np.ascontiguousarray(state.rows[:, part.row])
        found.append(_climbed(backend, part, state._replace(rows=rows), expired))
    return found


def _climbed(backend: Any, part: Part, state: ClusterState, expired: Callable[[], bool]) -> Climbed:
    """``largest_evidence`` of one part, whose rows ``state`` has."""
    made_by, _, widths, place = part
    if widths is None or expired():
        return _unmoved(backend, part, state)
    live = state.counts > 0
    counts, statistics = state.counts[live], state.rows[live, : made_by.n_statistics()]
    known = {"made_by": made_by, "counts": counts, "statistics": statistics}
    of_prior: Callable[[Any], float] = functools.partial(log_evidence, backend, **known)
    if isinstance(made_by, NormalInverseWishart):  # its statistics have the prior in them
        full = full_clusters(statistics, made_by, widths.likelihood, expired)
        if full is None:
            return _unmoved(backend, part, state)
        of_prior = full_evidence(full, widths.likelihood)

    def evidence(there: Vector) -> float:
        return of_prior(widths.at(there))

    found = largest(evidence, np.clip(place, *widths.box[:2]), widths.box, expired)
    return Climbed(found, evidence(place), evidence(found))


def _unmoved(backend: Any, part: Part, state: ClusterState) -> Climbed:
    evidence = float(backend.log_marginals(part.made_by, state).sum())
    return Climbed(part.place, evidence, evidence)


def largest(at: Callable[[Vector], float], logs: Vector, box: Box, expired: Callable[[], bool] = bool) -> Vector:
    """The place in ``box`` where ``at`` is largest, by a search from ``logs``.

    Powell's method (1964): Brent's along each of some directions in turn, which are the axes at first. The joint change
    of such a cycle becomes a direction itself, in place of the one that gained most.
    """
    axes = list(np.eye(len(logs)))
    directions, best = axes, at(logs)
    for _ in range(_MOST_CYCLES):
        if expired():
            break
        before, first, gains = best, logs, []
        for direction in directions:
            logs, value = _best_along(at, (logs, best), direction, box)
            gains.append(value - best)
            best = value
        if best - before <= box.gain * (1.0 + abs(best)):
            if directions is axes:
                break
            directions = axes  # others may all lead out of the box
            continue
        change = logs - first
        most = int(np.argmax(gains))
        if _is_worth_it(at(np.clip(logs + change, box.low, box.high)), best, before, gains[most]):
            direction = change / np.abs(change).max()
            logs, best = _best_along(at, (logs, best), direction, box)
            directions = [*directions[:most], *directions[most + 1 :], direction]
    return logs


def _is_worth_it(further: float, best: float, before: float, most: float) -> bool:
    """Whether the joint change of a cycle makes a good direction, by the value as far ahead again (Powell)."""
    rest, growth = best - before - most, further - before
    bend = 2.0 * (2.0 * best - before - further) * (rest * rest)  # a product has the same bits everywhere, ** has not
    return further > before and bend < most * (growth * growth)


def _best_along(
    at: Callable[[Vector], float], place: tuple[Vector, float], line: Vector, box: Box
) -> tuple[Vector, float]:
    """The best place along a line, within the box, and its value; ``place`` with its own where none is better."""
    logs, best = place
    moving = line != 0.0
    ends = ((np.stack((box.low, box.high)) - logs)[:, moving]) / line[moving]
    low, high = ends.min(axis=0).max(), ends.max(axis=0).min()
    t, value = highest(lambda t: at(logs + t * line), low, high, box.tolerance, 0.0, best)
    return (logs + t * line, value) if value > best else place
