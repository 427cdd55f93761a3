"""Calls into the C library for learners of states in time."""

from __future__ import annotations

import numpy as np

from mapdpm.protocol import Matrix, Vector
from mapdpm.stream.c_learner import Learner


def gap(learner: Learner) -> None:
    """Learn all points that wait; the next one begins a sequence."""
    learner.lib.mapdpm_gap(learner.stream)


def belief(learner: Learner) -> Vector:
    """The probability of each state for the last point, in the order of ids; all 0 where no sequence has begun."""
    found = np.empty(learner.stream.max_clusters, learner.dtype)
    learner.lib.mapdpm_get_belief(
        learner.stream, learner.ffi.from_buffer("mapdpm_real[]", found, require_writable=True)
    )
    return found[learner.slots()].astype(np.float64)


def transitions(learner: Learner) -> tuple[Matrix, Vector]:
    """The probabilities of states after each, (K, K + 1), and of the first state, (K + 1,); last of a new one."""
    K = int(learner.stream.max_clusters)
    steps = np.empty((K + 1, K + 1), learner.dtype)
    view = learner.ffi.from_buffer("mapdpm_real[]", steps, require_writable=True)
    learner.lib.mapdpm_get_transitions(learner.stream, view)
    slots = learner.slots()
    steps = steps[:, [*slots, K]].astype(np.float64)
    return steps[slots], steps[K]


def run_length(learner: Learner) -> int:
    """The number of points in a row, up to the last, that had the same state when they came."""
    length = learner.ffi.new("uint32_t *")
    learner.lib.mapdpm_get_run(learner.stream, length)
    return int(length[0])
