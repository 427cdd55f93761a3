"""Spikes of a column: values that are repeated far more often than those around them explain; maths (171) to (173).

A column is a number of atoms, its distinct values, in cells of its grid. What is to be explained by chance is the
number of points c in one cell, where its neighbourhood has lambda a cell. Numbers of cells may vary more than those of
independent points, as where a sensor holds its value: a negative binomial of mean lambda, whose variance is phi lambda.
An atom is a spike if both hold:

- *It is no chance*: less than 1/1000 cell of the column is expected to have as many points (``FALSE_ALARMS``).
- *It is no peak*: c >= 4 + 3 s, with s what the cells beside it say: c_1 max(1, c_1 / (c_2 + 1)) of the next two, on
  the side where that is more. Densities of normal clusters are log-concave, so c_1^2 / c_2 is at least c in one of
  them; with a background below it, it is more than c / 2.2 for a standard deviation of 0.4 steps or more. An empty
  cell has no points, but an atom beyond it counts, less one. The shape of a column of seven values or fewer
  is not known so well: c >= 4 + 8 s.

lambda is that of the nearest points, as many on both sides together as the atom has. phi is the mean squared difference
of neighbouring cells over their sum, without the three largest atoms, and a little more where there are few. A column
has at most two spikes: if more atoms pass, it consists of repeated values, and has none; but the two largest are spikes
if the third is 8 times smaller, or if 90 % of the other points differ.
"""

from __future__ import annotations

from math import lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.steps import Grid
from mapdpm.protocol import Vector

FALSE_ALARMS = 1e-3
"""The expected number of atoms of a column that pass by chance."""

_TIMES, _TIMES_OF_FEW, _MORE = 3.0, 8.0, 4.0  # a peak has fewer points
_FEW_VALUES = 7
_NEXT = 1.5  # cells: nearer atoms are in the next one
_SMALLER = 8.0
_MANY_OTHERS, _DISTINCT = 20, 0.9  # other values, and their share of distinct ones
_LEAST_SHARE = 0.005  # of all points: what is rarer changes nothing
_FEWEST_OTHERS = 3  # distinct values
_MOST = 2
_TRIED = 6
_FEW = 10.0  # atoms: of so few the variance is known to half of itself


def spikes_of(values: Vector, counts: Vector, grid: Grid | None) -> list[int]:
    """The places of the spikes among ``values``, which rise; ``counts`` has the points of each; the largest first.

    Without a grid, cells are as wide as a rounding of the largest value.

    Examples
    --------
    >>> values = np.concatenate([[0.0], np.linspace(1.0, 2.0, 90)])
    >>> spikes_of(values, np.where(values == 0.0, 10.0, 1.0), None)
    [0]
    """
    if len(values) < _FEWEST_OTHERS + 1 or counts.max() < _MORE:
        return []
    cells = _cells(values, grid)
    likely = np.flatnonzero((counts >= _LEAST_SHARE * counts.sum()) & _are_no_peaks(cells, counts))
    likely = likely[np.argsort(-counts[likely], kind="stable")][:_TRIED]
    found = [at for at in likely.tolist() if _is_beyond_chance(cells, counts, at)]
    if len(found) > _MOST and not _are_exceptions(counts, found):
        return []
    return found[: min(_MOST, len(values) - _FEWEST_OTHERS)]


def _are_exceptions(counts: Vector, found: list[int]) -> bool:
    """Whether the first two of more atoms that pass are spikes: the third is small, or the rest hardly has ties."""
    rest = np.delete(counts, found)
    if len(rest) >= max(_MANY_OTHERS, _DISTINCT * rest.sum()):
        return True
    return bool(counts[found[_MOST]] * _SMALLER <= counts[found[_MOST - 1]])


def _cells(values: Vector, grid: Grid | None) -> Vector:
    """The place of each value in cells."""
    if grid is not None:
        return grid.cells.astype(np.float64)
    return (values - values[0]) / (float(np.abs(values).max()) * 2.0**-50)


def _are_no_peaks(cells: Vector, counts: Vector) -> NDArray[np.bool_]:
    """Whether each is more than the atoms beside it explain."""
    beside = np.maximum(_before(cells, counts), _before(-cells[::-1], counts[::-1])[::-1])
    return counts >= _MORE + (_TIMES if len(cells) > _FEW_VALUES else _TIMES_OF_FEW) * beside


def _before(cells: Vector, counts: Vector) -> Vector:
    """What the two atoms before each say that it has."""
    far = np.concatenate([[True], np.diff(cells) > _NEXT])
    near = np.concatenate([[0.0], counts[:-1]])
    first = np.maximum(0.0, near - far)
    second = np.where(far[:-1], 0.0, near[:-1])
    slope = np.maximum(1.0, first / (np.concatenate([[0.0], second]) + 1.0))
    return first * np.where(far, 1.0, slope)


def _is_beyond_chance(cells: Vector, counts: Vector, at: int) -> bool:
    mean = _mean_around(cells, counts, at)
    n_cells = float(cells[-1] - cells[0]) + 1.0
    return log(n_cells) + _log_tail(float(counts[at]), mean, _dispersion(cells, counts, at)) <= log(FALSE_ALARMS)


def _mean_around(cells: Vector, counts: Vector, at: int) -> float:
    """Points a cell among the nearest points to an atom, as many as it has."""
    others = np.delete(counts, at)
    away = np.delete(np.abs(cells - cells[at]), at)
    order = np.argsort(away, kind="stable")
    sums = np.cumsum(others[order])
    last = min(int(np.searchsorted(sums, counts[at])), len(sums) - 1)
    reach = away[order[last]]
    low, high = max(cells[0], cells[at] - reach), min(cells[-1], cells[at] + reach)
    return float(sums[last] / (high - low))


def _dispersion(cells: Vector, counts: Vector, at: int) -> float:
    """The variance of the numbers of neighbouring cells over their mean, at least 1."""
    kept = np.ones(len(counts), dtype=bool)
    kept[np.argsort(-counts, kind="stable")[: _MOST + 1]] = False
    kept[at] = False
    if not kept.any():
        return 1.0
    beside = np.diff(cells) < _NEXT
    pairs = beside & kept[1:] & kept[:-1]
    squares, total = np.square(np.diff(counts))[pairs].sum(), (counts[1:] + counts[:-1])[pairs].sum()
    n_empty = 2.0 - np.append(beside, False) - np.append(False, beside)  # of the cells beside each
    squares += (n_empty * counts**2)[kept].sum()
    total += (n_empty * counts)[kept].sum()
    excess = max(0.0, float(squares / total) - 1.0) if total else 0.0
    return 1.0 + excess * (1.0 + _FEW / kept.sum())


def _log_tail(count: float, mean: float, dispersion: float) -> float:
    """An upper bound of the log of the probability of ``count`` or more: by its last ratio the tail is geometric."""
    if count <= mean:
        return 0.0
    if dispersion - 1.0 < 1e-6:  # noqa: PLR2004  (Poisson)
        log_mass, ratio = count * log(mean) - mean - lgamma(count + 1.0), mean / (count + 1.0)
    else:
        size = mean / (dispersion - 1.0)
        share = 1.0 - 1.0 / dispersion
        log_mass = lgamma(count + size) - lgamma(size) - lgamma(count + 1.0) + count * log(share)
        log_mass -= size * log(dispersion)
        ratio = max(share, share * (count + size) / (count + 1.0))
    return min(0.0, log_mass - log1p(-ratio)) if ratio < 1.0 else 0.0
