"""Whether runs agree on who is together, and whether clusters keep their labels over time: Porteous2006 section 6."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdpm.protocol import Matrix
from mapdpm.validation import check_points

_FEWEST = 2


def association_variance(traces: Sequence[Any]) -> Matrix:
    """The variance, over runs, of the share of draws in which two points are together; shape (N, N).

    Runs that have converged agree, so it is near 0 (Porteous2006, Fig. 5). It does not depend on names of clusters.
    O(runs draws N^2).

    Parameters
    ----------
    traces : sequence of Trace
        Two or more runs on the same points, from different starts.
    """
    if not isinstance(traces, (tuple, list)) or len(traces) < _FEWEST or hasattr(traces, "similarity"):
        n = 1 if hasattr(traces, "similarity") else len(traces)
        msg = f"association_variance compares runs: give a list of {_FEWEST} or more traces, got {n}"
        raise ValueError(msg)
    sizes = sorted({len(trace.best) for trace in traces})
    if len(sizes) > 1:
        msg = f"all runs must be on the same points, got traces of {' and '.join(map(str, sizes))} points"
        raise ValueError(msg)
    return np.var([trace.similarity() for trace in traces], axis=0)


def correspondence(X: Any, times: Any, labels: Any) -> float:
    """The share of neighbouring pairs of clusters in time that have one label.

    A pair is a cluster at one time and one at the next, of which each mean is the nearest to the other. 1 where no
    cluster changes its label, NaN without any pair. O(N K D).

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
    times : array-like of shape (n_points,)
    labels : array-like of shape (n_points,)
        The label of each point, the same in all times: those of ``DependentDP``.

    Examples
    --------
    >>> X = [[0.0], [5.0], [0.1], [5.1]]
    >>> correspondence(X, [0, 0, 1, 1], [3, 4, 3, 4]), correspondence(X, [0, 0, 1, 1], [3, 4, 3, 5])
    (1.0, 0.5)
    """
    points, times, labels, slices = check_points(X), np.asarray(times), np.asarray(labels), []
    if not times.shape == labels.shape == (len(points),):
        msg = f"X, times and labels must have a row a point, got {points.shape}, {times.shape} and {labels.shape}"
        raise ValueError(msg)
    if np.any(times != times):  # noqa: PLR0124  (NaN, and no date)
        msg = "times must have no missing values"
        raise ValueError(msg)
    for t in np.unique(times):
        here = times == t
        names = np.unique(labels[here])
        slices.append((names, np.array([points[here & (labels == name)].mean(axis=0) for name in names])))
    same, pairs = 0, 0
    for (one, means), (other, next_means) in itertools.pairwise(slices):
        apart = ((means[:, None] - next_means) ** 2).sum(axis=2)
        ahead, back = apart.argmin(axis=1), apart.argmin(axis=0)
        mutual = np.flatnonzero(back[ahead] == np.arange(len(one)))
        pairs += len(mutual)
        same += int(np.count_nonzero(one[mutual] == other[ahead[mutual]]))
    return same / pairs if pairs else float("nan")
