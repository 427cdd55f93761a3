"""Normal data, one unknown mean and full covariance matrix a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.counting_sort import by_slot
from mapdpm.likelihoods import _draws as draws
from mapdpm.likelihoods import _full_normal as full
from mapdpm.likelihoods import _moments as mo
from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._full_normal import SCALARS
from mapdpm.likelihoods._moments import LEAST_SHARE, LOG_PI
from mapdpm.likelihoods._parameters import COUNT, Width, check_range, described, fitted_to, frozen, parameters
from mapdpm.protocol import LARGEST, Labels, Matrix, RngVerbs, Values, Vector
from mapdpm.special import digamma_of, log_rising, multigamma_excess

_ROUNDING = 1e-6  # of a diagonal in float32, and some
_FREEDOM = Width(0.5, 100.0, absolute=True, follows=False, above_dimension=True)


def _check_freedom(prior: Any) -> None:
    if not prior.nu0 > (least := len(prior.m0) - 1):
        msg = f"nu0 must be > the number of features less one, {least}, got {prior.nu0}; D + 2 is a common choice"
        raise ValueError(msg)


@parameters(
    vectors=("m0", "resolution"),
    matrices=("psi0",),
    positive={"c0": LARGEST, "nu0": 2e8, "psi0": LARGEST},
    check=_check_freedom,
    widths={"c0": COUNT, "psi0": Width(), "nu0": _FREEDOM},
    number=4,
)
class NormalInverseWishart(NamedTuple):
    """Normal data with correlated features, conjugate Normal-inverse-Wishart prior on mean and covariance.

    ``Sigma ~ InverseWishart(nu0, psi0)`` and ``mu ~ Normal(m0, Sigma / c0)`` for each cluster. The density of a new
    point given a cluster is a multivariate Student t with ``nu_n - D + 1`` degrees of freedom.

    Parameters
    ----------
    m0 : float or array of shape (n_features,)
        Prior mean, in data units.
    c0 : float > 0
        How many points the prior mean counts as.
    nu0 : float > n_features - 1
        Degrees of freedom: how many points the prior covariance counts as; at most 2e8.
    psi0 : float > 0, array of shape (n_features,), or symmetric positive definite (n_features, n_features)
        Scale matrix of the covariance, in squared data units; a vector is a diagonal, a number a multiple of the
        identity. E[Sigma] = psi0 / (nu0 - D - 1). Kept as a matrix.
    resolution : float >= 0 or array of shape (n_features,)
        The step that values are rounded to, in data units; 0 for none. As in ``NormalGamma`` (maths, section 34).

    Raises
    ------
    ValueError
        A parameter is not a finite number, not positive where it must be, psi0 is no symmetric positive definite
        matrix, or the numbers of features differ.

    Notes
    -----
    Immutable and comparable. A row is ``n, mean, L | constants, pivots of psi0, m_n, R, scratch``: L the Cholesky
    factor of psi0 + scatter, R that of psi_n. ``add``, ``remove``, ``prepare`` and ``log_predictive`` cost O(D^2),
    ``merge`` and ``init`` O(D^3). At D = 1: ``NormalGamma(m0, c0, nu0 / 2, psi0 / 2)``. docs/maths.md, (33) to (38).
    With steps all but scores cost O(D^3), and a fit takes several times as long. R is then the factor of psi_n and the
    cell of one point more.

    Examples
    --------
    >>> prior = NormalInverseWishart(m0=[0.0, 0.0], c0=0.1, nu0=4.0, psi0=[1.0, 2.0])
    >>> prior == NormalInverseWishart(0, 0.1, 4, [[1, 0], [0, 2]])
    True
    """

    m0: Values
    c0: float
    nu0: float
    psi0: Values
    resolution: Values = 0.0

    @classmethod
    def empirical(cls, X: Any, sample_weight: Any = None) -> NormalInverseWishart:
        """m0 = mean, c0 = 10 / N, nu0 = D + 2, psi0 = diag(variances, ddof 0), so that E[Sigma] is that matrix.

        D + 2 is the smallest integer nu0 for which Sigma has a mean. psi0 holds only variances, because correlations
        differ between clusters. A column of zero variance has no scale and counts as one of variance 1. With
        ``sample_weight`` a point of weight w counts w times, in N too.
        """
        total, mean, variance = described(X, sample_weight)
        return cls(mean, 10.0 / total, len(mean) + 2.0, variance)

    def for_data(self, X: Matrix) -> NormalInverseWishart:
        """Self with one entry a feature in every parameter; ValueError where the data does not fit."""
        likelihood: NormalInverseWishart = fitted_to(self, X)
        check_range(X, likelihood.m0, np.sqrt(np.diag(likelihood.psi0)))
        return likelihood

    def shifted(self, offset: Vector) -> NormalInverseWishart:
        """The same model for data from which ``offset`` was subtracted."""
        return self._replace(m0=frozen(self.m0 - offset))

    def scaled(self, scale: Vector) -> NormalInverseWishart:
        """The same model for data that was multiplied by ``scale``."""
        psi0, step = self.psi0 * np.outer(scale, scale), self.resolution * np.abs(scale)
        return self._replace(m0=self.m0 * scale, psi0=psi0, resolution=step)

    def restricted(self, features: Sequence[int]) -> NormalInverseWishart:
        """The marginal prior of some features."""
        own, nu0 = list(features), self.nu0 - (len(self.m0) - len(features))
        return NormalInverseWishart(self.m0[own], self.c0, nu0, self.psi0[np.ix_(own, own)], self.resolution[own])

    def completed(self, part: NormalInverseWishart, features: Labels) -> NormalInverseWishart:
        """Self with ``part`` as the marginal prior of some features."""
        m0, psi0, resolution = self.m0.copy(), np.diag(np.diag(self.psi0)), self.resolution.copy()
        psi0 *= part.psi0[0, 0] / psi0[features[0], features[0]]
        m0[features], psi0[np.ix_(features, features)], resolution[features] = part.m0, part.psi0, part.resolution
        return NormalInverseWishart(m0, part.c0, part.nu0 + len(m0) - len(features), psi0, resolution)

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Sample means and variances of clusters, each (K, D)."""
        D = self.m0.shape[0]
        squares = tri.squared_rows(rows, 1 + D, D) - np.diag(self.psi0)
        return rows[:, 1 : 1 + D].copy(), np.maximum(squares, 0.0) / rows[:, :1]

    def are_factors(self, statistics: Matrix) -> NDArray[np.bool_]:
        """Whether each row can be that of points: no pivot is below that of psi0, up to rounding of the diagonal."""
        D = self.m0.shape[0]
        pivots = statistics[:, [tri.diagonal(1 + D, d) for d in range(D)]]
        least = np.diag(np.linalg.cholesky(self.psi0)) ** 2 - _ROUNDING * D * tri.squared_rows(statistics, 1 + D, D)
        return np.all((pivots > 0.0) & (pivots**2 >= least), axis=1)

    def size(self) -> int:
        D = self.m0.shape[0]
        return 1 + D + 2 * tri.length(D) + SCALARS + 4 * D

    def n_statistics(self) -> int:
        D = self.m0.shape[0]
        return 1 + D + tri.length(D)

    def init(self, row: Vector) -> None:
        D = self.m0.shape[0]
        constant = 1 + D + tri.length(D)
        row[:] = 0.0
        full.add_prior(self, row)
        tri.factorise(row, 1 + D, D, row[constant + SCALARS :])
        for i in range(D):
            row[constant + SCALARS + i] = row[tri.diagonal(1 + D, i)]
        row[constant + 4] = 1.0
        self.prepare(row)

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        """maths (34)."""
        D = self.m0.shape[0]
        scratch = row[row.shape[0] - 2 * D :]
        n = row[0]
        row[0] = n + w
        share = w / row[0]
        root = sqrt(n * share)
        for d in range(D):
            delta = data[i, d] - row[1 + d]
            row[1 + d] += share * delta
            scratch[d] = root * delta
        tri.update(row, 1 + D, scratch, D)
        full.add_cells(self, row, 1 + D, w, scratch)

    def add_many(self, rows: Matrix, data: Any, points: Labels, slots: Labels, weights: Vector) -> None:
        """One factorisation a row, of psi0 and all squares about their mean: less work than a rotation a point."""
        D = self.m0.shape[0]
        members, begins = by_slot(slots, rows.shape[0])
        points, weights = points[members], weights[members]
        for k in range(rows.shape[0]):
            begin, end = begins[k], begins[k + 1]
            if begin < end:
                other = np.zeros(self.n_statistics())
                mo.add_mean(other, data, points[begin:end], weights[begin:end])
                tri.add_squares(other, 1 + D, data, points[begin:end], weights[begin:end])
                full.add_prior(self, other)
                tri.factorise(other, 1 + D, D, rows[k, self.n_statistics() + SCALARS :])
                if rows[k, 0] > 0.0:
                    self.merge(rows[k], other)
                else:
                    rows[k, : other.shape[0]] = other

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """The inverse of ``add``; False where it cancels.

        As in ``_moments.remove``: the share that all removals since the row was made have left, in the worst
        direction, is stored after the constants.
        """
        D = self.m0.shape[0]
        scratch = row[row.shape[0] - 2 * D :]
        left = 1 + D + tri.length(D) + 4
        n = row[0]
        if n - w < LEAST_SHARE * n:
            return False
        row[0] = n - w
        share = w / row[0]
        root = sqrt(n * share)
        for d in range(D):
            delta = data[i, d] - row[1 + d]
            row[1 + d] -= share * delta
            scratch[d] = root * delta
        row[left] *= tri.downdate(row, 1 + D, scratch, D, LEAST_SHARE)
        if row[left] >= LEAST_SHARE and mo.has_cells(self.resolution):
            return full.remove_cells(self, row, 1 + D, w, scratch)
        return row[left] >= LEAST_SHARE

    def merge(self, row: Vector, other: Vector) -> None:
        """Chan's union; pivots stay above those of psi0, for they grow with the matrix."""
        D = self.m0.shape[0]
        n, m = row[0], other[0]
        if m == 0.0:
            return
        total = n + m
        scratch = row[row.shape[0] - 2 * D :]
        for d in range(D):
            delta = other[1 + d] - row[1 + d]
            row[1 + d] += delta * (m / total)
            scratch[d] = delta * sqrt(n * (m / total))
        tri.multiply_out(row, 1 + D, other, D, self.psi0)
        tri.factorise(row, 1 + D, D, row[self.n_statistics() + SCALARS :])
        tri.update(row, 1 + D, scratch, D)
        row[0] = total

    def prepare(self, row: Vector) -> None:
        """maths (35), (36), (155): predictive = constant - exponent log(1 + stretch |R^-1 (x - m_n)|^2)."""
        D = self.m0.shape[0]
        n = row[0]
        c, nu = self.c0 + n, self.nu0 + n
        constant = self.n_statistics()
        centre = constant + SCALARS + D
        scratch = row[row.shape[0] - 2 * D :]
        for d in range(D):
            row[centre + d] = row[1 + d] - self.c0 / c * (row[1 + d] - self.m0[d])
        full.put_factor(self, row, row[centre + D :], scratch)
        log_root = tri.log_determinant(row, centre + D, D)
        row[constant] = log_rising(0.5 * (nu - D + 1.0), 0.5 * D) - 0.5 * D * (LOG_PI + log((c + 1.0) / c)) - log_root
        row[constant] -= 0.5 * (nu + 1.0) * full.add_cells(self, row, centre + D, 1.0, scratch)
        row[constant + 1] = 0.5 * (nu + 1.0)
        row[constant + 2] = c / (c + 1.0)
        row[constant + 3] = log_root

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """Log of the multivariate Student t; maths (36)."""
        constant = self.n_statistics()
        return row[constant] - row[constant + 1] * log1p(row[constant + 2] * full.distance(self, row, data, i))

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row); maths (37), (156)."""
        D = self.m0.shape[0]
        c, nu = self.c0 + row[0], self.nu0 + row[0]
        gain = 0.5 * D * (log(c / (c + w)) - w * LOG_PI) - w * row[self.n_statistics() + 3]
        for j in range(D):
            gain += log_rising(0.5 * (nu - j), 0.5 * w)
        if mo.has_cells(self.resolution):
            return gain - 0.5 * (nu + w) * full.log_growth(self, row, data, i, w)
        return gain - 0.5 * (nu + w) * log1p(w * c / (c + w) * full.distance(self, row, data, i))

    def log_marginal(self, row: Vector) -> float:
        """maths (35)."""
        D = self.m0.shape[0]
        n = row[0]
        pivots = self.n_statistics() + SCALARS
        grown = log1p(full.pull(self, row))
        log_prior = 0.0
        for d in range(D):
            grown += 2.0 * log(row[tri.diagonal(1 + D, d)] / row[pivots + d])
            log_prior += 2.0 * log(row[pivots + d])
        total = -0.5 * (self.nu0 + n) * grown - 0.5 * n * log_prior
        total -= 0.5 * D * (log((self.c0 + n) / self.c0) + n * LOG_PI)
        for j in range(D):
            total += log_rising(0.5 * (self.nu0 - j), 0.5 * n)
        return total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        """maths (38): by ratios of determinants, for the marginals themselves are large and nearly cancel."""
        D = self.m0.shape[0]
        c0, nu0 = self.c0, self.nu0
        nu, nu1, nu2 = nu0 + union[0], nu0 + row[0], nu0 + other[0]
        pivots = self.n_statistics() + SCALARS
        u = log1p(full.pull(self, union))
        r0 = -u - D * log(nu0 / nu)
        r1 = log1p(full.pull(self, row)) - u - D * log(nu1 / nu)
        r2 = log1p(full.pull(self, other)) - u - D * log(nu2 / nu)
        for d in range(D):
            p = tri.diagonal(1 + D, d)
            r0 += 2.0 * log(row[pivots + d] / union[p])
            r1 += 2.0 * log(row[p] / union[p])
            r2 += 2.0 * log(other[p] / union[p])
        total = 0.5 * (nu1 * r1 + nu2 * r2 - nu0 * r0)
        total += 0.5 * D * log((c0 + row[0]) / c0 * ((c0 + other[0]) / (c0 + union[0])))
        total += multigamma_excess(nu, D) + multigamma_excess(nu0, D)
        return total - multigamma_excess(nu1, D) - multigamma_excess(nu2, D)

    def n_parameters(self) -> int:
        D = self.m0.shape[0]
        return 1 + D + tri.length(D)

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """The constant of the density, the mean, and packed W: W'W is the precision matrix."""
        D = self.m0.shape[0]
        centre, triangle = self.n_statistics() + SCALARS + D, 1 + D
        column, factor = parameters[1:triangle], np.empty(tri.length(D))
        full.put_factor(self, row, factor, np.empty(D))
        draws.draw_precision(factor, 0, self.nu0 + row[0], parameters, D, rng)
        parameters[0] -= full.cost_of_cells(self, parameters)
        for d in range(D):
            column[d] = rng.normal() / sqrt(self.c0 + row[0])
        for i in range(D):  # W^-1 of that
            for k in range(i):
                column[i] -= parameters[triangle + tri.length(i) + k] * column[k]
            column[i] /= parameters[triangle + tri.length(i) + i]
        for d in range(D):
            column[d] += row[centre + d]

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """maths (100), (157); W is the square root of nu_n, times R^-1."""
        D = self.m0.shape[0]
        constant = self.n_statistics()
        centre, triangle = constant + SCALARS + D, 1 + D
        c, nu = self.c0 + row[0], self.nu0 + row[0]
        parameters[0] = -0.5 * D * (LOG_PI + 1.0 / c) - row[constant + 3]
        for j in range(D):
            parameters[0] += 0.5 * digamma_of(0.5 * (nu - j))
            parameters[1 + j] = row[centre + j]
        factor = np.empty(tri.length(D))
        full.put_factor(self, row, factor, np.empty(D))
        tri.invert(factor, 0, parameters, triangle, D)
        for s in range(tri.length(D)):
            parameters[triangle + s] *= sqrt(nu)
        parameters[0] -= full.cost_of_cells(self, parameters)

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return draws.log_full_normal(parameters, data, i)

    def log_likelihoods(self, parameters: Vector, tile: Matrix, values: Vector) -> None:
        draws.log_full_normals(parameters, tile, values)

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
        return draws.full_normal_points(parameters, n, rng)

    def divergence(self, parameters: Vector, other: Vector) -> float:
        return draws.full_normal_divergence(parameters, other, self.m0.shape[0])
