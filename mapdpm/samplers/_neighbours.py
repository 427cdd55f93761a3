"""Super-clusters of Chang2013, Algorithm 1: groups of clusters of like parameters, drawn anew for each sweep.

Their probability is a function of the parameters alone. So a sweep within the groups, given the parameters, leaves the
same distribution invariant as one among all clusters.
"""

from __future__ import annotations

import numpy as np

from mapdpm.jit import fill, jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, RngVerbs
from mapdpm.samplers._restricted_sweep import CLOSED, Candidates

_NEARNESS = 4.0
"""A neighbour at divergence J has weight exp(-4 J), in the code of the paper's authors."""
_FAR = 1e300


def group_with_neighbours(likelihood: LikelihoodVerbs, candidates: Candidates, rng: RngVerbs) -> Candidates:
    """The candidates of one group, parted in groups. O(K^2) divergences.

    Each draws another one as its neighbour, in proportion to exp(-4 J). Groups are the connected components.
    """
    of = connected(draw_neighbours(likelihood, candidates.parameters, rng))
    n_groups = of.max() + 1 if of.shape[0] > 0 else 0
    firsts = np.zeros(n_groups + 1, dtype=np.int64)
    order, group_of, at = np.empty_like(of), np.full_like(candidates.group_of, CLOSED), 0
    for group in range(n_groups):
        for c in range(of.shape[0]):
            if of[c] == group:
                order[at], group_of[candidates.slots[c]] = c, group
                at += 1
        firsts[group + 1] = at
    log_weights, parameters = candidates.log_weights[order], candidates.parameters[order]
    return Candidates(candidates.slots[order], log_weights, parameters, firsts, group_of)


@jitable
def draw_neighbours(likelihood: LikelihoodVerbs, parameters: Matrix, rng: RngVerbs) -> Labels:
    """Another candidate for each of at least two, near ones with the largest probability."""
    K = parameters.shape[0]
    near, logw, neighbours = np.full((K, K), -np.inf), np.empty(K), np.empty(K, dtype=np.int64)
    for c in range(K):
        for other in range(c):
            near[c, other] = -_NEARNESS * min(likelihood.divergence(parameters[c], parameters[other]), _FAR)
            near[other, c] = near[c, other]
    for c in range(K):
        fill(logw, near[c])
        neighbours[c] = rng.categorical(logw)
    return neighbours


@jitable
def connected(neighbours: Labels) -> Labels:
    """The component of each node in the graph with an edge from c to ``neighbours[c]``: 0, 1, ... as they appear."""
    K = neighbours.shape[0]
    root = np.arange(K)
    for c in range(K):
        one, two = root[c], root[neighbours[c]]
        for other in range(K):
            if root[other] == max(one, two):
                root[other] = min(one, two)
    of, n = np.empty(K, dtype=np.int64), 0
    for c in range(K):
        if root[c] == c:
            of[c] = n
            n += 1
        else:
            of[c] = of[root[c]]
    return of
