"""The partition in the midst of many, and how many clusters they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.point_estimates.draws import Draws, Measure
from mapdpm.point_estimates.local_search import search
from mapdpm.protocol import Labels, Vector
from mapdpm.rng import seeded
from mapdpm.validation import check_count


def binder_estimate(partitions: Any, weights: Any = None, *, n_restarts: int = 4, random_state: Any = 0) -> Labels:
    """The partition of least ``binder_loss`` that a search finds.

    Start: the best of the draws, or of up to 200 of them. Then sweeps: each point goes where the loss is least, a new
    cluster included; where no point moves, clusters are merged if that lowers the loss; until neither helps. The same
    from ``n_restarts`` partitions that are built point by point, in random order: the least loss wins. This is close to
    SALSO (Dahl, Johnson and Mueller 2022). The loss is never above that of these draws; it may not be the least of all.

    Parameters
    ----------
    partitions, weights
        As in ``similarity``.
    n_restarts : int
        Partitions built in random order, besides the best draw.
    random_state : int, Generator or None
        Of the orders. The same draws have the same estimate, unless this is None.

    Returns
    -------
    Array of shape (N,)
        Labels 0..K-1, in order of first appearance.

    Raises
    ------
    ValueError
        As in ``similarity``, or n_restarts < 0.

    Notes
    -----
    For each pair of an own cluster and one of a draw, the points in both are counted: a move costs one look-up a draw
    and own cluster. O(D N K) a sweep; O(K^2 sum of the draws' K) to look for merges, of the K clusters of two points or
    more; O(200 D N), some 20 ns each, once for the draw to start from: 4 s for 1000 draws of 1000 points. Memory
    O(K sum of the draws' K + D N).

    Examples
    --------
    >>> print(binder_estimate([[0, 0, 1, 1], [0, 0, 1, 2], [5, 5, 3, 3]]))
    [0 0 1 1]
    """
    return _estimate(Measure.binder, Draws.of(partitions, weights), n_restarts, random_state)


def vi_estimate(partitions: Any, weights: Any = None, *, n_restarts: int = 4, random_state: Any = 0) -> Labels:
    """The partition of least ``vi_loss`` that a search finds: usually of fewer clusters than Binder's (Wade 2018).

    Search, parameters, errors and cost as in ``binder_estimate``.

    Examples
    --------
    >>> print(vi_estimate([[0, 0, 1, 1], [0, 0, 1, 2], [5, 5, 3, 3]]))
    [0 0 1 1]
    """
    return _estimate(Measure.vi, Draws.of(partitions, weights), n_restarts, random_state)


def n_clusters_posterior(n_clusters: Any) -> Vector:
    """How often each number of clusters was drawn: entry K is the share of K, from K = 0 to the largest.

    Parameters
    ----------
    n_clusters : array-like of integers >= 0
        Of any shape: chains are put together.

    Raises
    ------
    ValueError
        Empty, not integers, or negative.

    Examples
    --------
    >>> print(n_clusters_posterior([[2, 3], [3, 3]]))
    [0.   0.   0.25 0.75]
    """
    counts = np.asarray(n_clusters)
    if counts.size == 0 or counts.dtype.kind not in "iu" or counts.min() < 0:
        what = f"dtype {counts.dtype}" if counts.dtype.kind not in "iu" else counts.min() if counts.size else "nothing"
        msg = f"n_clusters must be integers >= 0, at least one, got {what}"
        raise ValueError(msg)
    return np.bincount(counts.reshape(-1)) / counts.size


def _estimate(measure: Callable[[int], Measure], draws: Draws, n_restarts: Any, random_state: Any) -> Labels:
    check_count("n_restarts", n_restarts, least=0)
    return search(measure(draws.clusters.shape[1]), draws.distinct(), n_restarts, seeded(random_state).generator)
