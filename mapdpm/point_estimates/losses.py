"""Expected Binder loss and variation of information of a partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mapdpm.point_estimates.draws import Draws, Measure, check_partition, mean_loss


def binder_loss(partition: Any, partitions: Any, weights: Any = None) -> float:
    """The share of pairs of points on which the partition and a draw disagree, averaged over the draws (Binder 1978).

    For two partitions with clusters of a_k and b_l points, and n_kl points in both, it is
    (sum a_k^2 + sum b_l^2 - 2 sum n_kl^2) / (N (N - 1)), or 1 minus the Rand index. It lies in [0, 1]; times
    N (N - 1) / 2 it is Binder's loss with unit costs. With S the ``similarity``, the average over draws is the mean
    over pairs of 1 - S_ij for pairs that are together in the partition, and of S_ij for the others.

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
        Labels that are not integers or of another number of points, no draws, or invalid weights.

    Notes
    -----
    O(D N log N + cells) for D draws. Cells are the clusters of the partition times those of all draws.

    Examples
    --------
    >>> round(binder_loss([0, 0, 1], [[0, 0, 1], [0, 1, 1]]), 4)
    0.3333
    """
    return _loss(Measure.binder, partition, partitions, weights)


def vi_loss(partition: Any, partitions: Any, weights: Any = None) -> float:
    """The variation of information between the partition and a draw, averaged over the draws, in nats (Meila 2007).

    For two partitions it is H(a) + H(b) - 2 I(a, b) = (sum a_k log a_k + sum b_l log b_l - 2 sum n_kl log n_kl) / N, a
    metric, in [0, log N]. The parameters, errors and cost are those of ``binder_loss``.

    Examples
    --------
    >>> round(vi_loss([0, 0, 1, 1], [[0, 1, 2, 3]]), 4)  # log 2
    0.6931
    """
    return _loss(Measure.vi, partition, partitions, weights)


def _loss(measure: Callable[[int], Measure], partition: Any, partitions: Any, weights: Any) -> float:
    draws = Draws.of(partitions, weights)
    N = draws.clusters.shape[1]
    return mean_loss(measure(N), check_partition(partition, N), draws)
