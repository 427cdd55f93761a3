"""Draws of parameters, as logarithms where they may be too small for a float."""

from __future__ import annotations

from math import log

from mapdpm.jit import jitable
from mapdpm.protocol import RngVerbs

# Scales are clipped to 1e-200 and 1e200, so that squares of draws stay finite.
_FARTHEST = 200.0 * log(10.0)


@jitable
def log_gamma(rng: RngVerbs, shape: float) -> float:
    """Log of a draw from Gamma(shape, rate 1), however small the shape: G(a) = G(a + 1) u^(1 / a)."""
    return log(rng.gamma(shape + 1.0)) + log(1.0 - rng.uniform()) / shape


@jitable
def within_range(log_scale: float) -> float:
    """``log_scale``, not so far out that its exponential overflows or vanishes."""
    return min(max(log_scale, -_FARTHEST), _FARTHEST)
