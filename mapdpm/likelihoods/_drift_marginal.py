"""The log marginal of a cluster that drifts over time slices, parameters integrated out: docs/maths.md (94), (95)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, lgamma, log, pi
from typing import Any

import numpy as np

from mapdpm.jit import fill, jitable, jitable_once
from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._drift import LEAST_PIVOT, Drift, factor_with, fill_precision, log_path, set_precision
from mapdpm.logs import log_sum
from mapdpm.protocol import Labels, Matrix, Vector

_MOST_STEPS = 50
_STEP_ENOUGH = 1e-9  # in prior deviations of a mean: the error of the log marginal is its square
_SAME_MODE = 1e-4  # in prior deviations of a mean


@jitable_once
def log_marginal_of_path(drift: Drift, counts: Labels, sums: Matrix, scatters: Matrix) -> float:
    """Log density of the points of a cluster, covariances integrated out exactly, and means by Laplace's method.

    ``counts`` (T,), ``sums`` (T, D) and packed ``scatters`` (T, D (D + 1) / 2) about their means are of the points of
    each slice. Given means the points of a slice have a Student density. Where few points are far from the prior mean
    there are two modes: the climbs from the points and from the prior find both, and they are added. For known
    covariances the result is exact. O(steps (T D)^3).
    """
    T, D = sums.shape
    parameters, factors = np.zeros((T, drift.n_parameters())), np.zeros((T, tri.length(D)))
    modes, values = np.zeros((2, T, D)), np.full(2, -inf)
    for t in range(T):
        if drift.nu0 > 0.0 and counts[t] > 0:
            factor_with(drift, scatters[t], factors[t])
        else:
            fill(factors[t], drift.scale)
    for mode in range(2 if drift.nu0 > 0.0 else 1):
        for t in range(T):
            for d in range(D):
                parameters[t, 1 + d] = sums[t, d] / counts[t] if mode == 0 and counts[t] > 0 else 0.0
        _climb(drift, counts, sums, factors, parameters)
        apart = 0.0
        for t in range(T):
            for d in range(D):
                modes[mode, t, d] = parameters[t, 1 + d]
                apart = max(apart, abs(modes[1, t, d] - modes[0, t, d]))
        if mode == 0 or apart > _SAME_MODE:
            values[mode] = _log_about_mode(drift, counts, sums, scatters, factors, parameters)
    return log_sum(values)


@jitable
def _log_about_mode(
    drift: Drift, counts: Labels, sums: Matrix, scatters: Matrix, factors: Matrix, parameters: Matrix
) -> float:
    """Laplace's method about the means of ``parameters``."""
    T, D = sums.shape
    total, z = log_path(drift, parameters), np.empty(D)
    for t in range(T):
        total -= D * log(drift.factor[t, t])
        if counts[t] > 0:
            q = _distance(counts[t], sums[t], factors[t], parameters[t], z)
            if drift.nu0 > 0.0:
                total += _log_student(drift, counts[t], factors[t], q)
            else:
                total += _log_normal(drift, counts[t], scatters[t], factors[t], parameters[t]) - 0.5 * q
    return total - _log_curvature(drift, counts, sums, factors, parameters)


@jitable
def _climb(drift: Drift, counts: Labels, sums: Matrix, factors: Matrix, parameters: Matrix) -> None:
    """Set the means of ``parameters`` to their mode by weighted normal steps; W is that of the last step."""
    T, D = sums.shape
    size, z = T * D, np.empty(D)
    precision, mean, floor = np.zeros(tri.length(size)), np.zeros(size), np.full(size, LEAST_PIVOT)
    for _ in range(_MOST_STEPS):
        for t in range(T):
            if counts[t] > 0:
                q = _distance(counts[t], sums[t], factors[t], parameters[t], z)
                set_precision(factors[t], _weight(drift, counts[t], q), parameters[t], D)
        fill_precision(drift, counts, sums, parameters, precision, mean)
        tri.factorise(precision, 0, size, floor)
        tri.solve(precision, 0, mean, size)
        tri.solve_transposed(precision, 0, mean, size)
        step = 0.0
        for t in range(T):
            for d in range(D):
                step = max(step, abs(parameters[t, 1 + d] - mean[t * D + d]))
                parameters[t, 1 + d] = mean[t * D + d]
        if step < _STEP_ENOUGH or drift.nu0 == 0.0:
            break


@jitable
def _distance(count: int, sums: Vector, factor: Vector, parameters: Vector, z: Vector) -> float:
    """N |R^-1 (mean of points - mu)|^2; ``z`` is R^-1 of that difference afterwards."""
    for d in range(sums.shape[0]):
        z[d] = sums[d] / count - parameters[1 + d]
    return count * tri.solve(factor, 0, z, sums.shape[0])


@jitable
def _weight(drift: Drift, count: int, q: float) -> float:
    """The precision of means by a point, in units of (R R')^-1, at which the Student's gradient is the normal's."""
    return (drift.nu0 + count) / (1.0 + q) if drift.nu0 > 0.0 else 1.0


@jitable
def _log_student(drift: Drift, count: int, factor: Vector, q: float) -> float:
    """Log density of the points of a slice given their mean, their covariance integrated out."""
    D, nu = drift.axes.shape[0], drift.nu0
    total = -0.5 * count * D * log(pi)
    for d in range(D):
        total += lgamma(0.5 * (nu + count - d)) - lgamma(0.5 * (nu - d))
    total += nu * tri.log_determinant(drift.scale, 0, D)
    return total - (nu + count) * (tri.log_determinant(factor, 0, D) + 0.5 * log(1.0 + q))


@jitable
def _log_normal(drift: Drift, count: int, scatter: Vector, factor: Vector, parameters: Vector) -> float:
    """Log density of the points of a slice about their own mean, for the known covariance of ``factor``."""
    D, total = drift.axes.shape[0], 0.0
    for k in range(D):
        row = 1 + D + tri.length(k)
        for i in range(k + 1):
            for j in range(k + 1):
                total += parameters[row + i] * parameters[row + j] * scatter[tri.length(max(i, j)) + min(i, j)]
    return -0.5 * (total + count * D * log(2.0 * pi)) - count * tri.log_determinant(factor, 0, D)


@jitable
def _log_curvature(drift: Drift, counts: Labels, sums: Matrix, factors: Matrix, parameters: Matrix) -> float:
    """Half the log determinant of minus the Hessian at the mode; without its rank-one parts where it is indefinite."""
    T, D = sums.shape
    size, z = T * D, np.empty(D)
    precision, unused, floor = np.zeros(tri.length(size)), np.zeros(size), np.full(size, LEAST_PIVOT)
    for attempt in range(2):
        fill_precision(drift, counts, sums, parameters, precision, unused)
        for t in range(T if drift.nu0 > 0.0 and attempt == 0 else 0):
            if counts[t] > 0:
                q = _distance(counts[t], sums[t], factors[t], parameters[t], z)
                tri.solve_transposed(factors[t], 0, z, D)
                less = 2.0 * (drift.nu0 + counts[t]) * (counts[t] / (1.0 + q)) ** 2
                for i in range(D):
                    for j in range(i + 1):
                        precision[tri.length(t * D + i) + t * D + j] -= less * z[i] * z[j]
        tri.factorise(precision, 0, size, floor)
        least = precision[0]
        for k in range(size):
            least = min(least, precision[tri.diagonal(0, k)])
        if least > LEAST_PIVOT:
            break
    return tri.log_determinant(precision, 0, size)


def joined(one: Sequence[Any], other: Sequence[Any]) -> tuple[Labels, Matrix, Matrix]:
    """Counts (T,), sums (T, D) and packed scatters (T, ...) of the points of two clusters together."""
    n, m = (each[0][:, None].astype(np.float64) for each in (one, other))
    apart = one[1] / np.maximum(n, 1.0) - other[1] / np.maximum(m, 1.0)
    rows, columns = np.tril_indices(apart.shape[1])
    between = n * m / np.maximum(n + m, 1.0) * apart[:, rows] * apart[:, columns]
    return one[0] + other[0], one[1] + other[1], one[2] + other[2] + between
