"""Binary data with independent features, one unknown probability a feature and cluster."""

from __future__ import annotations

from math import exp, log1p
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import made_of
from mapdpm.likelihoods._moments import LEAST_SHARE
from mapdpm.likelihoods._parameters import Width, described, fitted_to, parameters
from mapdpm.likelihoods._sums import check_entries, fault_of_sums, is_exact
from mapdpm.protocol import LARGEST, Matrix, RngVerbs, Values, Vector
from mapdpm.special import digamma_of, log_rising


@parameters(
    vectors=("a0", "b0"), positive={"a0": LARGEST, "b0": LARGEST}, widths={"a0": Width(), "b0": Width()}, number=7
)
class BetaBernoulli(NamedTuple):
    """Features that are 0 or 1, independent, conjugate Beta prior on the probability of a 1.

    ``p ~ Beta(a0, b0)`` for each feature and cluster, ``x ~ Bernoulli(p)``. The probability that a new point of a
    cluster has a 1 is ``(a0 + ones) / (a0 + b0 + n)``.

    Parameters
    ----------
    a0 : float > 0 or array of shape (n_features,)
        The number of ones that the prior counts as.
    b0 : float > 0 or array of shape (n_features,)
        The number of zeros.

    Raises
    ------
    ValueError
        A parameter is not a finite number > 0, or vectors differ in length; in ``for_data``, an entry that is neither
        0 nor 1.

    Notes
    -----
    Immutable and comparable. A row is ``n, ones | share left, log p, log(1 - p)``; ``log_predictive`` costs O(D) and no
    logarithm. In nats, the probability of the point. Formulas: docs/maths.md, (45) to (47).

    Examples
    --------
    >>> BetaBernoulli(a0=1.0, b0=[1.0, 3.0]).a0
    array([1., 1.])
    """

    a0: Values
    b0: Values

    @classmethod
    def empirical(cls, X: Any, sample_weight: Any = None, *, missing: str = "error") -> BetaBernoulli:
        """a0 + b0 = 2, as of a uniform prior, with the share of ones in each column as mean.

        The share is (ones + 1) / (N + 2), so that it is neither 0 nor 1. With ``sample_weight`` a point of weight w
        counts w times. With ``missing="skip"`` NaN is a missing value; ones are N times their share of the values that
        are there.
        """
        total, mean, _ = described(X, sample_weight, missing)
        _check_binary(np.asarray(X))
        share = (total * mean + 1.0) / (total + 2.0)
        return cls(2.0 * share, 2.0 * (1.0 - share))

    def for_data(self, X: Matrix) -> BetaBernoulli:
        """Self with one entry a feature in every vector; ValueError for an entry other than 0 and 1."""
        _check_binary(X)
        return fitted_to(self, X)

    def fault(self, statistics: Matrix) -> str:
        """What statistics in a file have that those of no data have; empty where nothing is wrong."""
        return fault_of_sums(statistics, 1.0)

    def feature(self, d: int) -> BetaBernoulli:
        return made_of(self, (self.a0[d : d + 1], self.b0[d : d + 1]))

    def size(self) -> int:
        return 2 + 3 * self.a0.shape[0]

    def n_statistics(self) -> int:
        return 1 + self.a0.shape[0]

    def init(self, row: Vector) -> None:
        row[:] = 0.0
        row[1 + self.a0.shape[0]] = 1.0
        self.prepare(row)

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        row[0] += w
        for d in range(self.a0.shape[0]):
            row[1 + d] += w * data[i, d]

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """The inverse of ``add``; False if removals with weights that are not whole destroy the sums."""
        D = self.a0.shape[0]
        exact = is_exact(row[0], w)
        least = (row[0] - w) / row[0]
        row[0] -= w
        for d in range(D):
            a, b = self.a0[d] + row[1 + d], self.b0[d] + (row[0] + w - row[1 + d])
            row[1 + d] = min(max(row[1 + d] - w * data[i, d], 0.0), row[0])
            least = min(least, (self.a0[d] + row[1 + d]) / a, (self.b0[d] + (row[0] - row[1 + d])) / b)
        if not exact:
            row[1 + D] *= least
        return row[1 + D] >= LEAST_SHARE

    def merge(self, row: Vector, other: Vector) -> None:
        for s in range(self.n_statistics()):
            row[s] += other[s]

    def prepare(self, row: Vector) -> None:
        """maths (46)."""
        D = self.a0.shape[0]
        for d in range(D):
            a, b = self.a0[d] + row[1 + d], self.b0[d] + max(row[0] - row[1 + d], 0.0)
            row[2 + D + d] = -log1p(b / a)
            row[2 + 2 * D + d] = -log1p(a / b)

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """maths (46)."""
        D = self.a0.shape[0]
        total = 0.0
        for d in range(D):
            total += row[2 + D + d] if data[i, d] == 1.0 else row[2 + 2 * D + d]
        return total

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row); maths (46)."""
        total = 0.0
        for d in range(self.a0.shape[0]):
            a, b = self.a0[d] + row[1 + d], self.b0[d] + max(row[0] - row[1 + d], 0.0)
            total += log_rising(a if data[i, d] == 1.0 else b, w) - log_rising(a + b, w)
        return total

    def log_predictive_without(self, row: Vector, data: Any, i: int) -> float:
        """maths (46), of the other points."""
        total = 0.0
        for d in range(self.a0.shape[0]):
            ones = max(row[1 + d] - data[i, d], 0.0)
            a, b = self.a0[d] + ones, self.b0[d] + max(row[0] - 1.0 - ones, 0.0)
            total -= log1p(b / a if data[i, d] == 1.0 else a / b)
        return total

    def log_marginal(self, row: Vector) -> float:
        """maths (45)."""
        n, total = row[0], 0.0
        for d in range(self.a0.shape[0]):
            zeros = max(n - row[1 + d], 0.0)
            total += log_rising(self.a0[d], row[1 + d]) + log_rising(self.b0[d], zeros)
            total -= log_rising(self.a0[d] + self.b0[d], n)
        return total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:  # noqa: ARG002  (the sum of the two)
        """maths (47)."""
        total = 0.0
        for d in range(self.a0.shape[0]):
            a, b = self.a0[d], self.b0[d]
            zeros, others = max(row[0] - row[1 + d], 0.0), max(other[0] - other[1 + d], 0.0)
            total += log_rising(a + row[1 + d], other[1 + d]) - log_rising(a, other[1 + d])
            total += log_rising(b + zeros, others) - log_rising(b, others)
            total -= log_rising(a + b + row[0], other[0]) - log_rising(a + b, other[0])
        return total

    def n_parameters(self) -> int:
        return 2 * self.a0.shape[0]

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """Log p of each feature, then log(1 - p)."""
        D = self.a0.shape[0]
        for d in range(D):
            ones = rng.log_gamma(self.a0[d] + row[1 + d])
            zeros = rng.log_gamma(self.b0[d] + max(row[0] - row[1 + d], 0.0))
            top = max(ones, zeros)
            total = top + log1p(exp(min(ones, zeros) - top))
            parameters[d], parameters[D + d] = ones - total, zeros - total

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """maths (103)."""
        D = self.a0.shape[0]
        for d in range(D):
            a, b = self.a0[d] + row[1 + d], self.b0[d] + max(row[0] - row[1 + d], 0.0)
            total = digamma_of(a + b)
            parameters[d], parameters[D + d] = digamma_of(a) - total, digamma_of(b) - total

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        D = self.a0.shape[0]
        total = 0.0
        for d in range(D):
            total += parameters[d] if data[i, d] == 1.0 else parameters[D + d]
        return total

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
        ones = np.exp(parameters[: len(parameters) // 2])
        return (rng.random((n, len(ones))) < ones).astype(np.float64)

    def divergence(self, parameters: Vector, other: Vector) -> float:
        D = self.a0.shape[0]
        total = 0.0
        for d in range(D):
            log_odds = parameters[d] - parameters[D + d] - (other[d] - other[D + d])
            total += (exp(parameters[d]) - exp(other[d])) * log_odds
        return total


def _check_binary(X: Matrix) -> None:
    check_entries(X, (X != 0.0) & (X != 1.0), "zeros and ones")
