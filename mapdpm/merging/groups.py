"""Groups of clusters that belong together: they overlap, are far from all others, and no valley parts them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mapdpm.merging.by_overlap import OverlapsAtPoints
from mapdpm.merging.cut import HARD_TO_TELL, cut_of_overlaps
from mapdpm.names import AUTO
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.validation import check_count, in_order_of_appearance, refuse_value

_VALLEY = 0.45  # of the density at the two means: that of two equal normals 3.6 standard deviations apart
_WINDOW = 0.25  # of the distance between two means, in which points are counted
_NEARLY_ALL = 0.95  # of the weight: one such group, and the cut says nothing


def check_groups(groups: Any) -> None:
    """ValueError where ``groups=`` is not None, "auto" or a number of groups."""
    if groups is None or (isinstance(groups, str) and groups == AUTO):
        return
    if isinstance(groups, (bool, np.bool_)) or not isinstance(groups, numbers.Integral):
        refuse_value('groups must be None, "auto" or the number of groups, an integer >= 1', groups)
    check_count("groups", groups)


def groups_at_points(log_shares: Matrix, log_weights: Vector) -> Labels:
    """The group of each cluster, shape (K,), numbered in order of appearance: maths, section 27.

    ``log_shares`` are the logarithms of the posterior probabilities of clusters at points, (N, K); each point counts
    ``exp(log_weights)``. Clusters are merged by overlap up to the largest gap of heights. A group stays only if it has
    not nearly all of the weight, and if no valley of density parts its clusters. O(N K + K^3), and less where heights
    soon exceed ``HARD_TO_TELL``.
    """
    n_clusters = log_shares.shape[1]
    overlaps = OverlapsAtPoints(log_shares + log_weights[:, None])
    near, best = overlaps.log_overlaps.copy(), overlaps.best.copy()
    mergers, risen = [], [0.0]
    for merger in overlaps.mergers():
        mergers.append(merger)
        risen.append(max(risen[-1], merger.height))
        if risen[-1] > HARD_TO_TELL:
            break
    groups = np.arange(n_clusters)
    bridges = list[tuple[int, int]]()
    for merger in mergers[: cut_of_overlaps(np.array(risen[1:]))]:
        one, two = (np.flatnonzero(groups == slot) for slot in (merger.kept, merger.gone))
        i, j = np.unravel_index(np.argmax(near[np.ix_(one, two)]), (len(one), len(two)))
        bridges.append((one[i], two[j]))
        groups[two] = merger.kept
    weights = np.exp(log_weights)
    weight_of = np.bincount(best, weights, n_clusters).astype(np.float64)
    for slot in np.unique(groups):
        own = np.flatnonzero(groups == slot)
        inside = [pair for pair in bridges if groups[pair[0]] == slot]
        if _is_nearly_all(weight_of, own) or _has_valley(log_shares, weights, best, inside):
            groups[own] = own
    return in_order_of_appearance(groups)


def _is_nearly_all(weight_of: Vector, own: Labels) -> bool:
    return bool(weight_of[own].sum() > _NEARLY_ALL * weight_of.sum())


def _has_valley(log_shares: Matrix, weights: Vector, best: Labels, bridges: list[tuple[int, int]]) -> bool:
    """Whether the points of neighbouring clusters, by log p(A | x) - log p(B | x), are few where the two meet, at 0.

    Windows at the median of each cluster and at 0 are compared, all ``_WINDOW`` of the distance between the medians
    wide; their counts are added up over ``bridges``, so that many small clusters are judged together.
    """
    at_ends = between = 0.0
    for one, two in bridges:
        here = np.isin(best, (one, two))
        of_one, ratio = best[here] == one, log_shares[here, one] - log_shares[here, two]
        if np.all(of_one) or not np.any(of_one):
            continue
        ends = np.median(ratio[of_one]), np.median(ratio[~of_one])
        reach = 0.5 * _WINDOW * (ends[0] - ends[1])
        counts = [weights[here][np.abs(ratio - place) <= reach].sum() for place in (*ends, 0.0)]
        at_ends, between = at_ends + min(counts[:2]), between + counts[2]
    return bool(between < _VALLEY * at_ends)
