"""The picture of relevance: what each column gains by the clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.compat.scikit_learn import not_fitted
from mapdpm.estimators.background import are_constant
from mapdpm.estimators.packed import PackedMixture
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.validation import check_count

_SMALL = 10.0  # nats; below, tenths are shown


def relevance(model: Any, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw a bar for each column, the nats that it gains by the clusters over one cluster of all points.

    Columns that carry clusters are in colour, the others grey. A column that has one value only gains nothing, and is
    marked, below all others. The largest gain comes first.

    Parameters
    ----------
    model : MAPDPM, HDPMixture or HDPHMM
        Fitted, with ``relevance_``.
    most : int
        Largest number of columns: those of the largest gains are drawn.
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``model`` is no such model, or its columns were not searched.
    """
    if not isinstance(model, PackedMixture):
        msg = f"model must be a MAPDPM, an HDPMixture or an HDPHMM, got an object of type {type(model).__name__}"
        raise ValueError(msg)
    if not hasattr(model, "n_clusters_"):
        msg = f"this {type(model).__name__} is not fitted yet; call fit first"
        raise not_fitted(msg)
    if not hasattr(model, "relevance_"):
        msg = "this model has no relevance_, for its columns were not searched; fit it with relevance='search'"
        raise ValueError(msg)
    most = check_count("most", most)
    ax = canvas.axes(ax)
    gains, relevant, constant = model.relevance_, model.relevant_, are_constant(model)
    order = np.lexsort((-gains, constant))[:most]
    names = getattr(model, "feature_names_in_", [f"column {d}" for d in range(len(gains))])
    what = "states" if hasattr(model, "n_states_") else "clusters"
    kinds = (
        (f"carries {what}", relevant, canvas.colour(0, 1)),
        (f"carries no {what}", ~relevant & ~constant, canvas.colour(-1, 1)),
    )
    for text, own, shade in kinds:
        rows = np.flatnonzero(own[order])
        if len(rows):
            bars = ax.barh(rows, gains[order[rows]], color=[shade] * len(rows), height=0.8, label=text)
            ax.bar_label(bars, [_shown(gain) for gain in gains[order[rows]]], padding=3, fontsize=8)
    for row in np.flatnonzero(constant[order]):
        ax.annotate("one value", (0.0, row), (3.0, 0.0), textcoords="offset points", va="center", fontsize=8)
    ax.axvline(0.0, color=canvas.INK, linewidth=0.8)
    ax.set_yticks(range(len(order)), [str(names[d]) for d in order])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.margins(x=0.1)  # space for the numbers
    ax.set_title(f"{relevant.sum()} of {len(relevant):,} columns carry {what}", loc="left")
    ax.set_xlabel(f"gain by the {what} over one of all points (nats)")
    others = len(gains) - len(order)
    ax.set_ylabel("column" + (f"; {others:,} more are not shown" if others else ""))
    canvas.draw_legend(ax, ax.get_legend_handles_labels()[0])
    return ax


def _shown(gain: float) -> str:
    """A gain in nats, for a label."""
    return f"{gain:,.1f}" if abs(gain) < _SMALL else f"{gain:,.0f}"
