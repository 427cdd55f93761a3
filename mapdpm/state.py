"""ClusterState: a partition and one row of statistics a cluster, in preallocated arrays.

Between moves, this always holds: ``counts[k]`` points carry label k; ``rows[k]`` describes exactly those, prepared;
a slot with count 0 is free, and its row is the row of an empty cluster (decision 20). While a point is out of the state
(between ``unassign`` and ``assign``) its label is -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import fill, jitable
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._rounded import for_exact_values
from mapdpm.protocol import Labels, Likelihood, LikelihoodVerbs, Matrix, Vector, Weights


class ClusterState(NamedTuple):
    """Labels (N,), counts (capacity,) and rows (capacity, size) of a partition; edited in place by moves.

    ``base``, if slots hold points that are not here, has the rows of those points alone: a row that is made anew starts
    from it. ``counts`` and ``rows`` are of all points.
    """

    labels: Labels
    counts: Labels
    rows: Matrix
    base: Matrix | None = None

    @property
    def capacity(self) -> int:
        """The number of slots."""
        return len(self.counts)

    @property
    def n_clusters(self) -> int:
        """The number of slots in use."""
        return int(np.count_nonzero(self.counts))

    @property
    def clusters(self) -> ClusterState:
        """The state itself: what a state with shares has beside its shares."""
        return self

    def members(self) -> list[Labels]:
        """The points of each slot, in order; O(N)."""
        # numpy's stable sort of short integers is a radix sort.
        short = self.labels.astype(np.uint16) if len(self.counts) <= np.iinfo(np.uint16).max else self.labels
        order = np.argsort(short, kind="stable")
        return np.split(order, np.cumsum(self.counts)[:-1])

    def copy(self) -> ClusterState:
        """The same state with arrays of its own."""
        return ClusterState(self.labels.copy(), self.counts.copy(), self.rows.copy())


@jitable
def weight_of(weights: Weights, i: int) -> float:
    """The weight of point ``i``."""
    if weights is None:
        return 1.0
    return float(weights[i])


@jitable
def count_used(state: ClusterState) -> int:
    """The number of clusters: of slots in use."""
    used = 0
    for k in range(state.counts.shape[0]):
        used += int(state.counts[k] > 0)
    return used


@jitable
def assign(likelihood: LikelihoodVerbs, data: Any, weights: Weights, state: ClusterState, i: int, k: int) -> None:
    """Put point ``i``, which is out of the state, into slot ``k``."""
    row = state.rows[k]
    state.labels[i] = k
    state.counts[k] += 1
    likelihood.add(row, data, i, weight_of(weights, i))
    likelihood.prepare(row)


@jitable
def unassign(likelihood: LikelihoodVerbs, data: Any, weights: Weights, state: ClusterState, i: int) -> int:
    """Take point ``i`` out of its slot, and return the slot."""
    k = state.labels[i]
    row = state.rows[k]
    state.labels[i] = -1
    state.counts[k] -= 1
    if state.counts[k] == 0:
        likelihood.init(row)
    elif likelihood.remove(row, data, i, weight_of(weights, i)):
        likelihood.prepare(row)
    else:
        rebuild(likelihood, data, weights, state, k)
    return int(k)


@jitable
def rebuild(likelihood: LikelihoodVerbs, data: Any, weights: Weights, state: ClusterState, k: int) -> None:
    """Make row ``k`` anew from the points that carry its label; O(N + N_k D)."""
    row = state.rows[k]
    begin(likelihood, state.base, row, k)
    for j in range(state.labels.shape[0]):
        if state.labels[j] == k:
            likelihood.add(row, data, j, weight_of(weights, j))
    likelihood.prepare(row)


@jitable
def begin(likelihood: LikelihoodVerbs, base: Matrix | None, row: Vector, k: int) -> None:
    """Make ``row``, of slot ``k``, that of the points that are not here."""
    if base is None:
        likelihood.init(row)
    else:
        fill(row, base[k])


@jitable
def statistics(likelihood: LikelihoodVerbs, data: Any, weights: Weights, state: ClusterState) -> None:
    """Make all counts and rows anew from the labels, and so free of the rounding of past moves; O(N D)."""
    for k in range(state.counts.shape[0]):
        state.counts[k] = 0
        likelihood.init(state.rows[k])
    for j in range(state.labels.shape[0]):
        k = state.labels[j]
        if k >= 0:
            state.counts[k] += 1
            likelihood.add(state.rows[k], data, j, weight_of(weights, j))
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            likelihood.prepare(state.rows[k])


def blank_row(likelihood: LikelihoodVerbs) -> Vector:
    """The row of an empty cluster."""
    row = np.zeros(likelihood.size())
    likelihood.init(row)
    return row


def empty(likelihood: LikelihoodVerbs, n_points: int, capacity: int, blank: Vector | None = None) -> ClusterState:
    """A state of ``n_points`` points, all out, and ``capacity`` free slots; ``blank`` is their row, if at hand."""
    blank = blank_row(likelihood) if blank is None else blank
    rows = np.empty((capacity, len(blank)))
    rows[:] = blank
    return ClusterState(np.full(n_points, -1, dtype=np.int64), np.zeros(capacity, dtype=np.int64), rows)


def resized(likelihood: LikelihoodVerbs, state: ClusterState, capacity: int) -> ClusterState:
    """``state`` with another number of slots; the labels are shared, the slots that are cut off must be free."""
    other = empty(likelihood, 0, capacity)
    kept = min(capacity, state.capacity)
    other.counts[:kept] = state.counts[:kept]
    other.rows[:kept] = state.rows[:kept]
    return other._replace(labels=state.labels)


def slots_in_order(state: ClusterState) -> tuple[Labels, Labels]:
    """The slots in use in order of first appearance, and the labels 0..K-1 that this order gives."""
    n = len(state.labels)
    first = np.full(state.capacity, n)
    first[state.labels[::-1]] = np.arange(n - 1, -1, -1)  # of a slot that comes again the last entry stays
    slots = np.argsort(first, kind="stable")[: np.count_nonzero(first < n)]
    rank = np.empty(state.capacity, dtype=np.int64)
    rank[slots] = np.arange(len(slots))
    return slots, rank[state.labels]


def compacted(likelihood: LikelihoodVerbs, state: ClusterState, blank: Vector | None = None) -> ClusterState:
    """``state`` with slots 0..K-1 in order of first appearance and one free slot behind them; ``blank`` as above."""
    slots, labels = slots_in_order(state)
    other = empty(likelihood, 0, len(slots) + 1, blank)
    other.counts[:-1] = state.counts[slots]
    other.rows[:-1] = state.rows[slots]
    return other._replace(labels=labels)


class Mixture(NamedTuple):
    """Clusters ready for new points, in coordinates shifted by ``anchor``; the last slot of ``state`` is a new one."""

    likelihood: Any
    prior: Any
    anchor: Vector
    state: ClusterState

    @property
    def counts(self) -> Labels:
        """Points in each cluster, shape (K,)."""
        return self.state.counts[:-1]

    @property
    def statistics(self) -> Matrix:
        """The statistics of each cluster, one row each."""
        return self.state.rows[:-1, : self.likelihood.n_statistics()]


def mixture_of(likelihood: Any, prior: Any, anchor: Vector, counts: Labels, statistics: Matrix) -> Mixture:
    """The mixture of clusters with these counts and statistics, ready for points that were not rounded.

    The constants are computed here, in plain Python: a model scores the same bits before and after it was saved.
    """
    if steps_of(likelihood) is not None:
        likelihood = for_exact_values(likelihood)
    state = empty(likelihood, 0, len(counts) + 1)
    state.counts[:-1] = counts
    state.rows[:-1, : statistics.shape[1]] = statistics
    for row in state.rows:
        likelihood.prepare(row)
    return Mixture(likelihood, prior, anchor, state)


def check(likelihood: Likelihood, data: Any, weights: Weights, state: ClusterState, tolerance: float = 1e-9) -> None:
    """AssertionError if an invariant is broken; for tests, and for authors of moves."""
    fresh = empty(likelihood, 0, state.capacity)._replace(labels=state.labels)
    statistics(likelihood, data, weights, fresh)
    np.testing.assert_array_equal(state.counts, fresh.counts)
    np.testing.assert_allclose(state.rows[:, 0], fresh.rows[:, 0], rtol=tolerance)
    rows, expected = (np.array([likelihood.log_marginal(row) for row in each.rows]) for each in (state, fresh))
    bounds = 1.0 + fresh.rows[:, 0] + np.abs(expected)
    np.testing.assert_allclose((rows - expected) / bounds, 0.0, atol=tolerance)
    prepared = state.rows.copy()
    for row in prepared:
        likelihood.prepare(row)
    np.testing.assert_allclose(state.rows, prepared, rtol=1e-12, atol=1e-12)
