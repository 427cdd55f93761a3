"""One level of a hierarchical Dirichlet process: the shares of its nodes at their mode, and integrated out (Teh2004).

A node mixes clusters in shares of its own. Its children, groups or nodes of the level below, draw from it: in the words
of Teh2004 they are restaurants, clusters are dishes, and what a child sends up is its tables. A child is known here by
its counts alone, its cells: the points of a group, or the expected tables that a node below has got.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import SMALLEST, Labels, Matrix, Vector
from mapdpm.special import digamma, log_gamma_excess, log_rising_of_arrays, rising_moments, trigamma

_MOST_STEPS = 200
_NEAR, _NEAR_BY_CLIMBS = 1e-7, 1e-12
"""Steps end here. The error that a step of Newton's leaves is about its square."""
_LONGEST_STEP = 2.0
_FIRST_STEPS = 2
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

_NEAR_SADDLE = 1e-7
"""Newton's steps to the saddlepoint end here; the integral is stationary there."""

_NODES = np.arange(-9.0, 5.1, 0.5)
"""The points of the trapezoidal rule, in standard deviations of log b from its mode. The density falls at least as
exp(log b) to the left, and faster than any exponential to the right; the rest beyond the points is below 2e-4 of it."""

_bincount: Any = np.bincount  # its types say that sums are whole numbers
"""Sums of values by a number of each."""

_LARGE_BASE = 300.0
"""From here on the mean of the tables is that at the mode, to some 1 / a; a rule in log b loses digits of it."""
_SMALL = 1e-3
_STEP = 1e-3
"""The step of numerical derivatives by log b. Heights bend over a scale of 1, and have 12 digits or more."""


class Cells(NamedTuple):
    """The counts that the children of nodes have of a dish. Equal counts of a dish are listed once."""

    dishes: Labels
    """(cells,): the dish of each cell, in a list of all dishes of all nodes."""
    counts: Vector
    repeats: Vector
    tables: Tables | None = None
    """How the counts vary, which are mean numbers of tables then; None: counts are known."""
    at: Vector | None = None
    """The shares in the node at which ``tables`` have these means."""
    offsets: Vector | None = None
    """The weights of cells beside alpha times their shares: kappa, for a state that stays; None: no such weights."""

    def sums(self, values: Vector) -> Vector:
        """The sum over all cells of each dish."""
        return _bincount(self.dishes, self.repeats * values)


class Tables(NamedTuple):
    """The numbers of tables of the children of a level, given the shares above it; what its parents count as guests."""

    level: Level
    log_shares: Vector
    """(dishes,): those of the level, at the mode."""
    means: Vector
    """(dishes,)"""
    variances: Vector
    given: tuple[Vector, Vector]
    """Means and variances given the shares at the mode."""


class Level(NamedTuple):
    """The nodes of a level, the dishes that each of them has, and what their children have of these."""

    alpha: float
    """The concentration of the children."""
    concentration: float
    """That of the nodes: gamma at the root, and the alpha of the level above it below."""
    nodes: Labels
    """(dishes,): the node of each dish; sums over the dishes of each node are ``_bincount`` by it."""
    cells: Cells


class Mode(NamedTuple):
    """The shares b of dishes at their mode (maths (56), (79))."""

    log_shares: Vector
    totals: Vector
    """(nodes,): the concentration and all expected tables of the children, S."""
    tables: Vector
    """(dishes,): the expected tables of the children, E."""
    squares: Vector
    """(dishes,): E less its derivative by log b."""

    @property
    def shares(self) -> Vector:
        """(dishes,): b; those of a node and the rest sum to 1."""
        return np.exp(self.log_shares)


def first_guess(level: Level, bases: Vector) -> Mode:
    """A start for ``mode_of``: shares as if each cell had one table, and steps that always climb."""
    tables = level.cells.sums(np.ones(len(level.cells.counts)))
    for _ in range(_FIRST_STEPS):
        totals = level.concentration + _bincount(level.nodes, tables)
        log_shares = np.log((bases + tables) / totals[level.nodes])
        tables, squares = _tables(level, log_shares)
    totals = level.concentration + _bincount(level.nodes, tables)
    return Mode(np.log((bases + tables) / totals[level.nodes]), totals, tables, squares)


def _tables(level: Level, log_shares: Vector) -> tuple[Vector, Vector]:
    """(dishes,): the expected tables of the children, E; and E less its derivative by log b."""
    cells = level.cells
    shared = np.maximum(level.alpha * np.exp(log_shares), SMALLEST)[cells.dishes]
    if cells.offsets is None:
        means, squares = rising_moments(shared, cells.counts)
    else:  # of the tables, those that are opened by the share
        weights = shared + cells.offsets
        means, squares = rising_moments(weights, cells.counts)
        means, squares = means * (shared / weights), squares * (shared / weights) ** 2
    dishes, repeats = cells.dishes, cells.repeats
    return _bincount(dishes, repeats * means), _bincount(dishes, repeats * squares)


def mode_of(level: Level, bases: Vector, start: Mode) -> Mode:
    """The mode of the shares: b = (a + E) / S, S = concentration + sum E, with ``bases`` a; 0 at the root.

    E is the expected number of tables of the children given b. The mode is unique: a + E less the derivative of E by
    log b is positive, so for given S one b solves its equation; the larger S, the smaller is each E, so one S does.
    Where a step of Newton's is not safe, one of an expectation-maximisation takes its place, which always climbs.
    """
    nodes, log_shares, totals = level.nodes, start.log_shares, start.totals
    for _ in range(_MOST_STEPS):
        mode = Mode(log_shares, totals, *_tables(level, log_shares))
        sums = level.concentration + _bincount(level.nodes, mode.tables)
        moves, moves_total, safe = _newton(level, mode, bases)
        climbs = np.log((bases + mode.tables) / sums[nodes]) - log_shares
        moves = np.where(safe[nodes], moves, climbs)
        moves_total = np.where(safe, moves_total, np.log(sums / totals))
        log_shares, totals = log_shares + moves, totals * np.exp(moves_total)
        longest = max(float(np.abs(moves).max()), float(np.abs(moves_total).max()))
        if longest < (_NEAR if safe.all() else _NEAR_BY_CLIMBS):
            break
    tables = mode.tables + moves * (mode.tables - mode.squares)  # with the last step, to its square
    return mode._replace(log_shares=log_shares, totals=totals, tables=tables)


def _newton(level: Level, mode: Mode, bases: Vector) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Newton steps of log shares and of log S, and whether those of a node are safe. All sums have positive terms."""
    nodes = level.nodes
    wanted = mode.totals[nodes] * np.exp(mode.log_shares)
    derivatives = mode.tables - mode.squares
    slopes = wanted - derivatives
    steep = slopes > 0.0
    slopes = np.where(steep, slopes, 1.0)
    off = wanted - bases - mode.tables
    off_total = mode.totals - level.concentration - _bincount(nodes, mode.tables)
    rates = derivatives / slopes
    moves_total = -(off_total + _bincount(nodes, rates * off)) / (mode.totals + _bincount(nodes, rates * wanted))
    moves = -(off + wanted * moves_total[nodes]) / slopes
    longest: Vector = np.abs(moves_total)
    np.maximum.at(longest, nodes, np.abs(moves))
    return moves, moves_total, (longest <= _LONGEST_STEP) & (_bincount(nodes, (~steep).astype(np.float64)) == 0.0)


def integral(level: Level, bases: Vector, rests: Vector, mode: Mode) -> tuple[float, Tables]:
    """The log of the mean probability of all counts over the shares of the nodes, and the tables (maths (55), (80)).

    Without the constraint that shares sum to 1 it is a product over dishes of integrals F(t); so it is an inverse
    Laplace transform in one variable t for each node, by the saddlepoint method (decision 91). F is found by the
    trapezoidal rule in log b. ``rests`` are the bases of all clusters that a node does not have, together.
    """
    nodes, concentration = level.nodes, level.concentration
    widths = 1.0 / np.sqrt(bases + mode.squares)
    logs = widths[:, None] * _NODES  # log b, less its mode
    heights = _heights(level, np.exp(mode.log_shares[:, None] + logs))
    density = _Density.of(bases, mode)
    near, given = bases >= _LARGE_BASE, _derivatives(level, mode)
    shifts = np.zeros(len(rests))  # log t / S
    for _ in range(_MOST_STEPS):
        found = _Cumulants.of(heights, *density.at(logs + shifts[nodes][:, None]))
        means = np.where(near, given[0], found.means)
        tables = _bincount(level.nodes, means)
        curvatures = rests + _bincount(level.nodes, found.second)
        expected = mode.totals - concentration
        steps = (tables - concentration * np.expm1(shifts) - expected * np.exp(shifts)) / curvatures
        if np.abs(steps).max() < _NEAR_SADDLE:
            break
        shifts += np.log1p(np.clip(steps, -0.5, 1.0))
    log_sums = _bincount(level.nodes, found.log_sums + np.log(widths * (_NODES[1] - _NODES[0])))
    more = tables - concentration * np.log1p(tables / concentration)  # t - A - A log(t / A), A the concentration
    third, fourth = _bincount(level.nodes, found.third), _bincount(level.nodes, found.fourth)
    values = (
        log_gamma_excess(concentration)
        + more
        + log_sums
        + np.log(mode.totals)
        + shifts
        - 0.5 * np.log(curvatures)
        - _HALF_LOG_2PI
        - _stirling_errors(curvatures)
        + (6.0 * rests + fourth) / (8.0 * curvatures**2)
        - 5.0 * (2.0 * rests + third) ** 2 / (24.0 * curvatures**3)
        + 1.0 / (12.0 * curvatures)
    )
    # Given the tables, x is a Gamma variable of shape a + tables: so its moments are theirs.
    variances = np.where(near, given[1] + given[1] ** 2 * widths**2, found.second - bases - found.means)
    return math.fsum(values), Tables(level, mode.log_shares, means, variances, given)


def _derivatives(level: Level, mode: Mode) -> tuple[Vector, Vector]:
    """The mean and the variance of the children's tables given the shares: derivatives of the heights by log b."""
    if level.cells.tables is None:
        return mode.tables, mode.tables - mode.squares
    log_shares = mode.log_shares[:, None] + _STEP * np.array([-1.0, 0.0, 1.0])
    left, middle, right = _heights(level, np.exp(log_shares)).T
    return (right - left) / (2.0 * _STEP), (right - 2.0 * middle + left) / _STEP**2


def _heights(level: Level, shares: Matrix) -> Matrix:
    """The log probability of the children's counts of each dish, at the shares in the rows.

    Tables m have the factor a^(m), a = alpha b. Relative to that at another share its logarithm is close to linear in
    m, so the mean of the factor is that of a power r^m; and the mean of r^m given shares c of the level below is the
    probability of the counts there at r c, relative to that at c (maths (81)).
    """
    cells, below, at = level.cells, level.cells.tables, level.cells.at
    weights = np.maximum(level.alpha * shares, SMALLEST)[cells.dishes]
    if cells.offsets is not None:
        weights = weights + cells.offsets[:, None]
    counts = cells.counts[:, None]
    rising = log_rising_of_arrays(weights, counts)
    if below is not None and at is not None:
        first = np.maximum(level.alpha * at, SMALLEST)[:, None]
        log_r = digamma(weights + counts) - digamma(first + counts)
        log_c, (mean, variance) = below.log_shares[:, None], below.given
        powers = _heights(below.level, np.exp(log_c + log_r)) - _heights(below.level, np.exp(log_c))
        bends = trigamma(weights + counts) - trigamma(first + counts)
        rising += powers - log_r * mean[:, None]
        rising += 0.5 * ((below.variances - variance)[:, None] * log_r**2 + below.variances[:, None] * bends)
        rising -= log_rising_of_arrays(first, counts)
    heights = np.zeros_like(shares)
    np.add.at(heights, cells.dishes, cells.repeats[:, None] * rising)
    return heights


class _Density(NamedTuple):
    """The density of x = t b in log x: that of a Gamma variable of shape a, or exp(-x) at the root, where a = 0."""

    bases: Vector
    at_mode: Vector
    """x at the mode of b, if t = S."""
    log_ratios: Vector | None
    """log x / a there; None at the root."""
    constants: Vector | None

    @classmethod
    def of(cls, bases: Vector, mode: Mode) -> _Density:
        if not bases.any():
            return cls(bases, mode.tables, None, None)
        constants = np.array([log_gamma_excess(a) for a in bases.tolist()])
        return cls(bases, bases + mode.tables, np.log1p(mode.tables / bases), constants)

    def at(self, logs: Matrix) -> tuple[Matrix, Matrix]:
        """The log density, and x - a, where log x is ``logs`` more than at the mode; t^-a is left out."""
        if self.log_ratios is None or self.constants is None:
            x = self.at_mode[:, None] * np.exp(logs)
            return -x, x
        y, a = self.log_ratios[:, None] + logs, self.bases[:, None]
        series = y * y * (0.5 + y / 6.0 + y * y / 24.0)
        with np.errstate(over="ignore"):
            excess = np.where(np.abs(y) < _SMALL, series, np.expm1(y) - y)
        return -a * excess - self.constants[:, None], a * np.expm1(y)


class _Cumulants(NamedTuple):
    """The cumulants of x - a of each dish, under its density times the probability of the counts."""

    log_sums: Vector
    means: Vector
    second: Vector
    third: Vector
    fourth: Vector

    @classmethod
    def of(cls, heights: Matrix, log_density: Matrix, x: Matrix) -> _Cumulants:
        exponents = heights + log_density
        tops = exponents.max(axis=1, keepdims=True)
        p = np.exp(exponents - tops)
        sums = p.sum(axis=1, keepdims=True)
        p /= sums
        means = (p * x).sum(axis=1, keepdims=True)
        off = x - means
        squares = off * off
        variances = (p * squares).sum(axis=1)
        third = (p * squares * off).sum(axis=1)
        fourth = (p * squares * squares).sum(axis=1) - 3.0 * variances * variances
        return cls((tops + np.log(sums))[:, 0], means[:, 0], variances, third, fourth)


def _stirling_errors(x: Vector) -> Vector:
    """LnGamma(x) less its Stirling formula without the series: (x - 1/2) ln x - x + (1/2) ln 2 pi."""
    excess = np.array([log_gamma_excess(value) for value in x.tolist()])
    return excess + 0.5 * np.log(x) - _HALF_LOG_2PI
