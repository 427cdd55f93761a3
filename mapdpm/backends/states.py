"""The generic kernels for states of sequences, under an HDP-HMM whose common shares are held (Teh2004 section 7).

A state between v and w is in two transitions, and weighs by both (maths (84)). A state that opens takes its mean share
of the rest, and an emptied one gives its share back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends.grouped import log_or_never
from mapdpm.jit import fill, jitable
from mapdpm.objective import best_slot, likelihood_scores
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.partition_priors.transitions import Transitions
from mapdpm.protocol import Labels, Matrix, Model, Vector
from mapdpm.state import ClusterState, assign, count_used, unassign


class Rows(NamedTuple):
    """The transitions of all states and of the starts of sequences; kernels edit ``counts``, ``sizes`` and ``weights``.

    Slot k has row k; the last row is that of starts, and does not stick.
    """

    previous: Labels
    """(N,): the point before, or -1."""
    following: Labels
    """(N,): the point after, or -1."""
    counts: Labels
    """(capacity + 1, capacity)"""
    sizes: Labels
    """(capacity + 1,): the sums of rows."""
    weights: Vector
    """(capacity + 1,): alpha times the share of each slot, 0 of a free one; last that of all states nobody was in."""
    alpha: float
    kappa: float
    root_concentration: float
    """gamma; a field of that name would hide the verb of an rng from numba."""


def count_transitions(previous: Labels, labels: Labels, capacity: int) -> Labels:
    """(capacity + 1, capacity): the transitions between labels; those of points of label -1 do not count. O(N)."""
    before = np.where(previous < 0, capacity, labels[previous])
    seen = (before >= 0) & (labels >= 0)
    cells = np.bincount(before[seen] * capacity + labels[seen], minlength=(capacity + 1) * capacity)
    return cells.reshape(capacity + 1, capacity)


@jitable
def weight_between(rows: Rows, v: int, k: int) -> float:
    """The weight of state ``k`` after row ``v``."""
    weight = rows.counts[v, k] + rows.weights[k]
    return weight + rows.kappa if v == k else weight


@jitable
def weight_of_step(rows: Rows, v: int, k: int, w: int) -> float:
    """The weight of state ``k`` between ``v`` and ``w``, whose transitions are not counted; w is -1 for none.

    The transition into k is one more of row k, if that is v (Fox et al. 2008; maths (84)).
    """
    weight = weight_between(rows, v, k)
    if w < 0:
        return weight
    again = 1.0 if v == k else 0.0
    out = weight_between(rows, k, w) + (again if k == w else 0.0)
    return weight * out / (rows.sizes[k] + rows.alpha + rows.kappa + again)


@jitable
def weight_of_new(rows: Rows, w: int) -> float:
    """The weight of all states that nobody was in, before ``w``."""
    if w < 0:
        return rows.weights[-1]
    return rows.weights[-1] * rows.weights[w] / (rows.alpha + rows.kappa)


@jitable
def count_step(rows: Rows, v: int, k: int, w: int, change: int) -> None:
    """Count the transitions from ``v`` to ``k`` and from there to ``w`` once more, or less."""
    rows.counts[v, k] += change
    rows.sizes[v] += change
    if w >= 0:
        rows.counts[k, w] += change
        rows.sizes[k] += change


@jitable
def around(rows: Rows, state: ClusterState, i: int) -> tuple[int, int]:
    """The rows before and after point ``i``: a slot, or the last row for a start; -1 where no state comes after."""
    before, after = rows.previous[i], rows.following[i]
    v = state.labels[before] if before >= 0 else state.counts.shape[0]
    return v, (state.labels[after] if after >= 0 else -1)


@jitable
def give_share_back(rows: Rows, k: int) -> None:
    """Give the share of an emptied slot back."""
    rows.weights[-1] += rows.weights[k]
    rows.weights[k] = 0.0


@jitable
def state_scores(
    model: Model, state: ClusterState, rows: Rows, around_i: tuple[int, int], i: int, scores: Vector
) -> int:
    """Fill ``scores`` with log weights of slots plus log p(x_i | slot); returns the lowest free slot, or -1."""
    v, w = around_i
    free, _ = likelihood_scores(model.likelihood, model.data, None, state, i, scores)
    for k in range(scores.shape[0]):
        if state.counts[k] > 0:
            scores[k] += log_or_never(weight_of_step(rows, v, k, w))
    if free >= 0:
        scores[free] += log_or_never(weight_of_new(rows, w))
    return free


def visit_states(
    model: Model, state: ClusterState, rows: Rows, order: Labels, first: int, may_grow: bool
) -> tuple[int, int]:
    """Put the points ``order[first]``, ... into their best states, one after the other; O(points K D).

    A point that is in stays where it is unless another state is better. One that is out needs the point before it to be
    in. Returns where it ended, early if no slot is free and more are allowed, and how many points moved.
    """
    n, capacity = order.shape[0], state.counts.shape[0]
    scores, before, new_share = np.empty(capacity), np.empty(state.rows.shape[1]), 1.0 / (1.0 + rows.root_concentration)
    used, moved = count_used(state), 0
    for position in range(first, n):
        if used == capacity and may_grow:
            return position, moved
        i = order[position]
        old = state.labels[i]
        v, w = around(rows, state, i)
        alone, share, rest = False, 0.0, rows.weights[-1]
        if old >= 0:
            alone, share = state.counts[old] == 1, rows.weights[old]
            fill(before, state.rows[old])
            unassign(model.likelihood, model.data, None, state, i)
            count_step(rows, v, old, w, -1)
            if alone:
                give_share_back(rows, old)
        free = state_scores(model, state, rows, (v, w), i, scores)
        best = best_slot(scores, free, free if alone else old)
        if old >= 0 and (best == old or (alone and best == free)):
            state.labels[i] = old
            state.counts[old] += 1
            fill(state.rows[old], before)
            rows.weights[old], rows.weights[-1] = share, rest
            count_step(rows, v, old, w, 1)
            continue
        if state.counts[best] == 0:
            rows.weights[best] = rows.weights[-1] * new_share
            rows.weights[-1] -= rows.weights[best]
        assign(model.likelihood, model.data, None, state, i, best)
        count_step(rows, v, best, w, 1)
        moved += 1
        used += int(best == free) - int(alone)
    return n, moved


STATE_KERNELS: tuple[Callable[..., Any], ...] = (visit_states,)
"""The kernels of a backend that read points of sequences; those of whole paths are in ``paths``."""


def hidden_markov_model(
    backend: Any, model: Model, state: ClusterState, rows: Rows
) -> tuple[Labels, Vector, Matrix, Matrix]:
    """The slots in use, and a hidden Markov model of them: means of starts and of transitions, scores of points."""
    live, n = np.flatnonzero(state.counts), len(rows.previous)
    prior = Transitions(rows.alpha, rows.root_concentration, rows.kappa)
    table = rows.counts[np.append(live, -1)[:, None], live]
    start, steps = prior.means(table, rows.weights[np.append(live, -1)])
    scores = np.empty((n, len(state.counts)))
    backend.score(model._replace(prior=NO_PRIOR), state, scores)
    return live, start[:-1], np.ascontiguousarray(steps[:-1, :-1]), np.ascontiguousarray(scores[:, live])


def draw_states(backend: Any, model: Model, state: ClusterState, rows: Rows, begins: Labels, uniforms: Matrix) -> None:
    """Draw the states of all points, a path by each row of ``uniforms``, given the means after the one before.

    Blocked Gibbs sampling, but for the shares. c_kernels/batch/draws.c is the twin.

    Edits ``state``, and the counts, sizes and weights of ``rows``: the shares are at their mode given each path.
    """
    prior = Transitions(rows.alpha, rows.root_concentration, rows.kappa)
    for draws in uniforms:
        live, start, steps, scores = hidden_markov_model(backend, model, state, rows)
        filtered, path = np.empty_like(scores), np.empty(len(draws), dtype=np.int64)
        backend.forward(start, steps, scores, begins, filtered)
        backend.draw_path(steps, begins, filtered, draws, path)
        state.labels[:] = live[path]
        backend.statistics(model, state)
        rows.counts[:] = count_transitions(rows.previous, state.labels, len(state.counts))
        rows.sizes[:] = rows.counts.sum(axis=1)
        live = np.flatnonzero(state.counts)
        rows.weights[:] = 0.0
        shares = prior.solve(rows.counts[np.append(live, -1)[:, None], live]).shares
        rows.weights[np.append(live, -1)] = rows.alpha * shares
