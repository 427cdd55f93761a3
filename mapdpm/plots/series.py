"""The picture of states in time: segments beside the series."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.frames import column_names
from mapdpm.data.sequences import read_sequences
from mapdpm.models.hdp_hmm import HDPHMM
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.validation import check_count, check_points

_FILLED = 0.45


def segments(
    model: Any, X: Any, sequences: Any = None, *, labels: Any = None, most: int = 6, ax: Axes | None = None
) -> Axes:
    """Draw series of points in time, over the colours of their states; dashed lines are between sequences.

    Each feature has a band of its own, from its least to its largest value.

    Parameters
    ----------
    model : HDPHMM or None
        Fitted; it predicts states if none are given.
    X : array-like or DataFrame of shape (n_points, n_features)
        Finite numbers, rows in order of time.
    sequences : array-like of shape (n_points,), optional
        As in ``HDPHMM.fit``.
    labels : array-like of int, shape (n_points,), optional
        State of each point, -1 for none, such as the ids of ``OnlineHDPHMM``; None is ``model.predict(X, sequences)``.
    most : int
        Largest number of features that are drawn: the first ones.
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``model`` is no HDPHMM, there are neither labels nor a model, or they do not fit ``X``.
    """
    if labels is None:
        if not isinstance(model, HDPHMM):
            msg = f"model must be an HDPHMM, or labels must be given, got an object of type {type(model).__name__}"
            raise ValueError(msg)
        labels = model.predict(X, sequences)
    points, z = check_points(X), np.asarray(labels)
    if z.shape != (len(points),) or z.dtype.kind not in "iu":
        msg = f"labels must be integers, one a point, shape ({len(points)},), got {z.dtype} of shape {z.shape}"
        raise ValueError(msg)
    ax, most = canvas.axes(ax), check_count("most", most)
    time, present = np.arange(len(points)), np.unique(z)
    n_states = int(present.max(initial=-1)) + 1
    whole, edges = ax.get_xaxis_transform(), np.repeat(np.arange(len(points) + 1), 2)[1:-1]
    for state in present.tolist():
        style: dict[str, Any] = {"where": np.repeat(z == state, 2), "transform": whole, "linewidth": 0.0}
        ax.fill_between(edges, 0.0, 1.0, color=canvas.colour(state, n_states), alpha=_FILLED, **style)
    shown = min(most, points.shape[1])
    names = column_names(X)
    for feature in range(shown):
        values = points[:, feature]
        heights = shown - 1 - feature + 0.1 + 0.8 * (values - values.min()) / (float(np.ptp(values)) or 1.0)
        ax.plot(time + 0.5, heights, color=canvas.INK, linewidth=0.6)
    ax.set_yticks(np.arange(shown) + 0.5, [str(f) for f in (range(shown) if names is None else names[:shown])][::-1])
    for begin in read_sequences(sequences, len(points)).begins[1:-1]:
        ax.axvline(begin, color=canvas.INK, linewidth=0.8, linestyle="--")
    ax.set_xlim(0, len(points))
    ax.set_ylim(0, shown)
    ax.set_xlabel("point, in order of time")
    ax.set_ylabel("feature")
    sizes = {state: int(np.count_nonzero(z == state)) for state in present.tolist()}
    canvas.draw_legend(ax, canvas.entries_of(sizes, n_states, "state"))
    return ax
