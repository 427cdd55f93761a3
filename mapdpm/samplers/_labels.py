"""Kernels over explicit labels of a stick-breaking prior: Gibbs sampling, and moves of labels (Porteous2006 section 3).

Slots of a state hold clusters as elsewhere; each cluster has a label besides. Kernels take them in order of labels,
which are sparse (decision 120).
"""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.partition_priors.stick_breaking import (
    StickBreaking,
    draw_behind,
    draw_in_gap,
    log_labels,
    mean_shares_given,
)
from mapdpm.protocol import Labels, Model, RngVerbs, Vector
from mapdpm.samplers._blocks import free_slot
from mapdpm.state import ClusterState, assign, unassign

SWAP, PERMUTE, NEXT = "swap", "permute", "next"
LABEL_MOVES = (SWAP, PERMUTE, NEXT)
"""The names of moves, in the order of their rates."""


class Occupied(NamedTuple):
    """The clusters in order of their labels; entries from their number on have no meaning."""

    slots: Labels
    labels: Labels
    counts: Labels


class Moves(NamedTuple):
    """How often labels move after an assignment."""

    rates: Vector
    """The probability of each move; 0 for one that is left out."""
    by_clusters: bool
    """Whether the probability is K / N instead: in a sweep about as many proposals of each move as clusters."""
    step: int
    """The distance of labels in "next"."""


@jitable
def in_order(state: ClusterState, labels: Labels, occupied: Occupied) -> int:
    """Fill ``occupied`` from the label of each slot; return the number of clusters."""
    K = 0
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            at = K
            while at > 0 and occupied.labels[at - 1] > labels[k]:
                at -= 1
            insert(occupied, K, at, k, labels[k], state.counts[k])
            K += 1
    return K


@jitable
def insert(occupied: Occupied, K: int, at: int, slot: int, label: int, count: int) -> None:
    """Put a cluster at position ``at`` of ``K``; those from there on move up."""
    for p in range(K, at, -1):
        occupied.slots[p] = occupied.slots[p - 1]
        occupied.labels[p] = occupied.labels[p - 1]
        occupied.counts[p] = occupied.counts[p - 1]
    occupied.slots[at], occupied.labels[at], occupied.counts[at] = slot, label, count


@jitable
def leave(occupied: Occupied, K: int, slot: int) -> int:
    """Take a point out of the cluster in ``slot``, which goes if it is empty then; return the number of clusters."""
    at = 0
    while occupied.slots[at] != slot:
        at += 1
    occupied.counts[at] -= 1
    if occupied.counts[at] > 0:
        return K
    for p in range(at, K - 1):
        occupied.slots[p] = occupied.slots[p + 1]
        occupied.labels[p] = occupied.labels[p + 1]
        occupied.counts[p] = occupied.counts[p + 1]
    return K - 1


@jitable
def draw_empty(prior: StickBreaking, labels: Labels, counts: Labels, gaps: Vector, rng: RngVerbs) -> tuple[int, int]:
    """A label that is not among ``labels``, drawn in proportion to E[pi | Z], and its position among them.

    ``gaps`` are those of ``mean_shares_given``.
    """
    K = labels.shape[0]
    at = rng.by_weight(gaps)
    first = labels[at - 1] + 1 if at > 0 else 0
    if at == K:
        return draw_behind(prior, first, rng), at
    above = 0
    for p in range(at, K):
        above += counts[p]
    return draw_in_gap(prior, first, labels[at], float(above), rng), at


@jitable
def draw_labels(prior: StickBreaking, n: int, rng: RngVerbs) -> tuple[int, int]:
    """Two labels drawn from the prior, the lower one first; with ``n`` = 1 one label, twice."""
    one = two = draw_behind(prior, 0, rng)
    if n > 1:
        two = draw_behind(prior, 0, rng)
    return min(one, two), max(one, two)


def sweep_labels(
    model: Model, state: ClusterState, labels: Labels, moves: Moves, start: int, rng: RngVerbs
) -> tuple[int, int, int, int]:
    """Redraw the labels of points ``start``, ``start + 1``, ... (Porteous2006 (9)), with moves of labels in between.

    ``labels`` has the label of each slot. Label i has the weight E[pi_i | Z] p(x | its points). All labels without
    points have the same density of x, so they are one choice; then one of them is drawn. O(N K D).

    Returns the first point not visited, because no slot was free; how many points changed cluster; how many moves of
    labels were proposed, and how many accepted.
    """
    likelihood, prior, data, _ = model
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    occupied, other = arrays_for(capacity), arrays_for(capacity)
    scores, shares, gaps = np.empty(capacity + 1), np.empty(capacity), np.empty(capacity + 1)
    blank = np.empty(state.rows.shape[1])
    likelihood.init(blank)
    K = in_order(state, labels, occupied)
    moved, proposed, accepted = 0, 0, 0
    for i in range(start, n):
        if capacity == K:
            return i, moved, proposed, accepted
        k = unassign(likelihood, data, None, state, i)
        K = leave(occupied, K, k)
        empty = mean_shares_given(prior, occupied.labels[:K], occupied.counts[:K], n - 1, shares, gaps)
        for p in range(K):
            scores[p] = log(shares[p]) + likelihood.log_predictive(state.rows[occupied.slots[p]], data, i)
        scores[K] = log(empty) + likelihood.log_predictive(blank, data, i) if empty > 0.0 else -inf
        drawn = rng.categorical(scores[: K + 1])
        if drawn == K:
            label, drawn = draw_empty(prior, occupied.labels[:K], occupied.counts[:K], gaps[: K + 1], rng)
            insert(occupied, K, drawn, free_slot(state), label, 0)
            K += 1
        to = occupied.slots[drawn]
        labels[to] = occupied.labels[drawn]
        occupied.counts[drawn] += 1
        assign(likelihood, data, None, state, i, to)
        moved += int(to != k)
        more = move_labels(prior, occupied, K, moves, other, rng)
        proposed += more[0]
        if more[1] > 0:
            accepted += more[1]
            for p in range(K):
                labels[occupied.slots[p]] = occupied.labels[p]
    return n, moved, proposed, accepted


@jitable
def arrays_for(capacity: int) -> Occupied:
    """Room for ``capacity`` clusters."""
    return Occupied(
        np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    )


@jitable
def move_labels(
    prior: StickBreaking, occupied: Occupied, K: int, moves: Moves, other: Occupied, rng: RngVerbs
) -> tuple[int, int]:
    """Propose each move of labels with its probability; ``other`` is room.

    Returns how many changes were proposed, and how many accepted. A proposal that changes nothing is not counted.
    """
    proposed, accepted, total = 0, 0, 0
    for p in range(K):
        total += occupied.counts[p]
    for move in range(moves.rates.shape[0]):
        rate = K / total if moves.by_clusters else moves.rates[move]
        if moves.rates[move] == 0.0 or (rate < 1.0 and not rng.chance(rate)):
            continue
        first, last = draw_labels(prior, 2 if move == 0 else 1, rng)  # moves are numbered as in LABEL_MOVES
        if move == 1:
            first = 0
        elif move > 1:
            last += moves.step
        begin, end = position_of(occupied, K, first), position_of(occupied, K, last + 1)
        if move == 1:
            changed = permuted(occupied, end, last, other, rng)
        else:
            changed = swapped(occupied, begin, end, first, last, other)
        if changed:
            proposed += 1
            accepted += int(accept_labels(prior, occupied, K, other, (begin, end), (first, last), rng))
    return proposed, accepted


@jitable
def position_of(occupied: Occupied, K: int, label: int) -> int:
    """The number of clusters with a label below ``label``."""
    at = 0
    while at < K and occupied.labels[at] < label:
        at += 1
    return at


@jitable
def swapped(occupied: Occupied, begin: int, end: int, first: int, last: int, other: Occupied) -> bool:
    """Fill positions ``begin`` to ``end - 1`` of ``other``, labels ``first`` and ``last`` exchanged.

    False if neither has points, or they are equal.
    """
    if first == last or begin == end:
        return False
    low, high = occupied.labels[begin] == first, occupied.labels[end - 1] == last
    K = 0
    if high:
        K = _place(other, occupied, end - 1, begin, K, first)
    for p in range(begin + int(low), end - int(high)):
        K = _place(other, occupied, p, begin, K, occupied.labels[p])
    if low:
        _place(other, occupied, begin, begin, K, last)
    return low or high


@jitable
def _place(other: Occupied, occupied: Occupied, p: int, begin: int, K: int, label: int) -> int:
    """Insert the cluster at position ``p`` of ``occupied`` into the ``K`` of ``other`` from ``begin`` on."""
    at = begin + K
    while at > begin and other.labels[at - 1] > label:
        at -= 1
    insert(other, begin + K, at, occupied.slots[p], label, occupied.counts[p])
    return K + 1


@jitable
def permuted(occupied: Occupied, end: int, highest: int, other: Occupied, rng: RngVerbs) -> bool:
    """Fill positions 0 to ``end - 1`` of ``other``: a uniform permutation of labels 0 to ``highest``.

    Only what it does to occupied labels is drawn: different labels in their place. O(K^2). False without a change.
    """
    changed = False
    for p in range(end):
        label = rng.integer(highest + 1 - p)
        for q in range(p):  # which are ascending
            label += int(other.labels[q] <= label)
        _place(other, occupied, p, 0, p, label)
        changed |= label != occupied.labels[p]
    return changed


@jitable
def accept_labels(
    prior: StickBreaking,
    occupied: Occupied,
    K: int,
    other: Occupied,
    positions: tuple[int, int],
    ends: tuple[int, int],
    rng: RngVerbs,
) -> bool:
    """Take over ``positions`` of ``other``, with labels from ``ends[0]`` to ``ends[1]``, with probability P(Z') / P(Z).

    Labels beyond are as they were, and so are their parts of P(Z). O(positions).
    """
    begin, end = positions
    above = 0
    for p in range(end, K):
        above += occupied.counts[p]
    ratio = 0.0
    for sign in (-1.0, 1.0):  # one place of the call: kernels are inlined
        of = occupied if sign < 0.0 else other
        ratio += sign * log_labels(prior, of.labels[begin:end], of.counts[begin:end], ends[0], ends[1] + 1, above)
    if not rng.accept(ratio):
        return False
    for p in range(begin, end):
        occupied.slots[p], occupied.labels[p], occupied.counts[p] = other.slots[p], other.labels[p], other.counts[p]
    return True
