"""A family from outside of the package, in one file, as docs/adding-a-likelihood.md says: tries before a success."""

from __future__ import annotations

from math import exp, log1p
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable, made_of
from mapdpm.likelihoods import Width, check_entries, fault_of_sums, fitted_to, is_exact, parameters
from mapdpm.special import digamma_of, log_rising

MOST = 1e9


@parameters(
    name="beta-geometric",
    vectors=("a0", "b0"),
    positive={"a0": 1e100, "b0": 1e100},
    widths={"a0": Width(), "b0": Width()},
)
class BetaGeometric(NamedTuple):
    """Failures before a success, independent features, a Beta prior on each probability of success.

    p ~ Beta(a0, b0), P(x) = p (1 - p)^x; with n points of sum S, L = lnB(a0 + n, b0 + S) - lnB(a0, b0) a feature. A row
    is ``n, sums | share left``.
    """

    a0: Any
    b0: Any

    @classmethod
    def empirical(cls, X, sample_weight=None, *, missing="error"):
        """a0 = 2, and b0 such that the mean of the prior is that of each column."""
        values = np.asarray(X, dtype=np.float64)
        w = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight)
        there = ~np.isnan(values)
        mean = (np.where(there, values, 0.0) * w[:, None]).sum(axis=0) / np.maximum(
            (there * w[:, None]).sum(axis=0), 1e-9
        )
        return cls(2.0, np.where(mean > 0.0, mean, 1.0))

    def for_data(self, X):
        check_entries(X, (X < 0.0) | (X > MOST) | (np.floor(X) != X), "counts, whole numbers from 0 to 1e9")
        return fitted_to(self, X)

    def fault(self, statistics):
        return fault_of_sums(statistics, MOST)

    def feature(self, d: int) -> BetaGeometric:
        return made_of(self, (self.a0[d : d + 1], self.b0[d : d + 1]))

    def size(self) -> int:
        return 2 + self.a0.shape[0]

    def n_statistics(self) -> int:
        return 1 + self.a0.shape[0]

    def init(self, row) -> None:
        row[:] = 0.0
        row[1 + self.a0.shape[0]] = 1.0

    def prepare(self, row) -> None:
        """There is nothing to prepare."""

    def add(self, row, data, i, w) -> None:
        row[0] += w
        for d in range(self.a0.shape[0]):
            row[1 + d] += w * data[i, d]

    def remove(self, row, data, i, w) -> bool:
        D = self.a0.shape[0]
        exact = is_exact(row[0], w)
        least = (row[0] - w) / row[0]
        row[0] -= w
        for d in range(D):
            before = row[1 + d]
            row[1 + d] = max(0.0, before - w * data[i, d])
            least = min(least, (self.b0[d] + row[1 + d]) / (self.b0[d] + before))
        if not exact:
            row[1 + D] *= least
        return row[1 + D] >= 1e-4

    def merge(self, row, other) -> None:
        for s in range(self.n_statistics()):
            row[s] += other[s]

    def log_predictive(self, row, data, i) -> float:
        return self.log_predictive_weighted(row, data, i, 1.0)

    def log_predictive_weighted(self, row, data, i, w) -> float:
        total = 0.0
        for d in range(self.a0.shape[0]):
            total += log_beta_gain(self.a0[d] + row[0], self.b0[d] + row[1 + d], w, w * data[i, d])
        return total

    def log_marginal(self, row) -> float:
        total = 0.0
        for d in range(self.a0.shape[0]):
            total += log_beta_gain(self.a0[d], self.b0[d], row[0], row[1 + d])
        return total

    def log_merge(self, union, row, other) -> float:
        return self.log_marginal(union) - self.log_marginal(row) - self.log_marginal(other)

    def n_parameters(self) -> int:
        return 1 + self.a0.shape[0]

    def draw(self, row, parameters, rng) -> None:
        """The sum of log p, and each log(1 - p)."""
        parameters[0] = 0.0
        for d in range(self.a0.shape[0]):
            odds = rng.log_odds(self.a0[d] + row[0], self.b0[d] + row[1 + d])
            rest = log1p(exp(-abs(odds)))
            parameters[0] -= rest + max(-odds, 0.0)
            parameters[1 + d] = -(rest + max(odds, 0.0))

    def tangent(self, row, parameters) -> None:
        parameters[0] = 0.0
        for d in range(self.a0.shape[0]):
            a, b = self.a0[d] + row[0], self.b0[d] + row[1 + d]
            both = digamma_of(a + b)
            parameters[0] += digamma_of(a) - both
            parameters[1 + d] = digamma_of(b) - both

    def log_likelihood(self, parameters, data, i) -> float:
        total = parameters[0]
        for d in range(self.a0.shape[0]):
            total += parameters[1 + d] * data[i, d]
        return total

    def draw_points(self, parameters, n, rng):
        return rng.geometric(-np.expm1(parameters[1:]), (n, len(parameters) - 1)) - 1.0

    def divergence(self, parameters, other) -> float:
        total = 0.0
        for d in range(1, 1 + self.a0.shape[0]):
            one, two = 1.0 / (exp(-parameters[d]) - 1.0), 1.0 / (exp(-other[d]) - 1.0)
            total += (one - two) * (parameters[d] - other[d])
        return total


@jitable
def log_beta_gain(a: float, b: float, n: float, s: float) -> float:
    """LnB(a + n, b + s) - lnB(a, b)."""
    return log_rising(a, n) + log_rising(b, s) - log_rising(a + b, n + s)
