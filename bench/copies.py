"""Default fits of bootstraps and under weights: whether the number of clusters is about that of the table.

Run: python bench/copies.py [--data FOLDER] [--draws 50]. A line for each table:

K        of the table
draws    the smallest, the middle and the largest K of bootstraps, and how many are within a factor 1.5 of K
weights  K with weights of 3, whole ones from 1 to 5, exponential ones, and those of a survey

FOLDER holds tabular/ (or the environment variable MAPDPM_DATA names it); without it there are iris and wine.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from uci_sets import read_set

from mapdpm import MAPDPM

FACTOR = 1.5


def main() -> None:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None)
    parser.add_argument("--draws", type=int, default=50)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {"iris": datasets.load_iris().data, "wine": datasets.load_wine().data}
    if arguments.data is not None:
        points, _ = read_set(arguments.data / "tabular" / "breast_cancer_wisconsin.csv")
        tables["breast_cancer_wisconsin"] = points[~np.isnan(points).any(axis=1)]
    for name, X in tables.items():
        rng, n = np.random.default_rng(0), len(X)
        K = MAPDPM().fit(X).n_clusters_
        found = sorted(MAPDPM().fit(X[rng.integers(0, n, n)]).n_clusters_ for _ in range(arguments.draws))
        within = sum(K / FACTOR <= k <= K * FACTOR for k in found)
        weights = {
            "3": np.full(n, 3.0),
            "1..5": rng.integers(1, 6, n),
            "exponential": rng.exponential(size=n),
            "survey": rng.gamma(2.0, 250.0, n),
        }
        draws = {"K": [found[0], found[len(found) // 2], found[-1]], "within": within, "of": len(found)}
        weighted = {each: MAPDPM().fit(X, sample_weight=own).n_clusters_ for each, own in weights.items()}
        print(json.dumps({"table": name, "K": K, "draws": draws, "weights": weighted}), flush=True)


if __name__ == "__main__":
    main()
