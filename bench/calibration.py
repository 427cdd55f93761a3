"""The surprise of OnlineMAPDPM on streams of its own model: how many points are at or below p, against n p.

Run: python bench/calibration.py [--streams 1000] [--points 1000] [--spread 10]. Each stream has two to six normal
clusters of the same width, whose centres have a deviation of --spread widths, in a unit between 1e-6 and 1e6. The
learner has default settings, or a half-life of 1000 points. Surprises count after the warm-up. A cell is the share of
points at or below p, divided by p; in brackets its distance from 1 in standard errors of a binomial count.
"""

from __future__ import annotations

import argparse

import numpy as np
from machine import about

from mapdpm import OnlineMAPDPM

LEVELS = (0.1, 0.01, 0.001, 0.0001)
WARMUP = 200


def main() -> None:
    """Print a row for each number of features, with and without forgetting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--spread", type=float, default=10.0)
    arguments = parser.parse_args()
    print(about())
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
