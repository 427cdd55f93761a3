"""The special functions that the mathematics needs, accurate where the textbook form cancels."""

from __future__ import annotations

from math import lgamma, log, log1p, pi

from mapdpm.jit import jitable

_STIRLING_FROM = 10.0
_HALF_LOG_2PI = 0.5 * log(2.0 * pi)


@jitable
def _stirling_tail(x: float) -> float:
    """LnGamma(x) minus its Stirling formula, for x >= 10, to 1e-15 (Abramowitz and Stegun 6.1.41)."""
    r = 1.0 / (x * x)
    tail = 1.0 / 1188.0 - r * (691.0 / 360360.0)
    return (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r * tail)))) / x


@jitable
def log_rising(a: float, h: float) -> float:
    """LnGamma(a + h) - lnGamma(a), the log of the rising factorial, for a > 0 and a + h > 0.

    A difference of two ``lgamma`` loses digits where both are large (2e-10 at a = 1e5); this one never forms them.
    """
    shift = 1.0
    while a < _STIRLING_FROM or a + h < _STIRLING_FROM:
        shift *= a / (a + h)
        a += 1.0
    stirling = (a - 0.5) * log1p(h / a) + h * (log(a + h) - 1.0)
    return log(shift) + stirling + (_stirling_tail(a + h) - _stirling_tail(a))


@jitable
def log_gamma_excess(x: float) -> float:
    """LnGamma(x) - x ln x + x for x > 0: what is left of lnGamma when its large terms have been taken out by hand."""
    if x < _STIRLING_FROM:
        return lgamma(x) - x * log(x) + x
    return _HALF_LOG_2PI - 0.5 * log(x) + _stirling_tail(x)
