"""The runs of a search whose clusters have common shares: several starts, and restarts from the best so far."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mapdpm.partition_priors.concentration_mode import posterior_mode
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels
from mapdpm.search.ascent import Ascent, FitProgress, Plan, ascend, better, unheard
from mapdpm.search.checks import Deadline, SearchSettings, reporter
from mapdpm.search.moves.merge import Merge
from mapdpm.search.moves.split import Split
from mapdpm.search.sharing.exhaustive import best_of_all
from mapdpm.search.sharing.problem import SharingProblem, SharingState
from mapdpm.search.steps import started_sequentially
from mapdpm.threads import Threads

_MOST_TURNS = 20
_SAME_CONCENTRATION = 1e-4


def best_run(
    problem: SharingProblem,
    search: SearchSettings,
    deadline: Deadline,
    report: Callable[[FitProgress], bool],
    init: Labels | None,
) -> Ascent:
    """The run with the highest J: from ``init``, or else from the mode of pooled points and ``problem.starts()``.

    A restart climbs from a random neighbour of the best so far. Each run has its own seed, so results do not depend on
    the number of threads.
    """
    rng = search.generator()
    plan = search.plan(deadline)
    threads, starts = Threads(search.n_jobs), problem.starts()

    def heard(progress: FitProgress) -> bool:
        threads.check()
        return False if report is unheard else threads.call(report, progress)

    def run(restart: int, seed: int, best: Ascent | None = None) -> Ascent:
        if best is not None and plan.expired():
            return best
        generator = np.random.default_rng(seed)
        if best is not None:
            state = problem.perturbed(best.state.copy(), generator)
        elif init is not None:
            state = _from_labels(problem, init)
        elif restart == 0:
            state = _pooled(problem, plan, generator, heard)
        else:
            state = starts[restart - 1](generator)
        return ascend(problem, state, plan, generator, heard, restart)

    def round_of(restarts: range, best: Ascent | None) -> Ascent:
        seeds = rng.integers(2**63, size=len(restarts)).tolist()
        runs = threads.each(functools.partial(run, best=best), restarts, seeds)
        return functools.reduce(better, runs if best is None else [best, *runs])

    with threads:
        n_first = 1 + len(starts) if init is None else 1
        best = round_of(range(n_first), None)
        for restart in range(n_first, n_first + search.n_restarts):
            if plan.expired():
                break
            best = round_of(range(restart, restart + 1), best)
    return best_of_all(problem, best) if plan.moves and best.converged else best


def with_concentrations(
    problem: SharingProblem,
    found: Ascent,
    hyperpriors: Sequence[GammaPrior | None],
    search: SearchSettings,
    deadline: Deadline,
) -> tuple[Any, Ascent]:
    """Turn by turn: concentrations at the mode of their posterior given the partition, and an ascent from there.

    ``hyperpriors`` has one for each of ``problem.prior.numbers``; None keeps a concentration.
    """
    plan, rng, report = search.plan(deadline), search.generator(), reporter(search)
    for _ in range(_MOST_TURNS):
        table = problem.of_slots(found.state.table, np.flatnonzero(found.state.clusters.counts))
        log_partition = functools.partial(_log_partition, problem, table)
        numbers = posterior_mode(log_partition, problem.prior.numbers, hyperpriors)
        near = np.allclose(numbers, problem.prior.numbers, rtol=_SAME_CONCENTRATION, atol=0.0)
        problem = problem.with_numbers(numbers)
        found.state.stale = True
        problem.refresh(found.state)
        labels = found.state.labels.copy()
        found = ascend(problem, found.state, plan, rng, report, found.restart)
        if (near and np.array_equal(labels, found.state.labels)) or plan.expired():
            break
    return problem, found


def _log_partition(problem: SharingProblem, table: Labels, numbers: tuple[float, ...]) -> float:
    return float(problem.with_numbers(numbers).log_probability(table))


def _from_labels(problem: SharingProblem, labels: Labels) -> SharingState:
    """The state of ``labels`` 0..K-1, in the order of points of ``problem``."""
    clusters = problem.flat.empty(problem.n_points, problem.flat.capacity(int(labels.max()) + 1))
    clusters.labels[:] = labels
    return problem.state_of(clusters)


def _pooled(
    problem: SharingProblem, plan: Plan, rng: np.random.Generator, heard: Callable[[FitProgress], bool]
) -> SharingState:
    """The mode of the points, each on its own, as a start; reports of it have another objective, and say so."""
    flat = problem.flat

    def said(progress: FitProgress) -> bool:
        return heard(progress._replace(move=f"pooled {progress.move}"))

    start = started_sequentially(flat, np.arange(problem.n_points))
    pooled = Plan((Merge, Split) if plan.moves else (), plan.max_sweeps, plan.expired)
    return problem.state_of(ascend(flat, start, pooled, rng, said).state)
