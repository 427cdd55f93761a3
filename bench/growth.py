"""The time of a default fit of few points with many columns: what it costs in D.

Run: python bench/wide.py [--rounds 3] > wide.jsonl. Two clusters, three standard deviations apart in each column; 5 and
50 points, 250 to 4,000 columns, in turn in each round. A JSON line for each shape: the median of seconds of CPU, of
``MAPDPM()`` and of ``MAPDPM(likelihood=None)``, the paper's prior, which does not look at the columns; and, for 100 to
400 columns, of full covariances for 200 points.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
from machine import about
from numpy.typing import NDArray

from mapdpm import MAPDPM

_SHAPES = [(N, D) for N in (5, 50) for D in (250, 500, 1000, 2000, 4000)] + [(200, D) for D in (100, 200, 400)]
_APART = 3.0
_MANY = 200  # points, which full covariances need


def made(N: int, D: int) -> NDArray[np.float64]:
    """Two clusters of points."""
    X = np.random.default_rng([N, D]).normal(size=(N, D))
    X[: N // 2] += _APART
    return X


def models(N: int) -> dict[str, MAPDPM]:
    """The fits that are timed for ``N`` points, by name."""
    if N == _MANY:
        return {"full": MAPDPM(covariance="full")}
    return {"default": MAPDPM(), "paper": MAPDPM(likelihood=None)}


def main() -> None:
    """Print a line for each shape and fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    seconds: dict[tuple[int, int, str], list[float]] = {}
    for _ in range(rounds):
        for N, D in _SHAPES:
            for name, model in models(N).items():
                X, start = made(N, D), time.process_time()
                model.fit(X)
                seconds.setdefault((N, D, name), []).append(time.process_time() - start)
    for (N, D, name), all_seconds in seconds.items():
        took = float(np.median(all_seconds))
        figures = {"points": N, "columns": D, "fit": name, "cpu_s": took, "ms_a_column": 1000.0 * took / D}
        print(json.dumps({"bench": "wide", **figures, **about()}), flush=True)


if __name__ == "__main__":
    main()
