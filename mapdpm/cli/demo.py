"""``mapdpm demo``: cluster the seconds of a smart watch's recording, and compare with the activities."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm import plots
from mapdpm.cli import table_rows, tables
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.metrics import adjusted_mutual_info, contingency
from mapdpm.protocol import Labels, Matrix
from mapdpm.validation import check_points

CHANNELS = ("accel_x", "accel_y", "accel_z", "gyro_x", "gyro_y", "gyro_z")
WINDOW = 10
"""Samples in a window: one second at 10 Hz."""

_FILE = "smartwatch.csv"
_FLOOR = 1e-6


class Windows(NamedTuple):
    """One row for each window: features of shape (n_windows, n_channels), and the activity."""

    features: Matrix
    activities: NDArray[np.str_]


class Demo(NamedTuple):
    """The result of the demo: the fitted model, the group of each window, their agreement with the activities, seconds.

    ``merged`` are the clusters, merged under the wide prior into as many as there are activities. ``by_the_paper`` is
    the model of the paper's algorithm and prior.
    """

    model: MAPDPM
    merged: Labels
    by_the_paper: MAPDPM
    windows: Windows
    ami: float
    seconds: float


def run(path: str | Path | None = None) -> Demo:
    """Cluster the windows of the recording at ``path``; None is the recording that comes with mapdpm.

    All parameters are the defaults of ``MAPDPM()``.

    Raises
    ------
    ValueError
        The file is not such a recording, or none came with this installation.
    OSError
        The file cannot be read.
    """
    windows = read(found() if path is None else path)
    started = time.perf_counter()
    model = MAPDPM().fit(windows.features)
    seconds = time.perf_counter() - started
    tree = model.merge_tree(prior=type(model.likelihood_).empirical(windows.features))
    merged = tree.labels(min(len(np.unique(windows.activities)), model.n_clusters_))
    ami = adjusted_mutual_info(windows.activities, merged)
    return Demo(model, merged, MAPDPM(likelihood=None, moves=()).fit(windows.features), windows, ami, seconds)


def report(demo: Demo) -> str:
    """The result of ``run`` as text: a table of merged clusters and activities, agreement, log joint in nats, cost."""
    model, paper, (features, activities) = demo.model, demo.by_the_paper, demo.windows
    paper_ami, own_ami = (adjusted_mutual_info(activities, each.labels_) for each in (paper, model))
    return "\n".join(
        (
            f"{len(features)} windows of 1 s, {features.shape[1]} features: log of each channel's standard deviation",
            f"(the paper's algorithm and prior: {_clusters(paper)}, AMI {paper_ami:.3f})",
            f"{_clusters(model)}, AMI {own_ami:.3f}; merged by a tree into as many as there are activities:",
            "",
            *_table(demo.merged, activities),
            "",
            "agreement of the merged clusters with the activities, which it never saw:",
            f"mapdpm AMI {demo.ami:.3f}",
            f"log joint {model.log_joint_:.3f} nats, {model.n_sweeps_} sweeps, {demo.seconds:.3f} seconds",
        )
    )


def picture(demo: Demo) -> bytes:
    """The windows, their clusters and activities as a PNG; MissingMatplotlibError where matplotlib is not installed."""
    ax = plots.clusters(None, demo.windows.features, labels=demo.merged, classes=demo.windows.activities)
    merged = f"{_clusters(demo.model)} in {demo.merged.max() + 1} groups"
    ax.set_title(f"Seconds of a smart watch's recording: {merged}, AMI {demo.ami:.2f}", loc="left")
    return plots.image(ax)


def found() -> Path:
    """The path of the recording: in the examples below the current folder, or in the installed package."""
    package = Path(__file__).resolve().parent.parent
    here = Path("examples", "data", _FILE)
    places = (here, package / "example_data" / _FILE, package.parent / here)
    for place in places:
        if place.is_file():
            return place
    msg = f"the demo's recording {_FILE} was not found; name it: mapdpm demo path/to/{_FILE}"
    raise ValueError(msg)


def read(path: str | Path) -> Windows:
    """The windows of a recording with columns ``recording``, ``activity`` and ``CHANNELS``; errors as ``run``.

    A window lies within one recording and activity; a shorter rest is dropped. A feature is the log of a channel's
    standard deviation in the window, at least a millionth of that in the whole recording, so a constant channel has
    finite features.
    """
    (_, header), *rows = table_rows.rows(path)
    names = [name.strip() for name in header]
    missing = [name for name in ("recording", "activity", *CHANNELS) if name not in names]
    if missing:
        msg = f"{path} is not such a recording: it has no column {', '.join(missing)}"
        raise ValueError(msg)
    values = check_points(tables.numbers(path, rows, names, [names.index(name) for name in CHANNELS]))
    at, doing = names.index("recording"), names.index("activity")
    recording, activity = np.array([cells[at] for _, cells in rows]), np.array([cells[doing] for _, cells in rows])
    starts = _window_starts(recording, activity)
    if not len(starts):
        msg = f"{path} has no window of {WINDOW} rows of one recording"
        raise ValueError(msg)
    deviations = values[starts[:, None] + np.arange(WINDOW)].std(axis=1)
    overall = values.std(axis=0)
    floor = _FLOOR * np.where(overall > 0.0, overall, 1.0)
    return Windows(np.log(np.maximum(deviations, floor)), activity[starts])


def _window_starts(recording: NDArray[Any], activity: NDArray[Any]) -> NDArray[np.int64]:
    """First rows of the windows."""
    changes = np.flatnonzero((recording[1:] != recording[:-1]) | (activity[1:] != activity[:-1])) + 1
    bounds = [0, *changes.tolist(), len(recording)]
    parts = [np.arange(first, last - WINDOW + 1, WINDOW) for first, last in pairwise(bounds)]
    return np.concatenate(parts)


def _clusters(model: MAPDPM) -> str:
    return f"{model.n_clusters_} cluster{'s' * (model.n_clusters_ != 1)}"


def _table(merged: Labels, activities: NDArray[np.str_]) -> list[str]:
    names = [str(name) for name in np.unique(activities)]
    counts = contingency(merged, activities).tolist()
    widths = [max(len(name), 7) for name in ("merged", *names)]
    rows = [("merged", *names), *((k, *row) for k, row in enumerate(counts))]
    return ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
