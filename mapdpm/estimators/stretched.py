"""A warning where clusters are stretched, and full covariances were not tried."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.likelihoods._restricted import restricted, restricted_points
from mapdpm.likelihoods._shape import MOST_COLUMNS, full_of, normal_columns
from mapdpm.names import MISSING
from mapdpm.protocol import Labels, Matrix
from mapdpm.search.fit import FitSettings, Fitted
from mapdpm.search.fitted_prior import fitted_prior
from mapdpm.search.shape import is_better
from mapdpm.search.widths import family_to_fit
from mapdpm.validation import caller_level

_POINTS, _COLUMNS = 1024, 128  # that are looked at
_FEWEST = 30  # points with values in both of two columns, and of whole rows for each column
_STRETCHED = 0.5  # a correlation inside clusters


def warn_where_stretched(settings: FitSettings, points: Any, fitted: Fitted, names: Any = None) -> None:
    """UserWarning where ``covariance="auto"`` could not try full covariances, and they would describe the data better.

    With missing values, rows without any are asked: which shape has the higher log joint there. With more columns than
    are tried, two columns that correlate inside clusters tell.
    """
    normal = np.flatnonzero(normal_columns(settings.likelihood, point_set(points).n_features))
    if len(normal) < 2 or fitted.labels is None:  # noqa: PLR2004
        return
    if len(normal) > MOST_COLUMNS:
        _warn_of_many(points, normal, fitted.labels, names)
    elif settings.missing == MISSING[1] and _are_better_full(settings, points, normal):
        msg = (
            "clusters are stretched: rows without missing values have a higher log joint with full covariances, which "
            "missing values forbid. One cluster may be several here; impute the values, or fit rows without gaps"
        )
        warnings.warn(msg, stacklevel=caller_level())


def _are_better_full(settings: FitSettings, points: Any, normal: Labels) -> bool:
    """Whether full covariances have the higher log joint on rows that have all values of the normal columns."""
    table = getattr(points, "array", points)[:, normal]
    whole = np.flatnonzero(~np.isnan(table).any(axis=1))
    if len(whole) == len(table) or len(whole) < _FEWEST * len(normal):
        return False
    if len(whole) > _POINTS:
        whole = np.sort(np.random.default_rng(0).choice(whole, _POINTS, replace=False))
    likelihood = restricted(settings.likelihood, normal)
    rows = restricted_points(point_set(points).rows(whole), normal)
    own = settings._replace(missing=MISSING[0], init="sequential", structure=None)
    shapes = (own._replace(likelihood=each) for each in (full_of(likelihood), likelihood))
    full, diagonal = (fitted_prior(family_to_fit(each.likelihood), rows, None, each) for each in shapes)
    return is_better(full.log_joint, diagonal.log_joint, len(full.labels))


def _warn_of_many(points: Any, normal: Labels, labels: Labels, names: Any) -> None:
    numbers, shown = np.flatnonzero(labels >= 0), normal[:_COLUMNS]
    if len(numbers) > _POINTS:
        numbers = np.random.default_rng(0).choice(numbers, _POINTS, replace=False)
    table = np.asarray(getattr(points, "array", points)[numbers][:, shown], dtype=np.float64)
    one, two, correlation = most_correlated(table, labels[numbers])
    if abs(correlation) > _STRETCHED:
        first, second = (int(shown[each]) if names is None else repr(str(names[shown[each]])) for each in (one, two))
        msg = (
            f"clusters are stretched: columns {first} and {second} correlate by {correlation:.2f} inside clusters, and "
            f"full covariances are not tried with more than {MOST_COLUMNS} columns of numbers. One cluster may be "
            "several here; choose columns, or say covariance='full'"
        )
        warnings.warn(msg, stacklevel=caller_level())


def most_correlated(table: Matrix, labels: Labels) -> tuple[int, int, float]:
    """The two columns of the largest correlation inside clusters, less what chance gives, and that correlation."""
    residuals = np.full_like(table, np.nan)
    for k in np.unique(labels):
        own = table[labels == k]
        known = np.count_nonzero(~np.isnan(own), axis=0)
        sums = np.nansum(own, axis=0)
        apart = own - sums / np.maximum(known, 1)
        spread = np.sqrt(np.nansum(apart**2, axis=0) / np.maximum(known - 1, 1))
        with np.errstate(all="ignore"):
            residuals[labels == k] = np.where((known > 2) & (spread > 0.0), apart / spread, np.nan)  # noqa: PLR2004
    there = ~np.isnan(residuals)
    both = there.T.astype(np.float64) @ there
    filled = np.where(there, residuals, 0.0)
    correlations = filled.T @ filled / np.maximum(both, 1.0)
    np.fill_diagonal(correlations, 0.0)
    surely = np.maximum(np.abs(correlations) - 2.0 / np.sqrt(np.maximum(both, 1.0)), 0.0) * np.sign(correlations)
    surely[both < _FEWEST] = 0.0
    one, two = np.unravel_index(int(np.argmax(np.abs(surely))), surely.shape)
    return int(min(one, two)), int(max(one, two)), float(surely[one, two])
