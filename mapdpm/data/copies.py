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

_LEAST, _OF_COLUMNS = 0.5, 8.0
"""Where D columns have steps and no row meets a neighbour by chance, more than 1 / 2 + 8 / D are enough."""

_FREQUENT = 8.0
"""A row that is there so many times as often as others is no copy: all zeros, where it does not rain."""

_BY_CHANCE = 1e-3
"""Of tables without copies, at most such a share has a pair that looks like one in its columns without steps."""


def without_copies(points: Any) -> Labels | None:
    """The numbers of the rows, less copies of earlier ones; None if there are none, or ``points`` are no table."""
    originals = originals_of(points)
    return None if originals is None else np.flatnonzero(originals == np.arange(len(originals)))


def originals_of(points: Any) -> Labels | None:
    """For each row the number of the first one that it copies, or its own; None as for ``without_copies``.

    Two rows are copies if they are equal wherever both have values, and so in columns without steps that chance does
    not explain it. Other equal rows are copies where there are more than chance explains. O(N D), and a sort of each
    column if there are equal rows or missing values (maths, section 35).
    """
    table = getattr(points, "array", points)
    if not isinstance(table, np.ndarray) or len(table) < 2:  # noqa: PLR2004
        return None
    _keys, first, whole, counts = _groups(_hashed(_bits(table)))
    is_whole = len(first) == len(table)
    if is_whole and not np.isnan(table).any():
        return None
    pairs = [_alike(table)]
    if not is_whole and _are_copied(table[first], counts):
        copies = np.flatnonzero((counts <= _FREQUENT * len(table) / len(first))[whole])
        pairs.append(np.column_stack([first[whole[copies]], copies]))
    originals = _firsts(np.concatenate(pairs), len(table))
    return None if np.array_equal(originals, np.arange(len(table))) else originals


def _are_copied(rows: Any, counts: Labels) -> bool:
    """Whether chance does not explain how many of these different rows are there twice or more often.

    Where whole numbers meet by chance, rows also meet neighbours, those that differ by one step in one column. If a
    share s of the different rows has none, a row has about -log(s) / (2 D) equals by chance. So rows are copied where
    more than 5 (fewer in many columns), and 8 times this share, of the rows without neighbours are there more than
    once.
    """
    if np.count_nonzero(counts > 1) <= _LEAST:
        return False
    lone, n_columns = _without_neighbours(rows)
    n_lone, n_copied = int(lone.sum()), int((lone & (counts > 1)).sum())
    if not n_columns or not n_lone:
        return n_copied > _MORE
    by_chance = n_lone * -math.log(n_lone / len(lone)) / (2.0 * n_columns)
    return n_copied > _TIMES * by_chance + min(_MORE, _LEAST + _OF_COLUMNS / n_columns)


def _alike(table: Any) -> Labels:
    """Pairs of rows, equal wherever both have values, and so in too many columns without steps for chance.

    By chance, rows would be equal in such a column as often as they are in the table: a pair has the product of these
    shares, and N (N - 1) / 2 pairs at most a sum of them. What many rows have, as zeros, counts nothing.
    """
    found, evidence, n_pairs = [], [], 0.5 * len(table) * (len(table) - 1)
    for column in table.T:
        present = np.flatnonzero(~np.isnan(column))
        values, inverse, counts = np.unique(column[present], return_inverse=True, return_counts=True)
        if len(values) in {0, 1, len(present)} or grid_of(values.astype(np.float64)) is not None:
            continue
        usual = np.flatnonzero((counts <= _FREQUENT * len(present) / len(values))[inverse])
        order = usual[np.argsort(inverse[usual], kind="stable")]
        at = np.flatnonzero(inverse[order[1:]] == inverse[order[:-1]])
        found.append(present[order[at]] * len(table) + present[order[at + 1]])
        evidence.append(np.full(len(at), -math.log(0.5 * np.sum(counts * (counts - 1.0)) / n_pairs)))
    keys, inverse = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found]), return_inverse=True)
    total = np.bincount(inverse, np.concatenate([np.empty(0), *evidence]), minlength=len(keys))
    pairs = np.column_stack(np.divmod(keys[total > math.log(n_pairs / _BY_CHANCE)], len(table)))
    one, other = table[pairs[:, 0]], table[pairs[:, 1]]
    is_known = ~(np.isnan(one) | np.isnan(other))
    same = ((one == other) | ~is_known).all(axis=1) & (is_known.mean(axis=1) >= 0.5)  # noqa: PLR2004
    kept: Labels = pairs[same]
    return kept


def _firsts(pairs: Labels, n: int) -> Labels:
    """For each of ``n`` rows the first one to which pairs lead, over others too."""
    firsts, before = np.arange(n), None
    while before is None or not np.array_equal(firsts, before):
        before = firsts.copy()
        least = np.minimum(firsts[pairs[:, 0]], firsts[pairs[:, 1]])
        np.minimum.at(firsts, pairs[:, 0], least)
        np.minimum.at(firsts, pairs[:, 1], least)
        firsts = firsts[firsts]
    return firsts


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
