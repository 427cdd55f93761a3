"""A start of more clusters than there are: cells of a balanced partition, which a search merges (maths, section 26)."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.likelihoods._restricted import has_columns
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.search.fit import FitSettings
from mapdpm.search.moves.merge_split import Merge, Split

_CELLS, _A_CLUSTER = 10, 2  # and so many for each cluster
_FEWEST = 4  # points in a cell, on average


def from_cells(settings: FitSettings, points: Any, n_clusters: int) -> FitSettings | None:
    """``settings`` whose start are cells, for points that all take part and had ``n_clusters``; None where it has none.

    One cluster that covers several is hard to leave by splits where they overlap: each half must gain by itself. Cells
    merge in any order.
    """
    search = settings.search
    n_cells = min(_CELLS + _A_CLUSTER * n_clusters, point_set(points).n_points // _FEWEST)
    n_cells = min(n_cells, settings.max_clusters or n_cells)
    if n_cells <= 1 or not has_columns(points) or not is_free(settings):
        return None
    return settings._replace(init=cells_of(_standard(points), n_cells), search=search._replace(n_restarts=1))


def is_free(settings: FitSettings) -> bool:
    """Whether the search may start anywhere, and merges and splits."""
    search = settings.search
    return (
        isinstance(settings.init, str)
        and settings.structure is None
        and search.max_sweeps > 0
        and Merge in search.moves
        and Split in search.moves
    )


def cells_of(X: Matrix, n_cells: int) -> Labels:
    """Cells of about as many points each: the largest is halved at the median of its longest direction, and so on."""
    heap = [(-len(X), 0, np.arange(len(X)))]
    while len(heap) < n_cells:
        _, number, own = heapq.heappop(heap)
        apart = X[own] - X[own].mean(axis=0)
        direction = np.linalg.eigh(apart.T @ apart)[1][:, -1]
        order = own[np.argsort(apart @ direction, kind="stable")]
        half = len(order) // 2
        for place, part in enumerate((order[:half], order[half:])):
            heapq.heappush(heap, (-len(part), 2 * number + 1 + place, part))
    labels = np.empty(len(X), dtype=np.int64)
    for cell, (_, _, own) in enumerate(heap):
        labels[own] = cell
    return labels


def _standard(points: Any) -> Matrix:
    """The values of points in units of their columns; a missing one is the mean."""
    table = np.array(getattr(points, "array", points), dtype=np.float64)
    gaps = np.isnan(table)
    table[gaps] = 0.0
    for measure in (_largest, _spread):
        scale = measure(table)
        table /= np.where(scale > 0.0, scale, 1.0)
        table -= table.sum(axis=0) / np.maximum(np.sum(~gaps, axis=0), 1)
        table[gaps] = 0.0
    return table


def _largest(table: Matrix) -> Vector:
    """The largest value of each column: divided by it, squares do not overflow."""
    found: Vector = np.abs(table).max(axis=0)
    return found


def _spread(table: Matrix) -> Vector:
    found: Vector = table.std(axis=0)
    return found
