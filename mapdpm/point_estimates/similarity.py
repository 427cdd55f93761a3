"""The posterior similarity matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mapdpm.point_estimates.draws import Draws
from mapdpm.protocol import Matrix

_MOST_BYTES = 8e9
_BLOCK = 2**22  # entries of a block of indicators: 32 MB


def similarity(partitions: Any, weights: Any = None) -> Matrix:
    """The share of draws in which two points are in one cluster: S_ij = sum_d w_d [z_di = z_dj] / sum_d w_d.

    Parameters
    ----------
    partitions : array-like of integers, shape (..., N)
        D draws of labels.
    weights : array-like of shape (...), optional
        One finite weight >= 0 for each draw; None is 1 for all.

    Returns
    -------
    Array of shape (N, N)
        Symmetric, with ones on the diagonal.

    Raises
    ------
    ValueError
        Labels that are not integers, no draws, invalid weights, or a result that needs more than 8 GB (twice its size).
        The losses and estimates need no such matrix.

    Notes
    -----
    Matrix products, one block of draws at a time: O(N^2 sum of the draws' K) multiplications.

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
        # Times D, so that without weights the entries are 1 and counts exact. Roots make the product symmetric.
        roots = np.sqrt(draws.weights[first:last] * len(draws.weights))
        indicator[np.arange(N), draws.clusters[first:last] - offset] = roots[:, None]
        together += indicator @ indicator.T
    together /= len(draws.weights)
    np.fill_diagonal(together, 1.0)
    return np.minimum(together, 1.0, out=together)


def _blocks(draws: Draws, n_clusters: int) -> Iterator[tuple[int, int]]:
    """Runs of draws with at most ``n_clusters`` clusters together, or of one draw."""
    first, D = 0, len(draws.weights)
    while first < D:
        limit = draws.starts[first] + n_clusters
        last = max(first + 1, int(np.searchsorted(draws.starts, limit, side="right")) - 1)
        yield first, last
        first = last
