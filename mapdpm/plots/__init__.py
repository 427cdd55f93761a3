"""Pictures. matplotlib is imported when one is drawn; its global state (pyplot) is not used."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.estimators.dp_means import DPMeans
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes, MissingMatplotlibError, check_matplotlib, image
from mapdpm.plots.columns import columns
from mapdpm.plots.densities import density
from mapdpm.plots.planes import Columns, plane_of, read_points, whole
from mapdpm.plots.relevances import relevance
from mapdpm.plots.scores import selection
from mapdpm.plots.series import segments
from mapdpm.plots.shares import groups
from mapdpm.plots.streams import draw_stream
from mapdpm.plots.surprises import surprise
from mapdpm.plots.traces import similarity, trace
from mapdpm.plots.trees import tree
from mapdpm.plots.words import topics
from mapdpm.protocol import Labels, Vector
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.validation import check_one_a_point

__all__ = [
    "MissingMatplotlibError",
    "check_matplotlib",
    "clusters",
    "columns",
    "density",
    "groups",
    "history",
    "image",
    "relevance",
    "segments",
    "selection",
    "similarity",
    "sizes",
    "surprise",
    "topics",
    "trace",
    "tree",
]

_MINUS = "\N{MINUS SIGN}"
_MOST_NUMBERS = 25  # bars with a number each
_FEWEST = 3  # points of a cluster with an ellipse: the covariance of two is a line
_MOST_DOTS = 50  # steps with a dot each
_NEAREST = 1e-6  # relative to the whole gain: the smallest step that is told apart from the end
_ROUNDING = 1e-10  # relative to the value: smaller differences are rounding, not steps


def clusters(
    model: Any, X: Any = None, *, features: Any = None, labels: Any = None, classes: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw points in a plane, each in the colour of its cluster.

    Ellipses show one standard deviation of each cluster's points (their sample covariance) in that plane. Clusters of
    fewer than three points have none, nor has a picture of a single feature.

    Of an ``OnlineMAPDPM``, whose points are gone, means and standard deviations are those of its statistics, and the
    principal directions those of its mixture; names are ids. One feature is drawn against the weight. ``X`` may add
    points, in the colours of ``predict``; one feature is then a band about each mean, and ``classes`` are not drawn.

    Parameters
    ----------
    model : MAPDPM, DPMeans, HDPMixture or OnlineMAPDPM
        A fitted model, which predicts labels if none are given; it may be None if they are.
    X : array-like or DataFrame of shape (n_points, n_features)
        Finite numbers; a stream needs none. Of a model with ``missing="skip"``, a missing value is drawn at the mean of
        its cluster.
    features : pair of int or str, optional
        Two columns to draw as they are, by index or name: the names of ``X`` where it is a DataFrame, else
        ``feature_names_in_``. None: both of two features; of more, the two principal directions of the standardised
        data (standardised because features may have different units); a single one against the number of the row.
    labels : array-like of int, shape (n_points,), optional
        Cluster of each point, -1 for none; None is ``model.predict(X)``.
    classes : array-like of shape (n_points,), optional
        Known classes of the points, shown by the shape of the marker.
    ax : matplotlib Axes, optional
        Where to draw; None makes a new figure (``ax.figure``), unknown to pyplot.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``model`` is no fitted model, ``features`` are not two columns of ``X``, or ``X``,
        ``labels`` and ``classes`` do not fit together.
    """
    if isinstance(model, OnlineMAPDPM):
        return draw_stream(model, X, features, labels, ax)
    if model is not None or labels is None:
        canvas.check_model(model)
    if X is None:
        msg = "X is missing: only a stream is drawn without points"
        raise ValueError(msg)
    points = read_points(model, X)
    labels = _check_labels(model.predict(X) if labels is None else labels, len(points))
    points = whole(points, labels)
    if classes is not None:
        classes = np.asarray(classes)
        check_one_a_point("classes", classes, len(points))
    plane = plane_of(points, Columns(X, model, points.shape[1]), features)
    names, counts = (each.tolist() for each in np.unique(labels, return_counts=True))
    n_clusters = max(getattr(model, "n_groups_", getattr(model, "n_clusters_", 0)), names[-1] + 1)
    ax = canvas.axes(ax)
    shapes = canvas.draw_points(ax, plane.points, labels, n_clusters, classes=classes)
    drawn = [plane.points[labels == name] for name in names if name >= 0]
    for name, own in zip((name for name in names if name >= 0), drawn, strict=True):
        if points.shape[1] > 1:
            shade = canvas.colour(name, n_clusters)
            if len(own) >= _FEWEST:
                canvas.draw_ellipse(ax, own.mean(axis=0).tolist(), np.cov(own.T), shade, canvas.scale_of(n_clusters))
        canvas.write_name(ax, name, n_clusters, own.mean(axis=0).tolist(), beside=len(own) < _FEWEST)
    canvas.write_title(ax.xaxis, plane.titles[0])
    canvas.write_title(ax.yaxis, plane.titles[1])
    entries = canvas.entries_of(dict(zip(names, counts, strict=True)), n_clusters) + shapes
    canvas.draw_legend(ax, entries + ([canvas.ellipse_entry("one standard deviation")] if ax.patches else []))
    return ax


def sizes(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how many points each cluster has: bars in the order of the labels, each in the colour of its cluster.

    Parameters
    ----------
    model : MAPDPM, DPMeans or HDPMixture
        Fitted.
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, or ``model`` is no fitted model.
    """
    canvas.check_fitted(model)
    ax = canvas.axes(ax)
    counts = canvas.sizes_of(model)
    labels = range(len(counts))
    shades = [canvas.colour(label, len(counts)) for label in labels]
    few = len(labels) <= _MOST_NUMBERS
    bars = ax.bar(labels, counts, width=0.8 if few else 1.0, color=shades)
    if few:
        ax.bar_label(bars, [f"{size:,}" for size in counts], padding=2)
        ax.set_xticks(labels)
    margin = 1.0 if few else 0.6
    ax.set_xlim(-margin, len(labels) - 1.0 + margin)
    ax.margins(y=0.08)  # space for the numbers
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("cluster")
    ax.set_ylabel("points")
    return ax


def history(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the log joint (nats) after the start, each sweep and each move that gained; for DPMeans, the objective.

    The axis shows the difference from the last value. Its scale is linear near that value and logarithmic farther away,
    so gains of thousands of nats and of fractions of one are all visible.

    Parameters
    ----------
    model : MAPDPM, DPMeans or HDPMixture
        Fitted.
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``model`` is no fitted model, or it is from a file that a device wrote, without history.
    """
    canvas.check_fitted(model)
    if not hasattr(model, "history_"):
        msg = "this model has no history_: it is from a file that a device wrote, which holds only what scoring needs"
        raise ValueError(msg)
    ax = canvas.axes(ax)
    values = np.asarray(model.history_, dtype=np.float64)
    dots = {"marker": "o", "markersize": 4.0} if len(values) <= _MOST_DOTS else {}
    ax.plot(range(len(values)), values, drawstyle="steps-post", color=canvas.INK, **dots)
    _scale_to_the_end(ax, values)
    falls = isinstance(model, DPMeans)
    name, unit = ("objective", "squared data units") if falls else ("log joint", "nats")
    where = {"xytext": (0, -8 if falls else 8), "textcoords": "offset points", "va": "top" if falls else "bottom"}
    last = f"{values[-1]:,.3f} {unit}".replace("-", _MINUS)
    ax.annotate(last, (len(values) - 1, values[-1]), ha="right", **where)
    ax.set_xlim(-0.5, max(len(values), 2) - 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("sweeps, and moves that gained (0: the start)")
    ax.set_ylabel(f"{name} minus its last value ({unit})")
    return ax


def _check_labels(values: Any, n_points: int) -> Labels:
    labels = np.asarray(values)
    check_one_a_point("labels", labels, n_points)
    if labels.dtype.kind not in "biu":
        msg = f"labels must be integers, -1 for no cluster, got dtype {labels.dtype}"
        raise ValueError(msg)
    return labels.astype(np.int64)


def _scale_to_the_end(ax: Axes, values: Vector) -> None:
    """Scale y as arcsinh of the distance from the last of ``values``, in units of about the smallest step."""
    end = float(values[-1])
    distances = np.abs(values - end)
    steps = distances[distances > _ROUNDING * (1.0 + abs(end))]
    furthest = float(steps.max(initial=0.0))
    unit = 10.0 ** float(np.floor(np.log10(max(steps.min(), _NEAREST * furthest)))) if len(steps) else 1.0

    def scaled(y: Any) -> Any:
        return np.arcsinh((np.asarray(y) - end) / (0.5 * unit))

    def unscaled(s: Any) -> Any:
        return end + 0.5 * unit * np.sinh(s)

    side, sign = (1.0, "+") if values[0] > end else (-1.0, _MINUS)
    ticks = [unit * 10.0**k for k in range(9) if unit * 10.0**k <= max(furthest, unit)]
    ax.set_yscale("function", functions=(scaled, unscaled))
    ax.set_yticks([end, *(end + side * tick for tick in ticks)], ["0", *(f"{sign}{tick:,.10g}" for tick in ticks)])
    start = float(scaled(end + side * max(furthest, unit)))
    margin = 0.6 + 0.1 * abs(start)
    ax.set_ylim(unscaled(min(start, 0.0) - margin), unscaled(max(start, 0.0) + margin))


def __dir__() -> list[str]:
    return sorted(__all__)
