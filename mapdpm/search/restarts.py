"""Restarts: several starts, an ascent from each, and the best log joint wins."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mapdpm.rng import Rng, seeded
from mapdpm.search.ascent import Ascent, Progress, ascend
from mapdpm.search.problem import Problem
from mapdpm.search.sequential_start import started_from, started_sequentially
from mapdpm.state import ClusterState

STARTS = ("sequential", "random-order", "single")


def best_of_restarts(
    problem: Problem,
    starts: list[Any],
    max_sweeps: int,
    rng: Rng,
    report: Callable[[Progress], object],
    n_jobs: int = 1,
) -> Ascent:
    """The best ascent from ``starts`` (names in ``STARTS``, or labels 0..K-1), by log joint; the earlier of two equals.

    Each start has a seed of its own, drawn before any runs, so the result does not depend on ``n_jobs``, the number of
    threads. ``report`` is called from them.
    """
    seeds = rng.generator.integers(2**63, size=len(starts))

    def run(restart: int) -> Ascent:
        state = _started(problem, starts[restart], int(seeds[restart]))
        return ascend(problem, state, max_sweeps, report, restart)

    if n_jobs == 1 or len(starts) == 1:
        return max(map(run, range(len(starts))), key=_log_joint)
    with ThreadPoolExecutor(min(n_jobs, len(starts))) as pool:
        return max(pool.map(run, range(len(starts))), key=_log_joint)


def _log_joint(run: Ascent) -> float:
    return run.history[-1]


def _started(problem: Problem, start: Any, seed: int) -> ClusterState:
    n = len(problem.data)
    if isinstance(start, np.ndarray):
        return started_from(problem, start)
    if start == "single":
        return started_from(problem, np.zeros(n, dtype=np.int64))
    order = np.arange(n) if start == "sequential" else seeded(seed).generator.permutation(n)
    return started_sequentially(problem, order.astype(np.int64))
