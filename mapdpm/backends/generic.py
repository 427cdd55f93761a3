"""The generic backend: one source, run as plain Python or compiled by numba, for every likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm import jit
from mapdpm.objective import best_slot, candidate_scores
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, Vector, Weights
from mapdpm.state import ClusterState, assign, statistics, unassign


def sequential_start(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    data: Any,
    weights: Weights,
    state: ClusterState,
    order: Labels,
    may_grow: bool,
) -> int:
    """Assign the points of ``order`` that are out of the state; returns how many entries of ``order`` were passed.

    Less than all only where ``may_grow`` and no slot is free: the caller doubles the capacity and calls again with
    the rest. Without ``may_grow``, a point for which no slot is free joins the best there is. O(N K D).
    """
    scores = np.empty(state.counts.shape[0])
    for position in range(order.shape[0]):
        i = order[position]
        free = candidate_scores(likelihood, prior, data, weights, state, i, scores)
        if free < 0 and may_grow:
            return position
        assign(likelihood, data, weights, state, i, best_slot(scores, free, -1))
    return int(order.shape[0])


def sweep(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    data: Any,
    weights: Weights,
    state: ClusterState,
    start: int,
    may_grow: bool,
) -> tuple[int, int]:
    """Visit points ``start``, ``start + 1``, ...; returns the first point not visited, and how many moved.

    The first is N, but where ``may_grow`` and no slot is free: the caller doubles the capacity and goes on from
    there. A point that stays leaves the bits of its row as they were. O(N K D).
    """
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    scores = np.empty(capacity)
    before = np.empty(state.rows.shape[1])
    used, moved = 0, 0
    for k in range(capacity):
        used += int(state.counts[k] > 0)
    for i in range(start, n):
        if used == capacity and may_grow:
            return i, moved
        k = state.labels[i]
        before[:] = state.rows[k]
        unassign(likelihood, data, weights, state, i)
        alone = state.counts[k] == 0
        free = candidate_scores(likelihood, prior, data, weights, state, i, scores)
        # A point that was alone stays by opening a cluster: whichever slot is free, it keeps its own.
        best = best_slot(scores, free, free if alone else k)
        if best == k or (alone and best == free):
            state.labels[i] = k
            state.counts[k] += 1
            state.rows[k, :] = before
        else:
            assign(likelihood, data, weights, state, i, best)
            moved += 1
            used += int(best == free) - int(alone)
    return n, moved


def log_marginals(likelihood: LikelihoodVerbs, state: ClusterState) -> Vector:
    """The log marginal of each slot, 0 for a free one; O(K D)."""
    result = np.zeros(state.counts.shape[0])
    for k in range(result.shape[0]):
        if state.counts[k] > 0:
            result[k] = likelihood.log_marginal(state.rows[k])
    return result


def score(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, state: ClusterState, scores: Matrix
) -> None:
    """``scores[i, k]`` = log p(z = k) p(x_i | cluster k), the terms of Raykov2014 (17); a free slot is a new cluster.

    ``scores`` has a column a slot. The log of the sum over a row is the log predictive density; O(N K D).
    """
    total = 0.0
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            total += state.rows[k, 0]
    normaliser = prior.log_normaliser(total, 1.0)
    for i in range(scores.shape[0]):
        candidate_scores(likelihood, prior, data, None, state, i, scores[i])
        for k in range(scores.shape[1]):
            scores[i, k] += normaliser


class Generic:
    """The kernels of this file: as they are (``python``), or compiled (``numba``)."""

    def __init__(self, name: str, *, compile_kernels: bool) -> None:
        self.name = name
        self._compiles = compile_kernels
        runnable: Any = jit.compiled if compile_kernels else (lambda kernel: kernel)
        self.sequential_start = runnable(sequential_start)
        self.sweep = runnable(sweep)
        self.statistics = runnable(statistics)
        self.log_marginals = runnable(log_marginals)
        self.score = runnable(score)

    def implements(self, likelihood: Any) -> bool:  # noqa: ARG002  (every family runs here)
        """True where the kernels can run at all."""
        return not self._compiles or jit.available()


PYTHON = Generic("python", compile_kernels=False)
NUMBA = Generic("numba", compile_kernels=True)
