"""Pictures. matplotlib is imported when one is drawn, and its global state (pyplot) is left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Labels, Matrix
from mapdpm.validation import check_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "o^sDvPX*<>"
_MOST_IN_LEGEND = 12
_NEW = "0.6"  # grey: points that belong to no cluster


class MissingMatplotlibError(ImportError, ValueError):
    """A picture was asked for where matplotlib is not installed."""


def clusters(model: Any, X: Any, *, labels: Any = None, classes: Any = None, ax: Axes | None = None) -> Axes:
    """Draw points on the plane of their two principal directions, in the units of the data.

    Colour is the cluster. An ellipse is one standard deviation of the cluster's points (their sample covariance) in
    that plane; a cluster of fewer than three points has none.

    Parameters
    ----------
    model : MAPDPM
        Fitted; asked for labels where none are given.
    X : array-like of shape (n_points, n_features)
        Finite numbers.
    labels : array-like of int, shape (n_points,), optional
        Cluster of each point, -1 for none; None is ``model.predict(X)``.
    classes : array-like of shape (n_points,), optional
        Known classes of the points, shown by the shape of the marker.
    ax : matplotlib Axes, optional
        Where to draw; None makes a figure of its own (``ax.figure``), unknown to pyplot.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, or ``X``, ``labels`` and ``classes`` do not fit together.
    """
    points = check_points(X).astype(np.float64)
    labels = _one_a_point("labels", model.predict(points) if labels is None else labels, len(points))
    kinds = _one_a_point("classes", np.zeros(len(points)) if classes is None else classes, len(points))
    ax = _new_axes() if ax is None else ax
    plane, shares = _principal_plane(points)
    colours = _colours(np.unique(labels[labels >= 0]))
    for kind, marker in zip(np.unique(kinds), _MARKERS * len(kinds), strict=False):
        here = kinds == kind
        shades = [colours.get(label, _NEW) for label in labels[here].tolist()]
        style: dict[str, Any] = {"marker": marker, "s": 24, "alpha": 0.75, "linewidths": 0.4, "edgecolors": "white"}
        ax.scatter(plane[here, 0], plane[here, 1], c=shades, **style)
    for label, colour in colours.items():
        _draw_cluster(ax, plane[labels == label], label, colour)
    ax.set_xlabel(f"first principal direction ({shares[0]:.0%} of the variance)")
    ax.set_ylabel(f"second principal direction ({shares[1]:.0%})")
    ax.spines[["top", "right"]].set_visible(False)
    _draw_legend(ax, labels, colours, None if classes is None else np.unique(kinds))
    return ax


def _new_axes() -> Axes:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (an extra, loaded by who draws)
    except ImportError:
        msg = "pictures need matplotlib, which is not installed; try: pip install 'mapdpm[plot]'"
        raise MissingMatplotlibError(msg) from None
    return Figure(figsize=(9.0, 5.6), layout="constrained").add_subplot()


def _one_a_point(name: str, values: Any, n_points: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (n_points,):
        msg = f"{name} must have one entry a point, shape ({n_points},), got shape {array.shape}"
        raise ValueError(msg)
    return array


def _principal_plane(points: Matrix) -> tuple[Matrix, list[float]]:
    """Coordinates (N, 2) on the two principal directions, and the share of the variance that each has."""
    centred = points - points.mean(axis=0)
    _, scales, directions = np.linalg.svd(centred, full_matrices=False)
    # An SVD is free in its signs: the largest entry of each direction is made positive.
    directions = directions[:2]
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    plane = centred @ (directions * np.where(largest < 0, -1.0, 1.0)[:, None]).T
    shares = scales[:2] ** 2 / max(float((scales**2).sum()), np.finfo(float).tiny)
    missing = 2 - plane.shape[1]  # of one feature, or of one point
    return np.pad(plane, ((0, 0), (0, missing))), [*shares.tolist(), *[0.0] * missing]


def _colours(names: Labels) -> dict[int, Any]:
    from matplotlib import colormaps  # noqa: PLC0415

    if len(names) <= colormaps["tab10"].N:
        return {name: colormaps["tab10"](k) for k, name in enumerate(names.tolist())}
    shades = colormaps["turbo"](np.linspace(0.02, 0.98, len(names)))
    return dict(zip(names.tolist(), map(tuple, shades), strict=True))


def _draw_cluster(ax: Axes, points: Matrix, label: int, colour: Any) -> None:
    """The ellipse of one standard deviation, and the name of the cluster at its mean."""
    from matplotlib.patches import Ellipse  # noqa: PLC0415
    from matplotlib.patheffects import withStroke  # noqa: PLC0415

    centre = points.mean(axis=0)
    if len(points) > 2:  # noqa: PLR2004  (the covariance of two points is a line)
        squares, axes = np.linalg.eigh(np.cov(points.T))
        lengths = 2.0 * np.sqrt(np.maximum(squares, 0.0))
        angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
        x, y = centre.tolist()
        ax.add_patch(Ellipse((x, y), lengths[1], lengths[0], angle=angle, fill=False, edgecolor="white", linewidth=4.0))
        ax.add_patch(Ellipse((x, y), lengths[1], lengths[0], angle=angle, fill=False, edgecolor=colour, linewidth=2.0))
    halo = [withStroke(linewidth=3.0, foreground="white")]
    ax.annotate(str(label), centre.tolist(), ha="center", va="center", weight="bold", path_effects=halo)


def _draw_legend(ax: Axes, labels: Labels, colours: dict[int, Any], kinds: NDArray[Any] | None) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    def entry(colour: Any, marker: str, text: str) -> Line2D:
        return Line2D([], [], linestyle="", color=colour, marker=marker, label=text)

    sizes = {label: int((labels == label).sum()) for label in colours}
    shown = sorted(sorted(colours, key=lambda label: -sizes[label])[:_MOST_IN_LEGEND])
    entries = [entry(colours[label], "o", f"cluster {label} ({sizes[label]} points)") for label in shown]
    if len(shown) < len(colours):
        entries.append(entry("none", "", f"and {len(colours) - len(shown)} smaller ones"))
    if np.any(labels < 0):
        entries.append(entry(_NEW, "o", f"none ({int((labels < 0).sum())} points)"))
    if kinds is not None:
        markers = zip(kinds, _MARKERS * len(kinds), strict=False)
        entries += [entry("0.2", marker, str(kind)) for kind, marker in markers]
    ax.legend(handles=entries, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
