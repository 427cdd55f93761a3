"""Watch the clustering of a stream: weights of clusters as bars, events, and scores of points.

Without options the smart watch's recordings beside this file are replayed, a point a second of them: how much each
channel varied, as a logarithm. In a terminal the picture is drawn anew 20 times a second; elsewhere events are printed
as lines, so that they can be kept or searched.

    python examples/follow_stream.py                                 # 800 points, 40 a second, in a terminal
    python examples/follow_stream.py --rate 0                        # as fast as possible
    some_sensor | python examples/follow_stream.py --csv - --columns temperature pressure --half-life 5000
"""

import argparse
import contextlib
import csv
import itertools
import math
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mapdpm import OnlineMAPDPM
from mapdpm.stream import Event

DATA = Path(__file__).resolve().parent / "data" / "smartwatch.csv"
CHANNELS = ["accel_x", "accel_y", "accel_z", "gyro_x", "gyro_y", "gyro_z"]
BAR, SPARKS = " ▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█"
COLOURS = (39, 208, 76, 199, 45, 220, 135, 203, 37, 178)
HOME, TO_END_OF_LINE, TO_END, PLAIN = "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[0m"
CLEAR, HIDE_CURSOR, SHOW_CURSOR = "\x1b[2J", "\x1b[?25l", "\x1b[?25h"
EVENTS, FRAMES = 8, 20


def points(arguments: argparse.Namespace) -> Iterator[tuple[np.ndarray, str]]:
    """Yield each point and what the label's column says; rows without any number are passed over."""
    with sys.stdin if arguments.csv == "-" else open(arguments.csv, encoding="utf-8", newline="") as file:  # noqa: PTH123
        rows = csv.DictReader(file)
        names = arguments.columns
        while chunk := list(itertools.islice(rows, arguments.window)):
            names = names or [name for name in chunk[0] if is_number(chunk[0][name])]
            cells = [[(row[name] or "").strip() for name in names] for row in chunk]
            values = np.array([[float(cell or "nan") for cell in row] for row in cells])
            x = np.log(values.std(axis=0) + 1e-3) if arguments.window > 1 else values[0]
            if len(chunk) == arguments.window and not np.isnan(x).all():
                yield x, chunk[-1].get(arguments.label) or ""


def is_number(cell: str | None) -> bool:
    """Whether a column that begins with ``cell`` is one of numbers."""
    with contextlib.suppress(ValueError):
        return math.isfinite(float(cell or ""))
    return False


def said(event: Event) -> str:
    """An event in words."""
    words = {
        "created": f"cluster {event.id} begins",
        "split": f"cluster {event.id} splits: {event.id} and {event.other}",
        "merged": f"cluster {event.id} merges into {event.other}",
        "evicted": f"cluster {event.id} makes room",
        "aged out": f"cluster {event.id} is forgotten",
        "prior revisited": "the prior of the clusters narrows",
        "relevant": f"column {event.id} carries clusters",
        "irrelevant": f"column {event.id} carries no clusters",
    }
    return f"{event.when:>8,}  {words[event.kind]}"


def bar(share: float, width: int) -> str:
    """A bar that is ``share`` of ``width`` wide, to an eighth of a character."""
    eighths = round(8 * width * share)
    return BAR[-1] * (eighths // 8) + (BAR[eighths % 8] if eighths % 8 else "")


def sparkline(scores: list[float], width: int) -> str:
    """The last scores, low to high."""
    shown = scores[-width:]
    low, high = np.quantile(shown, [0.02, 0.98]) if shown else (0.0, 0.0)
    steps = [(score - low) / (high - low or 1.0) for score in shown]
    return "".join(SPARKS[min(max(int(len(SPARKS) * step), 0), len(SPARKS) - 1)] for step in steps)


class Screen:
    """The terminal, drawn over and over."""

    def __init__(self, name: str, model: OnlineMAPDPM) -> None:
        """Begin with nothing."""
        self.name, self.model = name, model
        self.rows = 3
        self.scores: deque[float] = deque(maxlen=500)
        self.events: deque[Event] = deque(maxlen=EVENTS)

    def draw(self, label: str, newest: int) -> None:
        """One frame, over the last."""
        model = self.model
        columns, height = shutil.get_terminal_size()
        warming = model.likelihood_ is None
        state = f"{model.n_seen} of {model.warmup} to begin with" if warming else f"{model.n_clusters} clusters"
        lines = [f"{self.name}   {model.n_seen:,} points   {state}   {label}", ""]
        if not warming:
            ids, weights = model.ids, model.weights
            for number, weight in list(zip(ids, weights, strict=True))[: max(3, height - EVENTS - 6)]:
                mark = "◀" if number == newest else " "
                colour = f"\x1b[38;5;{COLOURS[number % len(COLOURS)]}m"
                lines.append(
                    f"{number:>6} {weight:>8,.0f} {mark} {colour}{bar(weight / weights.max(), columns - 20)}{PLAIN}"
                )
        self.rows = max(self.rows, len(lines))
        lines += [""] * (self.rows - len(lines))
        scores = list(self.scores)
        lines += ["", f"{'score':>6} {scores[-1]:>8.1f}   {sparkline(scores, columns - 20)}" if scores else "", ""]
        lines += [said(event) for event in self.events]
        print(HOME + "".join(line + TO_END_OF_LINE + "\n" for line in lines[: height - 1]) + TO_END, end="", flush=True)


def follow(arguments: argparse.Namespace, screen: Screen | None) -> None:
    """Learn point after point, and show what happens."""
    model = screen.model if screen else make(arguments)
    rate = arguments.rate if arguments.rate is not None else 40.0 if screen else 0.0
    start = time.monotonic()
    drawn = start if rate else -math.inf
    n_events = 0
    for i, (x, label) in enumerate(points(arguments)):
        newest, score = model.learn_scored(x)
        news = model.events[n_events - model.n_events :] if model.n_events > n_events else []
        n_events = model.n_events
        if screen is None:
            for event in news:
                print(f"{said(event)}   {label}".rstrip())
            if model.n_seen % 100 == 0:
                print(f"{model.n_seen:>8,}  {model.n_clusters} clusters, score {score:.1f}   {label}".rstrip())
        else:
            screen.events.extend(news)
            if not math.isnan(score):
                screen.scores.append(score)
            if time.monotonic() - drawn >= 1.0 / FRAMES:
                screen.draw(label, newest)
                drawn = time.monotonic()
        if rate:
            time.sleep(max(0.0, start + (i + 1) / rate - time.monotonic()))
    if screen:
        screen.draw("at its end", -1)
    elif model.n_clusters:
        weights = ", ".join(f"{number}: {weight:.0f}" for number, weight in zip(model.ids, model.weights, strict=True))
        print(f"{model.n_seen:>8,}  the end; id and weight of each cluster: {weights}")


def make(arguments: argparse.Namespace) -> OnlineMAPDPM:
    """The learner; a reading may be missing now and then."""
    return OnlineMAPDPM(
        arguments.clusters, warmup=arguments.warmup, half_life=arguments.half_life or None, missing="skip"
    )


def main() -> None:
    """Read what is asked for, and follow it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", help="a file with a header, or - for standard input")
    parser.add_argument("--columns", nargs="+", help="those to cluster by; if none are named, all that hold numbers")
    parser.add_argument("--label", default="activity", help="a column that is shown, and nothing else")
    parser.add_argument(
        "--window", type=int, help="make a point of so many rows, by how much they vary; 1: as they are"
    )
    parser.add_argument("--rate", type=float, help="points a second, 0 as fast as possible; 40 in a terminal")
    parser.add_argument("--clusters", type=int, default=16, help="how many there is room for")
    parser.add_argument("--warmup", type=int, default=30, help="points that set the prior")
    parser.add_argument("--half-life", type=float, default=100.0, help="points after which one counts half; 0: never")
    arguments = parser.parse_args()
    if arguments.csv is None:
        arguments.csv, arguments.columns = str(DATA), arguments.columns or CHANNELS
        arguments.window = arguments.window or 10  # a second of a recording
    arguments.window = arguments.window or 1
    if not sys.stdout.isatty():
        follow(arguments, None)
        return
    print(CLEAR + HIDE_CURSOR, end="")
    try:
        follow(
            arguments, Screen("standard input" if arguments.csv == "-" else Path(arguments.csv).name, make(arguments))
        )
    except KeyboardInterrupt:
        pass
    finally:
        print(SHOW_CURSOR, end="")


if __name__ == "__main__":
    main()
