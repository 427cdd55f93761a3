"""The shape of clusters, diagonal or full covariances: whichever has the higher log joint (maths, section 37)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.data import point_set
from mapdpm.likelihoods._shape import MOST_COLUMNS, full_of, gains_of_pairs, normal_columns
from mapdpm.names import COVARIANCE, MISSING
from mapdpm.protocol import Labels, Matrix, Weights
from mapdpm.search.fit import FitSettings, Fitted
from mapdpm.search.fitted_prior import FittedPrior, fit_with_prior, fitted_prior
from mapdpm.search.units import ENOUGH
from mapdpm.search.widths import family_to_fit

_GAIN = 0.01  # nats a point, for which a matrix a cluster is worth its cost


def is_better(full: float, diagonal: float, n_points: int) -> bool:
    """Whether the log joint of full covariances is higher by enough: 2 nats, and 0.01 nats a point."""
    return full > diagonal + ENOUGH + _GAIN * n_points


def may_be_full(settings: FitSettings, likelihood: Any, n_columns: int) -> bool:
    """Whether full covariances of ``likelihood``, which reads ``n_columns``, are to be tried."""
    is_asked = settings.covariance == COVARIANCE[0] and settings.missing == MISSING[0]
    return is_asked and 1 < int(normal_columns(likelihood, n_columns).sum()) <= MOST_COLUMNS


def linked(table: Matrix, weights: Weights, labels: Labels) -> NDArray[np.bool_]:
    """Whether each column correlates with another one, within clusters or among all points; O(n D^2)."""
    one = np.zeros(len(table), dtype=np.int64)
    gains = np.maximum(gains_of_pairs(table, weights, one), gains_of_pairs(table, weights, labels))
    found: NDArray[np.bool_] = gains.max(axis=1) > ENOUGH + 2.0 * np.log(table.shape[1])
    return found


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
