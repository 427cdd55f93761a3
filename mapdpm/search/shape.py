"""The shape of clusters, diagonal or full covariances: whichever has the higher log joint (maths, section 37)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.data import point_set
from mapdpm.likelihoods._shape import MOST_COLUMNS, full_of, normal_columns
from mapdpm.names import COVARIANCE, MISSING
from mapdpm.protocol import SMALLEST, Labels, Matrix, Weights
from mapdpm.search.fit import FitSettings, Fitted
from mapdpm.search.fitted_prior import FittedPrior, fit_with_prior, fitted_prior
from mapdpm.search.units import ENOUGH
from mapdpm.search.widths import family_to_fit

_GAIN = 0.01  # nats a point, for which a matrix a cluster is worth its cost
_ENOUGH_POINTS = 10  # of a cluster, to know a correlation
_NEARLY_ONE = 1.0 - 1e-12


def is_better(full: float, diagonal: float, n_points: int) -> bool:
    """Whether the log joint of full covariances is higher by enough: 2 nats, and 0.01 nats a point."""
    return full > diagonal + ENOUGH + _GAIN * n_points


def may_be_full(settings: FitSettings, likelihood: Any, n_columns: int) -> bool:
    """Whether full covariances of ``likelihood``, which reads ``n_columns``, are to be tried."""
    is_asked = settings.covariance == COVARIANCE[0] and settings.missing == MISSING[0]
    return is_asked and 1 < int(normal_columns(likelihood, n_columns).sum()) <= MOST_COLUMNS


def linked(table: Matrix, weights: Weights, labels: Labels) -> NDArray[np.bool_]:
    """Whether each column correlates with another one, within clusters or among all points (maths, section 37).

    For two columns with correlations r_k, -1/2 sum_k (n_k ln(1 - r_k^2) + ln n_k) must be above 2 + 2 ln D nats.
    O(n D^2).
    """
    D = table.shape[1]
    most = np.zeros((D, D))
    for own in (np.zeros(len(table), dtype=np.int64), labels):
        gains = np.zeros((D, D))
        for k in np.flatnonzero(np.bincount(own) >= _ENOUGH_POINTS):
            of_k = own == k
            weight = None if weights is None else weights[of_k]
            n = float(of_k.sum() if weight is None else weight.sum())
            gains -= 0.5 * (n * np.log1p(-_squared_correlations(table[of_k], weight)) + np.log(n))
        most = np.maximum(most, gains)
    np.fill_diagonal(most, 0.0)
    found: NDArray[np.bool_] = most.max(axis=1) > ENOUGH + 2.0 * np.log(D)
    return found


def _squared_correlations(table: Matrix, weights: Weights) -> Matrix:
    """Those of columns, below 1; 0 for a column that does not vary."""
    away = (table - np.average(table, axis=0, weights=weights)).astype(np.float64)
    away /= np.maximum(np.abs(away).max(axis=0), SMALLEST)  # a unit is nothing special
    rooted = away if weights is None else away * np.sqrt(weights)[:, None]
    size = np.sqrt((rooted**2).sum(axis=0))
    unit = rooted / np.where(size > 0.0, size, 1.0)
    return np.minimum((unit.T @ unit) ** 2, _NEARLY_ONE)


def fit_shaped(settings: FitSettings, points: Any, weights: Weights, warm: Any = None) -> Fitted:
    """``fit_with_prior`` with covariances of the shape whose fit to the sample has the higher log joint."""
    if not may_be_full(settings, settings.likelihood, point_set(points).n_features):
        return fit_with_prior(settings, points, weights, warm)
    chosen, found = shaped_prior(settings, points, weights)
    return fit_with_prior(chosen, points, weights, warm, found)


def shaped_prior(settings: FitSettings, points: Any, weights: Weights) -> tuple[FitSettings, FittedPrior]:
    """The settings with covariances of that shape, and the prior that was fitted."""
    one = fitted_prior(family_to_fit(settings.likelihood), points, weights, settings)
    if not may_be_full(settings, settings.likelihood, point_set(points).n_features):
        return settings, one
    full = settings._replace(likelihood=full_of(settings.likelihood))
    two = fitted_prior(family_to_fit(full.likelihood), points, weights, full)
    return (full, two) if is_better(two.log_joint, one.log_joint, len(one.labels)) else (settings, one)
