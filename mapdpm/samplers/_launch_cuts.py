"""Cuts of points in two, as functions of the points alone: the starts of a launch.

No direction is best for all data. The one of largest variance depends on the units of features, and that of the
standardised features misses clusters apart along one of them. Two clusters of similar size have a projection of small
kurtosis, whatever the units (Pena and Prieto 2001), but few points in many features have many of those.
"""

from __future__ import annotations

import numpy as np

from mapdpm.protocol import SMALLEST, Matrix, Vector
from mapdpm.search.moves.order import standardised

_STEPS = 24  # of a power or fixed-point iteration: a cut need not be exact
_FEWEST = 4  # points a feature, below which directions of small kurtosis are those of noise
_SMALL = 1e-9  # variance of a direction, relative to the largest, in which points do not differ


def cuts(vectors: Matrix) -> Matrix:
    """Side 0 or 1 of each point along up to four directions, shape (n_directions, n), as floats.

    Each cut is at the mean. O(n D) for each direction, and O(n D^2 + D^3) for small kurtosis.
    """
    Z = standardised(vectors)
    centred = vectors - vectors.mean(axis=0)
    centred /= max(float(np.abs(centred).max()), SMALLEST)  # squares stay finite
    along = [centred @ widest(centred), Z @ widest(Z)]
    if Z.shape[1] > 1:
        along.append(Z[:, np.argmin((Z**4).mean(axis=0))])
        if len(Z) >= _FEWEST * Z.shape[1]:
            along.append(least_kurtosis(Z))
    sides = np.array(along) > 0.0
    sides ^= sides[:, :1]
    different = {cut.tobytes(): cut for cut in sides}
    return np.array([*different.values()], dtype=np.float64)


def widest(Z: Matrix) -> Vector:
    """The direction of largest variance of centred points, by power iteration from a start that is always the same."""
    direction = _start(Z.shape[1])
    for _ in range(_STEPS):
        product: Vector = Z.T @ (Z @ direction)
        largest = float(np.abs(product).max())
        if not largest > 0.0:
            break
        direction = product / largest
    return direction


def least_kurtosis(Z: Matrix) -> Vector:
    """The projection of smallest kurtosis of standardised points, (n,), by a fixed-point iteration on whitened ones."""
    variances, axes = np.linalg.eigh(Z.T @ Z / len(Z))
    kept = variances > _SMALL * variances[-1]
    white = Z @ (axes[:, kept] / np.sqrt(variances[kept]))
    direction = _start(white.shape[1])
    for _ in range(_STEPS):
        projection = white @ direction
        # A step down the fourth moment: 3 E[p^2] w - E[p^3 z], for white points.
        direction = 3.0 * direction - white.T @ projection**3 / len(white)
        direction /= np.sqrt(direction @ direction)
    return np.asarray(white @ direction)


def _start(n: int) -> Vector:
    direction = np.random.default_rng(0).standard_normal(n)
    return np.asarray(direction / np.sqrt(direction @ direction))
