"""The time of a default fit as columns grow in number, or clusters: CPU seconds.

Run: python bench/growth.py [--rounds 3] > growth.jsonl. A JSON line for each shape and fit, with the median of the
rounds:

- two clusters, three standard deviations apart in each column: 5 and 50 points, 250 to 4,000 columns, by ``MAPDPM()``
  and by ``MAPDPM(likelihood=None)``, the paper's prior, which does not look at the columns;
- the same with 200 points and 100 to 400 columns, by full covariances;
- a thin spiral, which is no cluster: the more points, the more clusters.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator

import numpy as np
from machine import about
from numpy.typing import NDArray

from mapdpm import MAPDPM

_COLUMNS = (250, 500, 1000, 2000, 4000)
_OF_FULL = (100, 200, 400)
_POINTS = (3125, 6250, 12_500, 25_000)
_NOISE = 0.002


def two_clusters(N: int, D: int) -> NDArray[np.float64]:
    """Points of two clusters."""
    X = np.random.default_rng([N, D]).normal(size=(N, D))
    X[: N // 2] += 3.0
    return X


def spiral(N: int) -> NDArray[np.float64]:
    """Three turns."""
    rng = np.random.default_rng(N)
    t = rng.uniform(1.0, 6.0 * np.pi, N)
    return np.column_stack([t * np.cos(t), t * np.sin(t)]) + _NOISE * rng.normal(size=(N, 2))


def cases() -> Iterator[tuple[str, MAPDPM, NDArray[np.float64]]]:
    """The fits that are timed: a name, the model and its points."""
    for N in (5, 50):
        for D in _COLUMNS:
            yield "default", MAPDPM(), two_clusters(N, D)
            yield "paper", MAPDPM(likelihood=None), two_clusters(N, D)
    for D in _OF_FULL:
        yield "full", MAPDPM(covariance="full"), two_clusters(200, D)
    for N in _POINTS:
        yield "spiral", MAPDPM(), spiral(N)


def main() -> None:
    """Print a line for each shape and fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    seconds: dict[tuple[str, int, int, int], list[float]] = {}
    for _ in range(rounds):
        for name, model, X in cases():
            start = time.process_time()
            model.fit(X)
            took = time.process_time() - start
            seconds.setdefault((name, *X.shape, model.n_clusters_), []).append(took)
    for (name, N, D, K), found in seconds.items():
        took = float(np.median(found))
        figures = {"fit": name, "points": N, "columns": D, "clusters": K, "cpu_s": took, "ms_a_column": 1e3 * took / D}
        print(json.dumps({"bench": "growth", **figures, **about()}), flush=True)


if __name__ == "__main__":
    main()
