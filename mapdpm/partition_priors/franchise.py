"""The hierarchical Dirichlet process, as a distribution over the clusters of grouped points (Teh2004).

Clusters are shared by all groups; in the words of Teh2004 they are the dishes of a franchise of restaurants, and the
groups are its restaurants. Only the table of counts n_jk, points of group j in cluster k, matters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import SMALLEST, Labels, Matrix, Vector
from mapdpm.special import log_gamma_excess, log_rising, log_rising_of_arrays, rising_moments
from mapdpm.validation import check_number

_MOST_STEPS = 200
_NEAR = 1e-12
"""Newton's steps end here. The error left is about the square of the last step."""
_LONGEST_STEP = 2.0
_FIRST_STEPS = 2
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

LARGEST_CONCENTRATION = 1e30
"""alpha and gamma are between its inverse and this: products of alpha and shares are then above SMALLEST."""

_NEAR_SADDLE = 1e-7
"""Newton's steps to the saddlepoint end here; the integral is stationary there."""

_NODES = np.arange(-9.0, 5.1, 0.5)
"""The points of the trapezoidal rule, in standard deviations of log b from its mode. The density falls at least as
exp(log b) to the left, and faster than any exponential to the right; the rest beyond the points is below 2e-4 of it."""


class Solution(NamedTuple):
    """The common shares of the clusters of a table, and its log probability."""

    shares: Vector
    """(K + 1,): beta_k, and last beta_u, the share of all clusters that nobody has; they sum to 1."""
    log_partition: float
    """log p(z), in nats."""


class Franchise(NamedTuple):
    r"""p(z) of a hierarchical Dirichlet process: its tables and common shares are integrated out (Teh2004 (24)-(28)).

    p(z) = gamma^K / prod_j alpha^(n_j) I, where I is the integral of beta_u^(gamma - 1) prod_k g_k(beta_k) / beta_k
    over shares that sum to 1, g_k(b) = prod_j (alpha b)^(n_jk) and a^(n) = a (a + 1) ... (a + n - 1). Without the
    constraint the integral is a product over clusters. So I is an inverse Laplace transform in one variable, which the
    saddlepoint method finds to some 0.005 nats, and to 0.02 for a single cell (maths (53) to (57)).

    Examples
    --------
    >>> import numpy as np
    >>> prior = Franchise(alpha=1.0, gamma=1.0)
    >>> apart = prior.log_partition(np.array([[1, 0], [0, 1]]))  # exactly log 1/2
    >>> print(f"{np.exp(apart):.3f}")
    0.500
    """

    alpha: float
    gamma: float

    def log_partition(self, table: Labels) -> float:
        """log p(z) of a table of counts (groups, K), in nats; each group and each cluster must have a point."""
        return self.solve(table).log_partition

    def solve(self, table: Labels) -> Solution:
        """The mode of the shares given ``table`` (groups, K), and log p(z); O(cells of different counts)."""
        cells = _cells(table)
        mode = self._mode(cells)
        sizes, repeats = np.unique(table.sum(axis=1), return_counts=True)
        groups = sum(count * log_rising(self.alpha, float(n)) for n, count in zip(sizes, repeats, strict=True))
        constant = table.shape[1] * math.log(self.gamma) - groups
        shares = np.append(np.exp(mode.log_shares), self.gamma / mode.total)
        return Solution(shares, constant + self._log_integral(cells, mode))

    def _mode(self, cells: _Cells) -> _Mode:
        """The mode of the shares in log beta_k / beta_u: beta_k = E_k / S, beta_u = gamma / S, S = gamma + sum E_k.

        E_k is the expected number of tables of cluster k given beta_k. The mode is unique: E_k less its derivative by
        log beta_k is positive, so for given S one beta_k solves its equation; the larger S, the smaller is each E_k, so
        one S does. Steps of an expectation-maximisation, which always climb, come first; then Newton's steps.
        """
        tables = cells.sums(np.ones(len(cells.counts)))
        total = self.gamma + tables.sum()
        log_shares = np.log(tables / total)
        for step in range(_MOST_STEPS):
            weights = np.maximum(self.alpha * np.exp(log_shares), SMALLEST)
            means, squares = rising_moments(weights[cells.clusters], cells.counts)
            tables, spread = cells.sums(means), cells.sums(squares)
            newton = None if step < _FIRST_STEPS else _newton(log_shares, total, tables, spread, self.gamma)
            if newton is None:
                total = self.gamma + tables.sum()
                log_shares = np.log(tables / total)
                continue
            move, move_total = newton
            log_shares, total = log_shares + move, total * math.exp(move_total)
            if max(float(np.abs(move).max()), abs(move_total)) < _NEAR:
                break
        return _Mode(log_shares, total, 1.0 / np.sqrt(spread))

    def _log_integral(self, cells: _Cells, mode: _Mode) -> float:
        """Log I, as the inverse Laplace transform of Gamma(gamma) t^-gamma prod_k F_k(t) at 1.

        F_k(t) is the integral of g_k(b) exp(-t b) db / b, by the trapezoidal rule in log b.
        """
        gamma = self.gamma
        logs = mode.log_shares[:, None] + mode.widths[:, None] * _NODES
        b = np.exp(logs)
        weights = np.maximum(self.alpha * b, SMALLEST)
        heights = np.zeros_like(b)
        rising = log_rising_of_arrays(weights[cells.clusters], cells.counts[:, None])
        np.add.at(heights, cells.clusters, cells.repeats[:, None] * rising)
        t = mode.total
        for _ in range(_MOST_STEPS):
            found = _Cumulants.of(heights, t * b)
            curvature = gamma + found.second
            step = (gamma + found.first - t) / curvature
            if abs(step) < _NEAR_SADDLE:
                break
            t *= 1.0 + max(-0.5, min(step, 1.0))
        spacing = mode.widths * (_NODES[1] - _NODES[0])
        rest = found.first - gamma * math.log1p(found.first / gamma)  # t - gamma - gamma log(t / gamma)
        return (
            log_gamma_excess(gamma)
            + rest
            + float((found.log_sums + np.log(spacing)).sum())
            + math.log(t)
            - 0.5 * math.log(curvature)
            - _HALF_LOG_2PI
            - _stirling_error(curvature)
            + (6.0 * gamma + found.fourth) / (8.0 * curvature**2)
            - 5.0 * (2.0 * gamma + found.third) ** 2 / (24.0 * curvature**3)
            + 1.0 / (12.0 * curvature)
        )


def franchise(alpha: float, gamma: float) -> Franchise:
    """The process with concentrations ``alpha`` and ``gamma``, checked."""
    values = []
    for name, given in (("alpha", alpha), ("gamma", gamma)):
        value = check_number(name, given)
        if not value > 0.0:
            msg = f"{name} must be > 0, got {value}"
            raise ValueError(msg)
        if not 1.0 / LARGEST_CONCENTRATION <= value <= LARGEST_CONCENTRATION:
            msg = (
                f"{name} must be between {1.0 / LARGEST_CONCENTRATION:.0e} and {LARGEST_CONCENTRATION:.0e}, got {value}"
            )
            raise ValueError(msg)
        values.append(value)
    return Franchise(*values)


class _Cumulants(NamedTuple):
    """The cumulants of x = t b under the density exp(heights - x) of each cluster, summed over the clusters."""

    log_sums: Vector
    first: float
    second: float
    third: float
    fourth: float

    @classmethod
    def of(cls, heights: Matrix, x: Matrix) -> _Cumulants:
        exponents = heights - x
        tops = exponents.max(axis=1, keepdims=True)
        p = np.exp(exponents - tops)
        sums = p.sum(axis=1, keepdims=True)
        p /= sums
        means = (p * x).sum(axis=1, keepdims=True)
        off = x - means
        squares = off * off
        variances = (p * squares).sum(axis=1)
        third = float((p * squares * off).sum())
        fourth = float((p * squares * squares).sum() - 3.0 * variances @ variances)
        log_sums = (tops + np.log(sums))[:, 0]
        return cls(log_sums, float(means.sum()), float(variances.sum()), third, fourth)


class _Cells(NamedTuple):
    """The cells of a table with points in them. Equal counts of a cluster are listed once."""

    clusters: Labels
    counts: Labels
    repeats: NDArray[np.float64]

    def sums(self, values: Vector) -> Vector:
        """The sum over all cells of each cluster."""
        return np.bincount(self.clusters, self.repeats * values).astype(np.float64, copy=False)


class _Mode(NamedTuple):
    """The mode of the shares: log beta_k, S, and the standard deviation of log b of each cluster, given S."""

    log_shares: Vector
    total: float
    widths: Vector


def _cells(table: Labels) -> _Cells:
    groups, clusters = np.nonzero(table)
    base = int(table.max()) + 1
    keys, repeats = np.unique(clusters * base + table[groups, clusters], return_counts=True)
    return _Cells(keys // base, keys % base, repeats.astype(np.float64))


def _newton(
    log_shares: Vector, total: float, tables: Vector, spread: Vector, gamma: float
) -> tuple[Vector, float] | None:
    """A Newton step of the log shares and of log S; None where it is not safe. All its sums have positive terms."""
    wanted = total * np.exp(log_shares)
    slopes = wanted - (tables - spread)
    if np.any(slopes <= 0.0):
        return None
    off, off_total = wanted - tables, total - gamma - float(tables.sum())
    rates = (tables - spread) / slopes
    move_total = -(off_total + float(rates @ off)) / (total + float(rates @ wanted))
    move = -(off + wanted * move_total) / slopes
    longest = max(float(np.abs(move).max()), abs(move_total))
    return None if longest > _LONGEST_STEP else (move, move_total)


def _stirling_error(x: float) -> float:
    """LnGamma(x) less its Stirling formula without the series: (x - 1/2) ln x - x + (1/2) ln 2 pi."""
    return log_gamma_excess(x) + 0.5 * math.log(x) - _HALF_LOG_2PI
