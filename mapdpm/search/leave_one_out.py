"""The pseudo-log-likelihood of a fit (Raykov2014 (16)): a report beside the log joint, never the objective."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.backends import Backend
from mapdpm.data import point_set
from mapdpm.jit import compiled_if_possible
from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.objective import log_predictive
from mapdpm.protocol import Labels, Model, Vector, Weights
from mapdpm.search.observed import less, present_points, taking_part
from mapdpm.state import ClusterState, Mixture, empty, unassign

_TOLERANCE = 1e-6  # of clusters made anew: far above the rounding of a fit, far below what other points would give


def leave_one_out(model: Model, state: ClusterState, logs: Vector) -> None:
    """``logs[i]``: log p(x_i | the other points of its cluster), the gain of the log marginal by point i; O(N D).

    ``state`` is as before at the end.
    """
    likelihood, _, data, weights = model
    before = np.empty(state.rows.shape[1])
    for i in range(state.labels.shape[0]):
        k = state.labels[i]
        before[:] = state.rows[k]
        unassign(likelihood, data, weights, state, i)
        logs[i] = log_predictive(likelihood, state.rows[k], data, weights, i)
        state.labels[i] = k
        state.counts[k] += 1
        state.rows[k, :] = before


_leave_one_out = compiled_if_possible(leave_one_out)


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
    likelihood, prior, anchor, found = mixture
    present = present_points(weights)
    taken, positive = taking_part(points, weights, present)
    model = Model(likelihood, prior, less(taken, anchor), positive)
    state = empty(likelihood, 0, found.capacity)._replace(labels=labels if present is None else labels[present])
    backend.statistics(model, state)
    theirs, ours = (backend.log_marginals(likelihood, each) for each in (found, state))
    apart = np.abs(theirs - ours) > _TOLERANCE * (1.0 + state.rows[:, 0] + np.abs(theirs))
    if np.any(state.labels < 0) or np.any(state.counts != found.counts) or np.any(apart):
        msg = "X and sample_weight must be those of the fit, in their order: with these the clusters are others"
        raise ValueError(msg)
    sizes = state.rows[:-1, 0].copy()
    return sizes, _left_out(model, state._replace(labels=state.labels.copy()))


def _left_out(model: Model, state: ClusterState) -> Vector:
    """The result of ``leave_one_out``; of a product part by part, for numba compiles no product of many quickly."""
    likelihood, prior, data, weights = model
    logs = np.zeros(len(state.labels))
    if not isinstance(likelihood, Product):
        _leave_one_out(model, state, logs)
        return logs
    for family, columns, own in parts_of(likelihood):
        there = ~np.isnan(data.array[:, columns]).all(axis=1)
        table = np.ascontiguousarray(data.array[there, columns])
        of_part = Model(family, prior, table, None if weights is None else weights[there])
        labels = state.labels[there]
        counts = np.bincount(labels, minlength=len(state.counts))
        logs[there] += _left_out(of_part, ClusterState(labels, counts, np.ascontiguousarray(state.rows[:, own])))
    return logs
