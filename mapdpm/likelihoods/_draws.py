"""Draws of parameters, prepared: a density given them costs products, and no logarithm or exponential."""

from __future__ import annotations

from math import log
from typing import Any

from mapdpm.jit import jitable
from mapdpm.protocol import Matrix, Vector

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
