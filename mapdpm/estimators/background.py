"""Densities of the columns that the mixture of an estimator does not read."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.estimators.chunks import in_chunks
from mapdpm.likelihoods._restricted import as_table, restricted_points
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.protocol import Labels, Model, Vector
from mapdpm.search.background import Relevance
from mapdpm.state import ClusterState


def log_densities_of_others(relevance: Relevance, n_points: float, points: Any, n_jobs: Any) -> Vector:
    """Log densities of the columns that carry no clusters; O(N D).

    They are those of one cluster of the ``n_points`` of the fit. A constant column has the probability 1 for its value,
    and 1 / (n + 2) for all others together, by Laplace's rule.
    """
    found: Vector = -np.log(n_points + 2.0) * _new_values(relevance, points).sum(axis=1)
    if relevance.background is not None:
        table = as_table(restricted_points(points, relevance.others))
        found += in_chunks(table, relevance.background, n_jobs, _of_chunk)
    return found


def have_new_values(relevance: Relevance, points: Any) -> Any:
    """Whether each point has a new value in a column that was constant."""
    return _new_values(relevance, points).any(axis=1)


def _of_chunk(model: Model, state: ClusterState, _: int) -> Vector:
    scores = np.empty((point_set(model.data).n_points, state.capacity))
    resolve("auto", model.likelihood).score(model._replace(prior=NO_PRIOR), state, scores)
    return scores[:, 0]


def _new_values(relevance: Relevance, points: Any) -> Any:
    constant: Labels = np.flatnonzero(~np.isnan(relevance.constants))
    table = getattr(points, "array", points)[:, constant]
    return (table != relevance.constants[constant]) & ~np.isnan(table)
