"""The gain of moves over sweeps alone, in nats: Raykov2014 section 4.1, 100 data sets of 600 points in two features.

Run: python bench/search.py [--sets 100] [--restarts 1 20] [--moves merge split]. A line for each number of restarts:
mean gain of the log joint over the paper's algorithm (moves=()), share of sets that end below it by more than 1e-6,
NMI, difference in K, milliseconds a fit.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from mapdpm import MAPDPM, metrics
from mapdpm.testing.data import crp_mixture


def main() -> None:
    """Fit, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--restarts", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--moves", nargs="+", default=["merge", "split"])
    arguments = parser.parse_args()
    for n_restarts in arguments.restarts:
        rows, seconds = [], 0.0
        for seed in range(arguments.sets):
            X, labels, likelihood = crp_mixture(np.random.default_rng([41, seed]))
            paper = MAPDPM(3.0, likelihood=likelihood, moves=()).fit(X)
            model = MAPDPM(3.0, likelihood=likelihood, moves=tuple(arguments.moves), n_restarts=n_restarts)
            start = time.perf_counter()
            model.fit(X)
            seconds += time.perf_counter() - start
            gain = model.log_joint_ - paper.log_joint_
            nmi = metrics.normalized_mutual_info(labels, model.labels_)
            rows.append((gain, gain < -1e-6, nmi, model.n_clusters_ - len(np.unique(labels))))
        gain, below, nmi, dk = np.mean(rows, axis=0)
        figures = {
            "restarts": n_restarts,
            "moves": arguments.moves,
            "sets": arguments.sets,
            "gain_nats": round(gain, 2),
            "share_below_paper": below,
            "NMI": round(nmi, 3),
            "dK": round(dk, 2),
            "ms_per_fit": round(1e3 * seconds / arguments.sets, 1),
        }
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
