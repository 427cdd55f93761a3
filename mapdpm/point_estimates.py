"""What many partitions of the same points say: how often points are together, and the one partition in their midst.

The draws of a sampler, or of anything else, have shape (..., N): the last axis is points, all others are draws. Labels
are integers, and only their equality matters. Needs numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mapdpm.partition_search import Draws, Measure, check_partition, mean_loss, search
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.rng import seeded
from mapdpm.validation import check_count

__all__ = [
    "binder_estimate",
    "binder_loss",
    "n_clusters_posterior",
    "similarity",
    "vi_estimate",
    "vi_loss",
]

_MOST_BYTES = 8e9
_BLOCK = 2**22  # entries of a block of indicators: 32 MB


def similarity(partitions: Any, weights: Any = None) -> Matrix:
    """How often two points are in one cluster: S_ij = sum_d w_d [z_di = z_dj] / sum_d w_d.

    Parameters
    ----------
    partitions : array-like of integers, shape (..., N)
        D draws of labels.
    weights : array-like of shape (...), optional
        One finite weight >= 0 a draw; all 1 if None.

    Returns
    -------
    Array of shape (N, N)
        Symmetric, with ones on the diagonal.

    Raises
    ------
    ValueError
        Labels are not integers, no draw, weights that are not; or more memory would be needed than 8 GB: twice the
        result. The losses and estimates below need no such matrix.

    Notes
    -----
    Products of matrices, blocks of draws at a time: O(N^2 sum of the draws' K) multiplications.

    Examples
    --------
    >>> print(similarity([[0, 0, 1], [0, 1, 1]]))
    [[1.  0.5 0. ]
     [0.5 1.  0.5]
     [0.  0.5 1. ]]
    """
    draws = Draws.of(partitions, weights)
    N = draws.clusters.shape[1]
    needed = 2.0 * 8.0 * N * N
    if needed > _MOST_BYTES:
        msg = (
            f"the similarity of {N} points takes {needed / 1e9:.1f} GB, more than {_MOST_BYTES / 1e9:.0f} GB; take "
            f"fewer points, or binder_estimate and vi_estimate, which need no such matrix"
        )
        raise ValueError(msg)
    together = np.zeros((N, N))
    for first, last in _blocks(draws, max(1, _BLOCK // N)):
        offset, end = draws.starts[[first, last]].tolist()
        indicator = np.zeros((N, end - offset))
        # Times D: without weights these are ones, and the counts exact. Roots, so that the product is symmetric.
        roots = np.sqrt(draws.weights[first:last] * len(draws.weights))
        indicator[np.arange(N), draws.clusters[first:last] - offset] = roots[:, None]
        together += indicator @ indicator.T
    together /= len(draws.weights)
    np.fill_diagonal(together, 1.0)
    return np.minimum(together, 1.0, out=together)


def binder_loss(partition: Any, partitions: Any, weights: Any = None) -> float:
    """The share of pairs of points on which the partition and a draw disagree, averaged over the draws (Binder 1978).

    Of two partitions with clusters of a_k and b_l points, and n_kl in both: (sum a_k^2 + sum b_l^2 - 2 sum n_kl^2) /
    (N (N - 1)), which is 1 minus the Rand index. In [0, 1]; times N (N - 1) / 2 it is Binder's loss of unit costs.
    Averaged over draws it is, with S the ``similarity``, the mean over pairs of 1 - S_ij where they are together in the
    partition, and of S_ij where they are not.

    Parameters
    ----------
    partition : array-like of integers, shape (N,)
    partitions, weights
        As in ``similarity``.

    Returns
    -------
    float
        0 for a single point.

    Raises
    ------
    ValueError
        Labels are not integers, of another number of points, no draw, or weights that are not.

    Notes
    -----
    O(D N log N + cells) for D draws; cells: clusters of the partition times those of all draws.

    Examples
    --------
    >>> round(binder_loss([0, 0, 1], [[0, 0, 1], [0, 1, 1]]), 4)
    0.3333
    """
    return _loss(Measure.binder, partition, partitions, weights)


def vi_loss(partition: Any, partitions: Any, weights: Any = None) -> float:
    """The variation of information between the partition and a draw, averaged over the draws, in nats (Meila 2007).

    Of two partitions H(a) + H(b) - 2 I(a, b) = (sum a_k log a_k + sum b_l log b_l - 2 sum n_kl log n_kl) / N, a metric.
    In [0, log N]. Parameters, errors and cost as in ``binder_loss``.

    Examples
    --------
    >>> round(vi_loss([0, 0, 1, 1], [[0, 1, 2, 3]]), 4)  # log 2
    0.6931
    """
    return _loss(Measure.vi, partition, partitions, weights)


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


def _blocks(draws: Draws, n_clusters: int) -> Iterator[tuple[int, int]]:
    """Runs of draws that have up to so many clusters together, or one draw."""
    first, D = 0, len(draws.weights)
    while first < D:
        limit = draws.starts[first] + n_clusters
        last = max(first + 1, int(np.searchsorted(draws.starts, limit, side="right")) - 1)
        yield first, last
        first = last


def _loss(measure: Callable[[int], Measure], partition: Any, partitions: Any, weights: Any) -> float:
    draws = Draws.of(partitions, weights)
    N = draws.clusters.shape[1]
    return mean_loss(measure(N), check_partition(partition, N), draws)


def _estimate(measure: Callable[[int], Measure], draws: Draws, n_restarts: Any, random_state: Any) -> Labels:
    check_count("n_restarts", n_restarts, least=0)
    return search(measure(draws.clusters.shape[1]), draws.distinct(), n_restarts, seeded(random_state).generator)


def __dir__() -> list[str]:
    return sorted(__all__)
