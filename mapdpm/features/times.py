"""Times of points, in seconds since 1970 (UTC) or as dates, in the microseconds of the C library."""

from __future__ import annotations

from typing import Any

from mapdpm.stream.points import microseconds, microseconds_of_many

_NEEDED = "t is needed: the time of each point in seconds since 1970 (UTC), or its date"


def microseconds_of(t: Any, n: int | None, *, needed: bool) -> Any:
    """The times of n points, shape (n,), or that of one point where n is None; ValueError where they are needed."""
    if t is None:
        if needed:
            raise ValueError(_NEEDED)
        return None
    return microseconds(t) if n is None else microseconds_of_many(t, n)


def of_index(X: Any) -> Any:
    """The index of a DataFrame of pandas, where it has dates; else None."""
    index = getattr(X, "index", None)
    return index if getattr(getattr(index, "dtype", None), "kind", "") == "M" else None
