"""The columns of a table, one by one, each with what it holds: numbers, flags, or levels of a category."""

from __future__ import annotations

import math
import numbers
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.frames import column_names
from mapdpm.protocol import Vector
from mapdpm.validation import NotNumbersError, caller_level, check_points, unmasked

NUMBER, FLAG, CATEGORY = "number", "flag", "category"
Level = str | int | float | bool


class Column(NamedTuple):
    """A column: its name, or its place where it has none; what its type says that it holds; and its values.

    Values of categories are objects, None where they are missing.
    """

    name: str | int
    kind: str
    values: NDArray[Any]


def columns_of(X: Any) -> list[Column]:
    """The columns of a DataFrame of pandas or polars, or of whatever numpy makes a matrix of."""
    names = column_names(X)
    if names is None:
        X = unmasked(X)
        array = np.asarray(X) if hasattr(X, "dtype") or hasattr(X, "__array__") else np.array(X, dtype=object)
        if array.ndim != 2:  # noqa: PLR2004
            check_points(X)  # says what is wrong
        columns = [array[:, d] for d in range(array.shape[1])]
        return [_column(place, column) for place, column in enumerate(columns)]
    if len(set(names)) == len(names):
        return [_column(name, X[name]) for name in names]
    by_place = (lambda place: X.iloc[:, place]) if hasattr(X, "iloc") else X.column
    return [_column(name, by_place(place)) for place, name in enumerate(_names_apart(list(names)))]


def _names_apart(names: list[str]) -> list[str]:
    """The names, where one that comes again has its number beside it: ``temp``, ``temp (2)``."""
    taken, found = set(names), []
    for place, name in enumerate(names):
        number, apart = names[:place].count(name) + 1, name
        while number > 1 and apart in taken:
            apart, number = f"{name} ({number})", number + 1
        taken.add(apart)
        found.append(apart)
    return found


def kinds_differ(X: Any) -> bool:
    """Whether ``X`` is a DataFrame with columns that hold no numbers by their type: flags, categories or text."""
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or column_names(X) is None:
        return False
    return any(_kind(dtype) != NUMBER for dtype in list(dtypes))


def _column(name: str | int, values: Any) -> Column:
    kind, array = _kind(values.dtype), np.asarray(values)
    if kind == NUMBER or (kind == FLAG and array.dtype != object):  # flags with missing values are objects
        return Column(name, kind, array)
    found = np.array(values, dtype=object)
    absent = np.frompyfunc(is_missing, 1, 1)(found).astype(bool)
    if str(values.dtype).lower() == "object":
        kind = _kind_of_objects(name, found[~absent])
    found[absent] = None if kind == CATEGORY else math.nan
    return Column(name, kind, found if kind == CATEGORY else found.astype(np.float64))


def _kind(dtype: Any) -> str:
    """What a type of columns says: by its name, for pandas and polars have types of their own."""
    name = str(dtype).lower()
    if name.startswith("bool"):
        return FLAG
    text = ("object", "category", "categorical", "enum", "str", "utf8", "<u", ">u", "|s")
    return CATEGORY if name.startswith(text) else NUMBER


def _kind_of_objects(name: str | int, present: NDArray[Any]) -> str:
    """What Python objects are: numbers, flags, or texts; NotNumbersError where some are numbers and some are not."""
    flags = [isinstance(value, (bool, np.bool_)) for value in present]
    if any(flags):
        return FLAG if all(flags) else CATEGORY
    are_numbers = [isinstance(value, numbers.Real) for value in present]
    if not any(are_numbers):
        return CATEGORY
    if not all(are_numbers):
        text = present[are_numbers.index(False)]
        msg = f"column {name!r} must hold numbers only, or none, but there is {text!r:.40} among them"
        raise NotNumbersError(msg)
    return NUMBER


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' own missing values."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def levels_of(column: Column) -> tuple[Level, ...]:
    """The different values of a column, sorted; ValueError where one is neither text, nor a number, nor a flag."""
    found = {_level(column, value) for value in column.values if not is_missing(value)}
    if not found:
        msg = f"column {column.name!r} has no value at all; leave it out"
        raise ValueError(msg)
    return tuple(sorted(found, key=lambda level: (isinstance(level, str), level)))


_LIKE_NUMBERS = re.compile(r"\s*[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?\s*")
_MANY, _FEW_ROWS = 0.5, 20
_CURE = ", or set missing='skip' for NaN"


def refuse_numbers_as_text(column: Column) -> None:
    """NotNumbersError where all values of a category are numbers, written as text."""
    present = [value for value in column.values if not is_missing(value)]
    if present and all(isinstance(value, str) and _LIKE_NUMBERS.fullmatch(value) for value in present):
        msg = f"column {column.name!r} holds numbers written as text, such as {present[0]!r}; convert them to numbers"
        raise NotNumbersError(msg)


def warn_of_names(column: Column) -> None:
    """UserWarning where most values of a category differ; NotNumbersError where all are numbers, written as text."""
    refuse_numbers_as_text(column)
    present = [value for value in column.values if not is_missing(value)]
    n_levels = len(set(present))
    if len(present) > _FEW_ROWS and n_levels > _MANY * len(present):
        msg = f"column {column.name!r} has {n_levels} different values in {len(present)} rows, like names; leave it out"
        warnings.warn(msg, stacklevel=caller_level())


def places_of(column: Column, levels: tuple[Level, ...]) -> Vector:
    """The place of each value among ``levels``: one more than the last for a new level, NaN for a missing value."""
    place = {level: float(at) for at, level in enumerate(levels)}
    new = float(len(levels))
    values = (math.nan if is_missing(value) else place.get(_level(column, value), new) for value in column.values)
    return np.fromiter(values, dtype=np.float64, count=len(column.values))


def _level(column: Column, value: Any) -> Level:
    level = value.item() if isinstance(value, np.generic) else value
    if not isinstance(level, (str, int, float, bool)):
        msg = f"column {column.name!r} holds {type(level).__name__}; levels are text, numbers, True or False"
        raise NotNumbersError(msg)
    return level


def numbers_of(column: Column, missing: bool) -> Vector:
    """The values of a column of numbers or flags, checked as points are; errors name the column."""
    try:
        found = check_points(np.asarray(column.values)[:, None], missing=missing, blank=True, cure=_CURE)
    except ValueError as error:
        msg = f"column {column.name!r}: {error}"
        raise type(error)(msg) from None
    return found[:, 0].astype(np.float64)
