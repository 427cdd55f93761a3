"""Collapsed Gibbs sampling of one partition: Algorithm 3 of Neal (2000), Raykov2014 section 2.2."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import compiled
from mapdpm.objective import candidate_scores
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import LikelihoodVerbs, PartitionPriorVerbs, RngVerbs, Vector, Weights
from mapdpm.state import ClusterState, assign, unassign


def gibbs_sweep(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    data: Any,
    weights: Weights,
    state: ClusterState,
    scores: Vector,
    rng: RngVerbs,
) -> int:
    """Redraw the label of each point given all others, in order; returns how many changed slot. O(N K D).

    ``scores`` is scratch, one entry a slot. A slot must be free whenever all other points have theirs: with a
    capacity of N + 1 that is always so. The free slots are alike, so one of them stands for a new cluster.
    """
    moved = 0
    for i in range(state.labels.shape[0]):
        k = unassign(likelihood, data, weights, state, i)
        candidate_scores(likelihood, prior, data, weights, state, i, scores)
        drawn = rng.categorical(scores)
        assign(likelihood, data, weights, state, i, drawn)
        moved += drawn != k
    return moved


class GibbsInfo(NamedTuple):
    """What one step did."""

    moved: int
    n_clusters: int


class CollapsedGibbs:
    """Gibbs sampling of the partition with cluster parameters integrated out (Neal 2000, Algorithm 3).

    p(z_i = k | rest) is N_k^{-i} p(x_i | x_{c_k}^{-i}) for a cluster and alpha p(x_i) for a new one (Raykov2014 (9),
    (10)). It leaves the posterior p(z | x) invariant to the last digit, which the tests show on its full
    transition matrix.

    Parameters
    ----------
    alpha : float > 0
        Concentration.
    likelihood : Likelihood
        The conjugate family, with its prior.
    discount : float in [0, 1)
        Pitman-Yor discount; 0 is the Dirichlet process.
    """

    _compiled = compiled(gibbs_sweep)

    def __init__(self, alpha: float = 1.0, *, likelihood: LikelihoodVerbs, discount: float = 0.0) -> None:
        self.likelihood = likelihood
        self.prior = partition_prior(alpha, discount)

    def step(self, data: Any, state: ClusterState, rng: RngVerbs, weights: Weights = None) -> GibbsInfo:
        """One sweep over all points, compiled; changes ``state`` only. The capacity must exceed the points by one."""
        scores = np.empty(state.capacity)
        moved = self._compiled(self.likelihood, self.prior, data, weights, state, scores, rng)
        return GibbsInfo(int(moved), state.n_clusters)
