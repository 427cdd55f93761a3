"""The maximum of a function of one variable, without its slope."""

from __future__ import annotations

import math
from collections.abc import Callable

_GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
_MOST_STEPS = 100  # golden sections alone would reach a relative width of 1e-20


def highest(
    function: Callable[[float], float],
    low: float,
    high: float,
    tolerance: float,
    start: float | None = None,
    at_start: float | None = None,
) -> tuple[float, float]:
    """The maximiser of ``function``, which has one maximum from ``low`` to ``high``, within ``tolerance``; its value.

    Brent's method (1973, chapter 5): parabolas through the three best points, and a golden section where one is not
    trusted. It begins at ``start``, where the value is ``at_start``, if known. The function may be -inf in places.
    """
    best = second = third = low + _GOLDEN * (high - low) if start is None else min(max(start, low), high)
    known = at_start if best == start else None
    at_best = at_second = at_third = float(function(best)) if known is None else known
    step = before = 0.0
    near = 0.5 * tolerance
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (low + high)
        if abs(best - middle) + 0.5 * (high - low) <= 2.0 * near:
            break
        wanted = _peak((best, at_best), (second, at_second), (third, at_third))
        trusted = low < best + wanted < high and abs(wanted) < 0.5 * abs(before)
        before = step
        if trusted:
            step = wanted
            if min(best + step - low, high - best - step) < 2.0 * near:
                step = math.copysign(near, middle - best)
        else:
            before = (low if best >= middle else high) - best
            step = _GOLDEN * before
        t = best + (step if abs(step) >= near else math.copysign(near, step))
        value = float(function(t))
        if value >= at_best:
            low, high = (best, high) if t >= best else (low, best)
            third, at_third, second, at_second = second, at_second, best, at_best
            best, at_best = t, value
            continue
        low, high = (t, high) if t < best else (low, t)
        if value >= at_second or second == best:
            third, at_third, second, at_second = second, at_second, t, value
        elif value >= at_third or third in (best, second):
            third, at_third = t, value
    return best, at_best


def _peak(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> float:
    """The place of the peak of a parabola through three points, from the first one on; infinite where there is none."""
    (x, f), (y, g), (z, h) = one, two, three
    r, s = (x - y) * (f - h), (x - z) * (f - g)
    bend = 2.0 * (s - r)
    return ((x - y) * r - (x - z) * s) / bend if bend and math.isfinite(bend) else math.inf
