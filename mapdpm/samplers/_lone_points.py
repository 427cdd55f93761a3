"""A point leaves its cluster to be alone, or a lone point joins another: so clusters end beside restricted sweeps."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import LikelihoodVerbs, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.samplers._blocks import count_used, free_slot
from mapdpm.samplers._whole_clusters import used_slot
from mapdpm.state import ClusterState, assign, unassign


def lone_point(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, state: ClusterState, rng: RngVerbs
) -> int:
    """Propose that a point leaves or joins a cluster; return 1 if it was accepted. A slot must be free.

    One of K clusters is drawn uniformly. If it is one point, that proposes to join another one in proportion to its
    Gibbs weight w_m; else one of its points, uniformly, proposes to be alone. Joining has the log Hastings ratio

    log sum_m w_m - log w_new + log K - log (K - 1) - log (N_m + 1),

    w_new the Gibbs weight of a new cluster; leaving is the opposite, seen from the state that it leads to. O(K D + N).
    """
    K = count_used(state)
    k = used_slot(state, rng.integer(K))
    alone = state.counts[k] == 1
    if alone and K == 1:
        return 0
    i = member(state, k, 0 if alone else rng.integer(state.counts[k]))
    unassign(likelihood, data, None, state, i)
    n_others = K - 1 if alone else K
    scores = np.empty(state.counts.shape[0])
    log_total = gibbs_weights(likelihood, prior, data, state, i, scores)
    blank = free_slot(state)
    log_new = prior.log_new(n_others, 1.0) + likelihood.log_predictive(state.rows[blank], data, i)
    joined = rng.categorical(scores) if alone else k
    ratio = log_total - log_new + log((n_others + 1.0) / n_others) - log(state.counts[joined] + 1.0)
    accepted = rng.accept(ratio if alone else -ratio)
    if alone:
        assign(likelihood, data, None, state, i, joined if accepted else k)
    else:
        assign(likelihood, data, None, state, i, blank if accepted else k)
    return int(accepted)


@jitable
def member(state: ClusterState, k: int, number: int) -> int:
    """The point of slot ``k`` that has ``number`` others before it."""
    i = 0
    while number > 0 or state.labels[i] != k:
        number -= int(state.labels[i] == k)
        i += 1
    return i


@jitable
def gibbs_weights(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, state: ClusterState, i: int, scores: Vector
) -> float:
    """Fill ``scores`` with the log Gibbs weights of clusters for point ``i``, -inf for free slots; log of their sum."""
    top = -np.inf
    for k in range(scores.shape[0]):
        scores[k] = -np.inf
        if state.counts[k] > 0:
            scores[k] = prior.log_existing(float(state.counts[k]), 1.0)
            scores[k] += likelihood.log_predictive(state.rows[k], data, i)
            top = max(top, scores[k])
    total = 0.0
    for k in range(scores.shape[0]):
        total += exp(scores[k] - top)
    return top + log(total)
