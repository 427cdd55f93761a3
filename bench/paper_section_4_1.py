"""Raykov2014 section 4.1 with the paper's algorithm (moves=()): NMI, difference in K, sweeps, over 100 data sets.

Run: python bench/paper_section_4_1.py [--sets 100]. Prints a JSON line: mean, and in brackets two standard deviations
as the paper's Table 1 has them (NMI .71 (.23), dK -6.94 (6.93)).
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
    arguments = parser.parse_args()
    rows, seconds = [], 0.0
    for seed in range(arguments.sets):
        X, labels, likelihood = crp_mixture(np.random.default_rng([41, seed]))
        start = time.perf_counter()
        model = MAPDPM(3.0, likelihood=likelihood, moves=()).fit(X)
        seconds += time.perf_counter() - start
        nmi = metrics.normalized_mutual_info(labels, model.labels_)
        rows.append((nmi, model.n_clusters_ - len(np.unique(labels)), model.n_sweeps_))
    means, spreads = np.mean(rows, axis=0), 2.0 * np.std(rows, axis=0)
    names = ("NMI", "dK", "sweeps")
    figures = {n: f"{m:.3f} ({s:.2f})" for n, m, s in zip(names, means, spreads, strict=True)}
    print(json.dumps(figures | {"sets": arguments.sets, "ms_per_fit": round(1e3 * seconds / arguments.sets, 2)}))


if __name__ == "__main__":
    main()
