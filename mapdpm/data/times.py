"""Times of points, and the slices of points at one time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.dates import in_seconds
from mapdpm.protocol import Labels, Vector
from mapdpm.validation import check_one_a_point


class Times(NamedTuple):
    """Distinct times, ascending, and the slice of each point."""

    values: Vector
    """(T,): in the unit of what was given; of dates in seconds."""
    of_points: Labels
    """(N,): which of them."""


def read_times(times: Any, n_points: int) -> Times:
    """The slices of ``times``, a number or a date a point; ValueError for another shape, or a value that is no time."""
    if times is None:
        msg = "times are needed, one a point: points at equal times are a slice"
        raise ValueError(msg)
    given = np.asarray(in_seconds(times))
    try:
        if given.dtype.kind == "c":
            raise TypeError  # noqa: TRY301  (said below)
        values = given.astype(np.float64)
    except (TypeError, ValueError):
        msg = f"times must be numbers or dates, got an array of {given.dtype}"
        raise ValueError(msg) from None
    check_one_a_point("times", values, n_points)
    if not np.all(np.isfinite(values)):
        msg = f"times must be finite, got {values[~np.isfinite(values)][0]} at point {np.argmin(np.isfinite(values))}"
        raise ValueError(msg)
    distinct, of_points = np.unique(values, return_inverse=True)
    return Times(distinct, of_points.reshape(-1))
