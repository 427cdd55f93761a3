"""Clusters so small that a pass by tangents might empty them to a loss: maths (104), (105)."""

from __future__ import annotations

from mapdpm.protocol import PartitionPrior

_LEAST = 1e-9  # a weight
_ENOUGH = 0.25  # of the result: it may be so much too large


def largest_held(prior: PartitionPrior, n_clusters: int) -> float:
    """A bound of the weight of such clusters, at most a quarter above n* of maths (105); 0 if there are none.

    A discount makes it grow with the number of clusters. It is that of the next power of four, so that it seldom
    changes: who is held follows from a labelling, and moves of many points have none.

    Examples
    --------
    >>> from mapdpm.partition_priors import partition_prior
    >>> largest_held(partition_prior(1.0, 0.0), 5)
    1.5
    """
    others = 4
    while others <= n_clusters:
        others *= 4

    def may_lose(weight: float) -> bool:
        return prior.log_new(others, weight) > weight * prior.slope(weight)

    low, high = prior.discount + _LEAST, 1.0
    while may_lose(high):
        low, high = high, 2.0 * high
    while high - low > _ENOUGH * high and high > _LEAST:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if may_lose(middle) else (low, middle)
    return high if may_lose(low) else 0.0
