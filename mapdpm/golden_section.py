"""The maximum of a function of one variable, without its slope."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_MOST_SECTIONS = 60  # a relative width of 1e-12


def golden_section(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """The maximiser of ``function``, which has one maximum between ``low`` and ``high`` (Kiefer 1953)."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_MOST_SECTIONS):
        if high - low <= tolerance:
            break
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return 0.5 * (low + high)
