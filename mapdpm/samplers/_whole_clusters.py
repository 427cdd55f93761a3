"""Helpers of split-merge samplers that choose clusters instead of points, and the Metropolis-Hastings decision.

With probability s a step proposes to split a cluster, else to merge two. All clusters, and all pairs, have equal
probability: maths (62).
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from mapdpm.jit import fill, jitable
from mapdpm.protocol import Labels, Matrix, Model, RngVerbs
from mapdpm.samplers._pairs import draw_pair, log_split_ratio, merge, split_off
from mapdpm.state import ClusterState, count_used


class Chosen(NamedTuple):
    """The cluster to split, in slot ``first`` = ``second``, or the two to merge.

    ``members`` are their points, in order. ``choices[m]`` is the side of member m. Before a merge, the points of
    ``first`` are on side 0.
    """

    first: int
    second: int
    members: Labels
    choices: Labels


NONE = -1
"""The slots of a merge where there is only one cluster."""


@jitable
def choose(state: ClusterState, splits: float, rng: RngVerbs) -> tuple[int, int]:
    """The slots of a cluster to split, twice the same, with probability ``splits``; else of two to merge, or NONE."""
    K = count_used(state)
    if rng.accept(log(splits)):
        k = used_slot(state, rng.integer(K))
        return k, k
    if K == 1:
        return NONE, NONE
    i, j = draw_pair(K, rng)
    return used_slot(state, i), used_slot(state, j)


@jitable
def gathered(state: ClusterState, first: int, second: int) -> Chosen:
    """The points of two clusters, or of one. O(N)."""
    n = state.counts[first] if first == second else state.counts[first] + state.counts[second]
    members, choices = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    m = 0
    for i in range(state.labels.shape[0]):
        if state.labels[i] in (first, second):
            members[m] = i
            choices[m] = int(state.labels[i] != first)
            m += 1
    return Chosen(first, second, members, choices)


@jitable
def used_slot(state: ClusterState, number: int) -> int:
    """The slot in use that has ``number`` others before it."""
    k = 0
    while number > 0 or state.counts[k] == 0:
        number -= int(state.counts[k] > 0)
        k += 1
    return k


@jitable
def decide(model: Model, state: ClusterState, chosen: Chosen, sides: Matrix, log_q: float, rng: RngVerbs) -> int:
    """Split or merge, or leave it, by Metropolis-Hastings; return 1 if the partition has changed.

    ``sides`` are the rows of the two sides. exp(``log_q``) is the probability of proposing them in this order or the
    other, halved, times the odds of proposing a split. A split with an empty side changes nothing. The members are read
    for a split only.
    """
    likelihood, prior, K = model.likelihood, model.prior, count_used(state)
    is_split = chosen.first == chosen.second
    if not (sides[0, 0] > 0.0 and sides[1, 0] > 0.0):
        return 0
    n_others = K - 1 if is_split else K - 2
    ratio = log_split_ratio(likelihood, prior, sides, n_others) - log_q - log(n_others + 2.0)
    if not rng.accept(ratio if is_split else -ratio):
        return 0
    if is_split:
        split_off(state, chosen.first, chosen.members, chosen.choices, sides)
    else:
        merge(likelihood, state, chosen.second, chosen.first)
    return 1


def divide_anew(model: Model, state: ClusterState, chosen: Chosen, sides: Matrix, log_q: float, rng: RngVerbs) -> int:
    """Give two clusters the ``sides`` of their members, or leave them; return 1 if the partition has changed.

    exp(``log_q``) is the probability of proposing these sides over that of proposing the present ones.
    """
    if not (sides[0, 0] > 0.0 and sides[1, 0] > 0.0):
        return 0
    likelihood, prior, n_others = model.likelihood, model.prior, count_used(state) - 2
    present = state.rows[np.array([chosen.first, chosen.second])]
    ratio = log_split_ratio(likelihood, prior, sides, n_others) - log_split_ratio(likelihood, prior, present, n_others)
    if not rng.accept(ratio - log_q):
        return 0
    on_second = 0
    for m in range(chosen.members.shape[0]):
        state.labels[chosen.members[m]] = chosen.second if chosen.choices[m] == 1 else chosen.first
        on_second += chosen.choices[m]
    state.counts[chosen.first] = chosen.members.shape[0] - on_second
    state.counts[chosen.second] = on_second
    fill(state.rows[chosen.first], sides[0])
    fill(state.rows[chosen.second], sides[1])
    return 1
