"""The overlap of clusters of any family, by points that are drawn from each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data.table import Table
from mapdpm.likelihoods._product import Product
from mapdpm.likelihoods._skipping import called, has_verb, plain
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.protocol import Matrix, Model
from mapdpm.rng import seeded
from mapdpm.state import Mixture

_PARAMETERS, _POINTS = 100, 10
"""Draws of the parameters of a cluster, and points for each."""


def log_misclassified_draws(mixture: Mixture) -> Matrix:
    """ln P(n_j p(x | cluster j) > n_i p(x | cluster i)) for x of cluster i, shape (K, K); the diagonal means nothing.

    A share of 1,000 points of the predictive of each cluster, which a fixed seed draws, and of half a point more: at
    least e^-7.6. O(K^2 D) for each point. ValueError where the family cannot draw points.
    """
    likelihood = mixture.likelihood
    if not all(has_verb(plain(likelihood), verb) for verb in ("draw", "draw_points")):
        msg = f"the overlap of clusters of {called(likelihood)} needs points: give X"
        raise ValueError(msg)
    backend, K = resolve("auto", likelihood), len(mixture.counts)
    log_weights, logs = np.log(mixture.state.rows[:-1, 0]), np.empty((K, K))
    for i in range(K):
        scores = np.empty((_PARAMETERS * _POINTS, K + 1))
        backend.score(Model(likelihood, NO_PRIOR, _drawn(likelihood, mixture.state.rows[i])), mixture.state, scores)
        joints = scores[:, :-1] + log_weights
        more = np.count_nonzero(joints > joints[:, i : i + 1], axis=0)
        logs[i] = np.log((more + 0.5) / (len(joints) + 0.5))
    return logs


def _drawn(likelihood: Any, row: Any) -> Any:
    """Points of the predictive of a cluster, in the form that verbs read."""
    rng, parameters, points = seeded(0), np.empty(likelihood.n_parameters()), []
    for _ in range(_PARAMETERS):
        likelihood.draw(row, parameters, rng)
        points.append(likelihood.draw_points(parameters, _POINTS, rng.generator))
    drawn = np.concatenate(points)
    if isinstance(likelihood, Product):
        return Table(drawn, np.zeros(likelihood.n_columns, dtype=np.int64))
    return likelihood.read(drawn) if hasattr(likelihood, "read") else drawn
