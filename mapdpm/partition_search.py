"""The partition that agrees best with many others, by tables of how many points an own and another cluster share.

Binder's loss and the variation of information are one formula: sum f(a_k) + sum f(b_l) - 2 sum f(n_kl), for clusters
of a_k and b_l points, n_kl of them in both, where f(n) is n^2 or n log n. So a point that moves changes it by a few
differences of f, looked up in a table, and no matrix of pairs is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mapdpm.protocol import Labels, Vector
from mapdpm.validation import in_order_of_appearance

_BLOCK = 2**22  # labels looked at in one go: 32 MB
_LEAST_GAIN = 1e-10  # of a move, as in the search for the mode: rounding must not move points to and fro
_MOST_BYTES = 8e9
_CANDIDATES = 200  # draws to start from, at most: each is compared with all draws


class Draws(NamedTuple):
    """D partitions of N points; the clusters of all of them are numbered through, C in all."""

    clusters: Labels
    """Shape (D, N): the cluster of a point in a draw; those of one draw follow each other, in order of appearance."""
    starts: Labels
    """Shape (D + 1,): the first cluster of each draw, and C."""
    weights: Vector
    """Shape (D,), positive, sum 1."""

    @classmethod
    def of(cls, partitions: Any, weights: Any) -> Draws:
        """Check what a user gave; draws of weight 0 are left out."""
        labels = _check_labels("partitions", partitions)
        if labels.ndim < 2:  # noqa: PLR2004
            msg = f"partitions must be of shape (draws, points), got {labels.shape}; [labels] is a single draw"
            raise ValueError(msg)
        w = _check_weights(weights, labels.shape[:-1])
        return cls._numbered(labels.reshape(-1, labels.shape[-1])[w > 0.0], w[w > 0.0])

    @classmethod
    def _numbered(cls, labels: Labels, weights: Vector) -> Draws:
        names, ranks = np.unique(labels, return_inverse=True)
        apart = ranks.reshape(labels.shape) + len(names) * np.arange(len(labels))[:, None]
        clusters = in_order_of_appearance(apart.reshape(-1)).reshape(labels.shape)
        return cls(clusters, np.append(0, clusters.max(axis=1) + 1), weights / weights.sum())

    def labels(self) -> Labels:
        """Shape (D, N): each draw by itself, labels in order of first appearance."""
        return self.clusters - self.starts[:-1, None]

    def distinct(self) -> Draws:
        """Each partition once, with the weight of all its copies."""
        labels, inverse = np.unique(self.labels(), axis=0, return_inverse=True)
        weights = np.zeros(len(labels))
        np.add.at(weights, inverse.reshape(-1), self.weights)
        return Draws._numbered(labels, weights)


class Measure(NamedTuple):
    """f(0..N), and what its sums are divided by."""

    f: Vector
    scale: float

    @classmethod
    def binder(cls, N: int) -> Measure:
        """n^2, over N (N - 1): ordered pairs."""
        return cls(np.arange(N + 1.0) ** 2, max(1.0, N * (N - 1.0)))

    @classmethod
    def vi(cls, N: int) -> Measure:
        """N log n, over N."""
        n = np.arange(N + 1.0)
        return cls(n * np.log(np.maximum(n, 1.0)), float(N))


def mean_loss(measure: Measure, labels: Labels, draws: Draws) -> float:
    """The loss of a partition (labels 0..K-1), averaged over the draws."""
    K, (D, N) = int(labels.max()) + 1, draws.clusters.shape
    total = float(measure.f[np.bincount(labels)].sum())
    step = max(1, _BLOCK // N)
    for first in range(0, D, step):
        last = min(D, first + step)
        here = draws.clusters[first:last] - draws.starts[first]
        w = np.repeat(draws.weights[first:last], np.diff(draws.starts[first : last + 1]))
        total += float((w * measure.f[np.bincount(here.reshape(-1))]).sum())
        cells, n = _count(here * K + labels, K * len(w))
        total -= 2.0 * float((w[cells // K] * measure.f[n]).sum())
    return max(0.0, total / measure.scale)


def search(measure: Measure, draws: Draws, n_restarts: int, rng: np.random.Generator) -> Labels:
    """The best local minimum from the best draw and from partitions built in random order."""
    found = []
    for start in _starts(measure, draws, n_restarts, rng):
        candidate = _Candidate(measure, draws, start)
        while candidate.sweep() or candidate.merge():
            pass
        found.append(in_order_of_appearance(candidate.labels))
    return found[int(np.argmin([mean_loss(measure, labels, draws) for labels in found]))]


def _starts(measure: Measure, draws: Draws, n_restarts: int, rng: np.random.Generator) -> Iterator[Labels]:
    every = draws.labels()
    candidates = every[:: -(-len(every) // _CANDIDATES)]
    yield candidates[np.argmin([mean_loss(measure, labels, draws) for labels in candidates])]
    N = every.shape[1]
    for _ in range(n_restarts):
        candidate = _Candidate(measure, draws, np.full(N, -1))
        candidate.sweep(rng.permutation(N))
        yield candidate.labels


class _Candidate:
    """A partition (label -1: not in it yet), and how many points its clusters share with those of the draws."""

    def __init__(self, measure: Measure, draws: Draws, labels: Labels) -> None:
        self.labels = labels.copy()
        self._f = measure.f
        self._gain = np.append(np.diff(measure.f), 0.0)  # the last, of a cluster that has all points, is never used
        self._of = np.ascontiguousarray(draws.clusters.T)
        self._weights = draws.weights
        self._column_weights = np.repeat(draws.weights, np.diff(draws.starts))
        self._sizes = np.zeros(0, dtype=np.int64)
        self._shared = np.zeros((int(draws.starts[-1]), 0), dtype=np.int32)
        for k in range(int(labels.max()) + 1):
            if self._sizes.all():
                self._grow()
            points = np.flatnonzero(labels == k)
            self._sizes[k] = len(points)
            self._shared[:, k] = np.bincount(self._of[points].reshape(-1), minlength=len(self._shared))

    def sweep(self, order: Labels | None = None) -> bool:
        """Put each point where the loss is least; whether any moved."""
        moved = False
        for i in range(len(self.labels)) if order is None else order.tolist():
            if self._sizes.all():
                self._grow()
            costs, own = self._costs(i), self.labels[i]
            best = int(np.argmin(costs))
            if own < 0 or costs[own] - costs[best] > _LEAST_GAIN * (1.0 + abs(costs[best])):
                self._move(i, best)
                moved = True
        return moved

    def merge(self) -> bool:
        """Join clusters, each with the one that lowers the loss most; whether any were. Single points only sweep."""
        merged = False
        for k in np.flatnonzero(self._sizes > 1).tolist():
            others = np.flatnonzero(self._sizes > 1)
            others = others[others > k]
            if len(others) == 0:
                break
            change = self._change_of_merging(k, others)
            best = int(np.argmin(change))
            if change[best] < -_LEAST_GAIN * (1.0 + abs(change[best])):
                into = others[best]
                self.labels[self.labels == k] = into
                for counts in (self._sizes, self._shared.T):
                    counts[into] += counts[k]
                    counts[k] = 0
                merged = True
        return merged

    def _costs(self, i: int) -> Vector:
        """What point i adds to the sums of f in each cluster, taken out of its own first."""
        shared, own = self._shared[self._of[i]], self.labels[i]
        costs: Vector = self._gain[self._sizes] - 2.0 * (self._weights @ self._gain[shared])
        if own >= 0:
            costs[own] = self._gain[self._sizes[own] - 1] - 2.0 * (self._weights @ self._gain[shared[:, own] - 1])
        return costs

    def _change_of_merging(self, k: int, others: Labels) -> Vector:
        f, a, b = self._f, self._sizes[k], self._sizes[others]
        shared, with_others = self._shared[:, [k]], self._shared[:, others]
        both = f[shared + with_others] - f[shared] - f[with_others]
        change: Vector = f[a + b] - f[a] - f[b] - 2.0 * (self._column_weights @ both)
        return change

    def _move(self, i: int, k: int) -> None:
        of, own = self._of[i], self.labels[i]
        if own >= 0:
            self._sizes[own] -= 1
            self._shared[of, own] -= 1
        self._sizes[k] += 1
        self._shared[of, k] += 1
        self.labels[i] = k

    def _grow(self) -> None:
        """Some more clusters, empty: few, since each costs time, but a share of those there are: copies do too."""
        C, K = self._shared.shape
        more = 1 + K // 8
        needed = 4.0 * C * (K + more)
        if needed > _MOST_BYTES:
            msg = (
                f"{K + more} clusters and {C} in the draws would take {needed / 1e9:.1f} GB, more than "
                f"{_MOST_BYTES / 1e9:.0f} GB; take fewer draws, or such with fewer clusters"
            )
            raise ValueError(msg)
        self._sizes = np.append(self._sizes, np.zeros(more, dtype=np.int64))
        self._shared = np.concatenate([self._shared, np.zeros((C, more), dtype=np.int32)], axis=1)


def _count(cells: Labels, n_cells: int) -> tuple[Labels, Labels]:
    """The numbers that occur, and how often; sorted where there are too many of them for a dense count."""
    cells = cells.reshape(-1)
    if n_cells > 4 * cells.size:
        values, n = np.unique(cells, return_counts=True)
        return values, n
    n = np.bincount(cells)
    values = np.flatnonzero(n)
    return values, n[values]


def check_partition(partition: Any, N: int) -> Labels:
    """One integer label a point; renamed 0..K-1."""
    labels = _check_labels("partition", partition)
    if labels.shape != (N,):
        msg = f"partition must have one label a point of partitions, shape ({N},), got shape {labels.shape}"
        raise ValueError(msg)
    return in_order_of_appearance(labels)


def _check_labels(name: str, labels: Any) -> Labels:
    array = np.asarray(labels)
    if array.dtype.kind not in "biu" or array.size == 0:
        what = f"shape {array.shape}" if array.size == 0 else f"dtype {array.dtype}"
        msg = f"{name} must hold integer labels, at least one, got {what}"
        raise ValueError(msg)
    return array


def _check_weights(weights: Any, shape: tuple[int, ...]) -> Vector:
    w = np.ones(shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != shape:
        msg = f"weights must have one entry a draw, shape {shape}, got shape {w.shape}"
        raise ValueError(msg)
    if not (np.all(np.isfinite(w)) and w.min() >= 0.0 and w.max() > 0.0):
        msg = f"weights must be finite and >= 0, and not all 0, got {w.min()} to {w.max()}"
        raise ValueError(msg)
    return w.reshape(-1)
