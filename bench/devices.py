"""Devices and a gateway: what a base from others is worth to a new device, the bytes of a message, the time of a point.

Run: python bench/devices.py DATA, the folder of bench/groups.py. A line of JSON each: first, for each set, every group
is a device that learns alone, and its gateway merges the summaries of all others and sends it their clusters. Then the
mean over devices of the nats a point of the next 50 points, after 0, 10 and 100 points: with the base, without, and by
one learner of all groups; and the bytes of the messages, in float32. Last the time of learn_one with a base over that
without, the median of pairs, and milliseconds of set_base.
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
from groups_stream import AFTER, ALPHA, CLUSTERS, GAMMA, NEXT, PAIRS, POINTS, SETS, prior_of
from machine import about

from mapdpm import NormalGamma, OnlineHDP

CONCENTRATIONS = {"alpha": ALPHA, "gamma": GAMMA}


def new_devices(name: str, X: Any, groups: Any) -> dict[str, Any]:
    """The next points of each device, new to a gateway of all others."""
    prior, names, D = prior_of(X), np.unique(groups), X.shape[1]
    given = CONCENTRATIONS | {"likelihood": prior, "n_features": D}
    devices = {group: OnlineHDP(CLUSTERS, 1, **given) for group in names}
    for group, device in devices.items():
        device.learn_many(X[groups == group], groups[groups == group])
    sent = {group: device.summary("float32") for group, device in devices.items()}
    down, found = [], {f"{who}, after {n}": [] for n in AFTER for who in ("with base", "without", "one learner")}
    for group in names:
        here, own = X[groups == group], groups[groups == group]
        others = [message for other, message in sent.items() if other != group]
        gateway = OnlineHDP.merged(others, likelihood=prior, max_clusters=CLUSTERS)
        down.append(gateway.summary("float32"))
        learners = {
            "with base": OnlineHDP(CLUSTERS, 1, with_base=True, **given).set_base(down[-1]),
            "without": OnlineHDP(CLUSTERS, 1, **given),
            "one learner": OnlineHDP(CLUSTERS, len(names), **given).partial_fit(
                X[groups != group], groups[groups != group]
            ),
        }
        learned = 0
        for n in (n for n in AFTER if len(here) >= n + NEXT // 2):
            for who, learner in learners.items():
                if n > learned:
                    learner.learn_many(here[learned:n], own[learned:n])
                found[f"{who}, after {n}"].append(learner.score(here[n : n + NEXT], groups=own[n : n + NEXT]))
            learned = n
    nats = {what: round(statistics.fmean(values), 3) for what, values in found.items() if values}
    bytes_of = {"up": statistics.median(map(len, sent.values())), "down": statistics.median(map(len, down))}
    return {"devices": name, "n": len(names)} | nats | {f"bytes {way}, median": n for way, n in bytes_of.items()}


def times(D: int, K: int) -> dict[str, Any]:
    """The median ratio of learn_one in pairs, and the time of another base."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0.0, 8.0, (K, D))
    given = {"likelihood": NormalGamma(0.0, 0.01, 2.0, 1.0), "n_features": D}

    def draw() -> Any:
        return centres[rng.integers(0, K, POINTS)] + rng.normal(size=(POINTS, D))

    zeros = np.zeros(POINTS, dtype=int)
    base = OnlineHDP.merged([OnlineHDP(2 * K, 1, **given).partial_fit(draw(), zeros)]).summary()
    plain = OnlineHDP(2 * K, 1, **given)
    based = OnlineHDP(2 * K, 1, with_base=True, **given).set_base(base)
    ratios, sets_of_base = [], []
    for _ in range(PAIRS):
        X = draw().tolist()
        began = time.perf_counter()
        for x in X:
            plain.learn_one(x, 0)
        between = time.perf_counter()
        for x in X:
            based.learn_one(x, 0)
        ended = time.perf_counter()
        based.set_base(base)
        sets_of_base.append(1e3 * (time.perf_counter() - ended))
        ratios.append((ended - between) / (between - began))
    return {
        "learn_one with a base": {"features": D, "clusters": K},
        "ratio": round(statistics.median(ratios), 2),
        "set_base, ms": round(statistics.median(sets_of_base), 3),
        "nbytes": [plain.nbytes, based.nbytes],
    }


def main() -> None:
    """Print a line of JSON for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    print(json.dumps(about()))
    for name, data in sets(folder):
        if name in SETS:
            print(json.dumps(new_devices(name, *data)), flush=True)
    for sizes in ((2, 8), (6, 16)):
        print(json.dumps(times(*sizes)), flush=True)


if __name__ == "__main__":
    main()
