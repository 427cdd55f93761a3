"""The objective, which defines "MAP": the log joint log p(x, z) = log p(z) + sum_k log p(x_{c_k}).

In nats, with every constant. Every move raises it, convergence is tested on it, ``log_joint_`` reports it.
(Raykov2014 (16) is a pseudo-likelihood which sweeps do not always raise: docs/maths.md, section 6.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.data import point_set
from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Model, PartitionPriorVerbs, Vector, Weights
from mapdpm.state import ClusterState, weight_of

RELATIVE_TOLERANCE = 1e-10
"""A point moves if the best slot gains more than this times (1 + |its log weight|), and slots so close to the best are
equals. Kernels differ by rounding far below it (docs/maths.md, section 5). So labels agree, unless the gap between two
scores equals the tolerance up to rounding (decision 8)."""


def is_gain(gain: float, size: float) -> bool:
    """Whether ``gain`` is more than the tolerance of a move, for a difference of terms as large as ``size``."""
    return gain > RELATIVE_TOLERANCE * (1.0 + abs(size))


def log_joint(prior: PartitionPriorVerbs, state: ClusterState, log_marginals: Vector) -> float:
    """log p(x, z) of a state, given the log marginal of each of its slots; O(K)."""
    live = state.counts > 0
    return math.fsum([prior.log_partition(state.rows[live, 0]), *log_marginals[live]])


@jitable
def candidate_scores(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    data: Any,
    weights: Weights,
    state: ClusterState,
    i: int,
    scores: Vector,
) -> int:
    """Fill ``scores`` with the gain of the log joint if point ``i`` goes into each slot (Raykov2014 (15)).

    Point ``i`` must be out of the state. ``scores[k]`` is log N_k + log p(x_i | cluster k) for a slot in use, and
    log alpha + log p(x_i) for the lowest free slot; other free slots get -inf. Returns the lowest free slot, or -1 if
    there is none. maths (3) and (4).
    """
    free, used = likelihood_scores(likelihood, data, weights, state, i, scores)
    add_prior_scores(prior, state, weight_of(weights, i), free, used, scores)
    return free


@jitable
def likelihood_scores(
    likelihood: LikelihoodVerbs, data: Any, weights: Weights, state: ClusterState, i: int, scores: Vector
) -> tuple[int, int]:
    """Fill ``scores`` with log p(x_i | cluster k); return the lowest free slot (-1: none) and how many are in use.

    The lowest free slot gets log p(x_i), other free slots -inf. Every prior over the slots starts from these scores.
    """
    free, used = -1, 0
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            used += 1
        elif free < 0:
            free = k
        else:
            scores[k] = -math.inf
            continue
        scores[k] = log_predictive(likelihood, state.rows[k], data, weights, i)
    return free, used


@jitable
def add_prior_scores(
    prior: PartitionPriorVerbs, state: ClusterState, w: float, free: int, used: int, scores: Vector
) -> None:
    """Add the log weights of ``prior`` to ``scores``, for a point of weight ``w``, ``free`` and ``used`` as above."""
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            scores[k] += prior.log_existing(state.rows[k, 0], w)
    if free >= 0:
        scores[free] += prior.log_new(used, w)


@jitable
def log_predictive(likelihood: LikelihoodVerbs, row: Vector, data: Any, weights: Weights, i: int) -> float:
    """The gain of the log marginal of ``row`` by point ``i`` with its weight."""
    if weights is None:
        return likelihood.log_predictive(row, data, i)
    return likelihood.log_predictive_weighted(row, data, i, weights[i])


@jitable
def best_slot(scores: Vector, free: int, stay: int) -> int:
    """The slot a point goes to: ``stay`` unless another gains more than the tolerance.

    Among slots within the tolerance of the best, the lowest in use wins, and the free slot comes last. ``stay`` is -1
    for a point that has no slot yet.
    """
    best = scores[0]
    for k in range(1, scores.shape[0]):
        best = max(best, scores[k])
    least = best - RELATIVE_TOLERANCE * (1.0 + abs(best))
    if stay >= 0 and scores[stay] >= least:
        return stay
    for k in range(scores.shape[0]):
        if k != free and scores[k] >= least:
            return k
    return free if free >= 0 else max(stay, 0)


def within_tolerance(scores: Vector) -> NDArray[np.bool_]:
    """Which of ``scores`` count as equal to the best of them; in a matrix, of each row."""
    best = scores.max(axis=-1, keepdims=True)
    near: NDArray[np.bool_] = scores >= best - RELATIVE_TOLERANCE * (1.0 + abs(best))
    return near


def part_of(model: Model, points: Labels, n_others: int) -> Model:
    """The model of how ``points`` are clustered, while ``n_others`` clusters hold all other points.

    Its log joint differs from that of the whole by a constant, so gains are equal.
    """
    return Model(
        model.likelihood,
        model.prior.given_other_clusters(n_others),
        point_set(model.data).rows(points),
        None if model.weights is None else model.weights[points],
    )
