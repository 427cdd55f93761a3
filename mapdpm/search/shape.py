"""The shape of clusters, diagonal or full covariances: whichever has the higher log joint (maths, section 37)."""

from __future__ import annotations

from typing import Any

from mapdpm.data import point_set
from mapdpm.likelihoods._shape import MOST_COLUMNS, full_of, normal_columns
from mapdpm.names import COVARIANCE, MISSING
from mapdpm.protocol import Weights
from mapdpm.search.fit import FitSettings, Fitted
from mapdpm.search.fitted_prior import fit_with_prior, fitted_prior
from mapdpm.search.units import ENOUGH
from mapdpm.search.widths import family_to_fit

_GAIN = 0.01  # nats a point, for which a matrix a cluster is worth its cost


def is_better(full: float, diagonal: float, n_points: int) -> bool:
    """Whether one log joint is so much higher than the other, of as many points."""
    return full > diagonal + ENOUGH + _GAIN * n_points


def full_settings(settings: FitSettings, likelihood: Any, n_columns: int) -> FitSettings | None:
    """``settings`` for full covariances of ``likelihood``, over ``n_columns``; None where they are not to be tried."""
    own = normal_columns(likelihood, n_columns)
    if settings.covariance != COVARIANCE[0] or settings.missing != MISSING[0] or not 1 < own.sum() <= MOST_COLUMNS:
        return None
    return settings._replace(likelihood=full_of(likelihood))


def fit_shaped(settings: FitSettings, points: Any, weights: Weights, warm: Any = None) -> Fitted:
    """``fit_with_prior`` with covariances of the shape whose fit to the sample has the higher log joint."""
    full = full_settings(settings, settings.likelihood, point_set(points).n_features)
    if full is None:
        return fit_with_prior(settings, points, weights, warm)
    one, two = (fitted_prior(family_to_fit(each.likelihood), points, weights, each, None) for each in (settings, full))
    better = is_better(two.log_joint, one.log_joint, len(one.labels))
    chosen, found = (full, two) if better else (settings, one)
    return fit_with_prior(chosen, points, weights, warm, found)
