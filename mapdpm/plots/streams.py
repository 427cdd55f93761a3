"""The picture of a stream's clusters, drawn from their statistics: the points are gone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.compat.scikit_learn import not_fitted
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.plots.planes import Columns, principal_titles, read_points, whole
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.stream.records import Clusters

_FLAT = 1e-12  # relative to the largest value: a column of less spread has no scale
_SHADE = 0.15


class Projection(NamedTuple):
    """A linear map of centred points to the picture, ``(x - centre) @ directions``, and the titles of the axes."""

    centre: Vector
    directions: Matrix
    titles: tuple[str, str]

    def __call__(self, points: Matrix) -> Matrix:
        """The places of ``points``, shape (n_points, 2)."""
        return (points - self.centre) @ self.directions


def draw_stream(model: OnlineMAPDPM, X: Any, features: Any, labels: Any, ax: Axes | None) -> Axes:
    """``plots.clusters`` of a stream learner; ``labels`` are ids of clusters or None, ``X`` may be None."""
    found = model.clusters() if model.n_clusters else None
    if found is None:
        msg = "this OnlineMAPDPM has no clusters yet; let it learn more points first"
        raise not_fitted(msg)
    points = None if X is None else read_points(model, X)
    D, n = found.means.shape[1], len(found.ids)
    columns = Columns(X, model, D)
    ax = canvas.axes(ax)
    ranks = None if points is None else _ranks(model.predict(X) if labels is None else labels, found, len(points))
    if points is not None and ranks is not None:
        points = whole(points, ranks)
    if D == 1 and features is None:
        _draw_line(ax, found, points, ranks, columns.titles[0])
    else:
        plane = _projection(found, columns, features)
        if points is not None and ranks is not None:
            canvas.draw_points(ax, plane(points), ranks, n)
        for k, mean in enumerate(plane(found.means).tolist()):
            shape = plane.directions.T @ (found.variances[k][:, None] * plane.directions)
            canvas.draw_ellipse(ax, mean, shape, canvas.colour(k, n), canvas.scale_of(n))
            canvas.write_name(ax, int(found.ids[k]), n, mean)
        ax.autoscale_view()
        canvas.write_title(ax.xaxis, plane.titles[0])
        canvas.write_title(ax.yaxis, plane.titles[1])
    sizes = dict(enumerate(np.rint(found.weights).astype(np.int64).tolist()))
    sizes |= {} if ranks is None or (ranks >= 0).all() else {-1: int(np.count_nonzero(ranks < 0))}
    entries = canvas.entries_of(sizes, n, names=found.ids.tolist())
    canvas.draw_legend(ax, [*entries, canvas.ellipse_entry("one standard deviation")])
    return ax


def _ranks(ids: Any, found: Clusters, n_points: int) -> Labels:
    """The place of each id in the clusters, -1 for those that are not there: colours go by it."""
    array = np.asarray(ids)
    if array.shape != (n_points,) or array.dtype.kind not in "iu":
        msg = f"labels must be ids of clusters, integers of shape ({n_points},), got {array.dtype} of {array.shape}"
        raise ValueError(msg)
    places = np.searchsorted(found.ids, array).clip(max=len(found.ids) - 1)
    return np.where(found.ids[places] == array, places, -1)


def _projection(found: Clusters, columns: Columns, features: Any) -> Projection:
    """Two chosen features as they are; else both, or the principal directions of the standardised mixture."""
    D = found.means.shape[1]
    if features is not None or D == 2:  # noqa: PLR2004
        pair = [0, 1] if features is None else columns.pair(features)
        return Projection(np.zeros(D), np.eye(D)[:, pair], (columns.titles[pair[0]], columns.titles[pair[1]]))
    parts = found.weights / found.weights.sum()
    centre = parts @ found.means
    centred = found.means - centre
    covariance = (parts[:, None] * centred).T @ centred + np.diag(parts @ found.variances)
    spread = np.sqrt(np.diag(covariance))
    spread = np.where(spread > _FLAT * np.abs(found.means).max(axis=0), spread, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    directions = vectors[:, [-1, -2]]
    largest = directions[np.abs(directions).argmax(axis=0), [0, 1]]
    directions = directions * np.where(largest < 0, -1.0, 1.0) / spread[:, None]
    shares = np.maximum(values[[-1, -2]], 0.0) / max(float(values.sum()), np.finfo(float).tiny)
    return Projection(centre, directions, principal_titles(*shares.tolist()))


def _draw_line(ax: Axes, found: Clusters, points: Matrix | None, ranks: Labels | None, title: str) -> None:
    """One feature: a band of one standard deviation about each mean, over the rows of points, or at the weight."""
    n = len(found.ids)
    if points is not None and ranks is not None:
        canvas.draw_points(ax, np.column_stack([points[:, 0], np.arange(len(points))]), ranks, n)
    for k, (mean, deviation) in enumerate(zip(found.means[:, 0], np.sqrt(found.variances[:, 0]), strict=True)):
        shade = canvas.colour(k, n)
        height = float(found.weights[k]) if points is None else 0.5 * len(points)
        if points is None:
            ax.plot([mean - deviation, mean + deviation], [height, height], color=shade, linewidth=3.0)
        else:
            ax.axvspan(mean - deviation, mean + deviation, color=shade, alpha=_SHADE, linewidth=0.0)
        canvas.write_name(ax, int(found.ids[k]), n, [float(mean), height])
    canvas.write_title(ax.xaxis, title)
    ax.set_ylabel("weight (points)" if points is None else "row")
    if points is None:
        ax.set_ylim(bottom=0.0)
