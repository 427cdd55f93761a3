"""The points of a search: those that take part, shifted to lie near 0, and their family."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.data import point_set
from mapdpm.likelihoods import NormalGamma
from mapdpm.likelihoods._skipping import has_verb, in_kernels, named
from mapdpm.names import MISSING
from mapdpm.protocol import Labels, Likelihood, Matrix, Vector, Weights
from mapdpm.validation import LARGEST_WEIGHT, in_order_of_appearance

_ANCHOR_SAMPLE = 1023

ABSENT = -1
"""The label of a point of weight 0."""


class Observed(NamedTuple):
    """Points and their family: as the user gave it, and shifted with the data to lie near 0, as kernels read it."""

    likelihood: Likelihood
    shifted: Likelihood
    data: Any
    anchor: Vector


def observed(likelihood: Any, points: Any, weights: Weights = None, missing: str = "error") -> Observed:
    """``points`` under ``likelihood`` (None: the empirical Normal-Gamma); ValueError if it does not fit the points.

    With ``missing`` "skip", the shifted one takes NaN for a missing value.
    """
    likelihood = fitting(likelihood, points, weights, missing)
    anchor = anchor_for(likelihood, points)  # decision 6
    shifted = less_anchor(likelihood, anchor)
    if missing != MISSING[0] or not isinstance(shifted, tuple):  # else it is as kernels read it
        shifted = in_kernels(shifted, missing)
    return Observed(likelihood, shifted, less(points, anchor), anchor)


def less(points: Any, anchor: Vector) -> Any:
    """``points`` less ``anchor``; themselves where that is 0."""
    if not np.any(anchor):
        return points
    if isinstance(points, np.ndarray):
        return points - anchor
    return points.subtract_anchor(anchor, np.empty((points.n_points, points.n_features)))


def fitting(likelihood: Any, points: Any, weights: Weights = None, missing: str = "error") -> Likelihood:
    """``likelihood`` (None: the empirical Normal-Gamma) for ``points``; ValueError if it does not fit them."""
    likelihood = NormalGamma.empirical(points, weights, missing=missing) if likelihood is None else likelihood
    check_likelihood(likelihood, weights is not None)
    return likelihood.for_data(points)


def check_likelihood(likelihood: Any, weighted: bool) -> None:
    """ValueError where it is no likelihood with its prior, or takes no weights though points have some."""
    if isinstance(likelihood, type) or not (hasattr(likelihood, "log_predictive") or _is_mixed(likelihood)):
        got = f"the class {likelihood.__name__} itself" if isinstance(likelihood, type) else repr(likelihood)
        msg = f"likelihood must be one with its prior, such as NormalGamma.empirical(X), got {got}"
        raise ValueError(msg)
    if weighted and not has_verb(likelihood, "log_predictive_weighted"):
        msg = f"{named(likelihood)} takes no sample_weight"
        raise ValueError(msg)


def _is_mixed(likelihood: Any) -> bool:
    return hasattr(likelihood, "in_kernels") and not likelihood.is_open


def labels_of_start(init: Labels, present: Labels | None, name: str, most: int | None) -> Labels:
    """The labels 0..K-1 of the points that take part; ValueError for more than ``most``, parameter ``name``."""
    labels = in_order_of_appearance(init if present is None else init[present])
    n_clusters = int(labels.max()) + 1
    if most is not None and n_clusters > most:
        what = name.partition("_")[2]
        msg = f"init has {n_clusters} {what}, more than {name}={most}; raise it or merge labels"
        raise ValueError(msg)
    return labels


def less_anchor(likelihood: Any, anchor: Vector) -> Any:
    """``likelihood`` for points less ``anchor``."""
    return likelihood.shifted(anchor) if np.any(anchor) else likelihood


def anchor_for(likelihood: Any, points: Any) -> Vector:
    """``anchor_of`` the points, or zeros where the family has no location, or the points are float32.

    float64 rows keep all digits of float32 points at any offset, so these need no anchor and no copy.
    """
    if hasattr(likelihood, "located"):
        anchor = np.zeros(points.n_features)
        for columns in likelihood.located():
            anchor[columns] = anchor_of(points.array[:, columns])
        return anchor
    if not hasattr(likelihood, "shifted") or points.dtype != np.float64:
        return np.zeros(point_set(points).n_features)
    return anchor_of(points)


def anchor_of(points: Matrix) -> Vector:
    """A typical point: the median of each column over one or two thousand rows; 0 where they have no value.

    Subtraction is exact near it (Sterbenz), so an offset costs no digits. A mean would follow outliers.
    """
    step = max(1, len(points) // _ANCHOR_SAMPLE)
    sample = np.sort(points[::step], axis=0)  # NaN comes last
    n_values = len(sample) - np.isnan(sample).sum(axis=0)
    middle: Vector = sample[n_values // 2, np.arange(sample.shape[1])]
    middle[n_values == 0] = 0.0
    return middle


def present_points(weights: Weights) -> Labels | None:
    """The points whose weight is not 0; None if all points take part."""
    return None if weights is None or np.all(weights) else np.flatnonzero(weights)


def taking_part(points: Any, weights: Weights, present: Labels | None) -> tuple[Any, Weights]:
    """The points and weights of ``present``; the weights are None if all of them are 1."""
    if present is None or weights is None:
        return points, weights
    kept = weights[present]
    return point_set(points).rows(present), None if np.all(kept == 1.0) else kept


def with_absent(labels: Labels, weights: Weights, present: Labels | None) -> Labels:
    """The labels of all points: ``labels`` of those present, and -1."""
    if present is None or weights is None:
        return labels
    spread = np.full(len(weights), ABSENT)
    spread[present] = labels
    return spread


def relative(prior: Any, weights: Weights) -> tuple[Any, Weights]:
    """The prior of partitions, and the weights with mean 1: a fitted prior counts no copies (maths, section 35).

    With a discount weights stay: each must be above it.
    """
    if weights is None or prior.discount:
        return prior, weights
    scaled = weights / weights[weights > 0.0].mean()
    scaled = np.where(weights > 0.0, np.clip(scaled, 1.0 / LARGEST_WEIGHT, LARGEST_WEIGHT), 0.0)
    if np.all((scaled == 1.0) | (scaled == 0.0)):
        return prior, None if np.all(scaled) else scaled
    return prior._replace(light=True), scaled


def relative_in_sample(prior: Any, weights: Weights) -> tuple[Any, Weights]:
    """``relative``, with weights of 1 at most: a heavier point would be copies of one, too."""
    prior, scaled = relative(prior, weights)
    return prior, None if scaled is None else np.minimum(scaled, 1.0)
