"""The surprise of OnlineMAPDPM on streams of its own model: how many points are at or below p, against n p.

Run: python bench/calibration.py [--streams 1000] [--points 1000] [--spread 10] [--data FOLDER | --other-laws]. With
--data, of real streams instead: the share of surprises at or below p on the parts that are labelled normal, of skab (a
learner for each recording) and of the two files of nab (as Lag(1)), in FOLDER/streams; without standard errors, for
these points depend on each other; in brackets the share of episodes, points at most 16 rows after another one left
out. With --other-laws, of points that are no normal clusters: first points 200 to 1,000, then 1,000 to 5,000. Else
each stream has two to six normal clusters of the same width, whose centres have a deviation of --spread widths, in a
unit between 1e-6 and 1e6. The learner has default settings, or a half-life of 1000 points. Surprises count after the
warm-up. A cell is the share of points at or below p, divided by p; in brackets its distance from 1 in standard errors
of a binomial count.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine import about
from numpy.typing import NDArray

from mapdpm import OnlineMAPDPM
from mapdpm.features import Lag

LEVELS = (0.1, 0.01, 0.001, 0.0001)
WARMUP = 200


def real_streams(folder: Path) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Names, and surprises of the points that are labelled normal."""
    found = []
    for rows in recordings(folder / "skab.csv.gz", "experiment"):
        features = [name for name in rows[0] if name not in {"experiment", "datetime", "anomaly", "changepoint"}]
        X = np.array([[float(row[name]) for name in features] for row in rows])
        normal = np.array([row["anomaly"] in {"0", "0.0", ""} for row in rows])
        found.append(OnlineMAPDPM().learn_many_assessed(X).surprise[normal])
    yield "skab", np.concatenate(found)
    for path in sorted((folder / "nab").glob("*.csv.gz")):
        (rows,) = recordings(path, "")
        X = np.array([[float(row["value"])] for row in rows])
        normal = np.array([row["anomaly_window"] in {"0", "0.0", ""} for row in rows])
        found = OnlineMAPDPM().learn_many_assessed(Lag(1).transform_many(X)).surprise[normal]
        yield path.name.split("_")[0], found


def recordings(path: Path, column: str) -> list[list[dict[str, str]]]:
    """The rows of a file, a list for each value of a column."""
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    parts: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        parts.setdefault(row.get(column, ""), []).append(row)
    return list(parts.values())


def other_laws() -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Names of laws, and surprises of 40 streams of 5,000 points."""
    stretch = np.linalg.cholesky(np.array([[1.0, 0.95], [0.95, 1.0]]))
    laws = {
        "correlated": lambda rng, n: rng.normal(size=(n, 2)) @ stretch.T,
        "Laplace": lambda rng, n: rng.laplace(size=(n, 1)),
        "exponential": lambda rng, n: rng.exponential(size=(n, 1)),
        "Student, 3": lambda rng, n: rng.standard_t(3, size=(n, 1)),
        "uniform": lambda rng, n: rng.random((n, 2)),
    }
    for name, draw in laws.items():
        streams = [draw(np.random.default_rng(seed), 5000) for seed in range(40)]
        yield name, np.array([OnlineMAPDPM().learn_many_assessed(X).surprise for X in streams])


def episodes(surprises: NDArray[np.float64], p: float) -> float:
    """The number of runs of surprises at or below p, with at most 16 rows between."""
    rows = np.flatnonzero(surprises <= p)
    return float(np.sum(np.diff(rows, prepend=-17) > 16))


def main() -> None:
    """Print a row for each number of features, with and without forgetting; or for each real stream."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--spread", type=float, default=10.0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--other-laws", action="store_true")
    arguments = parser.parse_args()
    print(about())
    if arguments.data:
        for name, values in real_streams(arguments.data / "streams"):
            known = values[~np.isnan(values)]
            n = len(known)
            cells = [f"{p:g}: {np.mean(known <= p) / p:.3f} ({episodes(known, p) / n / p:.3f})" for p in LEVELS]
            print(f"{name}: n={n:,} ", "  ".join(cells))
        return
    if arguments.other_laws:
        for name, all_points in other_laws():
            for points in (all_points[:, WARMUP:1000], all_points[:, 1000:]):
                print(
                    f"{name}: n={points.size:,} ", "  ".join(f"{p:g}: {np.mean(points <= p) / p:.3f}" for p in LEVELS)
                )
        return
    for D in (1, 2, 3, 8):
        for half_life in (None, 1000.0):
            rng = np.random.default_rng(D)
            found = []
            for _ in range(arguments.streams):
                centres = arguments.spread * rng.normal(size=(rng.integers(2, 7), D))
                which = rng.integers(0, len(centres), WARMUP + arguments.points)
                X = 10.0 ** rng.uniform(-6, 6) * (centres[which] + rng.normal(size=(len(which), D)))
                found.append(OnlineMAPDPM(half_life=half_life).learn_many_assessed(X).surprise[WARMUP:])
            surprises = np.concatenate(found)
            n = len(surprises)
            cells = []
            for p in LEVELS:
                count = int(np.sum(surprises <= p))
                cells.append(f"{count / n / p:.3f} ({(count - n * p) / np.sqrt(n * p * (1 - p)):+.1f})")
            print(
                f"D={D} half_life={half_life}: n={n:,} "
                + "  ".join(f"{p:g}: {c}" for p, c in zip(LEVELS, cells, strict=True))
            )


if __name__ == "__main__":
    main()
