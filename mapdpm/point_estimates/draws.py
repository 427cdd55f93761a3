"""Many partitions of the same points, and two losses between partitions.

Binder's loss and the variation of information have one formula: sum f(a_k) + sum f(b_l) - 2 sum f(n_kl). a_k and b_l
are the sizes of clusters, n_kl is the number of points in both, and f(n) is n^2 or n log n.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.protocol import Labels, Vector
from mapdpm.validation import in_order_of_appearance

_BLOCK = 2**22  # labels in one block: 32 MB


class Draws(NamedTuple):
    """D partitions of N points. The clusters of all partitions are numbered consecutively, 0 to C - 1."""

    clusters: Labels
    """Shape (D, N): the number of a point's cluster in a draw; within a draw, in order of appearance."""
    starts: Labels
    """Shape (D + 1,): the first cluster of each draw, and C."""
    weights: Vector
    """Shape (D,), positive, sum 1."""

    @classmethod
    def of(cls, partitions: Any, weights: Any) -> Draws:
        """Checked draws and weights; draws of weight 0 are left out."""
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
        """Shape (D, N): labels 0..K-1 of each draw, in order of first appearance."""
        return self.clusters - self.starts[:-1, None]

    def distinct(self) -> Draws:
        """Each distinct partition once, with the total weight of its copies."""
        labels, inverse = np.unique(self.labels(), axis=0, return_inverse=True)
        weights = np.zeros(len(labels))
        np.add.at(weights, inverse.reshape(-1), self.weights)
        return Draws._numbered(labels, weights)


class Measure(NamedTuple):
    """f(0..N), and the divisor of its sums."""

    f: Vector
    scale: float

    @classmethod
    def binder(cls, N: int) -> Measure:
        """f(n) = n^2, divided by N (N - 1), the number of ordered pairs."""
        return cls(np.arange(N + 1.0) ** 2, max(1.0, N * (N - 1.0)))

    @classmethod
    def vi(cls, N: int) -> Measure:
        """f(n) = n log n, divided by N."""
        n = np.arange(N + 1.0)
        return cls(n * np.log(np.maximum(n, 1.0)), float(N))


def mean_loss(measure: Measure, labels: Labels, draws: Draws) -> float:
    """The mean loss between a partition (labels 0..K-1) and the draws."""
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


def _count(cells: Labels, n_cells: int) -> tuple[Labels, Labels]:
    """The numbers that occur and their counts. Sorts instead of counting if the range is too large for an array."""
    cells = cells.reshape(-1)
    if n_cells > 4 * cells.size:
        values, n = np.unique(cells, return_counts=True)
        return values, n
    n = np.bincount(cells)
    values = np.flatnonzero(n)
    return values, n[values]


def check_partition(partition: Any, N: int) -> Labels:
    """One integer label for each point, renamed 0..K-1."""
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
