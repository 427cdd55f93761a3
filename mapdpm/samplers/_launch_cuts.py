"""Cuts of points in two, as functions of the points alone: the starts of a launch.

No direction is best for all data. The one of largest variance depends on the units of features, and that of the
standardised features misses clusters apart along one of them. Two clusters of similar size have a projection of small
kurtosis, whatever the units (Pena and Prieto 2001), but few points in many features have many of those.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from mapdpm.data.standard import standardised
from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.likelihoods import _triangle as tri
from mapdpm.protocol import SMALLEST, Matrix, Vector

_STEPS = 24  # of a power or fixed-point iteration: a cut need not be exact
_FEWEST = 4  # points a feature, below which directions of small kurtosis are those of noise
_GOLDEN = 0.5 * (sqrt(5.0) - 1.0)  # multiples of it lie evenly in an interval, in any number
_SMALL = 1e-5  # standard deviation of a standardised feature, given the others, below which it is a function of them


def cuts(vectors: Matrix) -> list[Callable[[], Vector]]:
    """Up to four functions, for threads: each returns side 0 or 1 of every point, as floats, by a cut at the mean.

    O(n D^2), most of it in the first one.
    """
    Z = np.ascontiguousarray(standardised(vectors).T)
    if len(Z) == 1:
        return [lambda: _sides(Z[0])]
    products, scale = _products_of(Z), np.sqrt(vectors.var(axis=0))
    scale /= max(float(scale.max()), SMALLEST)
    found = [lambda: _sides(_least_kurtosis(Z, products))] if Z.shape[1] >= _FEWEST * len(Z) else []
    return [
        *found,
        lambda: _sides(_project(Z, scale * _widest(products * np.outer(scale, scale)))),
        lambda: _sides(_project(Z, _widest(products))),
        lambda: _sides(Z[np.argmin(np.square(np.square(Z)).mean(axis=1))]),
    ]


def _sides(projection: Vector) -> Vector:
    """Side 0 is that of the first point."""
    positive = projection > 0.0
    return (positive ^ positive[0]).astype(np.float64)


# Plain loops over features of all points: the threads of a BLAS wait busily when they have done, and slow down ours.


def products_of(Z: Matrix) -> Matrix:
    """Z Z' / n of standardised points, (D, n): their correlations."""
    D, n = Z.shape
    products = np.empty((D, D))
    for i in range(D):
        for j in range(i + 1):
            products[i, j] = products[j, i] = dot(Z[i], Z[j]) / n
    return products


def widest(products: Matrix) -> Vector:
    """The direction of largest variance, by power iteration from a start that is always the same."""
    D = products.shape[0]
    direction, product = start(D), np.empty(D)
    for _ in range(_STEPS):
        largest = 0.0
        for i in range(D):
            product[i] = dot(products[i], direction)
            largest = max(largest, abs(product[i]))
        if largest > 0.0:
            direction[:] = product / largest
    return direction


def least_kurtosis(Z: Matrix, products: Matrix) -> Vector:
    """The projection of smallest kurtosis, (n,), by a fixed-point iteration on whitened points."""
    D, n = Z.shape
    white, direction, cubes = whitened(Z, products), start(D), np.empty(n)
    for _ in range(_STEPS):
        # A step down the fourth moment: 3 E[p^2] w - E[p^3 z], for white points.
        projection, length = project(white, direction), 0.0
        for m in range(n):
            cubes[m] = projection[m] * projection[m] * projection[m]
        for d in range(D):
            direction[d] = 3.0 * direction[d] - dot(white[d], cubes) / n
            length += direction[d] * direction[d]
        direction /= max(sqrt(length), SMALLEST)
    return project(white, direction)


@jitable
def whitened(Z: Matrix, products: Matrix) -> Matrix:
    """L^-1 Z, where L L' are the products: uncorrelated features."""
    D, n = Z.shape
    factor, white = np.empty(tri.length(D)), Z.copy()
    for i in range(D):
        for j in range(i + 1):
            factor[tri.length(i) + j] = products[i, j]
    tri.factorise(factor, 0, D, np.full(D, _SMALL))
    for i in range(D):
        mine, p = white[i], tri.length(i)
        for j in range(i):
            other, share = white[j], factor[p + j]
            for m in range(n):
                mine[m] -= share * other[m]
        mine /= factor[p + i]
    return white


@jitable
def start(D: int) -> Vector:
    """A direction that is along no feature, always the same; its length is about 1."""
    direction = np.empty(D)
    for d in range(D):
        direction[d] = (((d + 1) * _GOLDEN) % 1.0 - 0.5) * sqrt(12.0 / D)
    return direction


@jitable
def project(Z: Matrix, direction: Vector) -> Vector:
    """The scalar product of each point with a direction."""
    projection = np.zeros(Z.shape[1])
    for d in range(Z.shape[0]):
        x, share = Z[d], direction[d]
        for m in range(x.shape[0]):
            projection[m] += share * x[m]
    return projection


@jitable
def dot(x: Vector, y: Vector) -> float:
    """Four sums at a time."""
    n = x.shape[0]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for m in range(0, n - 3, 4):
        a += x[m] * y[m]
        b += x[m + 1] * y[m + 1]
        c += x[m + 2] * y[m + 2]
        d += x[m + 3] * y[m + 3]
    for m in range(n // 4 * 4, n):
        a += x[m] * y[m]
    return (a + b) + (c + d)


_products_of = compiled_if_possible(products_of)
_widest = compiled_if_possible(widest)
_least_kurtosis = compiled_if_possible(least_kurtosis)
_project = compiled_if_possible(project)
