"""A point leaves its cluster to be alone, or a lone point joins another: so clusters end beside restricted sweeps."""

from __future__ import annotations

from math import inf, log

import numpy as np

from mapdpm.jit import jitable
from mapdpm.logs import log_sum
from mapdpm.objective import candidate_scores
from mapdpm.protocol import Model, RngVerbs
from mapdpm.samplers._whole_clusters import NONE
from mapdpm.state import ClusterState, assign, count_used, unassign


def lone_points(model: Model, state: ClusterState, n_proposals: int, rng: RngVerbs) -> tuple[int, int]:
    """Propose so often that a point leaves its cluster, or joins one; stop where no slot is free.

    Returns how many proposals were made, and accepted.

    With probability 1/2 a uniform point proposes to be alone. Else one of S lone points proposes to join another
    cluster m in proportion to its Gibbs weight w_m, with the log Hastings ratio

    log sum_m w_m - log w_new + log S - log N,

    w_new the Gibbs weight of a new cluster; leaving is the opposite, with S of the state that it leads to. O(K D), and
    O(N) to find a lone point.
    """
    accepted = 0
    for done in range(n_proposals):
        if count_used(state) == state.counts.shape[0]:
            return done, accepted
        i = draw_point(state, rng)
        if i != NONE:
            accepted += leave_or_join(model, state, i, rng)
    return n_proposals, accepted


@jitable
def draw_point(state: ClusterState, rng: RngVerbs) -> int:
    """The point that proposes: with probability 1/2 one of all points, else one of the lone ones; or NONE.

    A lone point drawn among all does not propose, nor does one without another cluster to join.
    """
    if rng.integer(2) == 0:
        i = rng.integer(state.labels.shape[0])
        return i if state.counts[state.labels[i]] > 1 else NONE
    S = count_lone(state)
    return lone_point(state, rng.integer(S)) if S > 0 and count_used(state) > 1 else NONE


@jitable
def leave_or_join(model: Model, state: ClusterState, i: int, rng: RngVerbs) -> int:
    """Propose that point ``i`` joins a cluster if it is alone, else that it leaves; return 1 if it was accepted."""
    likelihood, prior, data, _ = model
    k = state.labels[i]
    alone = state.counts[k] == 1
    unassign(likelihood, data, None, state, i)
    scores = np.empty(state.counts.shape[0])
    blank = candidate_scores(likelihood, prior, data, None, state, i, scores)
    log_new, scores[blank] = scores[blank], -inf
    ratio = log_sum(scores) - log_new + log((count_lone(state) + 1.0) / state.labels.shape[0])
    new = rng.categorical(scores) if alone else blank
    accepted = rng.accept(ratio if alone else -ratio)
    assign(likelihood, data, None, state, i, new if accepted else k)
    return int(accepted)


@jitable
def count_lone(state: ClusterState) -> int:
    """The number of points that are alone in their clusters."""
    n = 0
    for k in range(state.counts.shape[0]):
        n += int(state.counts[k] == 1)
    return n


@jitable
def lone_point(state: ClusterState, number: int) -> int:
    """The lone point whose slot has those of ``number`` others before it."""
    k = 0
    while number > 0 or state.counts[k] != 1:
        number -= int(state.counts[k] == 1)
        k += 1
    i = 0
    while state.labels[i] != k:
        i += 1
    return i
