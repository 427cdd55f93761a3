"""A likelihood to copy: waiting times. It is complete, and the laws run over it, too.

To add a family: copy this file, change the mathematics, and give it a name, or in the package a number and an import in
``likelihoods/__init__.py``. docs/adding-a-likelihood.md shows each step. Rules:

- ``row[0]`` is the total weight of the cluster; statistics come first, prepared constants behind them;
- verbs are plain scalar code (loops, ``math``): they run as Python and under numba; share code through functions that
  carry ``@jitable``;
- ``remove`` returns False if rounding may have destroyed the statistics; the caller then makes the row anew;
- include every constant: the laws compare with the definition, and integrate the density.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import made_of
from mapdpm.likelihoods._parameters import Width, fitted_to, parameters
from mapdpm.likelihoods._sums import fault_of_sums
from mapdpm.protocol import LARGEST, Matrix, RngVerbs, Values, Vector
from mapdpm.special import digamma_of, log_rising


@parameters(
    vectors=("b0",), positive={"a0": LARGEST, "b0": LARGEST}, widths={"a0": Width(follows=False), "b0": Width()}
)
class GammaExponential(NamedTuple):
    """Exponential data (waiting times) with independent features, conjugate Gamma prior on each rate.

    ``rate ~ Gamma(shape a0, rate b0)``; with n points of sum S, L = lnG(a0 + n) - lnG(a0) + a0 ln b0 - (a0 + n)
    ln(b0 + S) a feature, and the predictive is a Lomax density.

    Parameters
    ----------
    a0 : float > 0
        Shape: the number of waiting times that the prior counts as.
    b0 : float > 0 or array of shape (n_features,)
        Rate of the prior, in data units.

    Examples
    --------
    >>> GammaExponential(a0=1.0, b0=[2.0, 3.0]).a0
    1.0
    """

    a0: float
    b0: Values

    @classmethod
    def empirical(cls, X: Matrix, sample_weight: Any = None) -> GammaExponential:
        """a0 = 1, b0 = mean of each column (1 for a column of zeros); a point of weight w counts w times."""
        mean = np.average(np.asarray(X, dtype=np.float64), axis=0, weights=sample_weight)
        return cls(1.0, np.where(mean > 0.0, mean, 1.0))

    def for_data(self, X: Matrix) -> GammaExponential:
        """Self with one entry a feature in every vector; ValueError for a negative waiting time."""
        if X.min() < 0.0:
            msg = f"waiting times must be >= 0, got {X.min()}"
            raise ValueError(msg)
        return fitted_to(self, X)

    def scaled(self, scale: Vector) -> GammaExponential:
        """The same model for data multiplied by ``scale``."""
        return self._replace(b0=self.b0 * scale)

    def fault(self, statistics: Matrix) -> str:
        """What statistics in a file have that those of no data have; empty where nothing is wrong."""
        return fault_of_sums(statistics)

    def feature(self, d: int) -> GammaExponential:
        """Features are independent, so values may be missing."""
        return made_of(self, (self.a0, self.b0[d : d + 1]))

    def size(self) -> int:
        return 1 + 2 * self.b0.shape[0] + 1

    def n_statistics(self) -> int:
        return 1 + self.b0.shape[0]

    def init(self, row: Vector) -> None:
        row[:] = 0.0
        self.prepare(row)

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        row[0] += w
        for d in range(self.b0.shape[0]):
            row[1 + d] += w * data[i, d]

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        row[0] -= w
        safe = True
        for d in range(self.b0.shape[0]):
            before = row[1 + d]
            row[1 + d] = max(0.0, before - w * data[i, d])
            safe &= row[1 + d] + self.b0[d] >= 1e-4 * before
        return safe

    def merge(self, row: Vector, other: Vector) -> None:
        for s in range(self.n_statistics()):
            row[s] += other[s]

    def prepare(self, row: Vector) -> None:
        """Constants: sum_d log(a / b_d), then b_d = b0_d + S_d."""
        D = self.b0.shape[0]
        row[1 + D] = 0.0
        for d in range(D):
            row[2 + D + d] = self.b0[d] + row[1 + d]
            row[1 + D] += log((self.a0 + row[0]) / row[2 + D + d])

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """sum_d log(a / b_d) - (a + 1) log(1 + x_d / b_d)."""
        D = self.b0.shape[0]
        tail = 0.0
        for d in range(D):
            tail += log(1.0 + data[i, d] / row[2 + D + d])
        return row[1 + D] - (self.a0 + row[0] + 1.0) * tail

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        D = self.b0.shape[0]
        a = self.a0 + row[0]
        total = D * log_rising(a, w)
        for d in range(D):
            b = row[2 + D + d]
            total -= a * log(1.0 + w * data[i, d] / b) + w * log(b + w * data[i, d])
        return total

    def log_marginal(self, row: Vector) -> float:
        D = self.b0.shape[0]
        n = row[0]
        total = D * log_rising(self.a0, n)
        for d in range(D):
            b = self.b0[d] + row[1 + d]
            total -= self.a0 * log(b / self.b0[d]) + n * log(b)
        return total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        return self.log_marginal(union) - self.log_marginal(row) - self.log_marginal(other)

    def n_parameters(self) -> int:
        return 1 + self.b0.shape[0]

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """The sum of the logarithms of the rates, and the rates."""
        parameters[0] = 0.0
        for d in range(self.b0.shape[0]):
            log_rate = rng.log_gamma(self.a0 + row[0]) - log(self.b0[d] + row[1 + d])
            parameters[0] += log_rate
            parameters[1 + d] = exp(log_rate)

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """E[log rate] = psi(a) - log b, E[rate] = a / b."""
        a = self.a0 + row[0]
        parameters[0] = 0.0
        for d in range(self.b0.shape[0]):
            b = self.b0[d] + row[1 + d]
            parameters[0] += digamma_of(a) - log(b)
            parameters[1 + d] = a / b

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        total = parameters[0]
        for d in range(self.b0.shape[0]):
            total -= parameters[1 + d] * data[i, d]
        return float(total)

    def log_likelihoods(self, parameters: Vector, tile: Matrix, values: Vector) -> None:
        """The inner loop runs over points, as vectors."""
        values[:] = parameters[0]
        for d in range(self.b0.shape[0]):
            rate, x = parameters[1 + d], tile[d]
            for m in range(values.shape[0]):
                values[m] -= rate * x[m]

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
        return rng.exponential(1.0 / parameters[1:], (n, len(parameters) - 1))

    def divergence(self, parameters: Vector, other: Vector) -> float:
        total = 0.0
        for d in range(1, 1 + self.b0.shape[0]):
            ratio = parameters[d] / other[d]
            total += (ratio - 1.0) * (1.0 - 1.0 / ratio)
        return float(total)
