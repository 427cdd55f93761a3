"""The generic kernels for points, each on its own, for every likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm import state as states
from mapdpm.jit import fill, jitable
from mapdpm.objective import RELATIVE_TOLERANCE, best_slot, candidate_scores, log_predictive
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Model, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.rng import Uniforms
from mapdpm.state import ClusterState, assign, count_used, unassign, weight_of


def sequential_start(model: Model, state: ClusterState, order: Labels, may_grow: bool) -> int:
    """Assign the points of ``order`` that are out of the state; returns how many entries of ``order`` were passed.

    It passes all, unless ``may_grow`` is set and no slot is free: then the caller doubles the capacity and calls again
    with the rest. Without ``may_grow``, a point that finds no free slot joins the best existing cluster. O(N K D).
    """
    likelihood, prior, data, weights = model
    scores = np.empty(state.counts.shape[0])
    for position in range(order.shape[0]):
        i = order[position]
        free = candidate_scores(likelihood, prior, data, weights, state, i, scores)
        if free < 0 and may_grow:
            return position
        assign(likelihood, data, weights, state, i, best_slot(scores, free, -1))
    return int(order.shape[0])


def sweep(model: Model, state: ClusterState, start: int, may_grow: bool) -> tuple[int, int]:
    """Visit points ``start``, ``start + 1``, ...; returns the first point not visited, and how many moved.

    The first point not visited is N, unless ``may_grow`` is set and no slot is free: then the caller doubles the
    capacity and continues there. A point that stays leaves the bits of its row unchanged. O(N K D).
    """
    likelihood, prior, data, weights = model
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    scores = np.empty(capacity)
    before = np.empty(state.rows.shape[1])
    used, moved = count_used(state), 0
    for i in range(start, n):
        if used == capacity and may_grow:
            return i, moved
        k = state.labels[i]
        fill(before, state.rows[k])
        unassign(likelihood, data, weights, state, i)
        alone = state.counts[k] == 0
        free = candidate_scores(likelihood, prior, data, weights, state, i, scores)
        # A point that was alone and opens a cluster has stayed. It keeps its slot.
        best = best_slot(scores, free, free if alone else k)
        if best == k or (alone and best == free):
            state.labels[i] = k
            state.counts[k] += 1
            fill(state.rows[k], before)
        else:
            assign(likelihood, data, weights, state, i, best)
            moved += 1
            used += int(best == free) - int(alone)
    return n, moved


@jitable
def gibbs_sweep(model: Model, state: ClusterState, start: int, may_grow: bool, rng: RngVerbs) -> tuple[int, int]:
    """Redraw the slots of points ``start``, ``start + 1``, ..., each given all others (Neal 2000, Algorithm 3).

    Returns the first point not visited (N, unless ``may_grow`` is set and no slot is free: then the caller adds slots
    and continues there), and how many points changed slot. Without ``may_grow``, a point that finds no free slot is
    drawn among the slots in use; that perturbs a state, and is not a Gibbs sweep. Free slots are alike, so one stands
    for a new cluster. O(N K D).
    """
    likelihood, prior, data, weights = model
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    scores = np.empty(capacity)
    used, moved = count_used(state), 0
    for i in range(start, n):
        if used == capacity and may_grow:
            return i, moved
        k = unassign(likelihood, data, weights, state, i)
        used -= int(state.counts[k] == 0)
        candidate_scores(likelihood, prior, data, weights, state, i, scores)
        drawn = rng.categorical(scores)
        used += int(state.counts[drawn] == 0)
        assign(likelihood, data, weights, state, i, drawn)
        moved += int(drawn != k)
    return n, moved


def perturb(model: Model, state: ClusterState, uniforms: Vector) -> None:
    """``gibbs_sweep`` over all points, among the existing slots, by ``uniforms`` in [0, 1), one a point.

    The caller draws the numbers, so that all backends draw alike. O(N K D).
    """
    rng: Any = Uniforms(uniforms, np.zeros(1, dtype=np.int64))
    gibbs_sweep(model, state, 0, False, rng)


def statistics(model: Model, state: ClusterState) -> None:
    """Compute all counts and rows anew from the labels, without the rounding of past moves; O(N D)."""
    states.statistics(model.likelihood, model.data, model.weights, state)


def log_marginals(likelihood: LikelihoodVerbs, state: ClusterState) -> Vector:
    """The log marginal of each slot, 0 for a free one; O(K D)."""
    result = np.zeros(state.counts.shape[0])
    for k in range(result.shape[0]):
        if state.counts[k] > 0:
            result[k] = likelihood.log_marginal(state.rows[k])
    return result


def score(model: Model, state: ClusterState, scores: Matrix) -> None:
    """``scores[i, k]`` = log p(z = k) p(x_i | cluster k), the terms of Raykov2014 (17); a free slot is a new cluster.

    ``scores`` has a column a slot. The log of the sum over a row is the log predictive density; O(N K D).
    """
    likelihood, prior, data, _ = model
    normaliser = _log_normaliser(prior, state)
    for i in range(scores.shape[0]):
        candidate_scores(likelihood, prior, data, None, state, i, scores[i])
        for k in range(scores.shape[1]):
            scores[i, k] += normaliser


def posteriors(model: Model, state: ClusterState, shares: Matrix) -> None:
    """``shares[i, k]`` = p(z = k | x_i): the exponentials of a row of ``score``, divided by their sum; O(N K D)."""
    likelihood, prior, data, _ = model
    for i in range(shares.shape[0]):
        candidate_scores(likelihood, prior, data, None, state, i, shares[i])
        top, total = shares[i].max(), 0.0
        for k in range(shares.shape[1]):
            shares[i, k] = math.exp(shares[i, k] - top)
            total += shares[i, k]
        for k in range(shares.shape[1]):
            shares[i, k] /= total


def best_slots(model: Model, state: ClusterState, may_open: bool, slots: Labels) -> None:
    """``slots[i]``: the slot with the highest score of point i, the lowest slot in a tie; O(N K D).

    With ``may_open``, the lowest free slot if a new cluster scores higher than all clusters.
    """
    likelihood, prior, data, _ = model
    scores = np.empty(state.counts.shape[0])
    for i in range(slots.shape[0]):
        free = candidate_scores(likelihood, prior, data, None, state, i, scores)
        if not may_open and free >= 0:
            scores[free] = -math.inf
        slots[i] = best_slot(scores, free, -1)


def log_densities(model: Model, state: ClusterState, densities: Vector) -> None:
    """``densities[i]``: log p(x_i) (Raykov2014 (17)), the log of the sum over a row of ``score``; O(N K D)."""
    likelihood, prior, data, _ = model
    scores = np.empty(state.counts.shape[0])
    normaliser = _log_normaliser(prior, state)
    for i in range(densities.shape[0]):
        candidate_scores(likelihood, prior, data, None, state, i, scores)
        top, total = scores.max(), 0.0
        for k in range(scores.shape[0]):
            total += math.exp(scores[k] - top)
        densities[i] = top + math.log(total) + normaliser


@jitable
def _log_normaliser(prior: PartitionPriorVerbs, state: ClusterState) -> float:
    total = 0.0
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            total += state.rows[k, 0]
    return prior.log_normaliser(total, 1.0)


def left_out(model: Model, state: ClusterState, gains: Vector) -> None:
    """``gains[i]``: what point i adds to the log marginal of its cluster, maths (145): at weight 1 log p(x_i | others).

    Slots may hold points that are not in ``model.data``; they count unless rounding destroys a row. O(N D).
    ``state`` is as before at the end.
    """
    likelihood, _, data, weights = model
    before = np.empty(state.rows.shape[1])
    for i in range(gains.shape[0]):
        k = state.labels[i]
        fill(before, state.rows[k])
        unassign(likelihood, data, weights, state, i)
        gains[i] = log_predictive(likelihood, state.rows[k], data, weights, i)
        state.labels[i] = k
        state.counts[k] += 1
        fill(state.rows[k], before)


def merge_losses(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    state: ClusterState,
    stale: Labels,
    partners: Labels,
    losses: Vector,
) -> None:
    """For each slot k in use, the cheapest slot above k to merge with, and the loss of the log joint.

    ``losses[k]`` leaves out log_new(K - 1, 1), which is equal for all pairs. It is inf, with partner -1, if no slot
    above k is in use. ``stale[k]`` != 0 marks slots that have changed since ``partners`` and ``losses`` were filled.
    Only pairs with a stale slot are computed, and all pairs of a slot whose partner is stale. O(stale K D) at best.
    """
    capacity = state.counts.shape[0]
    union = np.empty(state.rows.shape[1])
    single = prior.log_new(1, 1.0)
    for k in range(capacity):
        anew = stale[k] != 0 or (partners[k] >= 0 and stale[partners[k]] != 0)
        if anew:
            partners[k], losses[k] = -1, math.inf
        if state.counts[k] == 0:
            continue
        row = state.rows[k]
        for j in range(k + 1, capacity):
            if state.counts[j] > 0 and (anew or stale[j] != 0):
                other = state.rows[j]
                fill(union, row)
                likelihood.merge(union, other)
                gain = prior.log_existing(row[0], other[0]) - (prior.log_new(1, other[0]) - single)
                loss = -(gain + likelihood.log_merge(union, row, other))
                if loss < losses[k] - RELATIVE_TOLERANCE * (1.0 + abs(loss)):
                    partners[k], losses[k] = j, loss


def segments(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, atoms: Matrix, beam: int, best: Matrix, came_from: Labels
) -> None:
    """The best clusterings of ``atoms``, rows in a given order, whose clusters are segments of that order.

    The maximising twin of Liang2007 (6): ``best[r, K]`` = max over s of ``best[s, K - 1]`` + log p of the atoms s to
    r - 1 as a cluster, by the factors of the joint itself; ``came_from[r, K]`` is that s. K is the number of clusters,
    below the width of the tables, which have one line more than there are atoms. In tables of width 1, K is free and
    not recorded; the prior's log_new must not depend on it.

    Only ``beam`` starts s of the last segment are kept (Liang2007 section 3.3): the younger half, and the best of the
    others. With a beam of all atoms the result is exact. O(atoms beam (D + width)).
    """
    n, size = atoms.shape
    width = best.shape[1]
    up = 1 if width > 1 else 0
    best[:, :] = -math.inf
    best[0, 0] = 0.0
    opening = np.empty(width)
    for j in range(width):
        opening[j] = prior.log_new(j, 1.0)
    single = prior.log_new(1, 1.0)
    rows = np.empty((beam + 1, size))
    starts = np.empty(beam + 1, dtype=np.int64)
    values = np.empty(beam + 1)
    held = 0
    for r in range(n):
        if best[r, : width - up].max() > -math.inf:  # else no clustering ends here
            likelihood.init(rows[held])
            starts[held] = r
            held += 1
        for a in range(held):
            likelihood.merge(rows[a], atoms[r])
            value = likelihood.log_marginal(rows[a]) + (prior.log_new(1, rows[a, 0]) - single)
            values[a] = -math.inf
            for j in range(width - up):
                if best[starts[a], j] == -math.inf:  # not so many clusters of so few atoms
                    continue
                total = best[starts[a], j] + opening[j] + value
                values[a] = max(values[a], total)
                if total > best[r + 1, j + up] + RELATIVE_TOLERANCE * (1.0 + abs(total)):
                    best[r + 1, j + up] = total
                    came_from[r + 1, j + up] = starts[a]
        if held > beam:
            held -= 1
            for a in range(_worst(values, held + 1 - beam // 2), held):
                fill(rows[a], rows[a + 1])
                starts[a] = starts[a + 1]


@jitable
def _worst(values: Vector, n: int) -> int:
    """The index of the smallest of the first ``n``; the first if several are equal."""
    worst = 0
    for a in range(1, n):
        if values[a] < values[worst]:
            worst = a
    return worst


def cut(model: Model, order: Labels, n_atoms: int) -> tuple[int, float]:
    """The best cut of an order of all points into two clusters, by the log joint.

    Returns ``first``, where ``order[:first]`` and ``order[first:]`` are the clusters, and their log joint without the
    terms that all cuts share. It tries cuts between ``n_atoms`` >= 2 runs of nearly equal length; the first of equal
    cuts wins. O(N D).
    """
    likelihood, prior, data, weights = model
    n, single = order.shape[0], prior.log_new(1, 1.0)
    atoms = np.empty((n_atoms, likelihood.size()))
    for r in range(n_atoms):
        likelihood.init(atoms[r])
    for i in range(n):
        likelihood.add(atoms[i * n_atoms // n], data, order[i], weight_of(weights, order[i]))
    joints, cluster = np.zeros(n_atoms - 1), np.empty(atoms.shape[1])
    for direction in range(2):
        likelihood.init(cluster)
        for r in range(n_atoms - 1):
            likelihood.merge(cluster, atoms[r if direction == 0 else n_atoms - 1 - r])
            value = likelihood.log_marginal(cluster) + (prior.log_new(1, cluster[0]) - single)
            joints[r if direction == 0 else n_atoms - 2 - r] += value
    best, r = joints.max(), 0
    while joints[r] < best - RELATIVE_TOLERANCE * (1.0 + abs(best)):
        r += 1
    return ((r + 1) * n + n_atoms - 1) // n_atoms, joints[r]


FLAT_KERNELS: tuple[Callable[..., Any], ...] = (
    *(sequential_start, sweep, perturb, statistics, log_marginals),
    *(score, posteriors, best_slots, log_densities, left_out, merge_losses, segments, cut),
)
"""The kernels of a backend for points, each on its own."""
