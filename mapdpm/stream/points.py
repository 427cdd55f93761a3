"""Points and times at the border of a stream: one point is a sequence of numbers, a time is in seconds or a date."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.dates import in_seconds
from mapdpm.validation import check_number, refuse_value

MICROSECONDS = 1e6
"""In a second."""

_OUT_OF_RANGE = 2.0**62


def check_point(x: Any) -> int:
    """Number of features of a point; ValueError where it is no sequence."""
    if isinstance(x, (str, bytes, dict)) or not hasattr(x, "__len__") or np.ndim(x) != 1 or len(x) == 0:
        hint = "; mapdpm.compat.river takes dicts" if isinstance(x, dict) else ""
        msg = f"x must be a sequence of numbers, one a feature, got {x!r}{hint}"
        raise ValueError(msg)
    return len(x)


def microseconds(t: Any) -> int:
    """A time in seconds, or a date, as the integer microseconds of the C library."""
    seconds = t if type(t) is float and math.isfinite(t) else float(check_number("t", in_seconds(t)))
    return round(min(max(seconds * MICROSECONDS, -_OUT_OF_RANGE), _OUT_OF_RANGE))


def microseconds_of_many(t: Any, n: int) -> NDArray[np.int64] | None:
    """Times of n points in microseconds, shape (n,), from seconds or dates; None where ``t`` is None."""
    if t is None:
        return None
    try:
        times = np.asarray(in_seconds(t), dtype=np.float64)
    except (TypeError, ValueError):
        refuse_value("t must be numbers, in seconds, or dates", t)
    if times.shape != (n,):
        msg = f"t must have one entry a point, shape ({n},), got shape {times.shape}"
        raise ValueError(msg)
    if not np.isfinite(times).all():
        msg = f"t contains NaN or infinity at entry {int(np.argmin(np.isfinite(times)))}"
        raise ValueError(msg)
    return _rounded_microseconds(times)


def _rounded_microseconds(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Seconds as microseconds; a time beyond any clock becomes one that the C library refuses."""
    return np.rint(np.clip(seconds * MICROSECONDS, -_OUT_OF_RANGE, _OUT_OF_RANGE)).astype(np.int64)
