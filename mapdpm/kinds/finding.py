"""The kind of one column of numbers, from its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdpm.data.steps import Grid, grid_of
from mapdpm.kinds.counts import are_counts
from mapdpm.kinds.kinds import CONSTANT, CONTINUOUS, COUNT, FLAG, ROUNDED, SPIKED
from mapdpm.kinds.spikes import spikes_of
from mapdpm.protocol import Vector

_TIES = 0.02  # the share of points that share their value with others, from which on a step matters
_REPEATED = 0.5  # distinct values a point: fewer are repeated ones
_SPARSE = 16  # cells a value: a grid with more says nothing of repeated values
_SMALLEST = 1e-6  # of the spread
_TWO = 2
_LONELY = 4  # cells a value, from which on a grid may be that of two values alone
_FINER = 5.0
_NOISE = 2.0**-50  # as a share of the largest value: values that differ by no more are one


class Found(NamedTuple):
    """A kind, with its step and its spikes."""

    kind: str
    step: float = 0.0
    spikes: tuple[float, ...] = ()


class Atoms(NamedTuple):
    """The distinct values of a column, which rise, and how often each is there."""

    values: Vector
    counts: Vector

    @classmethod
    def of(cls, column: Vector) -> Atoms:
        """Those of the values that are there."""
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        return cls(values, counts.astype(np.float64))

    def without(self, places: list[int]) -> Atoms:
        """All but some."""
        return Atoms(np.delete(self.values, places), np.delete(self.counts, places))


def kind_of(atoms: Atoms) -> Found:
    """The kind of a column of numbers.

    One distinct value, but for the noise of floats, is a constant, two are a flag. Then the step is looked for, and
    spikes among its cells; the rest is a count, rounded or continuous. A step matters where at least 2 % of the rest
    share their value with others, or 2 % of them would do so if they were spread evenly. Where values are repeated
    twice or more on average, and lie on no grid, or on one of which they are less than a 16th, the step is their usual
    distance: a sensor that holds its values is continuous, with a step.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind_of(Atoms.of(rng.normal(size=200).round(1)))
    Found(kind='rounded', step=0.1, spikes=())
    >>> kind_of(Atoms.of(np.maximum(rng.normal(size=200), 0.0)))
    Found(kind='spiked', step=0.0, spikes=(0.0,))
    """
    if len(atoms.values) <= 1 or np.ptp(atoms.values) <= _NOISE * np.abs(atoms.values).max():
        return Found(CONSTANT, 0.0, tuple(atoms.values[:1].tolist()))
    if len(atoms.values) == _TWO:
        return Found(FLAG, 0.0, tuple(atoms.values.tolist()))
    grid, strangers = _grid_of_most(atoms)
    kept = atoms.without(strangers)
    own = spikes_of(kept.values, kept.counts, grid)[: _TWO - len(strangers)]
    spikes = sorted([*atoms.values[strangers].tolist(), *kept.values[own].tolist()])
    if not spikes:
        return _kind_of_rest(atoms, (), grid)
    rest = _without(atoms, spikes)
    return _kind_of_rest(rest, tuple(spikes), grid_of(rest.values))


def kind_without(atoms: Atoms, spikes: tuple[float, ...]) -> Found:
    """The kind of a column with these spikes, from its other values, which are no counts."""
    rest = _without(atoms, spikes)
    return _kind_of_rest(rest, spikes, grid_of(rest.values), counts=False)


def _without(atoms: Atoms, spikes: Sequence[float]) -> Atoms:
    return atoms.without(np.flatnonzero(np.isin(atoms.values, spikes)).tolist())


def _kind_of_rest(rest: Atoms, spikes: tuple[float, ...], grid: Grid | None, *, counts: bool = True) -> Found:
    """The kind of a column whose other values are ``rest``, on this grid."""
    if counts and are_counts(*rest):
        return Found(COUNT, 0.0, spikes)
    step, is_grid = _step_that_matters(rest, grid)
    return Found(SPIKED if spikes else ROUNDED if step and is_grid else CONTINUOUS, step, spikes)


def step_of(atoms: Atoms) -> float:
    """The step of a column that is rounded, whether or not it matters; 0 where there is none."""
    grid = grid_of(atoms.values)
    return 0.0 if grid is None else grid.step


def _step_that_matters(atoms: Atoms, grid: Grid | None) -> tuple[float, bool]:
    """The step, 0 where it does not matter; and whether it is that of a grid, not a distance of repeated values."""
    n, n_distinct = float(atoms.counts.sum()), len(atoms.values)
    if n_distinct < _TWO:
        return 0.0, False
    spread = float(np.ptp(atoms.values))
    is_full = grid is not None and grid.cells[-1] < _SPARSE * n_distinct
    if not is_full and n_distinct <= _REPEATED * n:
        distance = _usual_distance(atoms)
        if grid is None or grid.step < _SMALLEST * spread:
            return distance, False
        n_steps = round(distance / grid.step)
        return (n_steps if n_steps >= _LONELY else 1) * grid.step, True
    if grid is None or grid.step < _SMALLEST * spread:
        return 0.0, False
    matters = n_distinct <= (1.0 - _TIES) * n or grid.step * n >= _TIES * spread
    return (grid.step if matters else 0.0), True


def _usual_distance(atoms: Atoms) -> float:
    """The distance of a value to the next one, the median of all points."""
    gaps = np.diff(atoms.values)
    nearest = np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))
    order = np.argsort(nearest)
    sums = np.cumsum(atoms.counts[order])
    return float(nearest[order[np.searchsorted(sums, 0.5 * sums[-1])]])


def _grid_of_most(atoms: Atoms) -> tuple[Grid | None, list[int]]:
    """The grid; or that of all values but one or two that are repeated, as where gaps were filled with a mean."""
    grid = grid_of(atoms.values)
    if grid is not None and grid.cells[-1] < _LONELY * len(atoms.values):
        return grid, []
    most = np.argsort(-atoms.counts, kind="stable")[:_TWO].tolist()
    least = max(_LONELY, 0.005 * float(atoms.counts.sum()))
    for strangers in ([most[0]], [most[1]], most):
        rest = atoms.without(strangers)
        if atoms.counts[strangers].min() < least or len(rest.values) < _TWO * _LONELY:
            continue
        found = grid_of(rest.values)
        if found is None or (grid is not None and found.step < _FINER * grid.step):
            continue
        if found.cells[-1] < _LONELY * len(rest.values):
            return found, strangers
    return grid, []
