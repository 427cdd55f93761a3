"""The sequential start: points join, one after the other, the slot that raises the log joint most."""

from __future__ import annotations

from mapdpm.protocol import Labels
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState


def started_sequentially(problem: Problem, order: Labels) -> ClusterState:
    """The state that a sequential start in ``order`` leads to (docs/maths.md, section 6, on starts); O(N K D)."""
    return filled(problem, problem.empty(len(order), problem.capacity(1)), order)


def filled(problem: Problem, state: ClusterState, order: Labels) -> ClusterState:
    """``state``, edited or outgrown, with the points of ``order``, which were out, put in one after the other."""
    passed = 0
    while True:
        rest, may_grow = order[passed:], problem.may_grow(state)
        passed += problem.backend.sequential_start(problem.model, state, rest, may_grow)
        if passed == len(order):
            return state
        state = problem.grown(state)


def started_from(problem: Problem, labels: Labels) -> ClusterState:
    """The state with given labels 0..K-1; O(N D)."""
    state = problem.empty(0, problem.capacity(int(labels.max()) + 1))
    state = state._replace(labels=labels.copy())
    problem.refresh(state)
    return state
