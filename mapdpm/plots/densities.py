"""The picture of a predictive density: curves for one feature, contours for two."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.plots import canvas, meshes
from mapdpm.plots.canvas import Axes
from mapdpm.plots.planes import Columns, read_points, whole
from mapdpm.protocol import Matrix, Vector

_MOST_BINS = 80
_MOST_STROKES = 50  # points that are drawn one by one, for they are too few for a histogram


def density(model: Any, X: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the predictive density of a model of one or two features, ``exp(model.score_samples)``.

    One feature: the density, the part of each cluster (the density times the probability of the cluster), and dashed
    the part of a new cluster, over a histogram of ``X`` (or strokes for a few points). Two features: contours of the
    log density in nats, from the level that 99 % of the mass exceeds, under the points of ``X``.

    Parameters
    ----------
    model : MAPDPM
        Fitted.
    X : array-like or DataFrame of shape (n_points, n_features), optional
        Points, as in ``clusters``. Their range is drawn; without them, four standard deviations about each cluster.
    ax : matplotlib Axes, optional
        Where to draw; None makes a new figure (``ax.figure``), unknown to pyplot.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``model`` is no fitted MAPDPM or has more than two features, ``X`` has other features, or
        there is no ``X`` and ``model`` has no ``means_``.

    Notes
    -----
    Computes about 1,000 densities for one feature, 40,000 for two.
    """
    _check(model)
    labels = None if X is None else model.predict(X)  # before the rest, for it checks X
    points = None if labels is None else whole(read_points(model, X), labels)
    corners = meshes.box(model, points)
    ax = canvas.axes(ax)
    titles = Columns(X, model, model.n_features_in_).titles
    canvas.write_title(ax.xaxis, titles[0])
    if len(titles) == 1:
        _draw_curves(ax, model, points, corners)
    else:
        canvas.write_title(ax.yaxis, titles[1])
        _draw_contours(ax, model, corners)
        if points is not None and labels is not None:
            canvas.draw_points(ax, points, labels, model.n_groups_, size=0.6)
        _draw_names(ax, model)
    return ax


def _check(model: Any) -> None:
    canvas.check_fitted(model)
    if not isinstance(model, MAPDPM):
        msg = f"a {type(model).__name__} has no density; fit a MAPDPM, or draw clusters(model, X)"
        raise ValueError(msg)
    if model.n_features_in_ > 2:  # noqa: PLR2004
        what = f"density draws models of one or two features, this one has {model.n_features_in_}"
        msg = f"{what}; fit one on one or two columns, or draw clusters(model, X)"
        raise ValueError(msg)


def _draw_curves(ax: Axes, model: MAPDPM, points: Matrix | None, corners: tuple[Vector, Vector]) -> None:
    x = meshes.line(model, 0, (corners[0][0], corners[1][0]), meshes.CURVE_PLACES)
    table = meshes.named(model, x[:, None])
    total = np.exp(model.score_samples(table))
    parts = total[:, None] * model.predict_proba(table)
    entries = ax.plot(x, total, color=canvas.INK, linewidth=1.5, label="predictive density", zorder=3.0)
    if points is not None:
        entries.append(_draw_values(ax, points[:, 0]))
    for label in range(model.n_groups_):
        shade = canvas.colour(label, model.n_groups_)
        ax.fill_between(x, parts[:, label], color=shade, alpha=0.25, linewidth=0.0)
        ax.plot(x, parts[:, label], color=shade, linewidth=1.2)
    new = ax.plot(x, parts[:, -1], color=canvas.GREY, linestyle="--", linewidth=1.2, label="a new cluster")
    sizes = dict(enumerate(canvas.sizes_of(model)))
    canvas.draw_legend(ax, [*entries, *canvas.entries_of(sizes, model.n_groups_), *new])
    ax.set_ylabel("density")
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(bottom=0.0)


def _draw_values(ax: Axes, values: Vector) -> Any:
    """Draw a histogram of area 1, or a stroke for each of a few values; return the legend entry."""
    if len(values) <= _MOST_STROKES:
        style: dict[str, Any] = {"linestyle": "", "marker": "|", "markersize": 14.0, "color": canvas.INK}
        return ax.plot(values, np.zeros(len(values)), label=canvas.counted(len(values)), **style)[0]
    n_bins = min(int(np.ceil(1.5 * np.sqrt(len(values)))), _MOST_BINS)
    text = f"histogram of {canvas.counted(len(values))}"
    return ax.hist(values, bins=n_bins, density=True, color="0.9", label=text)[2][0]


def _draw_contours(ax: Axes, model: MAPDPM, corners: tuple[Vector, Vector]) -> None:
    """Draw contours in grey, for colours mean clusters."""
    from matplotlib import colormaps  # noqa: PLC0415
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    x, y = (meshes.line(model, j, (corners[0][j], corners[1][j]), meshes.CONTOUR_PLACES) for j in range(2))
    mesh = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = model.score_samples(meshes.named(model, mesh)).reshape(len(y), len(x))
    levels = MaxNLocator(10).tick_values(meshes.level_of(values, x, y), values.max())
    greys = colormaps["Greys"](np.linspace(0.0, 0.65, len(levels)))
    filled = ax.contourf(x, y, values, levels=levels, colors=greys, extend="min")
    ax.figure.colorbar(filled, ax=ax, label="log density (nats)")


def _draw_names(ax: Axes, model: MAPDPM) -> None:
    if hasattr(model, "means_"):
        for label, mean in zip(model.groups_.tolist(), model.means_.tolist(), strict=True):
            canvas.write_name(ax, label, model.n_groups_, mean)
