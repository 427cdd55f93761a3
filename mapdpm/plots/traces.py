"""Pictures of draws: a number along the chains, and the matrix of how often two points are together."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.protocol import Labels, Matrix

_UNITS = {"log_joint": "log joint (nats)", "n_clusters": "clusters", "largest_share": "share of the largest cluster"}
_MOST_SHADED = 0.5  # of a line: chains lie over each other
_MOST_LINES = 40  # clusters with borders in a similarity matrix


def trace(trace: Any, *, of: str = "log_joint", ax: Axes | None = None) -> Axes:
    """Draw a number of each draw along the chains, one line a chain.

    A chain that still climbs needs a longer burn-in; chains on different levels have not mixed.

    Parameters
    ----------
    trace : Trace
        The draws of ``samplers.sample``.
    of : str
        A name in ``trace.values``: "log_joint", "n_clusters", "largest_share", "alpha", ...
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``trace`` is no trace, or has no such number.
    """
    if not hasattr(trace, "values") or not hasattr(trace, "thin"):
        msg = f"trace must be what samplers.sample returns, got an object of type {type(trace).__name__}"
        raise ValueError(msg)
    if of not in trace.values:
        msg = f"of must be one of {', '.join(map(repr, trace.values))}, got {of!r}"
        raise ValueError(msg)
    ax = canvas.axes(ax)
    chains = trace.values[of]
    steps = trace.thin * np.arange(1, chains.shape[1] + 1)
    for number, values in enumerate(chains):
        shade = canvas.colour(number, len(chains)) if len(chains) > 1 else canvas.INK
        strength = 1.0 if len(chains) == 1 else 1.0 - _MOST_SHADED * (1.0 - 1.0 / len(chains))
        dots = {"marker": "o", "markersize": 3.0} if chains.shape[1] == 1 else {}
        ax.plot(steps, values, color=shade, alpha=strength, linewidth=0.9, label=f"chain {number}", **dots)
    if chains.dtype.kind == "i":
        ax.yaxis.get_major_locator().set_params(integer=True)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("steps after the burn-in")
    ax.set_ylabel(_UNITS.get(of, of))
    if len(chains) > 1:
        canvas.draw_legend(ax, [*ax.lines[:12]])
    return ax


def similarity(trace_or_matrix: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how often two points are in one cluster: a square of N x N, white for never and dark for always.

    The points of a trace are sorted by the clusters of ``vi_estimate``, the largest first, with lines between
    clusters: a dark block is a cluster that most draws agree on. The points of a matrix stay in their order.

    Parameters
    ----------
    trace_or_matrix : Trace, or array of shape (n_points, n_points)
        Draws, or what ``similarity()`` of a trace or of ``point_estimates`` returns.
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, the argument is neither, or the trace holds no partitions.
    """
    if hasattr(trace_or_matrix, "vi_estimate"):
        together: Matrix = trace_or_matrix.similarity()
        order, edges = _by_cluster(trace_or_matrix.vi_estimate())
        together = together[np.ix_(order, order)]
    else:
        together, edges = _checked(trace_or_matrix), np.zeros(0, dtype=np.int64)
    ax = canvas.axes(ax)
    ax.spines[["top", "right"]].set_visible(True)
    shown = ax.imshow(together, vmin=0.0, vmax=1.0, cmap="Greys", interpolation="nearest")
    if 0 < len(edges) <= _MOST_LINES:
        for draw_line in (ax.axhline, ax.axvline):
            for edge in edges.tolist():
                draw_line(edge - 0.5, color="tab:orange", linewidth=0.8)
    figure: Any = ax.figure
    figure.colorbar(shown, ax=ax, label="share of draws in which two points are together")
    title = "points, by cluster" if hasattr(trace_or_matrix, "vi_estimate") else "points"
    ax.set_xlabel(title)
    ax.set_ylabel(title)
    return ax


def _by_cluster(labels: Labels) -> tuple[Labels, Labels]:
    """The points sorted by cluster, the largest first, and where clusters after the first begin."""
    sizes = np.bincount(labels)
    rank = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
    order = np.argsort(rank[labels], kind="stable")
    return order, np.cumsum(np.sort(sizes)[::-1])[:-1]


def _checked(matrix: Any) -> Matrix:
    array = np.asarray(matrix, dtype=np.float64) if np.ndim(matrix) == 2 else np.zeros((0, 1))  # noqa: PLR2004
    inside = array.size and array.shape[0] == array.shape[1] and bool(np.all((array >= 0.0) & (array <= 1.0)))
    if not inside:
        got = (
            f"an array of shape {np.shape(matrix)}" if np.ndim(matrix) else f"an object of type {type(matrix).__name__}"
        )
        msg = f"similarity draws a Trace, or a square matrix of shares from 0 to 1, got {got}"
        raise ValueError(msg)
    return array
