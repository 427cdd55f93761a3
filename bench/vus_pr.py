"""The volume under the surface of precision and recall of ranges: VUS-PR of Paparrizos et al. (VLDB 2022), section 4.

An anomaly is a range of points. For a buffer of b points its label is 1 inside, and sqrt(1 - d / b) at d <= b / 2
points outside. At a threshold, precision is the sum of the labels above it over the points above it; recall is that sum
over the number of anomalous points and half of the buffers above it, at most 1, times the share of ranges of which
something is above it (as in the authors' program, vus 0.0.6).
The area under precision over recall, at 250 thresholds, is averaged over b = 0, 1, ..., window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

THRESHOLDS = 250
Array = NDArray[Any]


def buffered(y: Array, b: int) -> Array:
    """Labels with a buffer of b points at both ends of each range."""
    edges = np.flatnonzero(np.diff(np.r_[0, y != 0, 0]))
    label = y.astype(float)
    for start, end in edges.reshape(-1, 2):
        after = np.arange(end, min(end + b // 2, len(y)))
        label[after] += np.sqrt(1.0 - (after - (end - 1)) / b) if b else 0.0
        before = np.arange(max(start - b // 2, 0), start)
        label[before] += np.sqrt(1.0 - (start - before) / b) if b else 0.0
    return np.minimum(label, 1.0)


def area(y: Array, score: Array, b: int) -> float:
    """The area for one buffer."""
    label = buffered(y, b)
    ranges = np.flatnonzero(np.diff(np.r_[0, label > 0.0, 0])).reshape(-1, 2)
    order = np.sort(score)[::-1]
    thresholds = order[np.linspace(0, len(score) - 1, THRESHOLDS).astype(int)]
    above = np.searchsorted(-order, -thresholds, side="right")
    falling = np.argsort(-score, kind="stable")
    sums = np.r_[0.0, np.cumsum(label[falling])][above]
    outside = sums - np.r_[0.0, np.cumsum((y != 0)[falling])][above]
    highest = np.array([score[start:end].max() for start, end in ranges])
    share = (highest[:, None] >= thresholds).mean(axis=0)
    recall = np.minimum(sums / (np.count_nonzero(y) + 0.5 * outside), 1.0) * share
    precision = sums / above
    return float(np.sum(np.diff(np.r_[0.0, recall]) * precision))


def vus_pr(y: Array, score: Array, window: int, step: int = 1) -> float:
    """VUS-PR of scores, one a point, high where unusual; ``y`` is 1 at anomalies. ``step``: every so many buffers."""
    return float(np.mean([area(np.asarray(y), np.asarray(score, float), b) for b in range(0, window + 1, step)]))
