"""Collapsed Gibbs sampling of one partition: Algorithm 3 of Neal (2000), Raykov2014 section 2.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.objective import candidate_scores
from mapdpm.protocol import LikelihoodVerbs, PartitionPriorVerbs, RngVerbs
from mapdpm.samplers._blocks import count_used
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.state import ClusterState, assign, unassign


def gibbs_sweep(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    data: Any,
    state: ClusterState,
    start: int,
    rng: RngVerbs,
) -> tuple[int, int]:
    """Redraw the labels of points ``start``, ``start + 1``, ..., each given all others; O(N K D).

    Returns the first point not visited, and how many points changed slot. The first is N unless no slot is free; then
    the caller adds slots and goes on from there. All free slots are equivalent: one stands for a new cluster.
    """
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    scores = np.empty(capacity)
    used, moved = count_used(state), 0
    for i in range(start, n):
        if used == capacity:
            return i, moved
        k = unassign(likelihood, data, None, state, i)
        used -= int(state.counts[k] == 0)
        candidate_scores(likelihood, prior, data, None, state, i, scores)
        drawn = rng.categorical(scores)
        used += int(state.counts[drawn] == 0)
        assign(likelihood, data, None, state, i, drawn)
        moved += int(drawn != k)
    return n, moved


class CollapsedGibbs(Sampler):
    """Gibbs sampling of the partition with cluster parameters integrated out (Neal 2000, Algorithm 3).

    p(z_i = k | rest) is N_k^{-i} p(x_i | x_{c_k}^{-i}) for a cluster and alpha p(x_i) for a new one (Raykov2014 (9),
    (10)). A step redraws every label once, in the order of the points: O(N K D).
    """

    _kernel = staticmethod(compiled_if_possible(gibbs_sweep))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """A sweep over all points."""
        start, moved = 0, 0
        while start < chain.n_points:
            state = chain.reserve()
            start, more = self._kernel(chain.likelihood, chain.prior, chain.data, state, start, rng)
            moved += int(more)
        return Info(moved=moved, n_clusters=chain.n_clusters)
