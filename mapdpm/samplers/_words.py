"""Direct assignment of words: the sweep of ``direct_assignment`` for ``Categorical``, with all it reads kept at hand.

Counts are kept word by word, so those of a token are neighbours; reciprocals of sizes and the weights of a document are
kept from token to token. The draws are those of the generic sweep, up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Model, RngVerbs, Vector
from mapdpm.samplers._restaurants import Restaurants, close_slot, open_slot
from mapdpm.state import ClusterState, count_used


class WordCounts(NamedTuple):
    """The counts of words in slots, and what a sweep keeps beside them."""

    by_word: Any
    """(words, slots), of 32 bits: the tokens of each word in each slot."""
    inverse: Vector
    """(slots,): 1 / (sum of beta + tokens)."""
    document: Vector
    """(slots,): n_jk + alpha beta_k of the present document; alpha beta_u of the lowest free slot, 0 of others."""
    total: float
    """The sum of beta."""


def word_sweep(
    model: Model, state: ClusterState, restaurants: Restaurants, first: int, rng: RngVerbs
) -> tuple[int, int]:
    """``direct_sweep`` of the tokens of a ``Categorical``. O(N K), and O(K V) to turn the counts over, twice."""
    points, groups, beta = restaurants.points, restaurants.groups, model.likelihood.beta
    n, capacity = points.shape[0], state.counts.shape[0]
    counts = counts_by_word(state, beta.shape[0])
    document, weights = counts.document, np.empty(capacity)
    used, moved, group, n_slots, at = count_used(state), 0, -1, 0, first
    shares = restaurants.weights[0]
    while at < n and used < capacity:
        i = points[at]
        if groups[i] != group:
            group = groups[i]
            shares = restaurants.weights[restaurants.parents[restaurants.weights.shape[0] + group]]
            for k in range(capacity):
                document[k] = restaurants.guests[group, k] + shares[k]
            n_slots = weigh_free_slots(state, document, shares[-1])
        v, old = model.data.words[i], state.labels[i]
        shift(state, restaurants, counts, i, v, old, -1)
        if state.counts[old] == 0:
            close_slot(restaurants.weights, old)
            used -= 1
            n_slots = weigh_free_slots(state, document, shares[-1])
        else:
            document[old] = restaurants.guests[group, old] + shares[old]
        for k in range(n_slots):
            weights[k] = document[k] * (beta[v] + counts.by_word[v, k]) * counts.inverse[k]
        new = rng.by_weight(weights[:n_slots])
        opened = state.counts[new] == 0
        if opened:
            open_slot(restaurants, group, new, rng)
            used += 1
        shift(state, restaurants, counts, i, v, new, 1)
        document[new] = restaurants.guests[group, new] + shares[new]
        if opened:
            n_slots = weigh_free_slots(state, document, shares[-1])
        moved += int(new != old)
        at += 1
    for k in range(capacity):
        state.rows[k, 0] = state.counts[k]
        for v in range(beta.shape[0]):
            state.rows[k, 1 + v] = counts.by_word[v, k]
    return at, moved


@jitable
def counts_by_word(state: ClusterState, n_words: int) -> WordCounts:
    """The counts of the rows of ``state``, word by word."""
    capacity = state.counts.shape[0]
    by_word, inverse = np.empty((n_words, capacity), dtype=np.int32), np.empty(capacity)
    total = state.rows[0, 1 + n_words]
    for k in range(capacity):
        inverse[k] = 1.0 / (total + state.counts[k])
        for v in range(n_words):
            by_word[v, k] = np.int32(state.rows[k, 1 + v])
    return WordCounts(by_word, inverse, np.empty(capacity), total)


@jitable
def shift(state: ClusterState, restaurants: Restaurants, counts: WordCounts, i: int, v: int, k: int, sign: int) -> None:
    """Put token ``i``, word ``v``, into slot ``k``, or take it out with a ``sign`` of -1."""
    state.labels[i] = k
    state.counts[k] += sign
    restaurants.guests[restaurants.groups[i], k] += sign
    counts.by_word[v, k] += sign
    counts.inverse[k] = 1.0 / (counts.total + state.counts[k])


@jitable
def weigh_free_slots(state: ClusterState, document: Vector, new: float) -> int:
    """Give the lowest free slot the weight ``new`` and the others 0; returns how many slots are worth a look."""
    free, last = -1, 0
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            last = k
        else:
            document[k] = 0.0
            free = k if free < 0 else free
    if free >= 0:
        document[free] = new
    return max(free, last) + 1
