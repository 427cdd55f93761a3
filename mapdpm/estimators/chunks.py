"""Scoring of many points: chunk by chunk, so that each fits a cache, in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.data import point_set
from mapdpm.protocol import Matrix, Model, Vector
from mapdpm.state import ClusterState, Mixture
from mapdpm.threads import Threads
from mapdpm.validation import check_jobs

# Entries of a chunk, and fewest and most points.
_ENTRIES, _FEWEST, _MOST = 2**18, 256, 2**14


def in_chunks(
    points: Any, mixture: Mixture, n_jobs: Any, found: Callable[[Model, ClusterState, int], NDArray[Any]]
) -> NDArray[Any]:
    """``found(model, state, first)`` of each chunk, joined in order; ``first`` is the number of its first point."""
    data = point_set(points)
    likelihood, prior, anchor, state = mixture
    size = min(max(_ENTRIES // (state.capacity + data.n_features), _FEWEST), _MOST)

    def computed(first: int, last: int) -> NDArray[Any]:
        buffer = np.empty((size, len(anchor)))
        parts = []
        for at in range(first, last, size):
            shifted = point_set(data.part(at, min(at + size, last))).subtract_anchor(anchor, buffer)
            parts.append(found(Model(likelihood, prior, shifted), state, at))
        return np.concatenate(parts)

    n = data.n_points
    n_jobs = min(check_jobs(n_jobs), -(-n // size))
    edges = [n * job // n_jobs for job in range(n_jobs + 1)]
    with Threads(n_jobs) as threads:
        return np.concatenate(threads.each(computed, edges[:-1], edges[1:]))


def posteriors(scores: Matrix) -> Matrix:
    """``scores`` of clusters, edited: their exponentials, each row divided by its sum."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def log_densities(scores: Matrix) -> Vector:
    """The log of the sum of the exponentials of each row."""
    top: Vector = scores.max(axis=1)
    return top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
