"""The sweep of MAP-DPM: each point in turn moves to the slot that raises the log joint most (Raykov2014 (15))."""

from __future__ import annotations

from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState


def swept(problem: Problem, state: ClusterState) -> tuple[ClusterState, int]:
    """The state after one sweep, and how many points moved; edits ``state``, or its larger successor. O(N K D)."""
    position, moved = 0, 0
    while True:
        position, more = problem.backend.sweep(problem.model, state, position, problem.may_grow(state))
        moved += int(more)
        if position == len(state.labels):
            return state, moved
        state = problem.grown(state)
