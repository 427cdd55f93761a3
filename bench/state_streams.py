"""States of streams in fixed memory: OnlineHDPHMM beside OnlineMAPDPM, on machines and on motion capture; and HDPHMM.

Run: python bench/state_streams.py [--only machines|mocap6|speed|fit] [--data FOLDER] [--repeats 3]. --data is the
folder above streams/mocap6.csv.gz (the environment variable MAPDPM_DATA may name it). Needs scipy and scikit-learn. One
thread.

machines: 20,000 points in 6 dimensions. A machine has 3, 6 or 12 states; the centres are 1.5 or 6 standard deviations
apart, on average over pairs. It stays 20, 100 or 500 points in a state, on average, and then follows a random row of
transitions. AMI is the adjusted mutual information of the ids, as they were when each point came, with the states;
the first 1,000 points do not count. Delay: ids are matched to states by the majority of their points; it is the median
number of points after a change until the id is of the new state, over the changes where it comes before the next one,
and "seen" is the share of these. Both learners have 16 slots and their defaults.

mocap6: the same for six recordings of motion capture with labelled exercises, with a gap between recordings; all
points after the warm-up count.

speed: nanoseconds of a point by learn_many, the two learners in turn on the same 2,000 points, 30 times; medians of
both and of the ratio. The states are 10, 12 standard deviations apart, so that both learners have 10 clusters; and 6.

fit: 100,000 points in 6 dimensions, states 10, 6 standard deviations apart: the time of HDPHMM over that of MAPDPM, and
their AMI, in turn, three times; and where the centres are 1.5 apart.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from machine import about
from tables import print_table

from mapdpm import HDPHMM, MAPDPM, OnlineHDPHMM, OnlineMAPDPM

POINTS, FEATURES, FIRST, WARMUP = 20_000, 6, 1000, 200
LEARNERS = {"OnlineMAPDPM": OnlineMAPDPM, "OnlineHDPHMM": OnlineHDPHMM}


def machine(K: int, dwell: float, apart: float, seed: int, n: int = POINTS) -> tuple[Any, Any]:
    """The points of a machine, and its states."""
    rng = np.random.default_rng([K, int(dwell), int(10 * apart), seed])
    centres = rng.normal(size=(K, FEATURES))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= apart / gaps[np.triu_indices(K, 1)].mean()
    rows = rng.dirichlet(np.ones(K), K)
    np.fill_diagonal(rows, 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    z = np.zeros(n, dtype=np.int64)
    stays = rng.random(n) >= 1.0 / dwell
    for t in range(1, n):
        z[t] = z[t - 1] if stays[t] else rng.choice(K, p=rows[z[t - 1]])
    return centres[z] + rng.normal(size=(n, FEATURES)), z


def agreement(z: Any, ids: Any, first: int = FIRST) -> float:
    """The adjusted mutual information, without the first points."""
    from sklearn.metrics import adjusted_mutual_info_score  # noqa: PLC0415  (an extra)

    return float(adjusted_mutual_info_score(z[first:], ids[first:]))


def delays(z: Any, ids: Any, first: int = FIRST) -> tuple[float, float]:
    """The median delay of changes that are seen, and the share of changes that are."""
    z, ids = (np.unique(each[first:], return_inverse=True)[1] for each in (z, ids))
    together = np.zeros((ids.max() + 1, z.max() + 1))
    np.add.at(together, (ids, z), 1.0)
    said = together.argmax(axis=1)[ids]
    changes = np.append(np.flatnonzero(np.diff(z)) + 1, len(z))
    found = [np.flatnonzero(said[a:b] == z[a]) for a, b in pairwise(changes)]
    seen = [each[0] for each in found if len(each)]
    return (float(np.median(seen)) if seen else np.nan), len(seen) / max(len(found), 1)


def machines(repeats: int) -> None:
    """Print a table of machines."""
    rows = []
    for apart in (1.5, 6.0):
        for K in (3, 6, 12):
            for dwell in (20, 100, 500):
                for name, kind in LEARNERS.items():
                    found = []
                    for seed in range(repeats):
                        X, z = machine(K, dwell, apart, seed)
                        model = kind()
                        ids, scores = model.learn_many_scored(X)
                        found.append([agreement(z, ids), model.n_clusters, *delays(z, ids), scores[FIRST:].mean()])
                    ami = np.array(found)[:, 0]
                    mean = np.nanmean(found, axis=0)
                    cells = (
                        f"{ami.mean():.2f} ({ami.min():.2f})",
                        f"{mean[1]:.1f}",
                        f"{mean[2]:.0f}",
                        f"{mean[3]:.0%}",
                    )
                    rows.append((f"{apart}", str(K), str(dwell), name, *cells, f"{mean[4]:.3f}"))
    heads = ("apart", "states", "dwell", "learner", "AMI (least)", "found", "delay", "seen", "nats a point")
    print_table("machines", heads, rows)
    sizes = {
        f"{name}, {dtype}": kind(n_features=6, dtype=dtype).nbytes
        for name, kind in LEARNERS.items()
        for dtype in ("float64", "float32")
    }
    print("bytes of 16 slots and 6 features:", ", ".join(f"{name} {size:,}" for name, size in sizes.items()))


def mocap6(path: Path) -> None:
    """Print how ids agree with exercises."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    names = [name for name in records[0] if name not in {"seq_id", "label", "tstep_id"}]
    X = np.array([[float(record[name]) for name in names] for record in records])
    ids, exercises = ([record[name] for record in records] for name in ("seq_id", "label"))
    parts = np.split(np.arange(len(X)), np.flatnonzero(np.array(ids[1:]) != np.array(ids[:-1])) + 1)
    rows = []
    for kappa in (0.0, 10.0, 100.0):
        model, found = OnlineHDPHMM(kappa=kappa), []
        for part in parts:
            found.append(model.learn_many(X[part]))
            model.gap()
        labels = np.concatenate(found)
        rows.append((f"OnlineHDPHMM, kappa {kappa:g}", str(model.n_clusters), *_agreements(exercises, labels)))
    model = OnlineMAPDPM()
    rows.append(("OnlineMAPDPM", str(model.n_clusters), *_agreements(exercises, model.learn_many(X))))
    print_table("mocap6", ("learner", "states", "AMI", "delay", "seen"), rows)


def _agreements(exercises: Any, ids: Any) -> tuple[str, str, str]:
    z = np.unique(exercises, return_inverse=True)[1]
    delay, seen = delays(z, ids, WARMUP)
    return f"{agreement(z, ids, WARMUP):.3f}", f"{delay:.0f}", f"{seen:.0%}"


def speed() -> None:
    """Print the time of a point, both learners in turn."""
    rows = []
    for apart in (12.0, 6.0):
        X, _ = machine(10, 50, apart, 0, 66_000)
        models = [kind() for kind in LEARNERS.values()]
        for model in models:
            model.learn_many(X[:6000])
        spent = np.empty((30, 2))
        for i in range(30):
            part = X[6000 + 2000 * i : 8000 + 2000 * i]
            for j, model in enumerate(models):
                begin = time.perf_counter()
                model.learn_many(part)
                spent[i, j] = (time.perf_counter() - begin) / len(part) * 1e9
        sizes = " / ".join(str(model.n_clusters) for model in models)
        median = np.median(spent, axis=0)
        ratio = np.median(spent[:, 1] / spent[:, 0])
        rows.append((f"{apart:g}", sizes, f"{median[0]:.0f}", f"{median[1]:.0f}", f"{ratio:.2f}"))
    print_table("speed, ns a point", ("apart", "clusters", *LEARNERS, "ratio"), rows)


def fit() -> None:
    """Print the time of a fit of 100,000 points."""
    rows = []
    for apart in (6.0, 1.5):
        found = []
        for seed in range(3):
            X, z = machine(10, 50, apart, seed, 100_000)
            for kind in (MAPDPM, HDPHMM):
                begin = time.perf_counter()
                labels = kind().fit(X).labels_
                found.append((time.perf_counter() - begin, agreement(z, labels), labels.max() + 1))
        flat, states = np.array(found[::2]), np.array(found[1::2])
        ratio = np.median(states[:, 0] / flat[:, 0])
        cells = [
            f"{np.median(each[:, 0]):.2f} s, {each[:, 1].mean():.3f}, {each[:, 2].mean():.1f}"
            for each in (flat, states)
        ]
        rows.append((f"{apart:g}", *cells, f"{ratio:.1f}"))
    print_table("100,000 points x 6: time, AMI, states", ("apart", "MAPDPM", "HDPHMM", "times"), rows)


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("machines", "mocap6", "speed", "fit"))
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print(about())
    if arguments.only in {None, "speed"}:
        speed()
    if arguments.only in {None, "machines"}:
        machines(arguments.repeats)
    if arguments.only in {None, "fit"}:
        fit()
    if arguments.only in {None, "mocap6"}:
        if arguments.data is None:
            print("no --data and no MAPDPM_DATA: no mocap6")
        else:
            mocap6(Path(arguments.data) / "streams" / "mocap6.csv.gz")


if __name__ == "__main__":
    main()
