"""Densities of the columns that the mixture of an estimator does not read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.estimators.chunks import in_chunks
from mapdpm.likelihoods._as_given import of_users_columns
from mapdpm.likelihoods._expected_depths import expected_depths
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._restricted import as_table, restricted_points
from mapdpm.likelihoods._rounded import with_resolution
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.protocol import Labels, Model, Vector, Weights
from mapdpm.search.background import Relevance
from mapdpm.search.leave_one_out import log_densities_left_out, pseudo_log_likelihood
from mapdpm.search.observed import relative
from mapdpm.state import ClusterState

_MOST_NAMES = 12


def log_densities_of_others(relevance: Relevance, n_points: float, points: Any, n_jobs: Any) -> Vector:
    """Log densities of the columns that carry no clusters; O(N D).

    They are those of one cluster of the ``n_points`` of the fit. A constant column has the probability 1 for its value,
    and 1 / (n + 2) for all others together, by Laplace's rule.
    """
    found: Vector = -np.log(n_points + 2.0) * _new_values(relevance, points).sum(axis=1)
    if relevance.background is not None:
        found += in_chunks(_others(relevance, points), relevance.background, n_jobs, _of_chunk)
    return found


def expected_depths_of_others(relevance: Relevance, points: Any) -> Vector:
    """``expected_depths`` of the columns that carry no clusters."""
    if relevance.background is None:
        return np.zeros(point_set(points).n_points)
    return expected_depths(relevance.background.likelihood, _others(relevance, points))


def pseudo_of_all(model: Any, points: Any, weights: Weights, is_fitted: bool) -> float:
    """``pseudo_log_likelihood`` of a fitted model, with the columns that carry no clusters.

    ``is_fitted`` says whether its prior was fitted: then the fit has counted weights relative to their mean.
    """
    mixture, labels, relevance = model._mixture_of_fit, getattr(model, "labels_", None), model._relevance  # noqa: SLF001
    if is_fitted:
        prior, weights = relative(mixture.prior, weights)
        mixture = mixture._replace(prior=prior)
    found = pseudo_log_likelihood(mixture, model._backend, labels, model._clustered(points), weights)  # noqa: SLF001
    if relevance is None or labels is None:
        return found
    return found + left_out_of_others(relevance, steps_of(model.likelihood_), labels, points, weights)


def left_out_of_others(
    relevance: Relevance, steps: Vector | None, labels: Labels, points: Any, weights: Weights
) -> float:
    """The sum of log p(the others of x_i | those of the other points), in nats; a constant adds 0. O(N D).

    ``labels``, ``points`` and ``weights`` are those of the fit; ``steps`` those of all columns, where any is rounded.
    """
    background = relevance.background
    if background is None:
        return 0.0
    if steps is not None:
        background = background._replace(likelihood=with_resolution(background.likelihood, steps[relevance.others]))
    one, backend = np.minimum(labels, 0), resolve("auto", background.likelihood)
    return math.fsum(log_densities_left_out(background, backend, one, _others(relevance, points), weights)[1])


def have_new_values(relevance: Relevance, points: Any) -> Any:
    """Whether each point has a new value in a column that was constant."""
    return _new_values(relevance, points).any(axis=1)


def are_constant(model: Any) -> Any:
    """Which columns of the user's table had one value only, of a model whose columns were searched."""
    return of_users_columns(model.likelihood_, ~np.isnan(model._relevance.constants)) > 0.0  # noqa: SLF001  (of one package)


def refuse_unread_columns(model: Any, reason: str) -> None:
    """ValueError with ``reason`` for a fitted model that reads some of its columns only."""
    relevance = getattr(model, "_relevance", None)
    if relevance is None or relevance.is_all:
        return
    read = of_users_columns(model.likelihood_, np.isin(np.arange(len(relevance.relevant)), relevance.columns)) > 0.0
    names = getattr(model, "feature_names_in_", np.arange(len(read)))
    listed = ", ".join([*map(str, names[read][:_MOST_NAMES]), *["..."] * (int(read.sum()) > _MOST_NAMES)])
    msg = (
        f"{reason}, and this model reads {read.sum()} of {len(read)}: fit it on these columns ({listed}), "
        "or with relevance='all'"
    )
    raise ValueError(msg)


def _others(relevance: Relevance, points: Any) -> Any:
    return as_table(restricted_points(points, relevance.others))


def _of_chunk(model: Model, state: ClusterState, _: int) -> Vector:
    scores = np.empty((point_set(model.data).n_points, state.capacity))
    resolve("auto", model.likelihood).score(model._replace(prior=NO_PRIOR), state, scores)
    return scores[:, 0]


def _new_values(relevance: Relevance, points: Any) -> Any:
    constant: Labels = np.flatnonzero(~np.isnan(relevance.constants))
    table = getattr(points, "array", points)[:, constant]
    return (table != relevance.constants[constant]) & ~np.isnan(table)
