"""Anomaly scores for the files of the Numenta Anomaly Benchmark, by the library's features, surprises and alarms.

Run: python bench/nab.py --data DIR --out OUT [--score WINDOWS.json] [--compare] [--setting NAME] [--jobs 2]
     python bench/nab.py --synthetic DIR [--seed 0]

DIR holds category/file.csv (or .csv.gz) with the columns timestamp,value; OUT gets category/file.csv with
timestamp,value,anomaly_score in [0, 1]. The score of a row depends only on the rows up to it, and one setting serves
all files. --score prints the benchmark's score (standard profile), with one threshold for all files, and with the
threshold of each half of the files (every other one by name) used on the other half. --compare does so for all
settings. --synthetic writes made series and windows.json. The chosen setting is the best of them on half of the files.

A learner of the stream of features gives each row a surprise, a tail probability. Where a setting has several learners,
the least surprise times their number counts. The strength of a row is -log10 of it. A ladder of alarms, each at a
higher strength than the one below, makes one alert for each episode at each level; a row that no alarm reports has
score 0, another one the strength over 20. So the threshold may be anywhere, and an episode has few rows above it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
from datetime import UTC, datetime
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import nab_scorer
import nab_synthetic
import numpy as np
from machine import about
from numpy.typing import NDArray

from mapdpm import Alarm, OnlineMAPDPM
from mapdpm.features import parse

WARMUP = 200
LARGEST = 20.0  # the strength of score 1
LEAST = 1.0
Vector = NDArray[np.float64]


class Setting(NamedTuple):
    """The features of each learner ("" for the value itself), its memory, and the hold and ratio of the alarms."""

    features: tuple[str, ...]
    half_life: float | None = None
    rare: float = 0.02
    hold: int = 300
    ratio: float = 1.5


LAG, HOUR, DIFFERENCE = "Lag(1)", "Seasonal('hour') | Lag(1)", "Difference(1)"
SETTINGS = {
    "value": Setting(("",)),
    "lag": Setting((LAG,)),
    "difference": Setting((DIFFERENCE,)),
    "hour": Setting((HOUR,)),
    "hour, 3 lags": Setting(("Seasonal('hour') | Lag(3)",)),
    "centre": Setting(("Centre(288)",)),
    "value, difference": Setting(("", DIFFERENCE)),
    "lag, hour": Setting((LAG, HOUR)),
    "lag, hour, forgets": Setting((LAG, HOUR), half_life=5000),
    "lag, hour, rare 0": Setting((LAG, HOUR), rare=0.0),
    "lag, hour, difference": Setting((LAG, HOUR, DIFFERENCE)),
    "the same, hold 100": Setting((LAG, HOUR, DIFFERENCE), hold=100),
    "the same, ratio 2.5": Setting((LAG, HOUR, DIFFERENCE), ratio=2.5),
}
CHOSEN = "lag, hour, rare 0"


def read(path: Path) -> tuple[list[str], Vector, Vector]:
    """Timestamps, their seconds since 1970, values."""
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        rows = [(row["timestamp"], float(row["value"])) for row in csv.DictReader(file)]
    stamps = [stamp for stamp, _ in rows]
    return stamps, np.array([seconds(stamp) for stamp in stamps]), np.array([value for _, value in rows])


def seconds(stamp: str) -> float:
    """Of a timestamp without a zone, as if in UTC."""
    return datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp()


def strengths(t: Vector, x: Vector, setting: Setting) -> Vector:
    """-log10 of the surprise of each row, 0 in the warm-up."""
    least = np.full(len(x), np.inf)
    for text in setting.features:
        rows = parse(text).transform_many(x[:, None], t) if text else x[:, None]
        model = OnlineMAPDPM(warmup=WARMUP, half_life=setting.half_life, rare=setting.rare, missing="skip")
        least = np.fmin(least, model.learn_many_assessed(rows).surprise)
    with np.errstate(divide="ignore"):
        return np.clip(-np.log10(least * len(setting.features)), 0.0, LARGEST)


def alerts(strength: Vector, hold: int, ratio: float) -> Vector:
    """The strength of the rows at which an alarm of the ladder alerts, over ``LARGEST``; 0 at other rows."""
    scores = np.zeros(len(strength))
    level = LEAST
    while level <= LARGEST:
        alarm = Alarm(10.0**-level, hold)
        for row in np.flatnonzero(strength >= level).tolist():  # with times, rows that are not low need no update
            if alarm.update(min(10.0 ** -strength[row], alarm.level), float(row)):
                scores[row] = strength[row] / LARGEST
        level *= ratio
    return scores


def scored(path: Path, setting: Setting) -> tuple[list[str], Vector, Vector, Vector]:
    """Timestamps, seconds, values and scores of a file."""
    stamps, t, x = read(path)
    return stamps, t, x, alerts(strengths(t, x, setting), setting.hold, setting.ratio)


def name_of(path: Path) -> str:
    """category/file.csv."""
    return f"{path.parent.name}/{path.name.removesuffix('.gz')}"


def write(path: Path, stamps: list[str], x: Vector, scores: Vector) -> None:
    """A file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["timestamp", "value", "anomaly_score"])
        out.writerows(zip(stamps, x.tolist(), scores.tolist(), strict=True))


def judged(results: list[Any], names: list[str], windows: dict[str, Any]) -> list[nab_scorer.Judged]:
    """The files as the scorer wants them."""
    limits = [[tuple(map(seconds, pair)) for pair in windows.get(name, ())] for name in names]
    return [nab_scorer.judged(t, s, pairs) for (_, t, _, s), pairs in zip(results, limits, strict=True)]


def report(name: str, files: list[nab_scorer.Judged], per_row: float) -> None:
    """Print a line of the table."""
    level = nab_scorer.best_threshold(files)
    found, n, false = nab_scorer.counts(files, level)
    one = nab_scorer.normalised(nab_scorer.raw(files, level), n)
    crossed = nab_scorer.across([files])
    print(f"{name:28} {one:6.1f} {crossed:6.1f} {level:9.3f} {found:4}/{n:<4} {false:6} {per_row:8.1f}", flush=True)


def main() -> None:
    """Read the arguments and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--out", "--score", "--synthetic"):
        parser.add_argument(option, type=Path)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--setting", choices=SETTINGS, default=CHOSEN)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.synthetic:
        print(nab_synthetic.write(args.synthetic, seed=args.seed))
    if not args.data:
        return
    print(json.dumps(about()))
    paths = sorted([*args.data.glob("*/*.csv"), *args.data.glob("*/*.csv.gz")], key=name_of)
    names = [name_of(path) for path in paths]
    windows = json.loads(args.score.read_text()) if args.score else {}
    tried = []
    if args.score:
        print(f"{'setting':28} {'one':>6} {'cross':>6} {'threshold':>9} {'found':>9} {'false':>6} {'us a row':>8}")
    with Pool(args.jobs) as pool:
        for name in SETTINGS if args.compare else [args.setting]:
            began = time.perf_counter()
            results = pool.map(partial(scored, setting=SETTINGS[name]), paths, chunksize=1)
            per_row = 1e6 * (time.perf_counter() - began) / sum(len(x) for _, _, x, _ in results)
            if args.score:
                tried.append(judged(results, names, windows))
                report(name, tried[-1], per_row)
            else:
                print(json.dumps({"setting": name, "files": len(paths), "us a row": round(per_row, 2)}))
            if args.out and name == args.setting:
                for file, (stamps, _, x, scores) in zip(names, results, strict=True):
                    write(args.out / file, stamps, x, scores)
    if args.compare:
        print(f"setting and threshold of each half on the other half: {nab_scorer.across(tried):.1f}")


if __name__ == "__main__":
    main()
