"""Default fits of small data sets: the time of MAPDPM().fit, and of KMeans told the number of clusters.

Run: python bench/small_fits.py [--rounds 15] > small_fits.jsonl. Twelve sets of 150 to 2,000 points: iris, wine, breast
cancer and digits of scikit-learn (the last one by its first ten principal components), and eight sets made of normal
clusters. All on one core, in one process, in turn in each round. A JSON line for each set: medians of milliseconds, and
the number of clusters that MAPDPM finds. The last line is the median of these medians.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import sklearn
from machine import about
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from mapdpm import MAPDPM

_MADE = (
    (150, 2, 3),
    (200, 5, 4),
    (300, 10, 3),
    (500, 2, 5),
    (500, 10, 8),
    (1000, 2, 10),
    (1000, 5, 6),
    (2000, 2, 8),
)
"""Points, features, clusters."""
_SPREAD = 4.0


def made(N: int, D: int, K: int) -> NDArray[np.float64]:
    """Normal clusters of standard deviations from 0.5 to 1.5."""
    rng = np.random.default_rng([N, D, K])
    means, deviations, labels = rng.normal(0.0, _SPREAD, (K, D)), rng.uniform(0.5, 1.5, (K, D)), rng.integers(K, size=N)
    return means[labels] + deviations[labels] * rng.normal(size=(N, D))


def data_sets() -> dict[str, tuple[NDArray[np.float64], int]]:
    """Points, and the number of classes or clusters, by name."""
    digits = PCA(10, random_state=0).fit_transform(load_digits().data[:2000])
    found = {
        "iris": (load_iris().data, 3),
        "wine": (load_wine().data, 3),
        "breast cancer": (load_breast_cancer().data, 2),
    }
    found["digits"] = (np.ascontiguousarray(digits), 10)
    return found | {f"made {N} x {D}, {K}": (made(N, D, K), K) for N, D, K in _MADE}


def milliseconds(model: Any, X: NDArray[np.float64]) -> float:
    """The time of a fit."""
    start = time.perf_counter()
    model.fit(X)
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    """Fit in turn, and print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    setting = about() | {"scikit-learn": sklearn.__version__}
    medians = []
    for name, (X, K) in data_sets().items():
        model, means = MAPDPM(), KMeans(K, n_init=1, random_state=0)
        with threadpool_limits(1):
            model.fit(X)  # loads what there is to load
            means.fit(X)
            times = np.array([[milliseconds(each, X) for each in (model, means)] for _ in range(rounds)])
        ours, theirs = np.round(np.median(times, axis=0), 2).tolist()
        medians.append(ours)
        shape = {"points": len(X), "features": X.shape[1], "K": model.n_clusters_}
        figures = {"mapdpm_ms": ours, "KMeans_ms": theirs}
        print(json.dumps({"bench": "small_fits", "set": name} | shape | figures | setting), flush=True)
    print(json.dumps({"bench": "small_fits", "set": "median", "mapdpm_ms": float(np.median(medians))} | setting))


if __name__ == "__main__":
    main()
