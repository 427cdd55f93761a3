"""Dates and durations in seconds: the one place where objects of Python, numpy and pandas become times."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np


def in_seconds(t: Any) -> Any:
    """Dates in seconds since 1970 (UTC), durations in seconds, as float or float64; anything else as it is.

    Dates are objects of ``datetime``, of numpy and pandas, alone or many. Those without a zone are UTC; one that is
    missing (NaT) is NaN.

    Examples
    --------
    >>> import datetime
    >>> in_seconds(datetime.datetime(1970, 1, 2)), in_seconds(np.array(["1970-01-01T00:00:01.5"], dtype="datetime64"))
    (86400.0, array([1.5]))
    """
    if isinstance(t, (int, float)):  # the usual case
        return t
    if isinstance(t, (dt.date, dt.timedelta)):
        return _seconds_of_one(t)
    if not (hasattr(t, "dtype") or isinstance(t, (list, tuple))):
        return t
    array = _array_of(t)
    if array.dtype.kind in "mM":
        since = array - np.datetime64(0, "s") if array.dtype.kind == "M" else array
        found = since / np.timedelta64(1, "s")  # NaN where it is NaT
        return found if np.ndim(found) else float(found)
    if array.dtype == object and array.ndim == 1 and any(map(_is_date, array)):
        return np.array([in_seconds(each) for each in array], dtype=np.float64)
    return array if array.dtype.kind in "fiu" else t


def _is_date(value: Any) -> bool:
    return isinstance(value, (dt.date, dt.timedelta, np.datetime64, np.timedelta64))


def _array_of(t: Any) -> Any:
    """As numpy has it; dates of pandas with a zone as those of UTC."""
    if getattr(getattr(t, "dtype", None), "tz", None) is not None:
        return t.to_numpy(dtype="datetime64[ns]")
    try:
        return np.asarray(t)
    except ValueError:  # ragged, which the caller says
        return np.empty(0)


def _seconds_of_one(t: dt.date | dt.timedelta) -> float:
    if t != t:  # noqa: PLR0124  (NaT of pandas)
        return float("nan")
    if isinstance(t, dt.timedelta):
        return t.total_seconds()
    if not isinstance(t, dt.datetime):
        t = dt.datetime(t.year, t.month, t.day, tzinfo=dt.UTC)
    return (t if t.tzinfo is not None else t.replace(tzinfo=dt.UTC)).timestamp()
