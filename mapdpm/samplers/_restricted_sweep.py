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

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.state import ClusterState

Flags: TypeAlias = NDArray[np.int8]

CLOSED = -1
"""The group of a cluster that no point leaves or joins."""


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
    n_held = np.zeros(capacity, dtype=np.int64)
    for i in range(labels.shape[0]):
        free[i] = rng.integer(2)
        n_held[labels[i]] += 1 - free[i]
    return n_held


def draw_open(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    state: ClusterState,
    n_held: Labels,
    rng: RngVerbs,
) -> Candidates:
    """Draw weights and parameters of the open clusters; they are one group. Without two of them none is open.

    The weights are those of a Dirichlet distribution, but for their sum: logs of Gamma(N_k - discount), of Gamma(N_k +
    alpha / M) in a finite mixture.
    """
    capacity, n_parameters = state.counts.shape[0], likelihood.n_parameters()
    n_open = 0
    for k in range(capacity):
        n_open += int(n_held[k] > 0)
    if n_open < 2:  # noqa: PLR2004  (a point has no choice)
        n_open = 0
    slots, group_of = np.empty(n_open, dtype=np.int64), np.full(capacity, CLOSED)
    log_weights, parameters = np.empty(n_open), np.empty((n_open, n_parameters))
    c = 0
    for k in range(capacity):
        if n_open > 0 and n_held[k] > 0:
            slots[c], group_of[k] = k, 0
            log_weights[c] = rng.log_gamma(exp(prior.log_existing(float(state.counts[k]), 1.0)))
            likelihood.draw(state.rows[k], parameters[c], rng)
            c += 1
    return Candidates(slots, log_weights, parameters, np.array([0, n_open]), group_of)


def choose_labels(
    likelihood: LikelihoodVerbs,
    data: Any,
    points: Points,
    candidates: Candidates,
    counts: Labels,
    rows: Matrix,
    rng: RngVerbs,
) -> int:
    """Draw the labels of some points, in place; return how many changed.

    ``counts`` and ``rows`` become those of these points alone, not prepared. O(K D) a point.
    """
    counts[:] = 0
    for k in range(rows.shape[0]):
        likelihood.init(rows[k])
    moved = 0
    scores = np.empty(candidates.slots.shape[0])
    for p in range(points.labels.shape[0]):
        k, i = points.labels[p], points.first + p
        group = candidates.group_of[k]
        if points.free[p] == 1 and group != CLOSED:
            begin, end = candidates.firsts[group], candidates.firsts[group + 1]
            score(likelihood, data, candidates, begin, end, i, scores)
            k = candidates.slots[begin + rng.categorical(scores[: end - begin])]
            moved += int(k != points.labels[p])
            points.labels[p] = k
        counts[k] += 1
        likelihood.add(rows[k], data, i, 1.0)
    return moved


@jitable
def score(
    likelihood: LikelihoodVerbs, data: Any, candidates: Candidates, begin: int, end: int, i: int, scores: Vector
) -> None:
    """Log weight plus log density of point ``i``, of the candidates of a group."""
    for c in range(begin, end):
        scores[c - begin] = candidates.log_weights[c] + likelihood.log_likelihood(candidates.parameters[c], data, i)
