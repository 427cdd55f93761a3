"""The columns of a table with their kinds, as ``mapdpm.columns`` returns and prints them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from mapdpm.data import columns as data
from mapdpm.data.columns import Column, columns_of, numbers_of
from mapdpm.data.copies import without_copies
from mapdpm.kinds import notes
from mapdpm.kinds.given import Given, given_kinds
from mapdpm.kinds.kinds import CATEGORY, CIRCULAR, CONSTANT, COUNT, SPIKED, ColumnKind, use_of
from mapdpm.kinds.one_column import of_numbers
from mapdpm.protocol import Matrix
from mapdpm.validation import caller_level, check_points

_TITLES = ("name", "kind", "step", "values", "distinct", "missing", "use", "note")


class Columns(tuple[ColumnKind, ...]):
    """A ``ColumnKind`` for each column; as text, a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [_TITLES, *map(_texts, self)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_TITLES))]
        shown = [place for place in range(len(_TITLES)) if any(row[place] for row in rows[1:])]
        return "\n".join("  ".join(row[place].ljust(widths[place]) for place in shown).rstrip() for row in rows)

    def warn(self) -> None:
        """UserWarning for each column with a note."""
        for column in self:
            if column.note:
                warnings.warn(f"column {column.name!r} {column.note}", stacklevel=caller_level())


def columns(X: Any, kinds: Mapping[Any, str] | None = None) -> Columns:
    """What each column of a table is, found from its values, and what a fit does with it.

    A column is one of these kinds:

    - *constant*: it has one distinct value, or none at all;
    - *flag*: two distinct values, or bool;
    - *category*: text, or categories by its type. Numbers never are, however few there are;
    - *spiked*: one or two values are repeated far more often than the values around them explain; the rest is
      continuous, rounded, or counts;
    - *count*: whole numbers from 0 on whose variance grows with their mean: Poisson clusters have a log joint that is 5
      nats higher than that of normal ones, and 0.01 nats a point;
    - *rounded*: all values are on a grid m q + c, and this matters: 2 % of them share their value with others, or would
      if they were spread evenly;
    - *continuous*: any other numbers;
    - *circular*: an angle, an hour of the day. Only ``kinds`` can say so.

    Rows that were copied are looked at once. The rules, their evidence and their false alarms are in docs/maths.md,
    sections 35 and 36.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_points, n_features)
        The table; NaN or None is a missing value.
    kinds : mapping, optional
        What columns are, by name or place: "continuous", "rounded" or "rounded:0.5", "spiked:0" or "spiked:0,100",
        "flag", "category", "count", "constant" (left out), "circular:360", or "number" for one that is continuous or
        rounded as found.

    Returns
    -------
    Columns
        A tuple with ``name, kind, step, spikes, n_distinct, share_missing, use, note`` for each column; its text is a
        table.

    Raises
    ------
    ValueError
        A kind or a column that there is not, or a kind that does not fit its values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rain = np.maximum(rng.normal(size=200), 0.0)
    >>> X = np.stack([rng.normal(20.0, 2.0, 200).round(1), rain, rng.random(200) < 0.3, np.full(200, 3.7)], axis=1)
    >>> columns(X)
    name  kind      step  values  distinct  use
    0     rounded   0.1           75        normal, rounded to 0.1
    1     spiked          0       103       whether it is 0; else normal
    2     flag            0, 1    2         a probability
    3     constant        3.7     1         left out
    >>> columns(X, kinds={0: "continuous"})[0].kind
    'continuous'
    """
    table = columns_of(X)
    if not table or not len(table[0].values):
        check_points(X)  # says that there are none
    given = given_kinds(kinds, [column.name for column in table])
    texts = [place for place, column in enumerate(table) if _has_levels(column, given.get(place))]
    numbers = [place for place in range(len(table)) if place not in texts]
    values = np.empty((len(table[0].values), len(numbers)), order="F")
    for at, place in enumerate(numbers):
        values[:, at] = numbers_of(table[place], missing=True)
    kept = without_copies(values) if len(numbers) > 1 else None  # repeated values of a column say what it is
    once = values if kept is None else values[kept]
    found = {place: _of_levels(table[place], given.get(place)) for place in texts}
    for at, place in enumerate(numbers):
        missing = float(np.isnan(values[:, at]).mean())
        found[place] = of_numbers(table[place].name, once[:, at], missing, given.get(place))
    noted = _noted([found[place] for place in numbers], values, [place in given for place in numbers])
    found |= dict(zip(numbers, noted, strict=True))
    return Columns(found[place] for place in range(len(table)))


def _has_levels(column: Column, given: Given | None) -> bool:
    """Whether a column is read as levels; ValueError where it holds text and is said to hold numbers."""
    if column.kind != data.CATEGORY or given is None or given.kind in {CATEGORY, CONSTANT}:
        return column.kind == data.CATEGORY or (given is not None and given.kind == CATEGORY)
    msg = f"kinds: column {column.name!r} holds text: it is a 'category', or left out as 'constant', not {given.kind!r}"
    raise ValueError(msg)


def _of_levels(column: Column, given: Given | None) -> ColumnKind:
    present = [value for value in column.values if not data.is_missing(value)]
    n_levels = len(set(present))
    kind = CONSTANT if n_levels <= 1 or (given is not None and given.kind == CONSTANT) else CATEGORY
    note = ""
    if given is None:
        data.refuse_numbers_as_text(column)
        note = notes.of_levels(n_levels, len(present)) or notes.of_name(column.name, n_levels, len(present))
    missing = 1.0 - len(present) / len(column.values)
    only = tuple(present[:1]) if n_levels == 1 else ()
    return ColumnKind(column.name, kind, 0.0, only, n_levels, missing, use_of(kind, 0.0, only), note)


def _noted(found: list[ColumnKind], values: Matrix, is_given: list[bool]) -> list[ColumnKind]:
    """Columns of numbers with their notes; who states a kind needs none."""
    steps = np.array([column.step if column.kind != CIRCULAR else 0.0 for column in found])
    copied = notes.copies(values, steps)
    noted = []
    for at, column in enumerate(found):
        note = ""
        if not is_given[at] and column.kind != CONSTANT:
            if len(found) > 1 or column.step == 1.0:  # what rises evenly, and is alone, is the data
                note = notes.of_rows(values[:, at], column.n_distinct)
            note = note or notes.of_name(column.name, column.n_distinct, len(values))
            if at in copied:
                note = note or f"is a copy of column {found[copied[at]].name!r}, up to units and rounding"
            if column.kind in {SPIKED, COUNT}:
                note = note or notes.of_spikes(column.spikes, values[:, at])
        noted.append(column._replace(note=note))
    return noted


def _texts(column: ColumnKind) -> tuple[str, ...]:
    values = ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in column.spikes)
    missing = f"{column.share_missing:.1%}" if column.share_missing else ""
    step = f"{column.step:g}" if column.step else ""
    return (str(column.name), column.kind, step, values, str(column.n_distinct), missing, column.use, column.note)
