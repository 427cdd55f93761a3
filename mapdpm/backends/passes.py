"""The kernels of passes over a chunk of the points: clusters do not change meanwhile (see ``search.passes``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.jit import fill, jitable
from mapdpm.objective import best_slot, candidate_scores
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState, weight_of


def tangents(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, state: ClusterState, constants: Vector, parameters: Matrix
) -> None:
    """Fill what ``tangent_slots`` asks: the slope of log p(z) by the size of each slot, and its ``tangent``."""
    for k in range(constants.shape[0]):
        constants[k] = prior.slope(state.rows[k, 0])
        likelihood.tangent(state.rows[k], parameters[k])


def tangent_slots(model: Model, constants: Vector, parameters: Matrix, slots: Labels, margins: Vector) -> None:
    """``slots[i]``: the slot k of the highest constants[k] + log F(x_i | parameters[k]), the lowest slot in a tie.

    ``margins[i]`` is by how much the second best is lower, inf where there is one slot. The scores are slopes of the
    log joint (maths (96)), for the ``parameters`` that ``tangent`` fills. Reads the points only; O(N K D).
    """
    likelihood, _, data, _ = model
    scores = np.empty(constants.shape[0])
    for i in range(slots.shape[0]):
        for k in range(scores.shape[0]):
            scores[k] = constants[k] + likelihood.log_likelihood(parameters[k], data, i)
        best = best_slot(scores, -1, -1)
        second = -math.inf
        for k in range(scores.shape[0]):
            if k != best:
                second = max(second, scores[k])
        slots[i] = best
        margins[i] = max(scores[best] - second, 0.0)


def restless(model: Model, state: ClusterState, found: NDArray[Any]) -> None:
    """``found[i]``: whether ``sweep`` would move point i if it came to it first.

    Also True where statistics alone cannot tell: where the point is most of its cluster, whose others may not be here.
    Slots may hold points that are not in ``model.data``. ``state`` is as before at the end; O(N K D).
    """
    likelihood, prior, data, weights = model
    scores = np.empty(state.counts.shape[0])
    before = np.empty(state.rows.shape[1])
    for i in range(state.labels.shape[0]):
        k = state.labels[i]
        row = state.rows[k]
        fill(before, row)
        state.counts[k] -= 1
        alone = state.counts[k] == 0
        found[i] = not _without(likelihood, data, i, weight_of(weights, i), row, alone)
        if not found[i]:
            free = candidate_scores(likelihood, prior, data, weights, state, i, scores)
            best = best_slot(scores, free, free if alone else k)
            found[i] = best != k and not (alone and best == free)
        fill(row, before)
        state.counts[k] += 1


@jitable
def _without(likelihood: LikelihoodVerbs, data: Any, i: int, w: float, row: Vector, alone: bool) -> bool:
    """Take a point out of ``row``; False where that destroys it."""
    if alone:
        likelihood.init(row)
        return True
    if not likelihood.remove(row, data, i, w):
        return False
    likelihood.prepare(row)
    return True


def join_rows(likelihood: LikelihoodVerbs, parts: Any, state: ClusterState) -> None:
    """Make each row of ``state`` the union of its ``parts`` (part, slot, statistics), in order; reads no counts."""
    for k in range(state.rows.shape[0]):
        likelihood.init(state.rows[k])
        for j in range(parts.shape[0]):
            if parts[j, k, 0] > 0.0:
                likelihood.merge(state.rows[k], parts[j, k])
        likelihood.prepare(state.rows[k])


PASS_KERNELS: tuple[Callable[..., Any], ...] = (tangents, tangent_slots, restless, join_rows)
"""The kernels of a backend for passes."""
