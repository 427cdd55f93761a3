"""Times of points, in seconds since 1970 (UTC) or as dates, in the microseconds of the C library."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.stream.points import microseconds, microseconds_of_many

_NEEDED = "t is needed: the time of each point in seconds since 1970 (UTC), or its date"


def microseconds_of(t: Any, n: int | None, *, needed: bool) -> Any:
    """The times of n points, shape (n,), or that of one point where n is None; ValueError where they are needed."""
    if t is None:
        if needed:
            raise ValueError(_NEEDED)
        return None
    if _are_dates(t):
        t = _seconds(t)
    return microseconds(t) if n is None else microseconds_of_many(t, n)


def of_index(X: Any) -> Any:
    """The index of a DataFrame of pandas, where it has dates; else None."""
    index = getattr(X, "index", None)
    if getattr(getattr(index, "dtype", None), "kind", "") != "M":
        return None
    zone = getattr(index, "tz", None)
    return index.to_numpy() if zone is None else index.tz_convert("UTC").tz_localize(None).to_numpy()  # type: ignore[union-attr]


def _are_dates(t: Any) -> bool:
    return hasattr(t, "tzinfo") or (hasattr(t, "dtype") and getattr(t.dtype, "kind", "") == "M")


def _seconds(t: Any) -> Any:
    """Dates in seconds; those without a zone are UTC."""
    if getattr(t, "tzinfo", None) is not None:
        return t.timestamp()
    dates = np.asarray(t, dtype="datetime64[us]")
    seconds = dates.astype(np.int64) / 1e6
    return np.where(np.isnat(dates), np.nan, seconds) if dates.ndim else float("nan" if np.isnat(dates) else seconds)
