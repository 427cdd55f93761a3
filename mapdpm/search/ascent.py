"""One ascent to a local mode: sweeps until no point moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mapdpm.search.problem import Problem
from mapdpm.search.sweep import swept
from mapdpm.state import ClusterState


class Progress(NamedTuple):
    """What a callback is told after each sweep; if it returns True the ascent ends there."""

    restart: int
    sweep: int
    moved: int
    n_clusters: int
    log_joint: float


class Ascent(NamedTuple):
    """A local mode, and how it was reached."""

    state: ClusterState
    history: list[float]
    n_sweeps: int
    converged: bool


def ascend(
    problem: Problem, state: ClusterState, max_sweeps: int, report: Callable[[Progress], object], restart: int = 0
) -> Ascent:
    """Sweep until a whole sweep moves no point, at most ``max_sweeps`` times; rows are made anew after each."""
    problem.refresh(state)
    history = [problem.log_joint(state)]
    for sweep in range(1, max_sweeps + 1):
        state, moved = swept(problem, state)
        if moved:
            problem.refresh(state)
            # Each move gained: where the sum falls nevertheless, its own rounding did it.
            history.append(max(problem.log_joint(state), history[-1]))
        else:
            history.append(history[-1])
        stop = report(Progress(restart, sweep, moved, state.n_clusters, history[-1]))
        if moved == 0 or stop is True:
            return Ascent(state, history, sweep, converged=moved == 0)
    return Ascent(state, history, max_sweeps, converged=False)
