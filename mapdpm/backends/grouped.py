"""The generic kernels for grouped points: the twins of those in ``generic``, under the prior of a franchise.

The weight of a slot depends on the group of the point: n_jk + alpha beta_k, with the shares of the parent of the group
(Teh2004 (37)). The shares beta are held while a kernel runs; a cluster that opens takes its mean share of the rest in
each inner node, and an emptied one gives its shares back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import fill, jitable
from mapdpm.objective import RELATIVE_TOLERANCE, best_slot, likelihood_scores
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Model, RngVerbs, Vector
from mapdpm.rng import Uniforms
from mapdpm.special import log_rising
from mapdpm.state import ClusterState, assign, count_used, unassign


class GroupCounts(NamedTuple):
    """The groups of points, and what their prior keeps; kernels edit ``table`` and ``weights``."""

    groups: Labels
    """(N,): the group of each point. Kernels are fastest where equal groups are neighbours."""
    table: Labels
    """(groups, capacity): n_jk, the points of group j in slot k."""
    weights: Matrix
    """(inner nodes, capacity + 1): the alpha of the children of each inner node times its share of each slot, 0 of a
    free one; last that of a new cluster."""
    parents: Labels
    """(inner nodes + groups,): the parent of each inner node, whose number is lower, and then of each group."""
    new_share: float
    """The mean share of a new cluster in the rest of the root: 1 / (1 + gamma)."""


@jitable
def above(counts: GroupCounts, j: int) -> Vector:
    """(capacity + 1,): the weights of the parent of group ``j``."""
    return counts.weights[counts.parents[counts.weights.shape[0] + j]]


@jitable
def is_above(counts: GroupCounts, node: int, j: int) -> bool:
    """Whether an inner node is above group ``j``."""
    v = counts.parents[counts.weights.shape[0] + j]
    while v > node:
        v = counts.parents[v]
    return bool(v == node)


@jitable
def part_of_rest(w: float, rest: float, seen: bool, otherwise: float) -> float:
    """The part of the rest of an inner node that a cluster takes whose weight in the parent is ``w``, beside others.

    The mean of maths (72). A node above the point has ``seen`` the cluster once.
    """
    total = w + rest + seen
    return (w + seen) / total if total > 0.0 else otherwise


@jitable
def take_weights(counts: GroupCounts, j: int, k: int) -> None:
    """Give a new cluster in slot ``k``, which a point of group ``j`` opens, its weights; O(inner nodes)."""
    weights = counts.weights
    for u in range(weights.shape[0]):
        part = counts.new_share
        if u > 0:
            up = weights[counts.parents[u]]
            part = part_of_rest(up[k], up[-1], is_above(counts, u, j), part)
        weights[u, k] = weights[u, -1] * part
        weights[u, -1] -= weights[u, k]


@jitable
def give_weights_back(counts: GroupCounts, k: int) -> None:
    """Give the weights of an emptied slot back; O(inner nodes)."""
    for u in range(counts.weights.shape[0]):
        counts.weights[u, -1] += counts.weights[u, k]
        counts.weights[u, k] = 0.0


@jitable
def new_weight(counts: GroupCounts, j: int) -> float:
    """The weight of a new cluster for the other points of group ``j``, whose point opens it."""
    w = counts.weights[0, -1] * counts.new_share
    rest = counts.weights[0, -1] - w
    for u in range(1, counts.weights.shape[0]):
        if is_above(counts, u, j):
            own = counts.weights[u, -1]
            w = own * part_of_rest(w, rest, True, counts.new_share)
            rest = own - w
    return w


@jitable
def slot_weight(table: Labels, weights: Vector, j: int, k: int) -> float:
    """The log weight of slot ``k`` for a point of group ``j``, which is out of the table."""
    return log_or_never(table[j, k] + weights[k])


@jitable
def log_or_never(weight: float) -> float:
    """The log of a weight; -inf for 0, by which a caller forbids new clusters."""
    return math.log(weight) if weight > 0.0 else -math.inf


@jitable
def group_weights(state: ClusterState, table: Labels, weights: Vector, j: int, log_weights: Vector) -> None:
    """Fill ``log_weights`` with those of the slots in use, for group ``j``."""
    for k in range(log_weights.shape[0]):
        if state.counts[k] > 0:
            log_weights[k] = slot_weight(table, weights, j, k)


@jitable
def group_scores(
    model: Model, state: ClusterState, weights: Vector, log_weights: Vector, i: int, scores: Vector
) -> int:
    """Fill ``scores`` with the log of (n_jk + alpha beta_k) p(x_i | cluster k); returns the lowest free slot, or -1."""
    free, _ = likelihood_scores(model.likelihood, model.data, None, state, i, scores)
    for k in range(scores.shape[0]):
        if state.counts[k] > 0:
            scores[k] += log_weights[k]
    if free >= 0:
        scores[free] += log_or_never(weights[-1])
    return free


@jitable
def leave(model: Model, state: ClusterState, counts: GroupCounts, log_weights: Vector, i: int) -> int:
    """Take point ``i`` out of its slot, and return the slot; an emptied slot gives its shares back."""
    j, table = counts.groups[i], counts.table
    k = unassign(model.likelihood, model.data, None, state, i)
    table[j, k] -= 1
    if state.counts[k] == 0:
        give_weights_back(counts, k)
    log_weights[k] = slot_weight(table, above(counts, j), j, k)
    return k


@jitable
def join(model: Model, state: ClusterState, counts: GroupCounts, log_weights: Vector, i: int, k: int) -> None:
    """Put point ``i`` into slot ``k``; a free slot takes its shares of the rest."""
    j, table = counts.groups[i], counts.table
    if state.counts[k] == 0:
        take_weights(counts, j, k)
    assign(model.likelihood, model.data, None, state, i, k)
    table[j, k] += 1
    log_weights[k] = slot_weight(table, above(counts, j), j, k)


def grouped_start(model: Model, state: ClusterState, counts: GroupCounts, order: Labels, may_grow: bool) -> int:
    """``sequential_start`` of grouped points; O(N K D)."""
    groups, table = counts.groups, counts.table
    scores, log_weights = np.empty(state.counts.shape[0]), np.empty(state.counts.shape[0])
    group, weights = -1, counts.weights[0]
    for position in range(order.shape[0]):
        i = order[position]
        if groups[i] != group:
            group, weights = groups[i], above(counts, groups[i])
            group_weights(state, table, weights, group, log_weights)
        free = group_scores(model, state, weights, log_weights, i, scores)
        if free < 0 and may_grow:
            return position
        join(model, state, counts, log_weights, i, best_slot(scores, free, -1))
    return int(order.shape[0])


def grouped_sweep(
    model: Model, state: ClusterState, counts: GroupCounts, start: int, may_grow: bool
) -> tuple[int, int]:
    """``sweep`` of grouped points; O(N K D), and O(K) where the next point is of another group."""
    groups, table = counts.groups, counts.table
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    scores, log_weights = np.empty(capacity), np.empty(capacity)
    before, held = np.empty(state.rows.shape[1]), np.empty((2, counts.weights.shape[0]))
    used, moved, group, weights = count_used(state), 0, -1, counts.weights[0]
    for i in range(start, n):
        if used == capacity and may_grow:
            return i, moved
        if groups[i] != group:
            group, weights = groups[i], above(counts, groups[i])
            group_weights(state, table, weights, group, log_weights)
        k = state.labels[i]
        fill(before, state.rows[k])
        log_weight, alone = log_weights[k], state.counts[k] == 1
        if alone:
            held[0], held[1] = counts.weights[:, k], counts.weights[:, -1]
        leave(model, state, counts, log_weights, i)
        free = group_scores(model, state, weights, log_weights, i, scores)
        best = best_slot(scores, free, free if alone else k)
        if best == k or (alone and best == free):
            state.labels[i] = k
            state.counts[k] += 1
            fill(state.rows[k], before)
            table[group, k] += 1
            log_weights[k] = log_weight
            if alone:
                counts.weights[:, k], counts.weights[:, -1] = held[0], held[1]
        else:
            join(model, state, counts, log_weights, i, best)
            moved += 1
            used += int(best == free) - int(alone)
    return n, moved


@jitable
def grouped_gibbs_sweep(model: Model, state: ClusterState, counts: GroupCounts, rng: RngVerbs) -> None:
    """Redraw the slots of all points, each given all others and the shares (Teh2004 (37)); O(N K D).

    A point that finds no free slot is drawn among the slots in use.
    """
    groups, table = counts.groups, counts.table
    scores, log_weights = np.empty(state.counts.shape[0]), np.empty(state.counts.shape[0])
    group, weights = -1, counts.weights[0]
    for i in range(state.labels.shape[0]):
        if groups[i] != group:
            group, weights = groups[i], above(counts, groups[i])
            group_weights(state, table, weights, group, log_weights)
        leave(model, state, counts, log_weights, i)
        group_scores(model, state, weights, log_weights, i, scores)
        join(model, state, counts, log_weights, i, rng.categorical(scores))


def grouped_perturb(model: Model, state: ClusterState, counts: GroupCounts, uniforms: Vector) -> None:
    """``grouped_gibbs_sweep`` by ``uniforms`` in [0, 1), one a point, drawn outside so that backends draw alike."""
    rng: Any = Uniforms(uniforms, np.zeros(1, dtype=np.int64))
    grouped_gibbs_sweep(model, state, counts, rng)


def move_cells(
    likelihood: LikelihoodVerbs,
    state: ClusterState,
    counts: GroupCounts,
    slot: int,
    groups: Labels,
    cells: Matrix,
    to: Labels,
) -> float:
    """Move the cells of ``slot``, all points of a group in it at once, to the slots where they gain most.

    ``cells[c]`` has the statistics of the points of ``groups[c]`` in the slot; ``to[c]`` becomes their slot. Cells are
    visited in order, each given all others. A free slot is a new cluster, and the last cell stays. Edits counts, rows,
    table and weights, not the labels; returns the sum of the gains, with the shares held. O(cells K D).
    """
    table = counts.table
    n_cells, size = cells.shape
    later = np.empty((n_cells + 1, size))  # later[c]: the union of the cells from c on
    likelihood.init(later[n_cells])
    for c in range(n_cells - 1, -1, -1):
        later[c] = later[c + 1]
        likelihood.merge(later[c], cells[c])
    kept, union = np.empty(size), np.empty(size)
    likelihood.init(kept)
    gained = 0.0
    for c in range(n_cells):
        j, cell = groups[c], cells[c]
        n, weights = table[j, slot], above(counts, j)
        to[c] = slot
        if n < state.counts[slot]:
            rest = later[c + 1]
            likelihood.merge(rest, kept)
            fill(union, rest)
            likelihood.merge(union, cell)
            stay = likelihood.log_merge(union, rest, cell) + log_rising(weights[slot], n)
            best, free = stay, -1
            for k in range(state.counts.shape[0]):
                if k == slot or (state.counts[k] == 0 and free >= 0):
                    continue
                if state.counts[k] == 0:
                    free = k
                    gain = log_rising(new_weight(counts, j), n)
                else:
                    fill(union, state.rows[k])
                    likelihood.merge(union, cell)
                    gain = likelihood.log_merge(union, state.rows[k], cell) + log_rising(weights[k] + table[j, k], n)
                if gain > best + RELATIVE_TOLERANCE * (1.0 + abs(best)):
                    to[c], best = k, gain
            gained += best - stay
        if to[c] == slot:
            likelihood.merge(kept, cell)
            continue
        k = to[c]
        if state.counts[k] == 0:
            take_weights(counts, j, k)
        likelihood.merge(state.rows[k], cell)
        likelihood.prepare(state.rows[k])
        state.counts[k] += n
        state.counts[slot] -= n
        table[j, k] += n
        table[j, slot] = 0
    fill(state.rows[slot], kept)
    likelihood.prepare(state.rows[slot])
    return gained


GROUPED_KERNELS: tuple[Callable[..., Any], ...] = (grouped_start, grouped_sweep, grouped_perturb, move_cells)
"""The kernels of a backend for grouped points."""
