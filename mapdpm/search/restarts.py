"""Restarts: several starts, an ascent from each, and the best log joint wins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.search.ascent import Ascent, Plan, Progress, ascend
from mapdpm.search.gibbs import perturbed
from mapdpm.search.problem import Problem
from mapdpm.search.regroup import Regroup
from mapdpm.search.sequential_start import started_from, started_sequentially
from mapdpm.state import ClusterState, copied

STARTS = ("sequential", "random-order", "single")
"""Starts that need nothing but data."""
AGAIN = ("gibbs", "best")
"""Starts from the best run so far: after a few Gibbs sweeps, or as it is, for ``Regroup`` to perturb it."""

_ROUND = 4


def best_of_restarts(
    problem: Problem,
    starts: list[Any],
    plan: Plan,
    rng: np.random.Generator,
    report: Callable[[Progress], bool],
    n_jobs: int = 1,
) -> Ascent:
    """The best ascent from ``starts`` (of ``STARTS``, ``AGAIN``, or labels 0..K-1) by log joint; the earlier of equals.

    The first run is alone, the others come four at a time: those of a round may run at once, in ``n_jobs`` threads, and
    "the best so far" is that of the rounds before. Each run has a seed of its own, drawn before any begins. So the
    result does not depend on ``n_jobs``. Runs after the first have ``Regroup`` besides the moves of ``plan``, if there
    are any: it costs more than they do. ``report`` is called from the threads.
    """
    seeds = rng.integers(2**63, size=len(starts))
    later = plan._replace(moves=(*plan.moves, Regroup)) if plan.moves and Regroup not in plan.moves else plan

    def run(restart: int, best: Ascent | None = None) -> Ascent:
        if best is not None and plan.expired():
            return best
        generator = np.random.default_rng(seeds[restart])
        state = _started(problem, starts[restart], best, generator)
        return ascend(problem, state, plan if best is None else later, generator, report, restart)

    best = run(0)
    with ThreadPoolExecutor(n_jobs) as pool:
        for first in range(1, len(starts), _ROUND):
            together = range(first, min(first + _ROUND, len(starts)))
            again = functools.partial(run, best=best)
            runs = pool.map(again, together) if n_jobs > 1 else map(again, together)
            best = functools.reduce(_better, runs, best)
    return best


def _better(one: Ascent, two: Ascent) -> Ascent:
    """The run of the higher log joint; the first of equals."""
    before, after = one.history[-1], two.history[-1]
    return two if is_gain(after - before, before) else one


def _started(problem: Problem, start: Any, best: Ascent | None, rng: np.random.Generator) -> ClusterState:
    n = len(problem.data)
    if isinstance(start, np.ndarray):
        return started_from(problem, start)
    if start in AGAIN and best is not None:
        state = copied(best.state)
        return state if start == "best" else perturbed(problem, state, rng)
    if start == "single":
        return started_from(problem, np.zeros(n, dtype=np.int64))
    order = np.arange(n) if start == "sequential" else rng.permutation(n)
    return started_sequentially(problem, order.astype(np.int64))
