"""Centred moments (n, mean, M2) of a cluster: the statistics of every family of normals with a diagonal covariance.

A row starts with ``n, mean[D], M2[D]``, M2 the sum of squared deviations from the mean. Sums of
squares are not used: they lose all digits at an offset of 1e8. Updates are Welford's, the merge is Chan's.
"""

from __future__ import annotations

import math
from typing import Any

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, Matrix, Vector

PREPARED = 4
"""Scalars between the statistics and the two vectors of constants: constant, exponent, sum of log scales, and what
removals have left (``remove``)."""

# A product of factors is turned into a logarithm when it leaves these bounds: one logarithm instead of one a factor.
TINY, HUGE = 1e-100, 1e100

# Removals that leave less than this share of the weight or the squares lost four digits: the row must be rebuilt.
LEAST_SHARE = 1e-4

LOG_2PI = math.log(2.0 * math.pi)
LOG_PI = math.log(math.pi)


@jitable
def row_size(n_features: int) -> int:
    """Length of a row: statistics, three scalars, a centre and an inverse scale for each feature."""
    return n_moments(n_features) + PREPARED + 2 * n_features


@jitable
def n_moments(n_features: int) -> int:
    """Length of the statistics."""
    return 1 + 2 * n_features


@jitable
def add(row: Vector, data: Any, i: int, w: float) -> None:
    """Welford's update by point ``i`` of weight ``w``."""
    D = data.shape[1]
    row[0] += w
    share = w / row[0]
    for d in range(D):
        x = data[i, d]
        delta = x - row[1 + d]
        row[1 + d] += delta * share
        row[1 + D + d] += w * delta * (x - row[1 + d])


@jitable
def add_mean(row: Vector, data: Any, points: Labels, weights: Vector) -> None:
    """Put the weight and the mean of ``points`` into a row of zeros."""
    D = data.shape[1]
    for m in range(points.shape[0]):
        row[0] += weights[m]
        share = weights[m] / row[0]
        for d in range(D):
            row[1 + d] += share * (data[points[m], d] - row[1 + d])


@jitable
def init(row: Vector, D: int) -> None:
    """The statistics of an empty cluster."""
    row[:] = 0.0
    row[n_moments(D) + 3] = 1.0


@jitable
def remove(row: Vector, data: Any, i: int, w: float, floor: Vector) -> bool:
    """The inverse of ``add``; False if M2 + ``floor`` (the prior's squared scale) loses too many digits.

    After the constants, the row holds the share that all removals since the row was made have left in the worst
    feature: one removal may be harmless, and ten may not.
    """
    D = data.shape[1]
    weight = row[0] - w
    if weight < LEAST_SHARE * row[0]:
        return False
    row[0] = weight
    share = w / weight
    least = 1.0
    for d in range(D):
        x = data[i, d]
        before = row[1 + D + d]
        delta = x - row[1 + d]
        row[1 + d] -= delta * share
        after = max(0.0, before - w * delta * (x - row[1 + d]))
        row[1 + D + d] = after
        least = min(least, (after + 2.0 * floor[d]) / (before + 2.0 * floor[d]))
    left = n_moments(D) + 3
    row[left] *= least
    return row[left] >= LEAST_SHARE


@jitable
def cell(resolution: float) -> float:
    """What rounding to steps of ``resolution`` adds to the squared deviation of a value; maths (148)."""
    return resolution * resolution / 12.0


@jitable
def has_cells(resolution: Vector) -> bool:
    """Whether a feature is rounded."""
    for d in range(resolution.shape[0]):  # noqa: SIM110  (numba compiles it)
        if resolution[d] > 0.0:
            return True
    return False


@jitable
def add_cells(row: Vector, resolution: Vector, w: float) -> None:
    """Add what rounding adds to a point of weight ``w``, which ``add`` has added."""
    D = resolution.shape[0]
    for d in range(D):
        row[1 + D + d] += w * cell(resolution[d])


@jitable
def remove_cells(row: Vector, resolution: Vector, w: float, floor: Vector) -> bool:
    """The inverse of ``add_cells``, after ``remove``. The other points keep what they have added themselves."""
    D = resolution.shape[0]
    least = 1.0
    for d in range(D):
        own = cell(resolution[d])
        before = row[1 + D + d]
        after = max(row[0] * own, before - w * own)
        row[1 + D + d] = after
        least = min(least, (after + 2.0 * floor[d]) / (before + 2.0 * floor[d]))
    left = n_moments(D) + 3
    row[left] *= least
    return row[left] >= LEAST_SHARE


@jitable
def merge(row: Vector, other: Vector, D: int) -> None:
    """Chan's union of two clusters, into ``row``."""
    n, m = row[0], other[0]
    if m == 0.0:
        return
    total = n + m
    row[0] = total
    for d in range(D):
        delta = other[1 + d] - row[1 + d]
        row[1 + d] += delta * (m / total)
        row[1 + D + d] += other[1 + D + d] + delta * delta * (n * m / total)


def moments(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Sample means and variances (M2 / n) of the clusters in ``rows``, each (K, D)."""
    D = (rows.shape[1] - PREPARED - 1) // 4
    return rows[:, 1 : 1 + D].copy(), rows[:, 1 + D : 1 + 2 * D] / rows[:, :1]
