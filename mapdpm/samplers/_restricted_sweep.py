"""Gibbs sampling of labels among the clusters that there are, given drawn weights and parameters, in parallel.

A sweep of all points may empty a cluster, which no draw of labels can bring back: that is a bias (maths section 17). So
half of the points, drawn by coins, are held. A cluster with a held point is open: it cannot be emptied, and the other
points of open clusters choose among these. The points of closed clusters stay.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapdpm.counting_sort import by_slot
from mapdpm.jit import fill, jitable
from mapdpm.optional_verbs import add_many
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Model, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.state import ClusterState

Flags: TypeAlias = NDArray[np.int8]

CLOSED = -1
"""The group of a cluster that no point leaves or joins."""
TILE = 64
"""Points that are scored together: their features fit a processor's first cache."""


_COINS = 32
"""Coins that are tossed at once."""


class Candidates(NamedTuple):
    """The clusters among which points choose, in groups: a point chooses within the group of its cluster.

    Candidate c is slot ``slots[c]``, with log weight ``log_weights[c]`` and ``parameters[c]``; those of group g are
    ``firsts[g]`` to ``firsts[g + 1]`` - 1. ``group_of`` has the group of each slot, or CLOSED.
    """

    slots: Labels
    log_weights: Vector
    parameters: Matrix
    firsts: Labels
    group_of: Labels


class Points(NamedTuple):
    """Points with neighbouring numbers, from ``first`` on; ``free`` is 1 for those that may move."""

    first: int
    labels: Labels
    free: Flags


def hold(labels: Labels, capacity: int, free: Flags, rng: RngVerbs) -> Labels:
    """Toss a coin for each point: ``free`` is 1 where it may move, 0 where it is held. Returns held points a slot."""
    n_held, n = np.zeros(capacity, dtype=np.int64), labels.shape[0]
    for first in range(0, n, _COINS):
        last = min(first + _COINS, n)
        coins = rng.integer(1 << (last - first))
        for i in range(first, last):
            free[i] = coins & 1
            coins >>= 1
            n_held[labels[i]] += 1 - free[i]
    return n_held


def draw_open(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, state: ClusterState, n_held: Labels, rng: RngVerbs
) -> Candidates:
    """Draw weights and parameters of the open clusters; they are one group."""
    slots, log_weights, group_of = open_slots(prior, state.counts, n_held, rng)
    n_open = slots.shape[0]
    parameters = np.empty((n_open, likelihood.n_parameters()))
    for c in range(n_open):
        likelihood.draw(state.rows[slots[c]], parameters[c], rng)
    return Candidates(slots, log_weights, parameters, np.array([0, n_open]), group_of)


@jitable
def open_slots(
    prior: PartitionPriorVerbs, counts: Labels, n_held: Labels, rng: RngVerbs
) -> tuple[Labels, Vector, Labels]:
    """The open slots, their log weights, drawn, and the group of each slot. Without two of them none is open.

    The weights are those of a Dirichlet distribution, but for their sum: logs of Gamma(N_k - discount), of Gamma(N_k +
    alpha / M) in a finite mixture.
    """
    capacity, n_open = counts.shape[0], 0
    for k in range(capacity):
        n_open += int(n_held[k] > 0)
    if n_open < 2:  # noqa: PLR2004  (a point has no choice)
        n_open = 0
    slots, log_weights, group_of = np.empty(n_open, dtype=np.int64), np.empty(n_open), np.full(capacity, CLOSED)
    c = 0
    for k in range(capacity):
        if n_open > 0 and n_held[k] > 0:
            slots[c], group_of[k] = k, 0
            log_weights[c] = rng.log_gamma(exp(prior.log_existing(float(counts[k]), 1.0)))
            c += 1
    return slots, log_weights, group_of


def choose_labels(
    model: Model, points: Points, candidates: Candidates, log_densities: Vector, tile: Matrix | None, rng: RngVerbs
) -> int:
    """Draw the labels of the free points, in place; return how many changed. O(K D) a point.

    ``log_densities`` are filled with the sums for each slot. Points are scored in tiles: ``tile`` is room for the
    features of ``tile.shape[1]`` points, for a family with the verb ``log_likelihoods``, and None for the others.
    """
    log_densities[:] = 0.0
    groups = np.empty_like(points.labels)
    for p in range(groups.shape[0]):
        groups[p] = candidates.group_of[points.labels[p]] if points.free[p] == 1 else CLOSED
    members, begins = by_slot(groups, candidates.firsts.shape[0] - 1)
    width = TILE if tile is None else tile.shape[1]
    scores, moved = np.empty((candidates.slots.shape[0], width)), 0
    for group in range(begins.shape[0] - 1):
        begin, end = candidates.firsts[group], candidates.firsts[group + 1]
        parameters, log_weights = candidates.parameters[begin:end], candidates.log_weights[begin:end]
        slots = candidates.slots[begin:end]
        for first in range(begins[group], begins[group + 1], width):
            some = members[first : min(first + width, begins[group + 1])]
            score(model, points.first, some, parameters, tile, scores)
            moved += draw(points.labels, some, slots, log_weights, scores, log_densities, rng)
    return moved


def add_up(likelihood: LikelihoodVerbs, data: Any, first: int, labels: Labels, counts: Labels, rows: Matrix) -> None:
    """Fill the number and the row, not prepared, of each slot, for the points from ``first`` on. O(D) a point."""
    n = labels.shape[0]
    counts[:] = 0
    for p in range(n):
        counts[labels[p]] += 1
    likelihood.init(rows[0])
    for k in range(1, rows.shape[0]):
        fill(rows[k], rows[0])
    add_many(likelihood, rows, data, first + np.arange(n), labels, np.ones(n))


@jitable
def score(model: Model, first: int, members: Labels, parameters: Matrix, tile: Matrix | None, scores: Matrix) -> None:
    """Fill row c of ``scores`` with the log densities of the points ``first + members`` given ``parameters[c]``."""
    likelihood, _, data, _ = model
    if tile is None:
        for c in range(parameters.shape[0]):
            for m in range(members.shape[0]):
                scores[c, m] = likelihood.log_likelihood(parameters[c], data, first + members[m])
    else:
        for m in range(members.shape[0]):
            for d in range(tile.shape[0]):
                tile[d, m] = data[first + members[m], d]
        for c in range(parameters.shape[0]):
            likelihood.log_likelihoods(parameters[c], tile, scores[c])


@jitable
def draw(
    labels: Labels,
    members: Labels,
    slots: Labels,
    log_weights: Vector,
    scores: Matrix,
    log_densities: Vector,
    rng: RngVerbs,
) -> int:
    """Draw the labels of ``members`` among ``slots``, given their ``scores``; return how many changed."""
    moved, logw = 0, np.empty(slots.shape[0])
    for m in range(members.shape[0]):
        for c in range(slots.shape[0]):
            logw[c] = log_weights[c] + scores[c, m]
        c = rng.categorical(logw)
        log_densities[slots[c]] += scores[c, m]
        moved += int(slots[c] != labels[members[m]])
        labels[members[m]] = slots[c]
    return moved
