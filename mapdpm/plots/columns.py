"""The picture of a table: a panel for each column, and in it what the points of each cluster have there."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.columns import CATEGORY, FLAG, columns_of, is_missing
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.protocol import Labels, Vector
from mapdpm.validation import check_count

_ACROSS = 4  # panels in a row
_QUANTILES = (0.05, 0.5, 0.95)
_MOST_LEVELS = 8
_OTHERS = "others"
_TEXTS: dict[Hashable, str] = {0.0: "no", 1.0: "yes"}
_WIDE_ENOUGH = 0.15  # a share with room for its name


def columns(model: Any, X: Any, *, labels: Any = None, most: int = 12) -> tuple[Axes, ...]:
    """Draw a panel for each column: numbers by a line from their 5 % to their 95 % quantile with the median as a dot,
    categories and flags by the shares of their levels; a line for each cluster, in its colour.

    Parameters
    ----------
    model : MAPDPM or HDPMixture
        Fitted.
    X : DataFrame or array-like of shape (n_points, n_features)
        The points, such as those of the fit.
    labels : array-like of shape (n_points,), optional
        The cluster of each point; None: ``model.predict(X)``.
    most : int
        The largest number of panels: the first columns are drawn.

    Returns
    -------
    tuple of matplotlib Axes
        One a column, of one figure.

    Raises
    ------
    ValueError
        matplotlib is missing, or ``model`` is no fitted model.
    """  # noqa: D205  (one sentence)
    canvas.check_fitted(model)
    canvas.check_matplotlib()
    from matplotlib.figure import Figure  # noqa: PLC0415

    found = np.asarray(model.predict(X) if labels is None else labels)
    names = np.unique(found[found >= 0]).tolist()
    shown = [_shown(model, place, column) for place, column in enumerate(columns_of(X)[: check_count("most", most)])]
    across = min(_ACROSS, len(shown))
    down = -(-len(shown) // across)
    height = 1.2 + 0.25 * max(len(names), 4)
    panels = Figure(figsize=(3.2 * across, height * down), layout="constrained").subplots(down, across, squeeze=False)
    axes = tuple(canvas.axes(ax) for ax in panels.ravel()[: len(shown)])
    for ax in panels.ravel()[len(shown) :]:
        ax.set_axis_off()
    for ax, each in zip(axes, shown, strict=True):
        _draw(ax, each, found, names)
    return axes


class _Shown(NamedTuple):
    """A column: its title, its numbers, or its values with the levels to tell apart."""

    title: str
    values: Any
    levels: list[Hashable] | None


def _shown(model: Any, place: int, column: Any) -> _Shown:
    likelihood = getattr(model, "likelihood_", None)
    blocks = likelihood.blocks if isinstance(likelihood, Mixed) else ()
    levels: list[Hashable] = next((list(b.levels) for b in blocks if place in b.places and b.is_category), [])
    if column.kind == FLAG:
        levels = [0.0, 1.0]
    if column.kind == CATEGORY and not levels:
        levels = sorted({value for value in column.values if value is not None}, key=str)
    values = column.values if levels else column.values.astype(np.float64)
    return _Shown(str(column.name), values, levels or None)


def _draw(ax: Axes, column: _Shown, labels: Labels, names: list[int]) -> None:
    for row, name in enumerate(names):
        own, shade = column.values[labels == name], canvas.colour(name, len(names))
        if column.levels is None:
            _draw_quantiles(ax, own[np.isfinite(own)], row, shade)
        else:
            _draw_shares(ax, own, column.levels, row, shade)
    ax.set_yticks(range(len(names)), [str(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    canvas.write_title(ax.xaxis, column.title)


def _draw_quantiles(ax: Axes, values: Vector, row: int, shade: Any) -> None:
    if len(values):
        low, middle, high = np.quantile(values, _QUANTILES).tolist()
        ax.plot([low, high], [row, row], color=shade, linewidth=3.0, solid_capstyle="round")
        ax.plot([middle], [row], color=shade, marker="o", markersize=7.0, markeredgecolor="white")


def _draw_shares(ax: Axes, values: Any, levels: list[Hashable], row: int, shade: Any) -> None:
    """One bar of shares among the values that are there; the first levels by name, the others together."""
    values = [value for value in values if not is_missing(value)]
    counts = [values.count(level) for level in levels[:_MOST_LEVELS]]
    texts = [_TEXTS.get(level, str(level)) for level in levels[:_MOST_LEVELS]]
    rest = len(values) - sum(counts)
    if rest:
        counts, texts = [*counts, rest], [*texts, _OTHERS]
    begins = 0.0
    for at, (count, text) in enumerate(zip(counts, texts, strict=True)):
        share = count / max(len(values), 1)
        alpha = 1.0 - 0.75 * at / max(len(texts) - 1, 1)
        ax.barh(row, share, left=begins, height=0.8, color=shade, alpha=alpha, edgecolor="white")
        if share > _WIDE_ENOUGH:
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "parse_math": False}
            ax.text(begins + share / 2.0, row, text, clip_on=True, **style)
        begins += share
    ax.set_xlim(0.0, 1.0)
