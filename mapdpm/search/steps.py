"""One step over all points: a start, a perturbation. The state grows if no slot is free."""

from __future__ import annotations

import numpy as np

from mapdpm.protocol import Labels
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_GIBBS_SWEEPS = 3


def started_sequentially(problem: Problem, order: Labels) -> ClusterState:
    """The state that a sequential start in ``order`` leads to (docs/maths.md, section 6, on starts); O(N K D)."""
    return filled(problem, problem.empty(len(order), problem.capacity(1)), order)


def filled(problem: Problem, state: ClusterState, order: Labels) -> ClusterState:
    """Add the unassigned points of ``order`` one after the other. Edits ``state``, or replaces it when it grows."""
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


def perturbed(problem: Problem, state: ClusterState, rng: np.random.Generator) -> ClusterState:
    """Run a few Gibbs sweeps, for a restart to climb from. Edits ``state``, or replaces it when it grows. O(N K D)."""
    for _ in range(_GIBBS_SWEEPS):
        while problem.may_grow(state) and 2 * state.n_clusters > state.capacity:
            state = problem.grown(state)
        problem.backend.perturb(problem.model, state, rng.random(len(state.labels)))
        problem.refresh(state)
    return state
