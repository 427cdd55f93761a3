"""The pseudo-log-likelihood of a fit (Raykov2014 (16)): a report beside the log joint, never the objective."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.backends import Backend
from mapdpm.data import point_set
from mapdpm.protocol import Labels, Model, Vector, Weights
from mapdpm.search.observed import less, present_points, taking_part
from mapdpm.state import ClusterState, Mixture, empty

_TOLERANCE = 1e-6  # of clusters made anew: far above the rounding of a fit, far below what other points would give


def pseudo_log_likelihood(
    mixture: Mixture, backend: Backend, labels: Labels | None, points: Any, weights: Weights
) -> float:
    """Log p(z) + sum_i log p(x_i | the other points of its cluster), maths (145), in nats with all constants.

    ``labels``, ``points`` and ``weights`` are those that the clusters of ``mixture`` were found with; ValueError for
    others. Reads the points at once, and copies them where they have an anchor.
    """
    if labels is None:
        msg = "the labels of the fit are not here: a fit on Dask, and a file from a device, have none"
        raise ValueError(msg)
    if point_set(points).n_points != len(labels):
        msg = f"X must be the points of the fit: it has {point_set(points).n_points} points, the fit had {len(labels)}"
        raise ValueError(msg)
    sizes, logs = log_densities_left_out(mixture, backend, labels, points, weights)
    return math.fsum([mixture.prior.log_partition(sizes), *logs])


def log_densities_left_out(
    mixture: Mixture, backend: Backend, labels: Labels, points: Any, weights: Weights
) -> tuple[Vector, Vector]:
    """The weights of the clusters, and log p(x_i | the other points of its cluster) of each point of weight > 0.

    ValueError where the clusters of these points are not those of ``mixture``.
    """
    model, state = _clusters_of(mixture, backend, labels, points, weights)
    if not _are_equal(mixture, backend, state):
        msg = "X and sample_weight must be those of the fit, in their order: with these the clusters are others"
        raise ValueError(msg)
    sizes = state.rows[:-1, 0].copy()
    gains = np.empty(len(state.labels))
    backend.left_out(model, state, gains)
    return sizes, gains


def are_points_of_fit(mixture: Mixture, backend: Backend, labels: Labels, points: Any, weights: Weights) -> bool:
    """Whether the clusters of ``mixture`` are those of these points, in their order; O(N D)."""
    if point_set(points).n_points != len(labels):
        return False
    return _are_equal(mixture, backend, _clusters_of(mixture, backend, labels, points, weights)[1])


def _clusters_of(
    mixture: Mixture, backend: Backend, labels: Labels, points: Any, weights: Weights
) -> tuple[Model, ClusterState]:
    """The points of weight > 0, and the clusters that ``labels`` make of them."""
    likelihood, prior, anchor, found = mixture
    present = present_points(weights)
    taken, positive = taking_part(points, weights, present)
    model = Model(likelihood, prior, less(taken, anchor), positive)
    state = empty(likelihood, 0, found.capacity)._replace(labels=labels if present is None else labels[present])
    backend.statistics(model, state)
    return model, state


def _are_equal(mixture: Mixture, backend: Backend, state: ClusterState) -> bool:
    found = mixture.state
    theirs, ours = (backend.log_marginals(mixture.likelihood, each) for each in (found, state))
    apart = np.abs(theirs - ours) > _TOLERANCE * (1.0 + state.rows[:, 0] + np.abs(theirs))
    return not (np.any(state.labels < 0) or np.any(state.counts != found.counts) or np.any(apart))
