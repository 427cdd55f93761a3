"""The step of a column: the grid m q + c on which all its values lie, but for the noise of floats.

A grid of decimals is looked for first: x 10^k is whole for the least k, and q is the greatest common divisor of all
differences. Steps that are no decimal, such as 1/3 or 5/1023, are the smallest gap between two values, or a small part
of it, of which all gaps are multiples. A value of a sensor of step s, printed with few decimals, lies off its place by
half a unit of the last one: then gaps are multiples of s but for that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mapdpm.protocol import Labels, Vector

_NOISES = (2.0**-51, 2.0**-41)  # as a share of the largest value: of some operations on floats, and of many
_NOISE_OF_FLOAT32 = 2.0**-22
_CLEAR = 4.0  # times this noise is the finest step that is looked for
_CLEAR_OF_NOISE, _CLEAR_OF_UNITS = 16.0, 5.0  # likewise, for steps that are no decimal, and those of printed values
_PROBES = 64
_PARTS = 8  # the smallest gap is at most so many steps
_UNIT = 0.55  # of the last decimal: how far a printed value lies from its place
_EVIDENCE = 20.0  # nats: log of how improbable it is that random numbers lie on a grid as they do
_LEAST = 1e-3  # values a step, in the middle half of them
_MOST_CELLS = 2.0**52


class Grid(NamedTuple):
    """A grid with the whole numbers of values on it.

    Examples
    --------
    >>> found = grid_of(np.array([0.1, 0.30000000000000004, 0.5, 1.1]))
    >>> round(found.step, 9), found.cells.tolist()
    (0.2, [0, 1, 2, 5])
    """

    step: float
    cells: Labels
    """For each value how many steps it lies above the first."""


def grid_of(values: Vector) -> Grid | None:
    """The coarsest grid of ``values``, which rise; None where they lie on none that is clearly wider than their noise.

    Evidence for a grid is (170): how improbable it is that random values lie on it.
    """
    if len(values) < 2:  # noqa: PLR2004  (a step needs two)
        return None
    for noise in _noises(values):
        found = _decimal(values, noise) or _common(values, noise, _CLEAR_OF_NOISE)
        if found is not None:
            return _coarser(values, found)
    return None


def _noises(values: Vector) -> list[float]:
    """How far values may be off: the noises of float64, and that of float32 where all values are of that kind."""
    largest = float(max(-values[0], values[-1]))
    noises = [share * largest for share in _NOISES]
    with np.errstate(over="ignore"):
        if np.array_equal(values.astype(np.float32), values):
            noises.append(_NOISE_OF_FLOAT32 * largest)
    return noises


def _decimal(values: Vector, noise: float) -> Grid | None:
    """The grid of the fewest decimals on which all values lie."""
    span, largest = float(values[-1] - values[0]), float(max(-values[0], values[-1]))
    probes = values[:: max(1, len(values) // _PROBES)]
    first = -math.floor(math.log10(span))
    for k in range(first, first + 17):
        unit = 10.0**-k if k <= 0 else 1.0 / 10.0**k
        if unit < _CLEAR * noise or largest / unit > _MOST_CELLS or not _is_evident(len(values), unit, 2.0 * noise):
            return None
        if _are_whole(probes, unit, noise) and _are_whole(values, unit, noise):
            cells = np.rint(values / unit).astype(np.int64)
            cells -= cells[0]
            n_units = _divisor(cells)
            return Grid(n_units * unit, cells // n_units) if n_units else None
    return None


def _is_evident(n: int, step: float, noise: float) -> bool:
    return n * math.log(step / noise) >= _EVIDENCE


def _are_whole(values: Vector, unit: float, noise: float) -> bool:
    scaled = values / unit
    return bool(np.all(np.abs(scaled - np.rint(scaled)) <= noise / unit))


def _divisor(cells: Labels) -> int:
    """The greatest common divisor; of many numbers it is soon 1."""
    found = 0
    for first in range(0, len(cells), _PROBES):
        found = int(np.gcd.reduce(cells[first : first + _PROBES], initial=found))
        if found == 1:
            break
    return found


def _common(values: Vector, noise: float, clear: float) -> Grid | None:
    """The grid of the largest step of which all gaps are multiples, up to ``noise`` in each value.

    None where the smallest gap is so small that a step could not matter.
    """
    n, gaps = len(values), np.diff(values)
    wide = np.sort(gaps[gaps > _CLEAR * noise])
    if not len(wide) or wide[0] * n < _LEAST * (values[(3 * n) // 4] - values[n // 4]):
        return None
    start = float(wide[wide <= wide[0] + 4.0 * noise].mean())
    few = wide[:_PROBES]
    for part in range(1, _PARTS + 1):
        step = start / part
        if step < clear * noise or not _is_evident(n - 2, step, _CLEAR * noise):
            return None
        whole = np.rint(few / step)
        if np.all(np.abs(few - whole * step) <= 2.0 * noise * (1.0 + whole)):
            found = _fitted(values, gaps, step, noise)
            if found is not None:
                return found
    return None


def _fitted(values: Vector, gaps: Vector, step: float, noise: float) -> Grid | None:
    """The grid near ``step``, which gaps of more and more steps make exact; None where a value lies off it."""
    reach = 8.0
    while True:
        near = gaps < reach * step
        whole = np.rint(gaps[near] / step)
        if np.any(whole):
            step = float(gaps[near] @ whole / (whole @ whole))
        if near.all():
            break
        reach *= 8.0
    cells = np.concatenate([[0.0], np.cumsum(np.rint(gaps / step))])
    if cells[-1] > _MOST_CELLS:
        return None
    x, m = values - values.mean(), cells - cells.mean()
    step = float(x @ m / (m @ m))
    return Grid(step, cells.astype(np.int64)) if np.all(np.abs(x - step * m) <= 2.0 * noise) else None


def _coarser(values: Vector, found: Grid) -> Grid:
    """The wider grid of values that were rounded a second time, to the steps of ``found``; else ``found``."""
    if np.diff(found.cells).min() < 2:  # noqa: PLR2004  (a step of three, less a unit)
        return found
    wider = _common(values, _UNIT * found.step, _CLEAR_OF_UNITS)
    return found if wider is None else wider
