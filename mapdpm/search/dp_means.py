"""DP-means as published (Kulis and Jordan 2012): k-means that opens a cluster for a point far from all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mapdpm.protocol import Labels, Matrix, Vector, Weights
from mapdpm.search.ascent import NEVER, FitProgress
from mapdpm.validation import Points

_BLOCK = 4096


class Limits(NamedTuple):
    """The most passes, whether time is up, and the report after each pass, which may end the run."""

    max_passes: int
    expired: Callable[[], bool] = NEVER
    report: Callable[[FitProgress], bool] = lambda _: False


class Passes(NamedTuple):
    """The result: labels 0..K-1, the objective at the start and after each pass, and the reason for the end."""

    labels: Labels
    objectives: list[float]
    converged: bool
    stopped: bool


def dp_means(
    points: Points,
    weights: Weights,
    lam: float,
    max_clusters: int | None,
    limits: Limits,
    restart: int = 0,
    start: Labels | None = None,
) -> Passes:
    """Passes over the data until no label changes; the objective never rises. O(N K D) each.

    It starts with one cluster at the mean of all points, or with the labels of ``start``, 0..K-1. In a pass each point
    goes to the nearest centre; if its weight times its squared distance from all centres exceeds ``lam``, it opens a
    cluster at once. After the pass, centres become the means of their points. Ties go to the older centre. A cluster
    without points is dropped.
    """
    w = np.ones(len(points)) if weights is None else weights
    columns = _columns(points)
    labels = np.zeros(len(points), dtype=np.int64) if start is None else start
    centres = means_of(points, w, labels)
    objectives = [objective_of(points, w, labels, centres, lam)]
    for number in range(1, limits.max_passes + 1):
        found = _pass(columns, w, (labels, centres), lam, max_clusters, limits.expired)
        moved = int(np.count_nonzero(found != labels))
        used = np.unique(found)
        labels = np.searchsorted(used, found).astype(np.int64)
        centres = means_of(points, w, labels)
        # No step raises the objective. If the sum rises, only its rounding can be the cause.
        objectives.append(min(objective_of(points, w, labels, centres, lam), objectives[-1]))
        stop = limits.report(FitProgress(restart, number, moved, len(centres), -objectives[-1], "pass"))
        late = limits.expired()  # and then the pass may have opened fewer clusters than it should
        if moved == 0 or stop or late:
            return Passes(labels, objectives, converged=moved == 0 and not late, stopped=stop)
    return Passes(labels, objectives, converged=False, stopped=False)


def farthest_first(points: Points, w: Vector, n_clusters: int) -> float:
    """The lambda for about ``n_clusters`` clusters (Kulis and Jordan 2012, section 3.2); O(N K D).

    The first choice is the mean of all points; each next one is the point farthest from those chosen. lambda is the
    squared distance of the last of ``n_clusters``.
    """
    columns = _columns(points)
    nearest = _squared_distances(columns, means_of(points, w, np.zeros(len(points), dtype=np.int64))[0])
    for _ in range(n_clusters - 1):
        nearest = np.minimum(nearest, _squared_distances(columns, columns[:, int(np.argmax(nearest))]))
    return float(nearest.max())


def nearest_centres(points: Points, centres: Matrix) -> tuple[Labels, Vector]:
    """The nearest of ``centres`` to each point (the first if several are equal), and its squared distance."""
    return _nearest(_columns(points), centres, np.zeros(len(points), dtype=np.int64))


def distances_from(points: Points, centres: Matrix) -> Matrix:
    """The distance of each point from each centre, shape (N, K)."""
    differences = (points - np.asarray(centre, dtype=np.float64) for centre in centres)
    return np.sqrt(np.stack([np.einsum("ij,ij->i", each, each) for each in differences], axis=1))


def means_of(points: Points, w: Vector, labels: Labels) -> Matrix:
    """The weighted mean of each cluster, shape (K, D)."""
    total = np.bincount(labels, weights=w)
    columns = [np.bincount(labels, weights=w * column) / total for column in points.T]
    return np.stack(columns, axis=1)


def objective_of(points: Points, w: Vector, labels: Labels, centres: Matrix, lam: float) -> float:
    """sum_i w_i ||x_i - centre||^2 + lam K."""
    terms = [w[block] @ ((points[block] - centres[labels[block]]) ** 2).sum(axis=1) for block in _blocks(len(points))]
    return float(np.sum(terms) + lam * len(centres))


def _pass(
    columns: Matrix,
    w: Vector,
    known: tuple[Labels, Matrix],
    lam: float,
    max_clusters: int | None,
    expired: Callable[[], bool],
) -> Labels:
    """The new labels; those from ``len(centres)`` on belong to clusters that the pass opened.

    ``known`` are the labels before, which points keep that are not visited in time, and the centres.
    """
    before, centres = known
    labels, distances = _nearest(columns, centres, before, expired)
    K, at = len(centres), 0
    while (max_clusters is None or max_clusters > K) and not expired():
        far = np.flatnonzero(w[at:] * distances[at:] > lam)
        if not len(far):
            break
        at += int(far[0])
        to_new = _squared_distances(columns[:, at:], columns[:, at])
        closer = to_new < distances[at:]
        labels[at:][closer] = K
        distances[at:][closer] = to_new[closer]
        K += 1
    return labels


def _nearest(
    columns: Matrix, centres: Matrix, before: Labels, expired: Callable[[], bool] = NEVER
) -> tuple[Labels, Vector]:
    """The nearest centres, and the distances; where time is up, labels are those ``before``."""
    n = columns.shape[1]
    labels, distances = before.copy(), np.full(n, np.inf)
    for block in _blocks(n):
        if expired():
            break
        part, nearest, at = columns[:, block], distances[block], labels[block]
        at[:] = 0
        for k, centre in enumerate(centres):
            found = _squared_distances(part, centre)
            closer = found < nearest
            np.copyto(nearest, found, where=closer)
            np.copyto(at, k, where=closer)
    return labels, distances


def _columns(points: Points) -> Matrix:
    """The features of the points, each in one piece: sums over few features are some four times faster."""
    return np.ascontiguousarray(points.T, dtype=np.float64)


def _squared_distances(columns: Matrix, centre: Vector) -> Vector:
    result: Vector = np.square(columns[0] - centre[0])
    for column, place in zip(columns[1:], centre[1:], strict=True):
        difference = column - place
        difference *= difference
        result += difference
    return result


def _blocks(n: int) -> Iterator[slice]:
    return (slice(first, first + _BLOCK) for first in range(0, n, _BLOCK))
