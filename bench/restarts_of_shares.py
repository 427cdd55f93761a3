"""One run against four, for fits of groups and of states: J and time on made sets.

Run: python bench/restarts_of_shares.py [--sets 12]. A line for each kind of data: the number of sets, on how many one
run ends lower by more than .05 nats, the largest difference, and how many times as long four runs take.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from mapdpm import HDPHMM, HDPMixture, NormalGamma

RUNS = (1, 4)
LOWER = 0.05  # nats
PRIOR = NormalGamma(0.0, 0.05, 2.0, 2.0)


def states(rng: np.random.Generator, apart: float, dwell: float) -> tuple[Any, Any]:
    """400 points of a machine with four states, ``apart`` standard deviations on average, and how they are fitted."""
    centres, z = rng.normal(0.0, 0.5 * apart, (4, 2)), np.zeros(400, dtype=np.int64)
    for t in range(1, len(z)):
        z[t] = z[t - 1] if rng.random() > 1.0 / dwell else rng.integers(4)
    return HDPHMM(likelihood=None), (centres[z] + rng.normal(size=(len(z), 2)),)


def letters(rng: np.random.Generator) -> tuple[Any, Any]:
    """240 points whose states alternate."""
    high = np.arange(240) % 3 == 1
    return HDPHMM(likelihood=None), (2.0 * high[:, None] + 0.7 * rng.normal(size=(240, 1)),)


def groups(rng: np.random.Generator, apart: float) -> tuple[Any, Any]:
    """Eight groups of 40 points, of six clusters in shares of their own."""
    z = np.concatenate([rng.choice(6, 40, p=rng.dirichlet(np.full(6, 0.4))) for _ in range(8)])
    X = rng.normal(0.0, apart, (6, 2))[z] + rng.normal(size=(len(z), 2))
    return HDPMixture(likelihood=PRIOR), (X, np.repeat(np.arange(8), 40))


KINDS = {
    "states 1.5 sd apart": lambda rng: states(rng, 1.5, 40.0),
    "states 2.5 sd apart": lambda rng: states(rng, 2.5, 5.0),
    "states 4 sd apart": lambda rng: states(rng, 4.0, 15.0),
    "letters": letters,
    "groups 1.5 sd apart": lambda rng: groups(rng, 1.5),
    "groups 4 sd apart": lambda rng: groups(rng, 4.0),
}


def measured(kind: Any, n_sets: int) -> Iterator[tuple[list[float], list[float]]]:
    """J and seconds of CPU of each set, for each number of runs."""
    for seed in range(n_sets):
        model, data = kind(np.random.default_rng(seed))
        joints, seconds = [], []
        for n_restarts in RUNS:
            start = time.process_time()
            joints.append(model.set_params(n_restarts=n_restarts).fit(*data).log_joint_)
            seconds.append(time.process_time() - start)
        yield joints, seconds


def main() -> None:
    """Print a line for each kind of data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=12)
    arguments = parser.parse_args()
    for name, kind in KINDS.items():
        joints, seconds = (np.array(each) for each in zip(*measured(kind, arguments.sets), strict=True))
        short = joints[:, 1] - joints[:, 0]
        figures = {"data": name, "sets": len(short), "lower": int(np.sum(short > LOWER))}
        figures |= {"largest_nats": round(float(short.max()), 1)}
        figures |= {"times_as_long": round(float(np.median(seconds[:, 1] / seconds[:, 0])), 1)}
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
