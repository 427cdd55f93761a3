"""Draws of parameters, prepared: a density given them costs products, and no logarithm or exponential."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from mapdpm.jit import jitable
from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._moments import LOG_2PI
from mapdpm.protocol import Matrix, RngVerbs, Vector

# Scales are clipped to 1e-200 and 1e200, so that squares of draws stay finite.
_FARTHEST = 200.0 * log(10.0)


@jitable
def within_range(log_scale: float) -> float:
    """``log_scale``, not so far out that its exponential overflows or vanishes."""
    return min(max(log_scale, -_FARTHEST), _FARTHEST)


@jitable
def log_normal(parameters: Vector, data: Any, i: int) -> float:
    """Log density of independent normals: parameters are a constant, D means, and D halves of precisions."""
    D = data.shape[1]
    total = parameters[0]
    for d in range(D):
        t = data[i, d] - parameters[1 + d]
        total -= parameters[1 + D + d] * t * t
    return float(total)


@jitable
def log_normals(parameters: Vector, tile: Matrix, values: Vector) -> None:
    """``log_normal`` of all points of a tile, shape (D, n_points). Inner loops over points run as vectors."""
    D, n = tile.shape
    for m in range(n):
        values[m] = parameters[0]
    for d in range(D):
        centre, half_precision, x = parameters[1 + d], parameters[1 + D + d], tile[d]
        for m in range(n):
            t = x[m] - centre
            values[m] -= half_precision * t * t


@jitable
def normal_divergence(parameters: Vector, other: Vector, D: int) -> float:
    """KL(F || F') + KL(F' || F) of two independent normals."""
    total = 0.0
    for d in range(D):
        h, g = parameters[1 + D + d], other[1 + D + d]
        t = parameters[1 + d] - other[1 + d]
        total += 0.5 * (h / g - 1.0) * (1.0 - g / h) + (h + g) * t * t
    return float(total)


@jitable
def log_full_normal(parameters: Vector, data: Any, i: int) -> float:
    """Log density of a normal: parameters are a constant, D means, and packed W, where W'W is the precision matrix."""
    D = data.shape[1]
    squares, at = 0.0, 1 + D
    for d in range(D):
        z = 0.0
        for k in range(d + 1):
            z += parameters[at + k] * (data[i, k] - parameters[1 + k])
        squares += z * z
        at += d + 1
    return float(parameters[0] - 0.5 * squares)


@jitable
def draw_precision(row: Vector, at: int, freedom: float, parameters: Vector, D: int, rng: RngVerbs) -> None:
    """Fill the constant and W of ``log_full_normal`` for a covariance drawn from InverseWishart(freedom, R R').

    R is packed in ``row`` from ``at`` on. W = B R^-1, with B of Bartlett's decomposition. Means are overwritten: they
    are room for a column of B. O(D^3).
    """
    triangle = 1 + D
    column = parameters[1:triangle]
    parameters[0] = -0.5 * D * LOG_2PI
    for j in range(D - 1, -1, -1):
        column[j] = exp(0.5 * within_range(log(2.0) + rng.log_gamma(0.5 * (freedom - (D - 1 - j)))))
        for k in range(j + 1, D):
            column[k] = rng.normal()
        pivot = row[tri.diagonal(at, j)]
        parameters[0] += log(column[j] / pivot)
        for i in range(j, D):
            t = column[i]
            for k in range(j + 1, i + 1):
                t -= parameters[triangle + tri.length(i) + k] * row[at + tri.length(k) + j]
            parameters[triangle + tri.length(i) + j] = t / pivot


@jitable
def log_full_normals(parameters: Vector, tile: Matrix, values: Vector) -> None:
    """``log_full_normal`` of all points of a tile."""
    D, n = tile.shape
    y = np.empty((D, n))
    for d in range(D):
        centre, x, less = parameters[1 + d], tile[d], y[d]
        for m in range(n):
            less[m] = x[m] - centre
    tri.squared_lengths(parameters, 1 + D, y, values)
    for m in range(n):
        values[m] = parameters[0] - 0.5 * values[m]


@jitable
def full_normal_divergence(parameters: Vector, other: Vector, D: int) -> float:
    """KL(F || F') + KL(F' || F), from |W V^-1|^2, |V W^-1|^2 and the squared distances of the means; O(D^3)."""
    apart = np.empty((D, 1))
    for d in range(D):
        apart[d, 0] = parameters[1 + d] - other[1 + d]
    total = tri.squared_quotient(parameters, other, 1 + D, D) + tri.squared_quotient(other, parameters, 1 + D, D)
    distance = np.empty(1)
    for each in (parameters, other):
        tri.squared_lengths(each, 1 + D, apart, distance)
        total += distance[0]
    return 0.5 * total - D


# ---- points, given parameters; outside kernels -----------------------------------------------------------------------


def normal_points(parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
    """``n`` points of independent normals, (n, D)."""
    means, half_precisions = np.split(parameters[1:], 2)
    return means + rng.standard_normal((n, len(means))) / np.sqrt(2.0 * half_precisions)


def full_normal_points(parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
    """``n`` points of a normal, (n, D): W^-1 z added to the mean, where W'W is the precision matrix."""
    D = int(np.sqrt(2 * len(parameters) + 0.25) - 1.5)  # 1 + D + D (D + 1) / 2 numbers
    return parameters[1 : 1 + D] + np.linalg.solve(tri.unpacked(parameters[1 + D :]), rng.standard_normal((D, n))).T
