"""Normal data of known variance, unknown means: DP-means is its limit of vanishing variance."""

from __future__ import annotations

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable, made_of
from mapdpm.likelihoods import _draws as draws
from mapdpm.likelihoods import _moments as mo
from mapdpm.likelihoods._moments import HUGE, LOG_2PI, PREPARED, TINY
from mapdpm.likelihoods._parameters import Width, check_range, described, fitted_to, frozen, parameters
from mapdpm.protocol import LARGEST, Matrix, RngVerbs, Values, Vector

_WITHIN = 0.1


@parameters(
    vectors=("m0", "prior_variance", "variance", "resolution"),
    positive={"prior_variance": LARGEST, "variance": LARGEST},
    widths={"prior_variance": Width(follows=False), "variance": Width()},
    number=2,
)
class NormalKnownVariance(NamedTuple):
    """Normal data with independent features of known variance, conjugate Normal prior on each mean (Raykov2014 2.3).

    ``mu ~ Normal(m0, prior_variance)`` for each feature and cluster, ``x ~ Normal(mu, variance)``. The density of a
    new point given a cluster is Normal.

    Parameters
    ----------
    m0 : float or array of shape (n_features,)
        Prior mean, in data units.
    prior_variance : float > 0 or array of shape (n_features,)
        Variance of the cluster means (Raykov2014's rho), in squared data units.
    variance : float > 0 or array of shape (n_features,)
        Variance within a cluster (Raykov2014's sigma), in squared data units.
    resolution : float >= 0 or array of shape (n_features,)
        The step that values are rounded to, in data units; 0 for none. As in ``NormalGamma`` (maths, section 34).

    Raises
    ------
    ValueError
        A parameter is not a finite number, not positive where it must be, or vectors differ in length.

    Notes
    -----
    Immutable and comparable. A row is ``n, mean, M2 | constant, -, -, share left, m_n, s_n``; ``log_predictive`` costs
    O(D) and no logarithm. Formulas: docs/maths.md, (12) to (16).

    Examples
    --------
    >>> NormalKnownVariance(m0=0.0, prior_variance=10.0, variance=1.0).variance
    array([1.])
    """

    m0: Values
    prior_variance: Values
    variance: Values
    resolution: Values = 0.0

    @classmethod
    def empirical(cls, X: Any, sample_weight: Any = None, *, missing: str = "error") -> NormalKnownVariance:
        """m0 = mean, prior_variance = variance of the data (ddof 0), variance = a tenth of it.

        The tenth is a convention: the variance within clusters cannot be read off before clusters are known. A
        column of zero variance has no scale of its own and counts as of variance 1. With ``sample_weight`` a point of
        weight w counts w times. With ``missing="skip"`` NaN is a missing value, and mean and variance are those of the
        values that are there (0 and 1 of none).
        """
        _, mean, variance = described(X, sample_weight, missing)
        return cls(mean, variance, _WITHIN * variance)

    def for_data(self, X: Matrix) -> NormalKnownVariance:
        """Self with one entry a feature in every vector; ValueError where the data does not fit."""
        likelihood: NormalKnownVariance = fitted_to(self, X)
        check_range(X, likelihood.m0, np.sqrt(likelihood.variance))
        return likelihood

    def shifted(self, offset: Vector) -> NormalKnownVariance:
        """The same model for data from which ``offset`` was subtracted."""
        return self._replace(m0=frozen(self.m0 - offset))

    def scaled(self, scale: Vector) -> NormalKnownVariance:
        """The same model for data that was multiplied by ``scale``."""
        squares, step = scale**2, self.resolution * np.abs(scale)
        return NormalKnownVariance(self.m0 * scale, self.prior_variance * squares, self.variance * squares, step)

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Sample means and variances of clusters."""
        return mo.moments(rows)

    def feature(self, d: int) -> NormalKnownVariance:
        variances = self.prior_variance[d : d + 1], self.variance[d : d + 1]
        return made_of(self, (self.m0[d : d + 1], *variances, self.resolution[d : d + 1]))

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
        return mo.remove(row, data, i, w, self.variance) and mo.remove_cells(row, self.resolution, w, self.variance)

    def merge(self, row: Vector, other: Vector) -> None:
        mo.merge(row, other, self.m0.shape[0])

    def prepare(self, row: Vector) -> None:
        """maths (13), (14), (154): predictive = constant - sum_d s_d (x_d - m_d)^2."""
        D = self.m0.shape[0]
        n = row[0]
        constant = mo.n_moments(D)
        centre = constant + PREPARED
        product, total, cells = 1.0, 0.0, 0.0
        for d in range(D):
            spread = self.variance[d] + n * self.prior_variance[d]
            predictive_variance = self.variance[d] * (1.0 + self.prior_variance[d] / spread)
            row[centre + d] = row[1 + d] - self.variance[d] / spread * (row[1 + d] - self.m0[d])
            row[centre + D + d] = 0.5 / predictive_variance
            cells += mo.cell(self.resolution[d]) / self.variance[d]
            product *= predictive_variance
            if product > HUGE or product < TINY:
                total += log(product)
                product = 1.0
        row[constant] = -0.5 * (D * LOG_2PI + total + log(product) + cells)
        row[constant + 1] = 1.0
        row[constant + 2] = 0.0

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """maths (14)."""
        D = self.m0.shape[0]
        constant = mo.n_moments(D)
        centre = constant + PREPARED
        total = 0.0
        for d in range(D):
            t = data[i, d] - row[centre + d]
            total += t * t * row[centre + D + d]
        return row[constant] - total

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row); maths (16), (154)."""
        D = self.m0.shape[0]
        n = row[0]
        centre = mo.n_moments(D) + PREPARED
        product, logs, squares = 1.0, 0.0, 0.0
        for d in range(D):
            shrink = (self.variance[d] + n * self.prior_variance[d]) / (
                self.variance[d] + (n + w) * self.prior_variance[d]
            )
            t = data[i, d] - row[centre + d]
            squares += w * shrink * t * t / self.variance[d]
            squares += w * mo.cell(self.resolution[d]) / self.variance[d]
            logs -= w * log(self.variance[d])
            product *= shrink
            if product < TINY:
                logs += log(product)
                product = 1.0
        return 0.5 * (logs + log(product) - squares - w * D * LOG_2PI)

    def log_predictive_without(self, row: Vector, data: Any, i: int) -> float:
        """maths (14), with the variance that is left without the point, (152)."""
        D = self.m0.shape[0]
        n = row[0]
        centre = mo.n_moments(D) + PREPARED
        total = 0.0
        for d in range(D):
            noise, prior = self.variance[d], self.prior_variance[d]
            spread = noise * ((noise + n * prior) / (noise + (n - 1.0) * prior))
            t = (data[i, d] - row[centre + d]) / noise
            total -= 0.5 * (LOG_2PI + log(spread) + spread * t * t + mo.cell(self.resolution[d]) / noise)
        return total

    def log_marginal(self, row: Vector) -> float:
        """maths (15)."""
        D = self.m0.shape[0]
        n = row[0]
        total = -n * D * LOG_2PI
        for d in range(D):
            spread = self.variance[d] + n * self.prior_variance[d]
            delta = row[1 + d] - self.m0[d]
            total -= (n - 1.0) * log(self.variance[d]) + log(spread)
            total -= row[1 + D + d] / self.variance[d] + n * delta * delta / spread
        return 0.5 * total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        """maths (21)."""
        D = self.m0.shape[0]
        total = 0.0
        for d in range(D):
            variance, between = self.variance[d], row[1 + d] - other[1 + d]
            total += log((variance + row[0] * self.prior_variance[d]) / variance)
            total += log(
                (variance + other[0] * self.prior_variance[d]) / (variance + union[0] * self.prior_variance[d])
            )
            total -= row[0] * other[0] / union[0] * between * between / variance
            total += _pull(self, row, d) + _pull(self, other, d) - _pull(self, union, d)
        return 0.5 * total

    def n_parameters(self) -> int:
        return 1 + 2 * self.m0.shape[0]

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """The constant of the density, the means, and halves of the precisions, which are known."""
        D = self.m0.shape[0]
        centre = mo.n_moments(D) + PREPARED
        parameters[0] = -0.5 * D * LOG_2PI
        for d in range(D):
            share = self.prior_variance[d] / (self.variance[d] + row[0] * self.prior_variance[d])
            parameters[1 + d] = row[centre + d] + sqrt(self.variance[d] * share) * rng.normal()
            parameters[1 + D + d] = 0.5 / self.variance[d]
            parameters[0] -= 0.5 * log(self.variance[d])
            parameters[0] -= parameters[1 + D + d] * mo.cell(self.resolution[d])

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """maths (99), (154)."""
        D = self.m0.shape[0]
        centre = mo.n_moments(D) + PREPARED
        parameters[0] = -0.5 * D * LOG_2PI
        for d in range(D):
            spread = self.variance[d] + row[0] * self.prior_variance[d]
            parameters[0] -= 0.5 * (log(self.variance[d]) + self.prior_variance[d] / spread)
            parameters[1 + d] = row[centre + d]
            parameters[1 + D + d] = 0.5 / self.variance[d]
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
def _pull(prior: NormalKnownVariance, row: Vector, d: int) -> float:
    """n (mean - m0)^2 / (variance + n prior_variance), what the prior's mean costs a cluster."""
    delta = row[1 + d] - prior.m0[d]
    return float(row[0] * delta * delta / (prior.variance[d] + row[0] * prior.prior_variance[d]))
