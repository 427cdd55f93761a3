"""Draws of means that drift over time slices, and of their covariances: the mathematics of ``DriftingNormal``.

Coordinates are those in which the prior mean is 0 and each feature of a mean has the variance 1, but for the nugget.
Parameters of a cluster are one line a slice, as ``_draws.log_full_normal`` reads them: constant, mean, packed W.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.likelihoods import _draws as draws
from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._moments import LOG_2PI
from mapdpm.logs import log_sum
from mapdpm.protocol import Labels, Matrix, RngVerbs, Vector

LEAST_PIVOT = 1e-100
"""Pivots of factors are this at least, so that what rounds to a singular matrix has a factor."""


class Drift(NamedTuple):
    """The prior of clusters over T slices of points with D features."""

    factor: Matrix
    """(T, T): the Cholesky factor of Gamma, the covariance of means over time."""
    inverse: Matrix
    """(T, T): Gamma^-1."""
    nu0: float
    """Degrees of freedom of covariances; 0 where they are known."""
    scale: Vector
    """The packed Cholesky factor of psi0, or of the known covariance."""
    axes: Matrix
    """(D, D): eigenvectors of psi0, in columns."""
    variances: Vector
    """(D,): its eigenvalues."""
    weights: Vector
    """Nodes v of the scale mixture: given v the covariance is psi0 / v (see ``nodes``)."""
    log_weights: Vector
    """Logs of their probabilities."""
    m0: Vector
    """(D,): 0 in data units."""
    units: Vector
    """(D,): 1 in data units."""

    def parameters_at_mode(self) -> Vector:
        """(P,): the parameters of one slice where their prior density is highest."""
        D, found = self.axes.shape[0], np.zeros(self.n_parameters())
        set_precision(self.scale, self.nu0 + D + 1.0 if self.nu0 > 0.0 else 1.0, found, D)
        return found

    def moments(self, parameters: Matrix) -> tuple[Matrix, Matrix]:
        """Means (..., D) and covariances (..., D, D) in data units, of parameters (..., P)."""
        D = len(self.m0)
        root = np.linalg.inv(tri.unpacked(parameters[..., 1 + D :]))
        means = self.m0 + self.units * parameters[..., 1 : 1 + D]
        return means, root @ np.swapaxes(root, -1, -2) * np.outer(self.units, self.units)

    def n_parameters(self) -> int:
        return 1 + self.axes.shape[0] + tri.length(self.axes.shape[0])

    def log_likelihood(self, parameters: Vector, data: Matrix, i: int) -> float:
        return draws.log_full_normal(parameters, data, i)


@jitable
def variance_of_mean(drift: Drift, t: int) -> float:
    """Gamma_tt, the variance of a mean in slice ``t``, in each direction. O(T)."""
    total = 0.0
    for s in range(t + 1):
        total += drift.factor[t, s] * drift.factor[t, s]
    return total


@jitable
def along_axis(drift: Drift, d: int, x: Vector) -> float:
    """The coordinate of ``x`` along axis ``d`` of psi0. O(D)."""
    total = 0.0
    for k in range(x.shape[0]):
        total += drift.axes[k, d] * x[k]
    return total


@jitable
def log_nodes(drift: Drift, t: int, x: Vector, scores: Vector) -> None:
    """Fill ``scores`` with the log of P(v) p(x | v) at slice ``t``; their log sum is the log density of a new cluster.

    x is a mean, N(0, Gamma_tt I), and Student noise, N(0, psi0 / v) given v. O(nodes D) and a rotation.
    """
    D, prior = x.shape[0], variance_of_mean(drift, t)
    for m in range(scores.shape[0]):
        scores[m] = drift.log_weights[m] - 0.5 * D * LOG_2PI
    for d in range(D):
        y = along_axis(drift, d, x)
        for m in range(scores.shape[0]):
            variance = prior + drift.variances[d] / drift.weights[m]
            scores[m] -= 0.5 * (log(variance) + y * y / variance)


@jitable
def draw_path(drift: Drift, parameters: Matrix, rng: RngVerbs) -> None:
    """Draw the means of all slices from the prior. T D normal draws; O(T^2 D)."""
    T, D = drift.factor.shape[0], drift.axes.shape[0]
    z = np.empty(T)
    for d in range(D):
        for t in range(T):
            z[t] = rng.normal()
        _fill_path(drift, z, parameters, d)


@jitable
def draw_path_through(drift: Drift, t: int, mean: Vector, parameters: Matrix, rng: RngVerbs) -> None:
    """Draw the means of all slices from the prior given that of slice ``t``. (T - 1) D normal draws; O(T^2 D).

    The path is L z. Given z along row t of L, the rest of z is normal; a reflection turns the first axis there.
    """
    T, D = drift.factor.shape[0], drift.axes.shape[0]
    z, axis, length = np.empty(T), np.zeros(T), sqrt(variance_of_mean(drift, t))
    for s in range(t + 1):
        axis[s] = -drift.factor[t, s] / length
    axis[0] += 1.0
    squared = 0.0
    for s in range(t + 1):
        squared += axis[s] * axis[s]
    for d in range(D):
        z[0] = mean[d] / length
        for s in range(1, T):
            z[s] = rng.normal()
        if squared > 0.0:
            along = 0.0
            for s in range(t + 1):
                along += axis[s] * z[s]
            for s in range(t + 1):
                z[s] -= 2.0 * along / squared * axis[s]
        _fill_path(drift, z, parameters, d)


@jitable
def _fill_path(drift: Drift, z: Vector, parameters: Matrix, d: int) -> None:
    for t in range(z.shape[0]):
        value = 0.0
        for s in range(t + 1):
            value += drift.factor[t, s] * z[s]
        parameters[t, 1 + d] = value


@jitable
def draw_prior(drift: Drift, parameters: Matrix, rng: RngVerbs) -> None:
    """Draw the parameters of a cluster without points, of all slices."""
    for t in range(parameters.shape[0]):
        draw_covariance(drift, drift.scale, drift.nu0, False, parameters[t], rng)
    draw_path(drift, parameters, rng)


@jitable
def draw_given_point(drift: Drift, t: int, x: Vector, parameters: Matrix, rng: RngVerbs) -> None:
    """Draw the parameters of a cluster whose one point is ``x`` in slice ``t``, of all slices.

    v given x by its nodes, the mean given v, the covariance given the mean: exact, up to quadrature (maths (92)).
    """
    D = x.shape[0]
    scores, mean, y = np.empty(drift.weights.shape[0]), np.zeros(D), np.empty(D)
    log_nodes(drift, t, x, scores)
    v, prior = drift.weights[rng.categorical(scores)], variance_of_mean(drift, t)
    for d in range(D):
        precision = v / drift.variances[d]
        variance = prior / (1.0 + prior * precision)
        along = variance * precision * along_axis(drift, d, x) + sqrt(variance) * rng.normal()
        for k in range(D):
            mean[k] += drift.axes[k, d] * along
    scale = drift.scale.copy()
    for d in range(D):
        y[d] = x[d] - mean[d]
    tri.update(scale, 0, y, D)
    for s in range(parameters.shape[0]):
        if s == t:
            draw_covariance(drift, scale, drift.nu0 + 1.0, False, parameters[s], rng)
        else:
            draw_covariance(drift, drift.scale, drift.nu0, False, parameters[s], rng)
    draw_path_through(drift, t, mean, parameters, rng)


@jitable
def draw_covariance(
    drift: Drift, scale: Vector, freedom: float, at_mode: bool, parameters: Vector, rng: RngVerbs
) -> None:
    """Fill the constant and W: a covariance from InverseWishart(freedom, R R'), or its mode, or the known one."""
    D = drift.axes.shape[0]
    if drift.nu0 == 0.0:
        set_precision(drift.scale, 1.0, parameters, D)
    elif at_mode:
        set_precision(scale, freedom + D + 1.0, parameters, D)
    else:
        draws.draw_precision(scale, 0, freedom, parameters, D, rng)


@jitable
def set_precision(scale: Vector, precision: float, parameters: Vector, D: int) -> None:
    """Fill the constant and W = sqrt(precision) R^-1, R packed in ``scale``: the covariance R R' / precision."""
    parameters[0] = 0.5 * D * (log(precision) - LOG_2PI) - tri.log_determinant(scale, 0, D)
    for j in range(D):
        for i in range(j, D):
            t = sqrt(precision) if i == j else 0.0
            for k in range(j, i):
                t -= scale[tri.length(i) + k] * parameters[1 + D + tri.length(k) + j]
            parameters[1 + D + tri.length(i) + j] = t / scale[tri.diagonal(0, i)]


@jitable
def factor_with(drift: Drift, scatter: Vector, factor: Vector) -> None:
    """Fill ``factor`` with the packed Cholesky factor of psi0 + ``scatter``; O(D^3)."""
    D = drift.axes.shape[0]
    for i in range(D):
        for j in range(i + 1):
            value = scatter[tri.length(i) + j]
            for k in range(j + 1):
                value += drift.scale[tri.length(i) + k] * drift.scale[tri.length(j) + k]
            factor[tri.length(i) + j] = value
    tri.factorise(factor, 0, D, np.full(D, LEAST_PIVOT))


@jitable
def add_scatter(scatter: Vector, away: Vector) -> None:
    """Add the packed lower triangle of ``away`` ``away``' to ``scatter``."""
    for d in range(away.shape[0]):
        for e in range(d + 1):
            scatter[tri.length(d) + e] += away[d] * away[e]


@jitable
def draw_means(drift: Drift, counts: Labels, sums: Matrix, at_mode: bool, parameters: Matrix, rng: RngVerbs) -> None:
    """Draw the means of all slices given points and covariances, or set them to their mode, the mean of that draw.

    ``counts`` (T,) and ``sums`` (T, D) are of the points of each slice. The precision of all means together is
    Gamma^-1 times the identity, and N_t Sigma_t^-1 in the block of slice t. O((T D)^3).
    """
    T, D = sums.shape
    size = T * D
    precision, mean, floor = np.zeros(tri.length(size)), np.zeros(size), np.zeros(size)
    fill_precision(drift, counts, sums, parameters, precision, mean)
    tri.factorise(precision, 0, size, floor)
    tri.solve(precision, 0, mean, size)
    if not at_mode:
        for k in range(size):
            mean[k] += rng.normal()
    tri.solve_transposed(precision, 0, mean, size)
    for t in range(T):
        for d in range(D):
            parameters[t, 1 + d] = mean[t * D + d]


@jitable
def fill_precision(
    drift: Drift, counts: Labels, sums: Matrix, parameters: Matrix, precision: Vector, weighted: Vector
) -> None:
    """Fill the packed precision matrix of all means given points and covariances, and its product with their mean."""
    T, D = sums.shape
    for k in range(weighted.shape[0]):
        weighted[k] = 0.0
    for k in range(precision.shape[0]):
        precision[k] = 0.0
    for t in range(T):
        for s in range(t + 1):
            for d in range(D):
                precision[tri.length(t * D + d) + s * D + d] = drift.inverse[t, s]
        if counts[t] > 0:
            _add_points(parameters[t], counts[t], sums[t], t * D, precision, weighted)


@jitable
def _add_points(parameters: Vector, count: int, sums: Vector, at: int, precision: Vector, mean: Vector) -> None:
    """Add N Sigma^-1 to the block of ``precision`` at ``at``, and Sigma^-1 ``sums`` to ``mean``; O(D^3)."""
    D = sums.shape[0]
    for d in range(D):
        for e in range(D):
            value = 0.0  # of W'W
            for k in range(max(d, e), D):
                row = 1 + D + tri.length(k)
                value += parameters[row + d] * parameters[row + e]
            mean[at + d] += value * sums[e]
            if e <= d:
                precision[tri.length(at + d) + at + e] += count * value


@jitable
def log_path(drift: Drift, parameters: Matrix) -> float:
    """Log density of the means of all slices under the prior, less that of means of 0. O(T^2 D)."""
    T, D = parameters.shape[0], drift.axes.shape[0]
    total = 0.0
    z = np.empty(T)
    for d in range(D):
        for t in range(T):
            value = parameters[t, 1 + d]
            for s in range(t):
                value -= drift.factor[t, s] * z[s]
            z[t] = value / drift.factor[t, t]
            total += z[t] * z[t]
    return -0.5 * total


def log_densities(drift: Drift, data: Matrix, of_points: Labels, parameters: Matrix, densities: Matrix) -> None:
    """Fill ``densities`` (N, K) with the log density of each point, in its slice, given parameters (K, T, P)."""
    for i in range(data.shape[0]):
        for k in range(parameters.shape[0]):
            densities[i, k] = drift.log_likelihood(parameters[k, of_points[i]], data, i)


def log_densities_alone(drift: Drift, data: Matrix, of_points: Labels, densities: Vector) -> None:
    """Fill ``densities`` (N,) with the log density of each point, in its slice, in a cluster of its own."""
    scores = np.empty(drift.weights.shape[0])
    for i in range(data.shape[0]):
        log_nodes(drift, of_points[i], data[i], scores)
        densities[i] = log_sum(scores)
