"""Rows that are there more than once: a fitted prior sees each once, unless they meet by chance (decision 160)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.steps import grid_of
from mapdpm.hashing import mixed_bits
from mapdpm.protocol import Labels

_TIMES, _MORE = 8.0, 10.0
"""Equal rows are copies if there are more pairs of them than these, times pairs of neighbours, and more."""

_FREQUENT = 8.0
"""A row that is there so many times as often as others is no copy: all zeros, where it does not rain."""


def without_copies(points: Any) -> Labels | None:
    """The numbers of the rows, less copies of earlier ones; None if there are none, or ``points`` are no table.

    Equal rows are copies unless chance explains them: whole numbers meet. By chance a row meets its equals about as
    often as the rows that differ by one step in one column, up to exp(1 / 4 s^2) times for clusters of s steps. So
    there are copies where twice the pairs of equal rows are more than 10 and 8 times the pairs of neighbours, in the
    column with most of these (maths, section 35). O(N D), and a sort of each column if there are equal rows.
    """
    table = getattr(points, "array", points)
    if not isinstance(table, np.ndarray) or len(table) < 2:  # noqa: PLR2004
        return None
    _keys, first, whole, counts = _groups(_hashed(_bits(table)))
    if len(first) == len(table) or len(first) * _FREQUENT < len(table):  # the latter are a few values, and no copies
        return None
    copied = (counts > 1) & (counts <= _FREQUENT * len(table) / len(first))
    n_pairs = float((counts * (counts - 1))[copied].sum())
    if n_pairs <= _MORE or n_pairs <= _TIMES * _neighbours(table[first], counts) + _MORE:
        return None
    kept = ~copied[whole]
    kept[first] = True
    return np.flatnonzero(kept)


def _neighbours(table: Any, counts: Labels) -> float:
    """The pairs of rows that differ by one step of a column and in nothing else, in the column with most."""
    cells = np.zeros(table.shape, dtype=np.uint64)
    has_steps = np.zeros(table.shape[1], dtype=bool)
    for d, column in enumerate(table.T):
        values, inverse = np.unique(column.astype(np.float64), return_inverse=True)
        grid = None if np.isnan(values[-1]) else grid_of(values)
        cells[:, d] = inverse if grid is None else grid.cells[inverse]
        has_steps[d] = grid is not None
    most = 0.0
    keys = _hashed(cells)
    order = np.argsort(keys)
    for d in np.flatnonzero(has_steps).tolist():
        cells[:, d] += np.uint64(1)
        above = _hashed(cells)
        cells[:, d] -= np.uint64(1)
        at = np.minimum(np.searchsorted(keys, above, sorter=order), len(keys) - 1)
        found = keys[order[at]] == above
        most = max(most, float((counts * counts[order[at]])[found].sum()))
    return most


def _bits(table: Any) -> Any:
    """The bits of each number; -0 is 0."""
    table = np.ascontiguousarray(table + table.dtype.type(0.0))
    return table.view(np.uint32 if table.dtype == np.float32 else np.uint64).astype(np.uint64)


def _hashed(numbers: Any) -> Any:
    """A number for each row: equal for equal rows, and for no others but by a chance of 1e-12."""
    keys: Any = np.zeros(len(numbers), dtype=np.uint64)
    for d in range(numbers.shape[1]):
        keys = mixed_bits(keys ^ numbers[:, d], d + 1)
    return keys


def _groups(keys: Any) -> tuple[Any, Labels, Labels, Labels]:
    """The different keys, the first place of each, the number of each key among them, and how many there are."""
    found: Any = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return found
