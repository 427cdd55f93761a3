"""Clusters that are born, drift, split, merge and die: a stream in two features, and a line for each cluster's life.

Seven sources come, move and go. One pair drifts apart from the same place, another drifts together, one source appears
and vanishes again. The learner forgets (half_life), so that it can follow; every 25 points it is asked where its
clusters are, how much they weigh, and what has happened to them.

    python examples/life_of_clusters.py         # writes life_of_clusters.png; --picture PATH names another file
"""

import argparse
from collections import Counter
from typing import NamedTuple

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mapdpm import OnlineMAPDPM

POINTS, EVERY, HALF_LIFE = 12_000, 25, 500.0
# From when to when a source sends, as shares of the stream, and its place at times between which it moves evenly.
SOURCES = (
    (0.00, 1.00, {0.00: (-1.0, 0.0), 0.50: (-2.0, 1.0), 1.00: (0.5, 1.5)}),
    (0.00, 1.00, {0.00: (12.0, 0.0), 0.20: (12.0, 0.0), 0.55: (17.0, 2.0), 1.00: (19.0, 2.0)}),
    (0.00, 1.00, {0.00: (12.0, 0.0), 0.20: (12.0, 0.0), 0.55: (7.5, -2.0), 1.00: (9.0, 0.0)}),
    (0.00, 1.00, {0.00: (-6.0, 2.0), 0.65: (-9.0, 0.0), 1.00: (-9.0, 0.0)}),
    (0.00, 1.00, {0.00: (-15.0, -2.0), 0.65: (-9.0, 0.0), 1.00: (-9.0, 0.0)}),
    (0.20, 0.45, {0.20: (3.5, -1.0), 0.45: (3.0, 1.0)}),
    (0.72, 1.00, {0.72: (-15.5, 1.0), 1.00: (-17.5, -2.0)}),
)
MARKS = {"created": "o", "split": "^", "merged": "D", "aged out": "X", "evicted": "v"}
NAMES = {
    "created": "begins",
    "split": "splits",
    "merged": "merges",
    "aged out": "is forgotten",
    "evicted": "makes room",
}
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#e0861a", "#7a5195", "#5b8c85", "#9c6644")
INK = "#333333"


class Moment(NamedTuple):
    """The place of a cluster at a time."""

    when: int
    place: float
    weight: float


def stream() -> tuple[np.ndarray, np.ndarray]:
    """Return the points, and the means of all sources at each time, nan while they do not send."""
    rng = np.random.default_rng(7)
    time = np.arange(POINTS) / POINTS
    means = np.empty((POINTS, len(SOURCES), 2))
    for k, (begins, ends, way) in enumerate(SOURCES):
        for d in range(2):
            means[:, k, d] = np.interp(time, list(way), [place[d] for place in way.values()])
        means[(time < begins) | (time >= ends), k] = np.nan
    sends = ~np.isnan(means[:, :, 0])
    chosen = np.array([rng.choice(np.flatnonzero(each)) for each in sends])
    return means[np.arange(POINTS), chosen] + rng.normal(0.0, 0.7, (POINTS, 2)), means


def main() -> None:
    """Follow the stream, say what happened, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", default="life_of_clusters.png", help="where to write it")
    arguments = parser.parse_args()
    X, means = stream()
    axis = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
    axis *= np.sign(axis[np.argmax(np.abs(axis))])

    model = OnlineMAPDPM(half_life=HALF_LIFE)
    lives: dict[int, list[Moment]] = {}
    events = []
    n_events = 0
    for start in range(0, POINTS, EVERY):
        model.learn_many(X[start : start + EVERY])
        if model.n_clusters == 0:
            continue  # the warm-up
        events += model.events[n_events - model.n_events :] if model.n_events > n_events else []
        n_events = model.n_events
        places = (model.means - X.mean(axis=0)) @ axis
        for number, weight, place in zip(model.ids, model.weights, places, strict=True):
            lives.setdefault(int(number), []).append(Moment(model.n_seen, place, weight))

    assert len(events) == n_events  # none was lost between two looks
    events = [event for event in events if event.id >= 0]  # but those of the prior, which is of no cluster
    for event in events:
        other = "" if event.other is None else f", {event.other}"
        print(f"{event.when:>6,}  {event.kind:<9} {event.id}{other}")
    counts = Counter(event.kind for event in events)
    print(
        f"\n{POINTS:,} points, {model.n_clusters} clusters at the end; {', '.join(f'{counts[k]} {k}' for k in counts)}"
    )
    draw(lives, events, (means - X.mean(axis=0)) @ axis).savefig(arguments.picture, dpi=120)
    print(f"picture: {arguments.picture}")


def draw(lives: dict[int, list[Moment]], events: list, truth: np.ndarray) -> Figure:
    """A line a cluster, as thick as it weighs, and marks where something happened; the sources are grey."""
    figure = Figure(figsize=(11.0, 6.2), layout="constrained")
    ax = figure.subplots()
    ax.plot(np.arange(POINTS), truth, color="#bbbbbb", linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    heaviest = max(moment.weight for life in lives.values() for moment in life)
    colours = {number: COLOURS[i % len(COLOURS)] for i, number in enumerate(sorted(lives))}
    for number, life in lives.items():
        whens, places, weights = np.array(life).T
        corners = np.column_stack([whens, places])
        pieces = np.stack([corners[:-1], corners[1:]], axis=1)
        widths = 1.0 + 9.0 * np.sqrt(weights[1:] / heaviest)
        ax.add_collection(
            LineCollection(pieces, linewidths=widths, colors=colours[number], capstyle="round", alpha=0.85, zorder=2)
        )
        last = life[-1]
        if last.when == POINTS:
            ax.annotate(
                str(number), (last.when, last.place), (9, 0), textcoords="offset points", va="center", color=INK
            )
    for event in events:
        mark(ax, event, lives, colours)
    for kind, shape in MARKS.items():
        if any(event.kind == kind for event in events):
            ax.plot([], [], shape, color="white", markeredgecolor=INK, markersize=7, label=NAMES[kind])
    ax.plot([], [], color="#bbbbbb", linestyle=(0, (4, 3)), linewidth=1.0, label="a source, in truth")
    ax.plot([], [], color=COLOURS[0], linewidth=6.0, label="a cluster, as thick as it weighs")
    ax.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
    ax.set_xlim(0, POINTS * 1.02)
    ax.set_xlabel("points seen")
    ax.set_ylabel("first principal coordinate")
    ax.spines[["top", "right"]].set_visible(False)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def mark(ax: object, event: object, lives: dict[int, list[Moment]], colours: dict[int, str]) -> None:
    """The mark of an event, and a thin line to the cluster that has to do with it."""
    here = near(lives, event.id, event.when)
    there = near(lives, event.other, event.when)
    if here is None:
        return
    if there is not None:
        ax.plot([event.when, event.when], [here, there], color=INK, linewidth=0.8, linestyle=":", zorder=3)
    ax.plot(event.when, here, MARKS[event.kind], color="white", markeredgecolor=INK, markersize=7, zorder=4)
    if event.kind == "created":
        ax.annotate(
            str(event.id),
            (event.when, here),
            (-3, 8),
            textcoords="offset points",
            color=colours[event.id],
            weight="bold",
        )


def near(lives: dict[int, list[Moment]], number: int | None, when: int) -> float | None:
    """The place of a cluster when it was recorded about that time; None where it was not."""
    life = lives.get(number) if number is not None else None
    return None if life is None else min(life, key=lambda moment: abs(moment.when - when)).place


if __name__ == "__main__":
    main()
