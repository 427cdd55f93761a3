"""Restarts: an ascent from each of several starts. The highest log joint wins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.search.ascent import Ascent, FitProgress, Plan, ascend, better, unheard
from mapdpm.search.moves.regroup import Regroup
from mapdpm.search.problem import Problem
from mapdpm.search.steps import perturbed, started_from, started_sequentially
from mapdpm.state import ClusterState, copied
from mapdpm.threads import Threads

AGAIN = ("gibbs", "best")
"""Starts from the best run so far: after a few Gibbs sweeps, or as it is, for ``Regroup`` to perturb it."""

LATER = ("gibbs", "gibbs", "random-order")
"""The starts of all runs but the first, in turn."""

_SEQUENTIAL = ("sequential", "random-order")
_ROUND = 4


class Starts(NamedTuple):
    """The starts of all runs: ``first``, and then those of ``cycle`` in turn.

    Each is one of ``names.STARTS``, of ``AGAIN``, or labels 0..K-1.
    """

    first: Any
    cycle: tuple[Any, ...]
    n_runs: int

    def of(self, restart: int) -> Any:
        """The start of run ``restart``, counted from 0."""
        return self.cycle[(restart - 1) % len(self.cycle)] if restart else self.first


def best_of_restarts(
    problem: Problem,
    starts: Starts,
    plan: Plan,
    rng: np.random.Generator,
    report: Callable[[FitProgress], bool],
    n_jobs: int = 1,
) -> Ascent:
    """The ascent with the highest log joint; the earlier one if two are equal.

    The first run is alone; the others come in rounds of four, which may run at once in ``n_jobs`` threads. "The best so
    far" is the best of the rounds before, and each run has its own seed, drawn in order before its round. So the result
    does not depend on ``n_jobs``. No round begins after the deadline of ``plan``. If ``plan`` has moves, runs after the
    first also have ``Regroup``, which costs more than the others. An exception, as a KeyboardInterrupt, ends all
    threads at their next step.
    """
    later = plan._replace(moves=(*plan.moves, Regroup)) if plan.moves and Regroup not in plan.moves else plan

    threads = Threads(n_jobs)

    def heard(progress: FitProgress) -> bool:
        threads.check()
        return False if report is unheard else threads.call(report, progress)

    def run(restart: int, seed: int, best: Ascent | None = None) -> Ascent:
        if best is not None and plan.expired():
            return best
        generator = np.random.default_rng(seed)
        start = starts.of(restart)
        state = _started(problem, start, best, generator)
        if plan.moves and isinstance(start, str) and start in _SEQUENTIAL:
            state = _unless_one_is_better(problem, state)
        return ascend(problem, state, plan if best is None else later, generator, heard, restart)

    with threads:
        best = threads.each(run, [0], [int(rng.integers(2**63))])[0]
        for first in range(1, starts.n_runs, _ROUND):
            if plan.expired():
                break
            together = range(first, min(first + _ROUND, starts.n_runs))
            seeds = rng.integers(2**63, size=len(together)).tolist()
            best = functools.reduce(better, threads.each(functools.partial(run, best=best), together, seeds), best)
    return best


def _unless_one_is_better(problem: Problem, state: ClusterState) -> ClusterState:
    """``state``, or one cluster of all points if that has the higher log joint; O(N D).

    Under a large concentration, points open clusters of their own one by one, and single moves do not undo that. From
    one cluster, splits find the clusters that pay.
    """
    problem.refresh(state)
    single = started_from(problem, np.zeros(problem.n_points, dtype=np.int64))
    return single if problem.log_joint(single) > problem.log_joint(state) else state


def _started(problem: Problem, start: Any, best: Ascent | None, rng: np.random.Generator) -> ClusterState:
    n = problem.n_points
    if isinstance(start, np.ndarray):
        return started_from(problem, start)
    if start in AGAIN and best is not None:
        state = copied(best.state)
        return state if start == "best" else perturbed(problem, state, rng)
    if start == "single":
        return started_from(problem, np.zeros(n, dtype=np.int64))
    order = np.arange(n) if start == "sequential" else rng.permutation(n)
    return started_sequentially(problem, order.astype(np.int64))
