"""Counts with independent features, one unknown rate a feature and cluster."""

from __future__ import annotations

from math import exp, lgamma, log, log1p, nan
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.counts import MOST
from mapdpm.jit import jitable, made_of
from mapdpm.likelihoods._moments import LEAST_SHARE
from mapdpm.likelihoods._parameters import Width, described, fitted_to, parameters
from mapdpm.likelihoods._sums import check_entries, fault_of_sums, is_exact
from mapdpm.protocol import LARGEST, Matrix, RngVerbs, Values, Vector
from mapdpm.special import LARGE_COUNT, digamma_of, log_count_gain, log_factorial, log_rising


@parameters(
    vectors=("a0", "b0"), positive={"a0": LARGEST, "b0": LARGEST}, widths={"a0": Width(), "b0": Width()}, number=6
)
class GammaPoisson(NamedTuple):
    """Counts with independent Poisson features, conjugate Gamma prior on each rate.

    ``rate ~ Gamma(shape a0, rate b0)`` for each feature and cluster, ``x ~ Poisson(rate)``. The density of a new point
    given a cluster is a product of negative binomial ones.

    Parameters
    ----------
    a0 : float > 0 or array of shape (n_features,)
        Shape of the prior: the number of events that it counts as.
    b0 : float > 0 or array of shape (n_features,)
        Rate of the prior: the number of points in which these events were seen.

    Raises
    ------
    ValueError
        A parameter is not a finite number > 0, or vectors differ in length; in ``for_data``, an entry that is no whole
        number from 0 to 1e9.

    Notes
    -----
    Immutable and comparable. A row is ``n, sums, sum log x! | share left, constant, log(b_n + 1)``;
    ``log_predictive`` costs O(D). In nats, all constants (log x! too): the probability of the counts. Formulas:
    docs/maths.md, (42) to (44). Densities are accurate at all counts. ``log_marginal`` is a sum of terms of size
    x log x, and is rounded as they are: by some 2e-16 x log x nats a count.

    Examples
    --------
    >>> GammaPoisson(a0=1.0, b0=[0.5, 2.0]).b0
    array([0.5, 2. ])
    """

    a0: Values
    b0: Values

    @classmethod
    def empirical(cls, X: Any, sample_weight: Any = None, *, missing: str = "error") -> GammaPoisson:
        """a0 = 1, b0 = 1 / mean of each column: rates are exponential about the mean of all (b0 = 1 where it is 0).

        With ``sample_weight`` a point of weight w counts w times. With ``missing="skip"`` NaN is a missing value, and
        means are those of the values that are there.
        """
        _, mean, _ = described(X, sample_weight, missing)
        return cls(1.0, 1.0 / np.where(mean > 0.0, mean, 1.0))

    def for_data(self, X: Matrix) -> GammaPoisson:
        """Self with one entry a feature in every vector; ValueError for an entry that is no count."""
        check_entries(X, (X < 0.0) | (X > MOST) | (np.floor(X) != X), "counts, whole numbers from 0 to 1e9")
        return fitted_to(self, X)

    def fault(self, statistics: Matrix) -> str:
        """What statistics in a file have that those of no data have; empty where nothing is wrong."""
        return fault_of_sums(statistics, MOST)

    def feature(self, d: int) -> GammaPoisson:
        return made_of(self, (self.a0[d : d + 1], self.b0[d : d + 1]))

    def size(self) -> int:
        return 4 + 2 * self.a0.shape[0]

    def n_statistics(self) -> int:
        return 2 + self.a0.shape[0]

    def init(self, row: Vector) -> None:
        row[:] = 0.0
        row[2 + self.a0.shape[0]] = 1.0
        self.prepare(row)

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        D = self.a0.shape[0]
        row[0] += w
        for d in range(D):
            row[1 + d] += w * data[i, d]
        row[1 + D] += w * _log_factorials(data, i)

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """The inverse of ``add``; False if rounding destroys the sums.

        After the statistics, the row holds the share that all removals since the row was made have left of the sum of
        log x!, and of the other sums if weights are not whole.
        """
        D = self.a0.shape[0]
        exact = is_exact(row[0], w)
        before = row[1 + D]
        row[1 + D] = max(0.0, before - w * _log_factorials(data, i))
        least = (1.0 + row[1 + D]) / (1.0 + before)
        if not exact:
            least = min(least, (row[0] - w) / row[0])
        row[0] -= w
        for d in range(D):
            events = row[1 + d]
            row[1 + d] = max(0.0, events - w * data[i, d])
            if not exact:
                least = min(least, (self.a0[d] + row[1 + d]) / (self.a0[d] + events))
        row[2 + D] *= least
        return row[2 + D] >= LEAST_SHARE

    def merge(self, row: Vector, other: Vector) -> None:
        for s in range(self.n_statistics()):
            row[s] += other[s]

    def prepare(self, row: Vector) -> None:
        """maths (43)."""
        D = self.a0.shape[0]
        constant = 0.0
        for d in range(D):
            b = self.b0[d] + row[0]
            constant -= (self.a0[d] + row[1 + d]) * log1p(1.0 / b)
            row[4 + D + d] = log(b + 1.0)
        row[3 + D] = constant

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """Log of the negative binomial product; maths (43)."""
        D = self.a0.shape[0]
        total = row[3 + D]
        for d in range(D):
            x = data[i, d]
            if x >= LARGE_COUNT:  # the constant of the row would cancel
                return self.log_predictive_weighted(row, data, i, 1.0)
            if x > 0.0:
                total += log_rising(self.a0[d] + row[1 + d], x) - lgamma(x + 1.0) - x * row[4 + D + d]
        return total

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row); maths (43)."""
        total = 0.0
        for d in range(self.a0.shape[0]):
            a, b, x = self.a0[d] + row[1 + d], self.b0[d] + row[0], data[i, d]
            if x >= LARGE_COUNT:
                total += log_count_gain(a, b, x, w)
            else:
                total += log_rising(a, w * x) - a * log1p(w / b) - w * (x * log(b + w) + lgamma(x + 1.0))
        return total

    def log_predictive_without(self, row: Vector, data: Any, i: int) -> float:
        """The predictive of what is left of the sums; nan for a large count, which takes digits away."""
        total = 0.0
        for d in range(self.a0.shape[0]):
            x = data[i, d]
            if x >= LARGE_COUNT:
                return nan
            a, b = self.a0[d] + max(row[1 + d] - x, 0.0), self.b0[d] + (row[0] - 1.0)
            total -= a * log1p(1.0 / b)
            if x > 0.0:
                total += log_rising(a, x) - lgamma(x + 1.0) - x * log(b + 1.0)
        return total

    def log_marginal(self, row: Vector) -> float:
        """maths (42)."""
        D = self.a0.shape[0]
        total = -row[1 + D]
        for d in range(D):
            total += log_rising(self.a0[d], row[1 + d]) - self.a0[d] * log1p(row[0] / self.b0[d])
            total -= row[1 + d] * log(self.b0[d] + row[0])
        return total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        """maths (44)."""
        total = 0.0
        for d in range(self.a0.shape[0]):
            a, b = self.a0[d], self.b0[d]
            total += log_rising(a + row[1 + d], other[1 + d]) - log_rising(a, other[1 + d])
            total += a * log1p(row[0] / b * (other[0] / (b + union[0])))
            total -= row[1 + d] * log1p(other[0] / (b + row[0])) + other[1 + d] * log1p(row[0] / (b + other[0]))
        return total

    def n_parameters(self) -> int:
        return 1 + self.a0.shape[0]

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """The sum of the rates, and the logarithm of each."""
        parameters[0] = 0.0
        for d in range(self.a0.shape[0]):
            parameters[1 + d] = rng.log_gamma(self.a0[d] + row[1 + d]) - log(self.b0[d] + row[0])
            parameters[0] += exp(parameters[1 + d])

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """maths (102)."""
        parameters[0] = 0.0
        for d in range(self.a0.shape[0]):
            a, b = self.a0[d] + row[1 + d], self.b0[d] + row[0]
            parameters[0] += a / b
            parameters[1 + d] = digamma_of(a) - log(b)

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        total = -parameters[0]
        for d in range(self.a0.shape[0]):
            x = data[i, d]
            if x > 0.0:
                total += x * parameters[1 + d] - log_factorial(x)
        return float(total)

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
        return rng.poisson(np.exp(parameters[1:]), (n, len(parameters) - 1)).astype(np.float64)

    def divergence(self, parameters: Vector, other: Vector) -> float:
        total = 0.0
        for d in range(1, 1 + self.a0.shape[0]):
            total += (exp(parameters[d]) - exp(other[d])) * (parameters[d] - other[d])
        return float(total)


@jitable
def _log_factorials(data: Any, i: int) -> float:
    """The sum of log x! over the features of a point."""
    total = 0.0
    for d in range(data.shape[1]):
        total += log_factorial(data[i, d])
    return total
