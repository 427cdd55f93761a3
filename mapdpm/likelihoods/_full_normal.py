"""Full covariances: distances in units of a cluster, and the factor of psi_n with the cells of rounded values.

``prior`` is a ``NormalInverseWishart``, and a row is its: ``n, mean, L | ...``, L the factor of psi0 + scatter.
"""

from __future__ import annotations

from math import log, log1p, sqrt
from typing import Any

import numpy as np

from mapdpm.jit import jitable
from mapdpm.likelihoods import _moments as mo
from mapdpm.likelihoods import _triangle as tri
from mapdpm.protocol import Vector

LEAST_PIVOT = 1e-8
"""The least pivot of a matrix, as a share of its diagonal entry, with which squares keep half of the digits."""

SCALARS = 5
"""Behind the statistics: constant, exponent, stretch, log |psi_n| / 2, and what removals have left (``remove``)."""


@jitable
def distance(prior: Any, row: Vector, data: Any, i: int) -> float:
    """|R^-1 (x_i - m_n)|^2. Not in the row's own scratch: threads that score share rows."""
    D = prior.m0.shape[0]
    centre = 1 + D + tri.length(D) + SCALARS + D
    z = np.empty(D)
    for d in range(D):
        z[d] = data[i, d] - row[centre + d]
    return tri.solve(row, centre + D, z, D)


@jitable
def put_factor(prior: Any, row: Vector, factor: Vector, v: Vector) -> None:
    """Put the factor of psi_n into ``factor``; ``v`` is room for D numbers."""
    D = prior.m0.shape[0]
    root = sqrt(prior.c0 * (row[0] / (prior.c0 + row[0])))
    for d in range(D):
        v[d] = root * (row[1 + d] - prior.m0[d])
    for s in range(tri.length(D)):
        factor[s] = row[1 + D + s]
    tri.update(factor, 0, v, D)


@jitable
def add_prior(prior: Any, row: Vector) -> None:
    """Add psi0, and the cells of all points, to the squares in a row."""
    D = prior.m0.shape[0]
    for i in range(D):
        for j in range(i + 1):
            row[1 + D + tri.length(i) + j] += prior.psi0[i, j]
        row[tri.diagonal(1 + D, i)] += row[0] * mo.cell(prior.resolution[i])


@jitable
def add_cells(prior: Any, factor: Vector, at: int, w: float, v: Vector) -> float:
    """Add the cells of a point of weight ``w`` to the matrix of a factor; returns the log of its growth.

    By squares, or by rotations where squares would lose too many digits.
    """
    if not mo.has_cells(prior.resolution):
        return 0.0
    D = prior.m0.shape[0]
    for d in range(D):
        v[d] = w * mo.cell(prior.resolution[d])
    wider = np.empty(tri.length(D))
    if tri.widened(factor, at, v, wider, D) < LEAST_PIVOT:
        growth = 0.0
        for d in range(D):
            if prior.resolution[d] > 0.0:
                growth += tri.widen(factor, at, d, w * mo.cell(prior.resolution[d]), v, D)
        return growth
    product, growth = 1.0, 0.0
    for d in range(D):
        p = tri.diagonal(0, d)
        product *= wider[p] / factor[at + p]
        if product > mo.HUGE:
            growth += log(product)
            product = 1.0
    for s in range(tri.length(D)):
        factor[at + s] = wider[s]
    return 2.0 * (growth + log(product))


@jitable
def remove_cells(prior: Any, factor: Vector, at: int, w: float, v: Vector) -> bool:
    """The inverse of ``add_cells``; False where it cancels."""
    D = prior.m0.shape[0]
    for d in range(D):
        v[d] = -w * mo.cell(prior.resolution[d])
    narrower = np.empty(tri.length(D))
    if tri.widened(factor, at, v, narrower, D) < LEAST_PIVOT:
        return False
    for s in range(tri.length(D)):
        factor[at + s] = narrower[s]
    return True


@jitable
def log_growth(prior: Any, row: Vector, data: Any, i: int, w: float) -> float:
    """The log of how |psi_n| grows by a rounded point of weight ``w``; maths (156)."""
    D = prior.m0.shape[0]
    centre = 1 + D + tri.length(D) + SCALARS + D
    c = prior.c0 + row[0]
    factor = np.empty(tri.length(D))
    v = np.empty(D)
    put_factor(prior, row, factor, v)
    growth = add_cells(prior, factor, 0, w, v)
    for d in range(D):
        v[d] = data[i, d] - row[centre + d]
    return growth + log1p(w * c / (c + w) * tri.solve(factor, 0, v, D))


@jitable
def cost_of_cells(prior: Any, parameters: Vector) -> float:
    """Half of sum_d (W'W)_dd times the cell of feature d; maths (157)."""
    D = prior.m0.shape[0]
    total, at = 0.0, 1 + D
    for i in range(D):
        for j in range(i + 1):
            total += parameters[at + j] * parameters[at + j] * mo.cell(prior.resolution[j])
        at += i + 1
    return 0.5 * total


@jitable
def pull(prior: Any, row: Vector) -> float:
    """c0 n / c_n |L^-1 (mean - m0)|^2: |psi_n| is 1 + that, times |L|^2."""
    D = prior.m0.shape[0]
    z = np.empty(D)
    for d in range(D):
        z[d] = row[1 + d] - prior.m0[d]
    return prior.c0 * (row[0] / (prior.c0 + row[0])) * tri.solve(row, 1 + D, z, D)
