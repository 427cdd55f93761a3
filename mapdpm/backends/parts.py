"""Some clusters of a partition, whose points are clustered anew. c_kernels/batch/parts.c is the twin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.objective import part_of
from mapdpm.protocol import Labels, Model
from mapdpm.state import ClusterState


def log_joint_of(backend: Any, model: Model, state: ClusterState) -> float:
    """The log joint of ``state``, without the terms that all clusterings of its points share."""
    prior, live = model.prior, state.counts > 0
    first = prior.log_new(1, 1.0)
    terms = [prior.log_new(1, weight) - first for weight in state.rows[live, 0].tolist()]
    terms += [prior.log_new(used, 1.0) for used in range(1, state.n_clusters)]
    return math.fsum([*backend.log_marginals(model.likelihood, state), *terms])


def recluster(
    backend: Any, model: Model, state: ClusterState, points: Labels, anew: ClusterState, order: Labels, most: int
) -> tuple[float, float]:
    """Cluster ``points`` anew, all that some slots of ``state`` hold; the gain of the log joint, and the joint before.

    ``anew.labels`` says where each of them begins. Those of ``order``, whose labels are -1, join the clusters of the
    others one by one. At most ``most`` sweeps follow. Edits ``anew``. The joint leaves out what both clusterings share.
    """
    slots = np.unique(state.labels[points])
    part = part_of(model, points, state.n_clusters - len(slots))
    before = log_joint_of(backend, part, ClusterState(points, state.counts[slots], state.rows[slots]))
    if len(order):
        backend.statistics(part, anew)
        backend.sequential_start(part, anew, order, False)
    backend.settle(part, anew, most)
    return log_joint_of(backend, part, anew) - before, before
