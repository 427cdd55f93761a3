"""Draws of parameters."""

from __future__ import annotations

from math import log

from mapdpm.jit import jitable

# Scales are clipped to 1e-200 and 1e200, so that squares of draws stay finite.
_FARTHEST = 200.0 * log(10.0)


@jitable
def within_range(log_scale: float) -> float:
    """``log_scale``, not so far out that its exponential overflows or vanishes."""
    return min(max(log_scale, -_FARTHEST), _FARTHEST)
