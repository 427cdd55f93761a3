"""A few Gibbs sweeps: the perturbation from which a restart climbs again."""

from __future__ import annotations

import numpy as np

from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_SWEEPS = 3


def perturbed(problem: Problem, state: ClusterState, rng: np.random.Generator) -> ClusterState:
    """What a few Gibbs sweeps make of ``state``, which is edited or outgrown; O(N K D)."""
    for _ in range(_SWEEPS):
        while problem.may_grow(state) and 2 * state.n_clusters > state.capacity:
            state = problem.grown(state)
        problem.backend.perturb(problem.model, state, rng.random(len(state.labels)))
        problem.refresh(state)
    return state
