"""DP-means as Raykov2014 has it: a sweep ends where it opens a cluster. And as Kulis and Jordan (2012) published it."""

from __future__ import annotations

import numpy as np
from raykov_simulation import Array

from mapdpm.protocol import Labels
from mapdpm.search.dp_means import Limits, distances_from, dp_means, farthest_first, means_of

MOST = 1000  # iterations


def as_published(X: Array, lam: float) -> tuple[Labels, int]:
    """DP-means of Kulis and Jordan (2012), and its passes."""
    found = dp_means(X, None, lam, None, Limits(MOST))
    return found.labels, len(found.objectives) - 1


def lambda_for(X: Array, K: int) -> float:
    """A lambda at which the paper's DP-means has K clusters: by bisection, about that of farthest-first."""
    start = farthest_first(X, np.ones(len(X)), K)
    low, high, middle = start / 30.0, start * 30.0, start
    for _ in range(40):
        found = int(ending_at_births(X, middle, 2 * K + 2)[0].max()) + 1
        if found == K:
            break
        low, high = (middle, high) if found > K else (low, middle)
        middle = (low * high) ** 0.5
    return middle


def ending_at_births(X: Array, lam: float, most: int = MOST) -> tuple[Labels, int]:
    """DP-means as Raykov2014 has it: a sweep ends where it opens a cluster, and then centres become means.

    With more than ``most`` clusters it is given up.
    """
    labels = np.zeros(len(X), dtype=np.int64)
    for iteration in range(1, MOST + 1):
        centres = means_of(X, np.ones(len(X)), labels)
        if len(centres) > most:
            break
        distances = distances_from(X, centres) ** 2
        far = np.flatnonzero(distances.min(axis=1) > lam)
        end = int(far[0]) if len(far) else len(X)
        found = labels.copy()
        found[:end] = distances[:end].argmin(axis=1)
        if len(far):
            found[end] = len(centres)
        elif np.array_equal(found, labels):
            return labels, iteration
        labels = np.unique(found, return_inverse=True)[1]
    return labels, MOST
