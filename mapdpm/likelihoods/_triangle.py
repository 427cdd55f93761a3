"""Lower triangular matrices, packed row by row into a part of a vector: Cholesky factors that follow their matrix.

Entry (i, j) lies at ``at + i (i + 1) / 2 + j``. Plain loops, O(D^2) unless stated otherwise.
"""

from __future__ import annotations

from math import log, log1p, sqrt
from typing import Any

import numpy as np

from mapdpm.jit import jitable
from mapdpm.likelihoods._moments import HUGE, TINY
from mapdpm.protocol import Labels, Matrix, Vector

_ROUND = 4


@jitable
def length(D: int) -> int:
    """How many entries there are."""
    return D * (D + 1) // 2


@jitable
def diagonal(at: int, i: int) -> int:
    """The index of entry (i, i)."""
    return at + i * (i + 3) // 2


@jitable
def log_determinant(row: Vector, at: int, D: int) -> float:
    """Log of the product of the diagonal, by one logarithm where it does not overflow; O(D)."""
    product, total = 1.0, 0.0
    for i in range(D):
        product *= row[diagonal(at, i)]
        if product > HUGE or product < TINY:
            total += log(product)
            product = 1.0
    return total + log(product)


@jitable
def solve(row: Vector, at: int, v: Vector, D: int) -> float:
    """L^-1 v in place of the first D entries of ``v``; returns its squared length."""
    p, total = at, 0.0
    for i in range(D):
        t = v[i]
        for j in range(i):
            t -= row[p + j] * v[j]
        p += i + 1
        t /= row[p - 1]
        v[i] = t
        total += t * t
    return total


@jitable
def invert(row: Vector, at: int, inverse: Vector, there: int, D: int) -> None:
    """Put L^-1, packed, into ``inverse`` from ``there`` on; O(D^3)."""
    for j in range(D):
        inverse[diagonal(there, j)] = 1.0 / row[diagonal(at, j)]
        for i in range(j + 1, D):
            t = 0.0
            for k in range(j, i):
                t -= row[at + length(i) + k] * inverse[there + length(k) + j]
            inverse[there + length(i) + j] = t / row[diagonal(at, i)]


@jitable
def solve_transposed(row: Vector, at: int, v: Vector, D: int) -> None:
    """L'^-1 v in place of the first D entries of ``v``."""
    for i in range(D - 1, -1, -1):
        p = at + length(i)
        v[i] /= row[p + i]
        for j in range(i):
            v[j] -= row[p + j] * v[i]


@jitable
def squared_lengths(row: Vector, at: int, y: Matrix, values: Vector) -> None:
    """Fill ``values`` with |L y_m|^2 of each column of ``y``; loops over columns run as vectors."""
    D, n = y.shape
    z, p = np.empty(n), at
    values[:] = 0.0
    for d in range(D):
        z[:] = 0.0
        for k in range(0, d - 2, 4):
            w0, w1, w2, w3 = row[p + k], row[p + k + 1], row[p + k + 2], row[p + k + 3]
            y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
            for m in range(n):
                z[m] = (((z[m] + w0 * y0[m]) + w1 * y1[m]) + w2 * y2[m]) + w3 * y3[m]
        for k in range((d + 1) // 4 * 4, d + 1):
            w, y0 = row[p + k], y[k]
            for m in range(n):
                z[m] += w * y0[m]
        for m in range(n):
            values[m] += z[m] * z[m]
        p += d + 1


@jitable
def squared_quotient(row: Vector, other: Vector, at: int, D: int) -> float:
    """The sum of squares of L M^-1, with M at the same place of ``other``; O(D^3)."""
    z, total = np.empty(D), 0.0
    for i in range(D):
        p = at + length(i)
        for j in range(i, -1, -1):
            t = row[p + j]
            for k in range(j + 1, i + 1):
                t -= z[k] * other[at + length(k) + j]
            z[j] = t / other[diagonal(at, j)]
            total += z[j] * z[j]
    return total


@jitable
def add_squares(row: Vector, at: int, data: Any, points: Labels, weights: Vector) -> None:
    """Add sum_m w_m (x_m - mean)(x_m - mean)' to the lower triangle there; the mean lies just before it.

    Four points a round: the triangle is read and written once for all of them.
    """
    D, n = data.shape[1], points.shape[0]
    y = np.zeros((_ROUND, D))
    for first in range(0, n, _ROUND):
        for m in range(_ROUND):
            for d in range(D):
                y[m, d] = 0.0
                if first + m < n:
                    y[m, d] = sqrt(weights[first + m]) * (data[points[first + m], d] - row[at - D + d])
        p = at
        for i in range(D):
            y0, y1, y2, y3 = y[0, i], y[1, i], y[2, i], y[3, i]
            for j in range(i + 1):
                row[p + j] += (y0 * y[0, j] + y1 * y[1, j]) + (y2 * y[2, j] + y3 * y[3, j])
            p += i + 1


@jitable
def update(row: Vector, at: int, v: Vector, D: int) -> None:
    """The factor of L L' + v v' in place of L, by rotations; ``v`` is overwritten."""
    for j in range(D):
        p = diagonal(at, j)
        r = sqrt(row[p] * row[p] + v[j] * v[j])
        c, s = row[p] / r, v[j] / r
        row[p] = r
        for i in range(j + 1, D):
            p += i
            t = row[p]
            row[p] = c * t + s * v[i]
            v[i] = c * v[i] - s * t


@jitable
def widen(row: Vector, at: int, d: int, t: float, v: Vector, D: int) -> float:
    """The factor of L L' + t e_d e_d' in place of L, by rotations; returns the log of how its determinant has grown.

    ``v`` is room for D numbers.
    """
    v[d] = sqrt(t)
    for j in range(d + 1, D):
        v[j] = 0.0
    excess = 0.0
    for j in range(d, D):
        p = diagonal(at, j)
        u = v[j] / row[p] * (v[j] / row[p])
        excess += u + excess * u
        r = sqrt(row[p] * row[p] + v[j] * v[j])
        c, s = row[p] / r, v[j] / r
        row[p] = r
        for i in range(j + 1, D):
            p += i
            x = row[p]
            row[p] = c * x + s * v[i]
            v[i] = c * v[i] - s * x
    return log1p(excess)


@jitable
def widened(row: Vector, at: int, added: Vector, wider: Vector, D: int) -> float:
    """Put the factor of L L' + diag(``added``) into ``wider``; O(D^3), but less than ``widen`` of each entry.

    Returns the least share of a diagonal entry that its pivot is. Squares lose as many digits as that is small; 0 is
    a matrix that is not positive definite.
    """
    least = 1.0
    for i in range(D):
        p, u, entry = at + length(i), length(i), added[i]
        for j in range(i + 1):
            q, s = at + length(j), length(j)
            even, odd = row[p + j] * row[q + j], 0.0
            for k in range(0, j - 1, 2):
                even += row[p + k] * row[q + k] - wider[u + k] * wider[s + k]
                odd += row[p + k + 1] * row[q + k + 1] - wider[u + k + 1] * wider[s + k + 1]
            if j % 2 == 1:
                odd += row[p + j - 1] * row[q + j - 1] - wider[u + j - 1] * wider[s + j - 1]
            entry += row[p + j] * row[p + j]
            if j < i:
                wider[u + j] = (even + odd) / wider[s + j]
            else:
                pivot = even + odd + added[i]
                if not pivot > 0.0:
                    return 0.0
                least = min(least, pivot / entry)
                wider[u + j] = sqrt(pivot)
    return least


@jitable
def downdate(row: Vector, at: int, v: Vector, D: int, least: float) -> float:
    """The factor of L L' - v v' in place of L; returns the share of L L' left in the direction that loses most.

    If that share is below ``least``, the factor does not change. It applies the rotations that turn
    (L^-1 v, sqrt(share)) into a unit vector (LINPACK's dchdd). Their sines replace the first D entries of ``v``; the
    cosines follow.
    """
    share = 1.0 - solve(row, at, v, D)
    if share < least:
        return share
    r = sqrt(share)
    for j in range(D - 1, -1, -1):
        longer = sqrt(r * r + v[j] * v[j])
        v[D + j] = r / longer
        v[j] /= longer
        r = longer
    p = at
    for i in range(D):
        carried = 0.0
        for j in range(i, -1, -1):
            t = v[D + j] * carried + v[j] * row[p + j]
            row[p + j] = v[D + j] * row[p + j] - v[j] * carried
            carried = t
        p += i + 1
    return share


@jitable
def factorise(row: Vector, at: int, D: int, floor: Vector) -> None:
    """The factor of the matrix whose lower triangle is there, in its place; no pivot below ``floor``; O(D^3).

    O(D^2) for a diagonal matrix: the zeros with which a row begins stay.
    """
    for i in range(D):
        p = at + length(i)
        first = i
        for j in range(i - 1, -1, -1):
            if row[p + j] != 0.0:
                first = j
        for j in range(first, i + 1):
            q = at + length(j)
            t = row[p + j]
            for k in range(first, j):
                t -= row[p + k] * row[q + k]
            row[p + j] = t / row[q + j] if j < i else sqrt(max(t, floor[i] * floor[i]))


@jitable
def multiply_out(row: Vector, at: int, other: Vector, D: int, less: Matrix) -> None:
    """The lower triangle of L L' + M M' - ``less`` in place of L, M at the same place of ``other``; O(D^3)."""
    for i in range(D - 1, -1, -1):
        p = at + length(i)
        for j in range(i, -1, -1):  # downwards: what is overwritten is not needed any more
            q = at + length(j)
            t = -less[i, j]
            for k in range(j + 1):
                t += row[p + k] * row[q + k] + other[p + k] * other[q + k]
            row[p + j] = t


def squared_rows(rows: Matrix, at: int, D: int) -> Matrix:
    """The diagonal of L L' of each row, shape (K, D)."""
    lengths = np.arange(1, D + 1)
    firsts = np.cumsum(lengths) - lengths
    return np.add.reduceat(rows[:, at : at + length(D)] ** 2, firsts, axis=1)


def products(packed: Matrix) -> Matrix:
    """L L' of packed triangles (..., D (D + 1) / 2), as matrices (..., D, D)."""
    factors = unpacked(packed)
    found: Matrix = factors @ factors.swapaxes(-1, -2)
    return found


def unpacked(packed: Matrix) -> Matrix:
    """Packed triangles (..., D (D + 1) / 2) as matrices (..., D, D)."""
    D = int(np.sqrt(2 * packed.shape[-1] + 0.25))
    whole = np.zeros((*packed.shape[:-1], D, D))
    rows, columns = np.tril_indices(D)
    whole[..., rows, columns] = packed
    return whole
