"""The local search for the partition of least loss, by contingency tables with the clusters of the draws.

A point that moves changes the loss by a few differences of f, which are looked up in a table. No matrix of pairs is
needed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mapdpm.point_estimates.draws import Draws, Measure, mean_loss
from mapdpm.protocol import Labels, Vector
from mapdpm.validation import in_order_of_appearance

_LEAST_GAIN = 1e-10  # relative, as in the search for the mode: rounding must not move points back and forth
_MOST_BYTES = 8e9
_CANDIDATES = 200  # the most draws considered as a start: each is compared with all draws


def search(measure: Measure, draws: Draws, n_random_starts: int, rng: np.random.Generator) -> Labels:
    """The best local minimum from the best draw and from partitions built in random order."""
    found = []
    for start in _starts(measure, draws, n_random_starts, rng):
        candidate = _Candidate(measure, draws, start)
        while candidate.sweep() or candidate.merge():
            pass
        found.append(in_order_of_appearance(candidate.labels))
    return found[int(np.argmin([mean_loss(measure, labels, draws) for labels in found]))]


def _starts(measure: Measure, draws: Draws, n_random_starts: int, rng: np.random.Generator) -> Iterator[Labels]:
    every = draws.labels()
    candidates = every[:: -(-len(every) // _CANDIDATES)]
    yield candidates[np.argmin([mean_loss(measure, labels, draws) for labels in candidates])]
    N = every.shape[1]
    for _ in range(n_random_starts):
        candidate = _Candidate(measure, draws, np.full(N, -1))
        candidate.sweep(rng.permutation(N))
        yield candidate.labels


class _Candidate:
    """A partition (label -1: not in it yet), and the number of points its clusters share with those of the draws."""

    def __init__(self, measure: Measure, draws: Draws, labels: Labels) -> None:
        self.labels = labels.copy()
        self._f = measure.f
        self._gain = np.append(np.diff(measure.f), 0.0)  # the last entry, for a cluster of all points, is never used
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
        """Put each point where the loss is least; return whether any moved."""
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
        """Merge clusters of two points or more, each with the one that lowers the loss most; whether any merged."""
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
        """The change of the loss by point i in each cluster, after it was taken out of its own."""
        shared, own = self._shared[self._of[i]], self.labels[i]
        costs: Vector = self._gain[self._sizes] - 2.0 * (self._weights @ self._gain[shared])
        if own >= 0:
            costs[own] = self._gain[self._sizes[own] - 1] - 2.0 * (self._weights @ self._gain[shared[:, own] - 1])
        return costs

    def _change_of_merging(self, k: int, others: Labels) -> Vector:
        f, a, b = self._f, self._sizes[k], self._sizes[others]
        shared, with_others = self._shared[:, [k]], self._shared[:, others]
        both = f[shared + with_others] - f[shared] - f[with_others]
        return f[a + b] - f[a] - f[b] - 2.0 * (self._column_weights @ both)

    def _move(self, i: int, k: int) -> None:
        of, own = self._of[i], self.labels[i]
        if own >= 0:
            self._sizes[own] -= 1
            self._shared[of, own] -= 1
        self._sizes[k] += 1
        self._shared[of, k] += 1
        self.labels[i] = k

    def _grow(self) -> None:
        """Add empty clusters: few, since each costs time, but a fixed share of K, since copying costs time too."""
        C, K = self._shared.shape
        more = 1 + K // 8
        needed = 4.0 * C * (K + more)
        if needed > _MOST_BYTES:
            msg = (
                f"{K + more} clusters and {C} in the draws would take {needed / 1e9:.1f} GB, more than "
                f"{_MOST_BYTES / 1e9:.0f} GB; take fewer draws, or draws with fewer clusters"
            )
            raise ValueError(msg)
        self._sizes = np.append(self._sizes, np.zeros(more, dtype=np.int64))
        self._shared = np.concatenate([self._shared, np.zeros((C, more), dtype=np.int32)], axis=1)
