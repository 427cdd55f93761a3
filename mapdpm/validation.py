"""The border: every input is checked here, once, and trusted behind it."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Labels, Matrix, Weights

# The variance of a column must be a valid parameter of a prior.
LARGEST_ENTRY = 1e49
LARGEST_WEIGHT = 1e9
LARGEST_WHOLE = 2**53  # float64 has all whole numbers up to here

FEWEST_DRAWS = 4
"""The fewest draws of a chain that diagnostics accept: two in each half."""

Points: TypeAlias = NDArray[Any]  # float64, or float32 where X was


class NotFittedError(ValueError, AttributeError):
    """A model was asked for what only ``fit`` can give."""


class ConvergenceWarning(UserWarning):
    """A fit ended before it reached a mode."""


class NotNumbersError(ValueError, TypeError):
    """Data that numbers cannot be made of: a TypeError too, as ``float`` has it, and scikit-learn."""


def check_points(X: Any, *, missing: bool = False, blank: bool = False, cure: str = "") -> Points:
    """``X`` as a C-contiguous 2-D array of finite floats; float32 stays float32, all else becomes float64.

    With ``missing``, NaN is a value that is missing, and each point must have one that is not, unless ``blank``.
    ``cure`` is what else messages say against NaN.

    Raises
    ------
    ValueError
        Sparse, not numeric, not 2-D, empty, or NaN or infinite (with the place).
    """
    if hasattr(X, "tocsr"):
        msg = "X is a sparse matrix, and this likelihood needs a dense array; use X.toarray()"
        raise ValueError(msg)
    _refuse_dates(X)
    array = _numeric("X", unmasked(X) if missing else X, ", or give missing='skip', where there is such a parameter")
    if array.ndim != 2:  # noqa: PLR2004
        hint = "X.reshape(-1, 1) if it has one feature, X.reshape(1, -1) if it is one point"
        hint = f". Reshape your data: {hint}" if array.ndim == 1 else ""
        msg = f"X must be a 2-D array (points x features), got {array.ndim}-D{hint}"
        raise ValueError(msg)
    for axis, what in enumerate(("sample(s)", "feature(s)")):
        if array.shape[axis] == 0:
            msg = f"X has 0 {what} (shape={array.shape}) while a minimum of 1 is required."
            raise ValueError(msg)
    if missing:
        _check_some(array, X, blank)
    else:
        _check_finite("X", array, X, cure)
    return array


def check_weights(sample_weight: Any, n_points: int, discount: float) -> Weights:
    """One finite weight a point, or None for all 1: 0, or positive, and above the discount of a Pitman-Yor process."""
    if sample_weight is None:
        return None
    weights = _numeric("sample_weight", sample_weight).astype(np.float64, copy=False)
    check_one_a_point("sample_weight", weights, n_points)
    _check_finite("sample_weight", weights)
    if not np.any(weights):
        msg = "sample_weight is zero for every point, so that none takes part; give some a positive weight"
        raise ValueError(msg)
    present = weights[weights != 0.0]
    if not np.all(present > discount):
        rule = f"0 or > {discount:g}, the discount" if discount else ">= 0"
        msg = f"sample_weight must be {rule}, got {present.min()}"
        raise ValueError(msg)
    if present.min() < 1.0 / LARGEST_WEIGHT or present.max() > LARGEST_WEIGHT:
        limits = f"{1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}"
        msg = f"sample_weight must be 0 or between {limits}, got {present.min()} to {present.max()}"
        raise ValueError(msg)
    return None if np.all(weights == 1.0) else weights


def check_start(init: Any, n_points: int, starts: tuple[str, ...]) -> str | Labels:
    """The start: a name among ``starts``, or one integer label a point."""
    if isinstance(init, str):
        if init not in starts:
            named = f"one of {', '.join(map(repr, starts))} or " if starts else ""
            refuse_value(f"init must be {named}an array of labels", init)
        return init
    labels = np.asarray(init)
    if labels.shape != (n_points,):
        msg = f"init must have one label a point, shape ({n_points},), got shape {labels.shape}"
        raise ValueError(msg)
    if labels.dtype.kind not in "biu":
        msg = f"init must hold integer labels, got dtype {labels.dtype}"
        raise ValueError(msg)
    return labels


def in_order_of_appearance(labels: NDArray[Any]) -> Labels:
    """``labels`` renamed 0..K-1 in the order in which they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def check_number(name: str, value: Any) -> float:
    """A finite number, as a float."""
    if isinstance(value, (str, bytes)):
        refuse_value(f"{name} must be a number", value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        refuse_value(f"{name} must be a number", value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        msg = f"{name} must be a finite number, got {number}"
        raise ValueError(msg)
    return number


def check_positive(name: str, value: Any) -> float:
    """A finite number > 0, as a float."""
    number = check_number(name, value)
    if not number > 0.0:
        msg = f"{name} must be > 0, got {number}"
        raise ValueError(msg)
    return number


def check_one_a_point(name: str, values: Any, n_points: int) -> None:
    """ValueError where an array is no vector with an entry for each point."""
    if np.shape(values) != (n_points,):
        msg = f"{name} must have one entry a point, shape ({n_points},), got shape {np.shape(values)}"
        raise ValueError(msg)


def check_draws(x: Any) -> Matrix:
    """Finite numbers of shape (..., draws)."""
    try:
        array = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"x must be an array of numbers, draws last: {error}"
        raise ValueError(msg) from None
    n = array.shape[-1] if array.ndim else 0
    if n < FEWEST_DRAWS or array.size == 0:
        msg = f"x must have at least {FEWEST_DRAWS} draws along its last axis, got shape {array.shape}; take more draws"
        raise ValueError(msg)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        msg = f"x must be finite, got {array[tuple(wrong[0])]} at [{place}] ({len(wrong)} such in all); leave them out"
        raise ValueError(msg)
    return array


def check_choice(name: str, value: Any, among: Iterable[str | None]) -> None:
    """ValueError where a parameter is none of the names."""
    if not isinstance(value, (str, type(None))) or value not in set(among):
        refuse_value(f"{name} must be one of {', '.join(map(repr, among))}", value)


def refuse_value(rule: str, value: Any) -> NoReturn:
    """ValueError for ``value``, which is not what ``rule`` says it must be."""
    msg = f"{rule}, got {value!r}"
    raise ValueError(msg) from None


def check_callable(name: str, value: Any) -> None:
    """A callable, or None."""
    if value is not None and not callable(value):
        refuse_value(f"{name} must be callable", value)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        refuse_value(f"{name} must be an integer >= {least}", value)
    return int(value)


def check_jobs(n_jobs: Any) -> int:
    """A number of threads: None is 1, and -1 as many as there are processors for this program."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, (int, np.integer)) and n_jobs == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_count("n_jobs", n_jobs)


def _refuse_dates(X: Any) -> None:
    """polars makes numbers of dates, of one unit or another, where a column of numbers stands beside them."""
    schema = getattr(X, "schema", None)
    for name, kind in schema.items() if isinstance(schema, Mapping) else ():
        if hasattr(kind, "is_temporal") and kind.is_temporal():
            msg = f"X must hold numbers only, but column {name!r} holds {kind}; convert it to numbers, or leave it out"
            raise NotNumbersError(msg)


def unmasked(values: Any) -> Any:
    """``values`` with NaN for masked entries, where numpy masks some."""
    if not isinstance(values, np.ma.MaskedArray) or not np.any(np.asarray(values.mask)):
        return values
    return np.ma.filled(values.astype(np.result_type(values.dtype, np.float32)), np.nan)


def _numeric(name: str, values: Any, cure: str = "") -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray) and np.any(np.asarray(values.mask)):
        msg = f"{name} has masked entries; remove or impute such points{cure}"
        raise ValueError(msg)
    try:
        array = _with_nan(np.asarray(values))
    except (ValueError, TypeError) as error:
        msg = f"{name} must be a rectangular array of numbers, but {_odd_row(values) or error}"
        raise ValueError(msg) from None
    if array.dtype.kind == "c":
        msg = f"{name} must hold real numbers. Complex data not supported"
        raise ValueError(msg)
    if array.dtype.kind in "US":
        msg = f"{name} must hold numbers only{_first_not_a_number(array, values) or ', got text; use X.astype(float)'}"
        raise NotNumbersError(msg)
    if array.dtype.kind not in "biufO":
        msg = f"{name} must hold numbers only, got {array.dtype}; convert it to numbers, or leave it out"
        raise NotNumbersError(msg)
    if array.dtype.kind in "iu" and array.size and (array.max() > LARGEST_WHOLE or array.min() < -LARGEST_WHOLE):
        msg = f"{name} has whole numbers beyond 2**53, which are rounded; subtract an offset to keep all digits"
        warnings.warn(msg, stacklevel=caller_level())
    kind = np.float32 if array.dtype == np.float32 else np.float64
    try:
        return np.ascontiguousarray(array, dtype=kind).reshape(array.shape)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"{name} must hold numbers only{_first_not_a_number(array, values)}: {error}"
        raise NotNumbersError(msg) from None


def _with_nan(array: NDArray[Any]) -> NDArray[Any]:
    """``array`` with NaN for pandas' own missing value, which nullable columns have."""
    pandas = sys.modules.get("pandas")
    if array.dtype != object or pandas is None:
        return array
    absent = np.frompyfunc(lambda value: value is pandas.NA, 1, 1)(array).astype(bool)
    return np.where(absent, np.nan, array) if absent.any() else array


def _odd_row(values: Any) -> str:
    """Which row of a ragged list of rows differs in length from the first; empty where that is not the matter."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(row, Sized) for row in values):
        return ""
    lengths = [len(row) for row in values]
    odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
    return "" if odd is None else f"row {odd} is of length {lengths[odd]}, row 0 of length {lengths[0]}"


def _first_not_a_number(array: NDArray[Any], given: Any) -> str:
    wrong = next((place for place in np.ndindex(array.shape) if not _is_number(array[place])), None)
    if wrong is None:
        return ""
    value: Any = array[wrong]
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    return f", but there is {shown:.40} at {_place(wrong, given)}"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _place(place: Sequence[int], given: Any) -> str:
    """The place of an entry, counted from 0; with the column's name if ``given`` is a DataFrame."""
    text = ", ".join(f"{axis} {index}" for axis, index in zip(("row", "column"), place, strict=False))
    names = getattr(given, "columns", None)
    return f"{text} ({names[place[1]]!r})" if isinstance(names, Sized) and len(names) > place[-1] else text  # type: ignore[index]


def _check_some(array: NDArray[Any], given: Any, blank: bool) -> None:
    absent = np.isnan(array)
    _check_finite("X", np.where(absent, 0.0, array), given)
    empty = np.flatnonzero(absent.all(axis=1))
    if len(empty) and not blank:
        msg = f"X has no value at all in row {empty[0]} (counted from 0; {len(empty)} such rows); leave such points out"
        raise ValueError(msg)


def _check_finite(name: str, array: NDArray[Any], given: Any = None, cure: str = "") -> None:
    if float(array.min()) >= -LARGEST_ENTRY and float(array.max()) <= LARGEST_ENTRY:  # NaN is neither
        return
    wrong = np.argwhere(~(np.abs(array) <= LARGEST_ENTRY))
    place, value = _place(wrong[0].tolist(), given), array[tuple(wrong[0])]
    what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}, beyond {LARGEST_ENTRY:g},"
    also = cure if np.isnan(value) else ""
    counted = f"counted from 0; {len(wrong)} in all"
    msg = f"{name} contains {what} at {place} ({counted}); remove or impute such points{also}"
    raise ValueError(msg)


def caller_level() -> int:
    """The ``stacklevel`` with which a warning points to the first caller that is outside this package."""
    package, level, frame = __name__.partition(".")[0], 1, sys._getframe(1)  # noqa: SLF001  (warnings does likewise)
    # By module, not by file: the constructor of a dataclass is in no file.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
