"""Rows that are there more than once: a fitted prior sees each once, unless they meet by chance (decision 160)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.data.steps import grid_of
from mapdpm.hashing import mixed_bits
from mapdpm.protocol import Labels

_TIMES, _MORE = 8.0, 5.0
"""Rows are copied if so many times as many as chance explains, and some more, are there twice or more often."""

_FREQUENT = 8.0
"""A row that is there so many times as often as others is no copy: all zeros, where it does not rain."""


def without_copies(points: Any) -> Labels | None:
    """The numbers of the rows, less copies of earlier ones; None if there are none, or ``points`` are no table."""
    originals = originals_of(points)
    return None if originals is None else np.flatnonzero(originals == np.arange(len(originals)))


def originals_of(points: Any) -> Labels | None:
    """For each row the number of the first one that it copies, or its own; None as for ``without_copies``.

    Equal rows are copies unless chance explains them: whole numbers meet. Where they do, rows also meet neighbours,
    those that differ by one step in one column. If a share s of the different rows has none, a row has about
    -log(s) / (2 D) equals by chance. So rows are copied where more than 5, and 8 times this share, of the rows without
    neighbours are there twice or more often (maths, section 35). O(N D), and a sort of each column if there are equal
    rows.
    """
    table = getattr(points, "array", points)
    if not isinstance(table, np.ndarray) or len(table) < 2:  # noqa: PLR2004
        return None
    _keys, first, whole, counts = _groups(_hashed(_bits(table)))
    if np.count_nonzero(counts > 1) <= _MORE:
        return None
    lone, n_columns = _without_neighbours(table[first])
    n_lone = np.count_nonzero(lone)
    by_chance = n_lone * -math.log(n_lone / len(lone)) / (2.0 * n_columns) if n_columns and n_lone else 0.0
    if np.count_nonzero(lone & (counts > 1)) <= _TIMES * by_chance + _MORE:
        return None
    copied = (counts > 1) & (counts <= _FREQUENT * len(table) / len(first))
    return np.where(copied[whole], first[whole], np.arange(len(table)))


def _without_neighbours(table: Any) -> tuple[Any, int]:
    """Whether no other of these different rows is one step of a column away; and how many columns have steps."""
    cells = np.zeros(table.shape, dtype=np.uint64)
    has_steps = np.zeros(table.shape[1], dtype=bool)
    for d, column in enumerate(table.T):
        values, inverse = np.unique(column.astype(np.float64), return_inverse=True)
        grid = None if np.isnan(values[-1]) else grid_of(values)
        cells[:, d] = inverse if grid is None else grid.cells[inverse]
        has_steps[d] = grid is not None
    found = np.zeros(len(table), dtype=bool)
    keys = _hashed(cells)
    order = np.argsort(keys)
    for d in np.flatnonzero(has_steps).tolist():
        cells[:, d] += np.uint64(1)
        above = _hashed(cells)
        cells[:, d] -= np.uint64(1)
        at = order[np.minimum(np.searchsorted(keys, above, sorter=order), len(keys) - 1)]
        met = keys[at] == above
        found[met] = True
        found[at[met]] = True
    return ~found, int(has_steps.sum())


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
