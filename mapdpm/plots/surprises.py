"""The picture of surprises: the series above, the surprise of each point below, and the episodes of an alarm."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.frames import column_names
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.protocol import Vector
from mapdpm.stream.alarm import Alarm
from mapdpm.validation import check_count, check_points

_RED = "#c00000"
_SHADE = 0.2
_LEAST = 1e-300  # a surprise of 0 has no logarithm


def surprise(
    t: Any, X: Any, assessments: Any, alarm: Alarm | None = None, *, most: int = 3, ax: Any = None
) -> tuple[Axes, Axes]:
    """Draw points over time in the colours of their clusters, and below them the surprise of each on a log scale.

    With an alarm, a dashed line is its level, and spans are its episodes, from their first low point to their last.

    Parameters
    ----------
    t : array-like of shape (n_points,), or None
        Times of the points, never falling; None is 1, 2, 3 and so on, as an alarm counts.
    X : array-like or DataFrame of shape (n_points, n_features)
        The points, NaN where a value is missing.
    assessments : Assessment of arrays
        What ``OnlineMAPDPM.learn_many_assessed(X)`` returned: ``id`` and ``surprise`` are drawn. nan is not drawn, and
        points of the warm-up are grey.
    alarm : Alarm, optional
        An alarm that took these surprises, with times where ``t`` has them.
    most : int
        Largest number of features that are drawn: the first ones, each scaled to a band of its own if they are several.
    ax : pair of matplotlib Axes, optional
        Where to draw, the series first; None makes a new figure.

    Returns
    -------
    pair of matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, or the numbers of points or times do not fit together.
    """
    points = check_points(X, missing=True).astype(np.float64)
    n = len(points)
    ids, values = np.asarray(assessments.id), np.asarray(assessments.surprise, dtype=np.float64)
    if ids.shape != (n,) or values.shape != (n,):
        msg = f"assessments must have one entry a point, shape ({n},), got {ids.shape} and {values.shape}"
        raise ValueError(msg)
    times = _times(t, n)
    upper, lower = _panels(ax)
    warming = np.isnan(np.asarray(assessments.log_density, dtype=np.float64))  # ids are provisional until then
    _draw_series(upper, times, points[:, : check_count("most", most)], np.where(warming, -1, ids))
    names = column_names(X)
    if points.shape[1] == 1 or most == 1:
        canvas.write_title(upper.yaxis, str(names[0]) if names is not None else "feature 0")
    else:
        shown = min(most, points.shape[1])
        titles = names[:shown] if names is not None else range(shown)
        upper.set_yticks(np.arange(shown)[::-1] + 0.5, [str(name) for name in titles])
        upper.set_ylabel("feature")
    there = np.isfinite(values)
    lower.scatter(times[there], np.maximum(values[there], _LEAST), s=6.0, color=canvas.INK, linewidths=0.0)
    lower.set_yscale("log")
    lower.set_ylabel("surprise")
    lower.set_xlabel("point" if t is None else "time")
    if alarm is not None:
        lower.axhline(alarm.level, color=_RED, linewidth=1.0, linestyle="--")
        _draw_episodes((upper, lower), alarm, times, timed=t is not None)
    return upper, lower


def _times(t: Any, n: int) -> Vector:
    times = np.arange(1.0, n + 1.0) if t is None else np.asarray(t, dtype=np.float64)
    if times.shape != (n,) or not np.isfinite(times).all() or (np.diff(times) < 0.0).any():
        msg = f"t must be finite and never fall, one time a point, shape ({n},), got shape {times.shape}"
        raise ValueError(msg)
    return times


def _panels(given: Any) -> tuple[Axes, Axes]:
    """The two axes, one above the other with one axis of time."""
    if given is not None:
        upper, lower = given
        return canvas.axes(upper), canvas.axes(lower)
    canvas.check_matplotlib()
    from matplotlib.figure import Figure  # noqa: PLC0415

    upper, lower = Figure(figsize=(9.0, 5.6), layout="constrained").subplots(2, 1, sharex=True)
    return canvas.axes(upper), canvas.axes(lower)


def _draw_series(ax: Axes, times: Vector, points: Any, ids: Any) -> None:
    """One feature as it is; of several, each in a band of its own, the first on top."""
    names = np.unique(ids[ids >= 0])
    ranks = np.where(ids >= 0, np.searchsorted(names, ids), -1)
    shown = points.shape[1]
    for feature in range(shown):
        values = points[:, feature]
        there = np.isfinite(values)
        if shown > 1 and there.any():
            low, high = values[there].min(), values[there].max()
            values = shown - 1 - feature + 0.1 + 0.8 * (values - low) / ((high - low) or 1.0)
        canvas.draw_points(ax, np.column_stack([times, values])[there], ranks[there], len(names), size=0.4)


def _draw_episodes(panels: tuple[Axes, Axes], alarm: Alarm, times: Vector, *, timed: bool) -> None:
    """A span for each episode; one of a single point gets a line, which is as wide as it must be to be seen."""
    for episode in alarm.events:
        begins, ends = (episode.t_start, episode.t_end) if timed else (float(episode.start), float(episode.end))
        if begins is None or ends is None:
            msg = "the alarm took no times: give t=None, or update(surprise, t)"
            raise ValueError(msg)
        if ends < times[0] or begins > times[-1]:
            continue
        for ax in panels:
            ax.axvspan(begins, ends, color=_RED, alpha=_SHADE, linewidth=1.5)
