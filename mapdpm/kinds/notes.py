"""What is suspicious about a column: a row number, a copy of another column, a class, a code for missing values.

Each note goes on where the name of the column ends.
"""

from __future__ import annotations

import numpy as np

from mapdpm.protocol import Matrix, Vector

_FEWEST_ROWS = 10
_STEADY = 0.9  # of the steps from row to row are the same
_MANY, _FEW_ROWS = 0.5, 20  # as data.columns.warn_of_names
_MOST_CLASSES = 20
_CLASSES = frozenset({"label", "labels", "class", "classes", "target", "targets", "y", "outcome", "species", "cluster"})
_NUMBERS_OF_ROWS = frozenset({"id", "ids", "index", "idx", "row", "rowid", "row_id", "uid", "uuid", "no", "nr"})
_ROWS_COMPARED = 1024
_MOST_COMPARED = 1000  # columns
_NEARLY_ONE = 1e-5  # less correlated than 1 by so much, columns are no copies
_ROUNDING = 1e-9  # of the spread


def of_rows(column: Vector, n_distinct: int) -> str:
    """A note on a column of numbers that counts its rows, or rises with them."""
    present = column[~np.isnan(column)]
    if len(present) < _FEWEST_ROWS or n_distinct < len(present):
        return ""
    steps = np.diff(present)
    if np.all(steps > 0.0) or np.all(steps < 0.0):
        usual = float(np.median(steps))
        same = np.abs(steps - usual) <= 1e-6 * abs(usual)
        if same.mean() >= _STEADY:
            way = "rising" if usual > 0.0 else "falling"
            return f"is all distinct and {way} by {abs(usual):g} a row: is it a row number or a time?"
    if np.all(present == np.floor(present)) and np.ptp(present) == len(present) - 1:
        return f"has all whole numbers from {present.min():g} to {present.max():g}, once each: is it a row number?"
    return ""


def of_name(name: str | int, n_distinct: int, n_rows: int) -> str:
    """A note on a column that has the name of a class, or of a row number."""
    word = str(name).strip().lower()
    if word in _CLASSES and n_distinct <= min(_MOST_CLASSES, max(2, n_rows // 2)):
        return f"is named {name!r} and has {n_distinct} values: is it a class?"
    if word in _NUMBERS_OF_ROWS and n_distinct > n_rows // 2:
        return f"is named {name!r} and has {n_distinct} values: is it a row number?"
    return ""


def of_levels(n_levels: int, n_present: int) -> str:
    """A note on a category most of whose values differ."""
    if n_present <= _FEW_ROWS or n_levels <= _MANY * n_present:
        return ""
    return f"has {n_levels} different values in {n_present} rows, like names; leave it out"


def of_spikes(spikes: tuple[float, ...], column: Vector) -> str:
    """A note on a spike that lies far from all other values."""
    rest = column[~np.isnan(column) & ~np.isin(column, spikes)]
    low, high = (float(rest.min()), float(rest.max())) if len(rest) else (0.0, 0.0)
    far = [each for each in spikes if each < low - (high - low) or each > high + (high - low)]
    if not far or low == high:
        return ""
    return (
        f"has {' and '.join(f'{each:g}' for each in far)} far from all other values: does it stand for a missing one?"
    )


def copies(columns: Matrix, steps: Vector) -> dict[int, int]:
    """For each column that copies an earlier one, up to units and rounding, that one; columns may have NaN."""
    columns = columns[:: max(1, len(columns) // _ROWS_COMPARED), :_MOST_COMPARED]
    steps = steps[:_MOST_COMPARED]
    found: dict[int, int] = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        there = ~np.isnan(columns)
        centred = np.where(there, columns - np.nanmean(np.where(there.any(axis=0), columns, 0.0), axis=0), 0.0)
        norms = np.sqrt(np.square(centred).sum(axis=0))
        alike = np.abs(centred.T @ centred) > (1.0 - _NEARLY_ONE) * np.outer(norms, norms)
    for late, early in np.argwhere(np.tril(alike, -1)).tolist():
        known = late in found or early in found
        if not known and _is_copy(columns[:, early], columns[:, late], steps[[early, late]]):
            found[late] = early
    return found


def _is_copy(one: Vector, other: Vector, steps: Vector) -> bool:
    there = ~np.isnan(one)
    if not np.array_equal(there, ~np.isnan(other)) or there.sum() < _FEWEST_ROWS:
        return False
    x, y = one[there] - one[there].mean(), other[there] - other[there].mean()
    slope = float(x @ y / (x @ x)) if np.any(x) else 0.0
    allowed = 0.51 * (abs(slope) * steps[0] + steps[1]) + _ROUNDING * np.ptp(y)
    return bool(slope and np.all(np.abs(y - slope * x) <= allowed))
