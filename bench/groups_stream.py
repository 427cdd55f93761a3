"""OnlineHDP: nats a point of streams whose points have groups, what a new group gains, and the time of a point.

Run: python bench/groups_stream.py DATA, the folder of bench/groups.py. A line of JSON each: first, for each set, the
mean log density that each point had before it was learned, by OnlineHDP, by OnlineMAPDPM for all points, and by one
OnlineMAPDPM a group; in the order of the file, and shuffled. Then the mean over the groups, each one new to the others'
learner, of its points after 0, 10 and 100 of them, beside a learner that has seen nothing else. Last the time of
learn_one over that of OnlineMAPDPM, the median of pairs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from groups import sets
from machine import about

from mapdpm import NormalGamma, OnlineHDP, OnlineMAPDPM

ALPHA, GAMMA, CLUSTERS = 1.0, 3.0, 32
SETS = ("smartwatch", "SKAB, every 8th row")
PAIRS, POINTS = 21, 4000
AFTER = (0, 10, 100)
NEXT = 50


def prior_of(X: Any) -> NormalGamma:
    """The prior of all learners of a set."""
    return NormalGamma(X.mean(axis=0), 0.01, 2.0, 0.1 * X.var(axis=0) + 1e-9)


def prequential(name: str, order: str, X: Any, groups: Any) -> dict[str, Any]:
    """Nats a point, each before it was learned."""
    prior, names = prior_of(X), np.unique(groups)
    hdp = OnlineHDP(CLUSTERS, len(names), alpha=ALPHA, gamma=GAMMA, likelihood=prior)
    pooled = OnlineMAPDPM(CLUSTERS, alpha=ALPHA, likelihood=prior)
    each = [
        OnlineMAPDPM(CLUSTERS, alpha=ALPHA, likelihood=prior).learn_many_scored(X[groups == group])[1]
        for group in names
    ]
    return {
        "stream": name,
        "order": order,
        "points": len(X),
        "groups": len(names),
        "OnlineHDP": round(float(hdp.learn_many_scored(X, groups)[1].mean()), 3),
        "OnlineMAPDPM, pooled": round(float(pooled.learn_many_scored(X)[1].mean()), 3),
        "OnlineMAPDPM, one a group": round(float(np.concatenate(each).mean()), 3),
        "clusters": hdp.n_clusters,
    }


def new_groups(name: str, X: Any, groups: Any) -> dict[str, Any]:
    """The next points of a group that is new to a learner of all others, and to a learner of nothing."""
    prior, names = prior_of(X), np.unique(groups)
    found: dict[str, list[float]] = {f"{who}, after {n}": [] for n in AFTER for who in ("OnlineHDP", "alone")}
    for group in names:
        here = X[groups == group]
        known = OnlineHDP(CLUSTERS, len(names), alpha=ALPHA, gamma=GAMMA, likelihood=prior)
        known.learn_many(X[groups != group], groups[groups != group])
        alone = OnlineMAPDPM(CLUSTERS, alpha=ALPHA, likelihood=prior, n_features=X.shape[1])
        learned = 0
        for n in AFTER:
            if len(here) < n + NEXT // 2:
                continue
            if n > learned:
                known.learn_many(here[learned:n], groups[groups == group][learned:n])
                alone.learn_many(here[learned:n])
                learned = n
            found[f"OnlineHDP, after {n}"].append(
                known.score(here[n : n + NEXT], np.full(len(here), group)[n : n + NEXT])
            )
            found[f"alone, after {n}"].append(alone.score(here[n : n + NEXT]))
    return {"new group": name} | {what: round(statistics.fmean(values), 3) for what, values in found.items() if values}


def learn_times(D: int, K: int, n_groups: int) -> dict[str, Any]:
    """Microseconds of a call of learn_one, and the median ratio of pairs in turn."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0.0, 8.0, (K, D))
    prior = NormalGamma(0.0, 0.01, 2.0, 1.0)
    hdp = OnlineHDP(2 * K, n_groups, likelihood=prior, n_features=D)
    flat = OnlineMAPDPM(2 * K, likelihood=prior, n_features=D)
    ratios, times = [], []
    for _ in range(PAIRS):
        X = (centres[rng.integers(0, K, POINTS)] + rng.normal(size=(POINTS, D))).tolist()
        groups = rng.integers(0, n_groups, POINTS).tolist()
        began = time.perf_counter()
        for x in X:
            flat.learn_one(x)
        between = time.perf_counter()
        for x, group in zip(X, groups, strict=True):
            hdp.learn_one(x, group)
        ended = time.perf_counter()
        ratios.append((ended - between) / (between - began))
        times.append(1e6 * (ended - between) / POINTS)
    sizes = {"features": D, "clusters": K, "groups": n_groups}
    return {"learn_one": sizes, "us": round(statistics.median(times), 2), "ratio": round(statistics.median(ratios), 2)}


def main() -> None:
    """Print a line of JSON for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    print(json.dumps(about()))
    chosen = {name: data for name, data in sets(folder) if name in SETS}
    for name, (X, groups) in chosen.items():
        order = np.random.default_rng(0).permutation(len(X))
        print(json.dumps(prequential(name, "file", X, groups)), flush=True)
        print(json.dumps(prequential(name, "shuffled", X[order], groups[order])), flush=True)
    for name, data in chosen.items():
        print(json.dumps(new_groups(name, *data)), flush=True)
    for sizes in ((2, 8, 8), (6, 16, 8), (10, 32, 50)):
        print(json.dumps(learn_times(*sizes)), flush=True)


if __name__ == "__main__":
    main()
