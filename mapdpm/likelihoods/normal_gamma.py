"""Normal data, one unknown mean and variance a feature and cluster: the model of Raykov2014 section 3."""

from __future__ import annotations

from math import exp, log, log1p, nan
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable, made_of
from mapdpm.likelihoods import _draws as draws
from mapdpm.likelihoods import _moments as mo
from mapdpm.likelihoods._moments import HUGE, LOG_2PI, LOG_PI, PREPARED, TINY
from mapdpm.likelihoods._parameters import COUNT, Width, check_range, described, fitted_to, frozen, parameters
from mapdpm.protocol import LARGEST, Matrix, RngVerbs, Values, Vector
from mapdpm.special import digamma_of, log_gamma_excess, log_rising

# The product of D factors has a relative error of D 1e-16, and the exponent multiplies it. If D times the exponent is
# at most this, the error is at most a tenth of the tolerance of a move.
_LARGE = 1e5

# A share that has lost this much becomes a logarithm, before it loses digits.
_LARGEST_LOSS = 0.5


@parameters(
    vectors=("m0", "b0", "resolution"),
    positive={"c0": LARGEST, "a0": 1e8, "b0": LARGEST},
    widths={"c0": COUNT, "b0": Width(), "a0": Width(0.25, 100.0, absolute=True, follows=False)},
    number=1,
)
class NormalGamma(NamedTuple):
    """Normal data with independent features, conjugate Normal-Gamma prior (Raykov2014 (8)).

    ``tau ~ Gamma(shape a0, rate b0)`` and ``mu ~ Normal(m0, 1 / (c0 tau))`` for each feature and cluster. The density
    of a new point given a cluster is a product of Student t densities with ``2 a_n`` degrees of freedom (11).

    Parameters
    ----------
    m0 : float or array of shape (n_features,)
        Prior mean, in data units.
    c0 : float > 0
        The number of points that the prior mean counts as.
    a0 : float > 0
        Shape of the precision's Gamma prior; at most 1e8: a variance known more precisely is a known one.
    b0 : float > 0 or array of shape (n_features,)
        Rate of the precision's Gamma prior (a rate, not a scale), in squared data units.
    resolution : float >= 0 or array of shape (n_features,)
        The step that values are rounded to, in data units: 1 for whole numbers; 0 for none. Each value then stands for
        its cell, and the log marginal is a lower bound of the log density of cells (maths, section 34).

    Raises
    ------
    ValueError
        A parameter is not a finite number, not positive where it must be, or vectors differ in length.

    Notes
    -----
    Immutable and comparable. A row is ``n, mean, M2 | constant, exponent, sum log b_n, share left, m_n, s_n``;
    ``log_predictive`` costs O(D) and one logarithm. Formulas: docs/maths.md, (5) to (11).

    Examples
    --------
    >>> prior = NormalGamma(m0=[0.0, 0.0], c0=0.1, a0=1.0, b0=[1.0, 4.0])
    >>> prior == NormalGamma([0, 0], 0.1, 1, [1, 4])
    True
    """

    m0: Values
    c0: float
    a0: float
    b0: Values
    resolution: Values = 0.0

    @classmethod
    def empirical(cls, X: Any, sample_weight: Any = None, *, missing: str = "error") -> NormalGamma:
        """The empirical prior of Raykov2014 section 4.2: m0 = mean, c0 = 10 / N, a0 = 1, b0 = variance (ddof 0).

        A column of zero variance has no scale of its own and gets b0 = 1. With ``sample_weight`` a point of weight w
        counts w times, in N too. With ``missing="skip"`` NaN is a missing value: mean and variance are those of the
        values that are there (0 and 1 of none), and N is the number of points.
        """
        return cls.described_by(*described(X, sample_weight, missing))

    @classmethod
    def described_by(cls, total: float, mean: Vector, variance: Vector) -> NormalGamma:
        """``empirical`` from the total weight of points, their mean and their variance."""
        return cls(mean, 10.0 / total, 1.0, variance)

    def for_data(self, X: Matrix) -> NormalGamma:
        """Self with one entry a feature in every vector; ValueError where the data does not fit."""
        likelihood: NormalGamma = fitted_to(self, X)
        check_range(X, likelihood.m0, np.sqrt(likelihood.b0))
        return likelihood

    def shifted(self, offset: Vector) -> NormalGamma:
        """The same model for data from which ``offset`` was subtracted."""
        return self._replace(m0=frozen(self.m0 - offset))

    def scaled(self, scale: Vector) -> NormalGamma:
        """The same model for data that was multiplied by ``scale``."""
        return self._replace(m0=self.m0 * scale, b0=self.b0 * scale**2, resolution=self.resolution * np.abs(scale))

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Sample means and variances of clusters."""
        return mo.moments(rows)

    def feature(self, d: int) -> NormalGamma:
        one = self.m0[d : d + 1], self.c0, self.a0, self.b0[d : d + 1], self.resolution[d : d + 1]
        return made_of(self, one)

    def size(self) -> int:
        return mo.row_size(self.m0.shape[0])

    def n_statistics(self) -> int:
        return mo.n_moments(self.m0.shape[0])

    def init(self, row: Vector) -> None:
        mo.init(row, self.m0.shape[0])
        self.prepare(row)

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        mo.add(row, data, i, w)
        mo.add_cells(row, self.resolution, w)

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        return mo.remove(row, data, i, w, self.b0) and mo.remove_cells(row, self.resolution, w, self.b0)

    def merge(self, row: Vector, other: Vector) -> None:
        mo.merge(row, other, self.m0.shape[0])

    def prepare(self, row: Vector) -> None:
        """maths (7) to (9), (150): predictive = constant - exponent sum_d log(1 + s_d (x_d - m_d)^2)."""
        D = self.m0.shape[0]
        n = row[0]
        c = self.c0 + n
        a = self.a0 + 0.5 * n
        stretch = 2.0 * (c + 1.0) / c
        constant = mo.n_moments(D)
        centre = constant + PREPARED
        product, log_b = 1.0, 0.0
        excess, log_growth = 0.0, 0.0  # of b, by the cell of a point more
        for d in range(D):
            delta = row[1 + d] - self.m0[d]
            own = self.resolution[d] * self.resolution[d] / 24.0  # half of a cell
            b = self.b0[d] + 0.5 * (row[1 + D + d] + self.c0 * n * delta * delta / c)
            row[centre + d] = row[1 + d] - self.c0 / c * delta
            row[centre + D + d] = 1.0 / (stretch * (b + own))
            excess += own / b + excess * (own / b)
            if excess > HUGE:
                log_growth += log1p(excess)
                excess = 0.0
            product *= b
            if product > HUGE or product < TINY:
                log_b += log(product)
                product = 1.0
        log_b += log(product)
        log_growth += log1p(excess)
        row[constant] = D * (log_rising(a, 0.5) - 0.5 * (LOG_PI + log(stretch))) - 0.5 * log_b
        row[constant] -= (a + 0.5) * log_growth
        row[constant + 1] = a + 0.5
        row[constant + 2] = log_b

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """Log of the Student t product (11); maths (9)."""
        constant = mo.n_moments(self.m0.shape[0])
        return row[constant] - row[constant + 1] * _log_tail(row, data, i, 1.0)

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row); maths (11), (151)."""
        D = self.m0.shape[0]
        c = self.c0 + row[0]
        a = self.a0 + 0.5 * row[0]
        if mo.has_cells(self.resolution):
            tail = _log_growth(self, row, data, i, w)
        else:
            tail = _log_tail(row, data, i, w * (c + 1.0) / (c + w))
        gain = log_rising(a, 0.5 * w) + 0.5 * (log(c / (c + w)) - w * LOG_2PI)
        return D * gain - 0.5 * w * row[mo.n_moments(D) + 2] - (a + 0.5 * w) * tail

    def log_predictive_without(self, row: Vector, data: Any, i: int) -> float:
        """maths (10), (152); nan where the point and its cell leave little of b."""
        D = self.m0.shape[0]
        if row[0] <= 1.0:  # no other point is there
            return nan
        c, a = self.c0 + row[0], self.a0 + 0.5 * row[0]
        constant = mo.n_moments(D)
        centre = constant + PREPARED
        lost, logs = 0.0, 0.0
        for d in range(D):
            t = data[i, d] - row[centre + d]
            u = 0.5 * (mo.cell(self.resolution[d]) + c / (c - 1.0) * t * t) / _scale(self, row, d)
            if not u <= 1.0 - mo.LEAST_SHARE:
                return nan
            lost += u - lost * u  # 1 - the product of all 1 - u
            if lost > _LARGEST_LOSS:
                logs += log1p(-lost)
                lost = 0.0
        logs += log1p(-lost)
        constants = D * (log_rising(a - 0.5, 0.5) - 0.5 * (LOG_2PI + log(c / (c - 1.0))))
        return constants - 0.5 * row[constant + 2] + (a - 0.5) * logs

    def log_marginal(self, row: Vector) -> float:
        """maths (6)."""
        D = self.m0.shape[0]
        n = row[0]
        c = self.c0 + n
        total = D * (log_rising(self.a0, 0.5 * n) - 0.5 * (log(c / self.c0) + n * LOG_2PI))
        for d in range(D):
            delta = row[1 + d] - self.m0[d]
            grown = 0.5 * (row[1 + D + d] + self.c0 * n * delta * delta / c)
            total -= self.a0 * log1p(grown / self.b0[d]) + 0.5 * n * log(self.b0[d] + grown)
        return total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        """maths (20): by ratios of variances, because the marginals are large and nearly cancel."""
        D = self.m0.shape[0]
        a, a1, a2 = self.a0 + 0.5 * union[0], self.a0 + 0.5 * row[0], self.a0 + 0.5 * other[0]
        total = log_gamma_excess(a) + log_gamma_excess(self.a0) - log_gamma_excess(a1) - log_gamma_excess(a2)
        total += 0.5 * log((self.c0 + row[0]) / self.c0 * ((self.c0 + other[0]) / (self.c0 + union[0])))
        total *= D
        for d in range(D):
            v = _scale(self, union, d) / a
            total += a1 * log(_scale(self, row, d) / a1 / v) + a2 * log(_scale(self, other, d) / a2 / v)
            total -= self.a0 * log(self.b0[d] / self.a0 / v)
        return total

    def n_parameters(self) -> int:
        return 1 + 2 * self.m0.shape[0]

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """The constant of the density, the means, and halves of the precisions."""
        D = self.m0.shape[0]
        centre = mo.n_moments(D) + PREPARED
        parameters[0] = -0.5 * D * LOG_2PI
        for d in range(D):
            log_gamma = rng.log_gamma(self.a0 + 0.5 * row[0])
            log_precision = draws.within_range(log_gamma - log(_scale(self, row, d)))
            deviation = exp(-0.5 * (log(self.c0 + row[0]) + log_precision))
            parameters[1 + d] = row[centre + d] + deviation * rng.normal()
            parameters[1 + D + d] = 0.5 * exp(log_precision)
            parameters[0] += 0.5 * log_precision
            parameters[0] -= parameters[1 + D + d] * mo.cell(self.resolution[d])

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """maths (98), (153)."""
        D = self.m0.shape[0]
        centre = mo.n_moments(D) + PREPARED
        a = self.a0 + 0.5 * row[0]
        parameters[0] = 0.5 * D * (digamma_of(a) - LOG_2PI - 1.0 / (self.c0 + row[0]))
        for d in range(D):
            b = _scale(self, row, d)
            parameters[0] -= 0.5 * log(b)
            parameters[1 + d] = row[centre + d]
            parameters[1 + D + d] = 0.5 * a / b
            parameters[0] -= parameters[1 + D + d] * mo.cell(self.resolution[d])

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return draws.log_normal(parameters, data, i)

    def log_likelihoods(self, parameters: Vector, tile: Matrix, values: Vector) -> None:
        draws.log_normals(parameters, tile, values)

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
        return draws.normal_points(parameters, n, rng)

    def divergence(self, parameters: Vector, other: Vector) -> float:
        return draws.normal_divergence(parameters, other, self.m0.shape[0])


@jitable
def _scale(prior: NormalGamma, row: Vector, d: int) -> float:
    """b_n of feature ``d``; maths (5)."""
    n, delta = row[0], row[1 + d] - prior.m0[d]
    return float(prior.b0[d] + 0.5 * (row[1 + prior.m0.shape[0] + d] + prior.c0 * n * delta * delta / (prior.c0 + n)))


@jitable
def _log_growth(prior: NormalGamma, row: Vector, data: Any, i: int, w: float) -> float:
    """sum_d log(b / b_n), with b the scale after a rounded point of weight ``w``; maths (151)."""
    D = data.shape[1]
    centre = mo.n_moments(D) + PREPARED
    c = prior.c0 + row[0]
    excess, total = 0.0, 0.0
    for d in range(D):
        t = data[i, d] - row[centre + d]
        u = 0.5 * w * (mo.cell(prior.resolution[d]) + c / (c + w) * t * t) / _scale(prior, row, d)
        excess += u + excess * u
        if excess > HUGE:
            total += log1p(excess)
            excess = 0.0
    return total + log1p(excess)


@jitable
def _log_tail(row: Vector, data: Any, i: int, stretch: float) -> float:
    """sum_d log(1 + stretch s_d (x_d - m_d)^2), by one logarithm; maths section 5 on large clusters."""
    D = data.shape[1]
    constant = mo.n_moments(D)
    centre = constant + PREPARED
    if row[constant + 1] * D > _LARGE:
        return _log_tail_of_large(row, data, i, stretch)
    product, total = 1.0, 0.0
    for d in range(D):
        t = data[i, d] - row[centre + d]
        product *= 1.0 + stretch * t * t * row[centre + D + d]
        if product > HUGE:
            total += log(product)
            product = 1.0
    return total + log(product)


@jitable
def _log_tail_of_large(row: Vector, data: Any, i: int, stretch: float) -> float:
    """The same for a large cluster, from the product minus 1: its logarithm is near 0, times half the size."""
    D = data.shape[1]
    constant = mo.n_moments(D)
    centre = constant + PREPARED
    excess, total = 0.0, 0.0
    for d in range(D):
        t = data[i, d] - row[centre + d]
        u = stretch * t * t * row[centre + D + d]
        excess += u + excess * u
        if excess > HUGE:
            total += log1p(excess)
            excess = 0.0
    return total + log1p(excess)
