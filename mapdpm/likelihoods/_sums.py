"""Shared code of the families whose statistics are plain sums of counts."""

from __future__ import annotations

import math
from math import floor
from typing import Any

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Matrix


@jitable
def is_exact(n: float, w: float) -> bool:
    """Whether removing a point of weight ``w`` from sums of counts of total weight ``n`` is exact.

    With whole weights, sums of counts are whole numbers, which floats hold exactly.
    """
    return w == floor(w) and n == floor(n)


def check_entries(X: Matrix, wrong: Any, rule: str) -> None:
    """ValueError with the first entry of ``X`` where the array ``wrong`` is True, and the ``rule`` that it breaks.

    NaN is a missing value, and breaks none.
    """
    if np.any(wrong) and np.any(wrong & ~np.isnan(X)):
        row, column = np.argwhere(wrong & ~np.isnan(X))[0]
        msg = f"X must hold {rule}, but there is {X[row, column]:g} at row {row}, column {column} (counted from 0)"
        raise ValueError(msg)


def fault_of_sums(statistics: Matrix, most: float = math.inf) -> str:
    """What rows of a weight and sums of numbers from 0 to ``most`` have that no data has; empty if nothing is wrong."""
    weights, sums = statistics[:, :1], statistics[:, 1:]
    if np.any(sums < 0.0):
        return "a sum is negative"
    # Twice as much, for both are rounded; a sum of log x! has no such bound.
    limit = 2.0 * weights * (most * max(1.0, math.log(most)) if math.isfinite(most) else most)
    return "a sum is larger than its points allow" if np.any((weights > 0.0) & (sums > limit)) else ""
