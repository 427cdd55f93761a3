"""A start of more clusters than there are: cells of a balanced partition, which a search merges (maths, section 26)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mapdpm.data import point_set
from mapdpm.data.standard import cells_of
from mapdpm.likelihoods._restricted import has_columns
from mapdpm.search.fit import FitSettings
from mapdpm.search.moves.merge_split import Merge, Split

_CELLS, _A_CLUSTER = 10, 2  # and so many for each cluster
_FEWEST = 4  # points in a cell, on average


def from_cells(settings: FitSettings, points: Any, n_clusters: int, expired: Callable[[], bool]) -> FitSettings | None:
    """``settings`` whose start are cells, for points that all take part and had ``n_clusters``; None where it has none.

    One cluster that covers several is hard to leave by splits where they overlap: each half must gain by itself. Cells
    merge in any order.
    """
    search = settings.search
    n_cells = min(_CELLS + _A_CLUSTER * n_clusters, point_set(points).n_points // _FEWEST)
    n_cells = min(n_cells, settings.max_clusters or n_cells)
    if n_cells <= 1 or not has_columns(points) or not is_free(settings):
        return None
    return settings._replace(init=cells_of(points, n_cells, expired), search=search._replace(n_restarts=1))


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
