"""A stream learner that goes on where a batch fit has ended: its clusters by their statistics, its prior, its alpha."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from mapdpm.estimators.background import refuse_unread_columns
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.files import container
from mapdpm.files.statistics import Moments
from mapdpm.likelihoods import STREAM_FAMILIES
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._rounded import without_cells
from mapdpm.likelihoods._skipping import plain, skips
from mapdpm.stream.learner_state import LearnerState

_FEWEST_SLOTS = 16
S = TypeVar("S", bound=LearnerState)


def stream_of(make: Callable[..., S], model: Any, max_clusters: int | None, settings: dict[str, Any]) -> S:
    """The learner that ``make`` makes of ``settings`` and what the fitted ``model`` says, with the model's clusters.

    ``max_clusters`` None is twice as many slots as clusters, and at least 16. Errors as in ``OnlineMAPDPM.from_model``.
    """
    if not isinstance(model, MAPDPM):
        msg = f"model must be a fitted MAPDPM, got an object of type {type(model).__name__}"
        raise ValueError(msg)
    refuse_unread_columns(model, "streams learn all columns")
    saved, _ = container.unpack(_bytes_of(model))
    n_clusters, D = len(saved.counts), len(saved.anchor)
    slots = max(_FEWEST_SLOTS, 2 * n_clusters) if max_clusters is None else max_clusters
    missing = "skip" if skips(saved.likelihood) else "error"
    stream = make(
        slots,
        alpha=model.alpha,
        likelihood=plain(model.likelihood_),
        n_features=D,
        missing=missing,
        **settings,
    )
    if slots < n_clusters:
        msg = (
            f"max_clusters must be at least {n_clusters}, the clusters of the model, got {max_clusters}; "
            "OnlineMAPDPM.merged([stream], max_clusters=...) merges clusters of a stream"
        )
        raise ValueError(msg)
    learner = stream.ready_learner()
    shift = saved.anchor - learner.anchor()
    moments = Moments.of(saved.likelihood, saved.statistics)
    counts = moments.of_features
    variances = np.divide(moments.squares, counts, out=np.zeros(counts.shape), where=counts > 0.0)
    variances = without_cells(variances, steps_of(model.likelihood_))
    weights = moments.weights * learner.share_of(float(moments.weights.sum()))
    for k in range(n_clusters):
        own = counts[k] if missing == "skip" else None
        learner.insert(float(weights[k]), shift + moments.means[k], variances[k], own)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        stream.feature_names_in_ = names
    return stream


def _bytes_of(model: MAPDPM) -> bytes:
    """The file of a model that a stream can go on with; ValueError where it is another."""
    if model.discount > 0.0:
        msg = f"streams have no discount, but the model has discount={model.discount}; fit it with discount=0"
        raise ValueError(msg)
    family = plain(getattr(model, "likelihood_", None))
    if family is not None and type(family) not in STREAM_FAMILIES:
        known = " and ".join(each.__name__ for each in STREAM_FAMILIES)
        what = f"a model of {type(family).__name__} cannot go on as a stream"
        msg = f"{what}; {known} can: fit one of these, or with covariance='diagonal'"
        raise ValueError(msg)
    return model.to_bytes()  # NotFittedError where there is no fit
