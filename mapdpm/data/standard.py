"""Points as vectors in standard units, which moves and starts cut along; sums in an order that C and numpy share."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.protocol import Labels, Matrix, Vector

_ROUNDING = 1e-12
"""A column is constant if its standard deviation is at most this share of its largest entry."""
_PARTS = 8


def standardised(data: Any) -> Matrix:
    """Points as vectors with mean 0 and standard deviation 1 in each column (0 in a constant one).

    A missing value is at the mean of its column.
    """
    return np.ascontiguousarray(standard_columns(data).T)


def standard_columns(data: Any) -> Matrix:
    """``standardised``, as one row a column."""
    vectors = point_set(data).as_vectors()
    columns = np.array(vectors.T, dtype=np.float64, order="C")  # numpy is slow along the first of two axes
    n, absent = columns.shape[1], np.isnan(columns)
    if absent.any():
        columns[absent] = 0.0
        n_values = np.maximum(np.count_nonzero(~absent, axis=1), 1)
        columns += absent * (sums(columns) / n_values)[:, None]
    largest = np.abs(columns).max(axis=1)
    columns -= (sums(columns) / n)[:, None]
    scale = np.sqrt(sums(columns * columns) / n)
    varies = scale > _ROUNDING * largest
    columns *= (varies / np.where(varies, scale, 1.0))[:, None]
    return columns


def cells_of(data: Any, n_cells: int, expired: Callable[[], bool] = bool) -> Labels:
    """A balanced partition of points: the largest cell is halved at the median of its longest direction, and so on.

    It has fewer cells where time is up before.
    """
    X = np.nan_to_num(standardised(data), posinf=0.0, neginf=0.0)
    heap = [(-len(X), 0, np.arange(len(X)))]
    while len(heap) < n_cells and not expired():
        _, number, own = heapq.heappop(heap)
        apart = X[own] - X[own].mean(axis=0)
        order = own[np.argsort(_along_longest(apart), kind="stable")]
        half = len(order) // 2
        for place, part in enumerate((order[:half], order[half:])):
            heapq.heappush(heap, (-len(part), 2 * number + 1 + place, part))
    labels = np.empty(len(X), dtype=np.int64)
    for cell, (_, _, own) in enumerate(heap):
        labels[own] = cell
    return labels


def _along_longest(apart: Matrix) -> Vector:
    """How far each row lies along the direction in which they vary most, by the smaller of two matrices."""
    n, D = apart.shape
    along: Vector = np.linalg.eigh(apart @ apart.T if n < D else apart.T @ apart)[1][:, -1]
    return along if n < D else apart @ along


def sums(rows: Matrix) -> Vector:
    """The sum of each row, in the order of c_kernels/arithmetic/mapdpm_sums.h: eight parts, joined, and the rest."""
    whole = rows.shape[1] // _PARTS * _PARTS
    parts = np.zeros((len(rows), _PARTS))
    if whole:
        parts = np.add.accumulate(rows[:, :whole].reshape(len(rows), -1, _PARTS), axis=1)[:, -1]
    pairs = parts[:, ::2] + parts[:, 1::2]
    total: Vector = (pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3])
    for rest in rows.T[whole:]:
        total = total + rest
    return total
