"""Large mixtures by default settings, where the sequential start finds one cluster: AMI, time, memory.

Run: python bench/large.py [--sizes 10000,2,10 100000,2,10 ...] (points, features, clusters). Diagonal normal mixtures
with sizes as a Chinese restaurant process makes them (no cluster below half a percent), means N(0, s^2), variances
inverse gamma (3, 2). A JSON line each: AMI of MAPDPM() with the true labels, that of the classifier which knows the
true parameters (nothing can do better on average), K, seconds of one core (of all threads, added up), and the peak of
memory beyond the data beside 0.5 X.nbytes + 64 MB (Linux).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapdpm import MAPDPM, metrics
from mapdpm.testing.data import crp

_SIZES = ("10000,2,10", "100000,2,10", "100000,10,20", "100000,50,30")
_SPREAD = {2: 8.0, 10: 1.35, 50: 0.53}
_MEMORY = Path("/proc/self")


def main() -> None:
    """Fit, and print a line a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=_SIZES)
    arguments = parser.parse_args()
    MAPDPM().fit(np.zeros((10, 1)))  # loads what there is to load
    for size in arguments.sizes:
        N, D, K = map(int, size.split(","))
        X, labels, oracle = mixture(N, D, K)
        forget_peak()
        before, start = peak_megabytes(), time.process_time()
        model = MAPDPM().fit(X)
        figures = {
            "points": N,
            "features": D,
            "clusters": K,
            "AMI": round(metrics.adjusted_mutual_info(labels, model.labels_), 4),
            "AMI_oracle": round(metrics.adjusted_mutual_info(labels, oracle), 4),
            "K": model.n_clusters_,
            "converged": model.converged_,
            "cpu_seconds": round(time.process_time() - start, 2),
            "extra_MB": round(peak_megabytes() - before, 1),
            "allowed_MB": round(0.5 * X.nbytes / 2**20 + 64.0, 1),
        }
        print(json.dumps(figures), flush=True)


def mixture(N: int, D: int, K: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Points, labels, and the labels that the true parameters would give."""
    rng = np.random.default_rng([0, D, K])
    alpha = 0.1
    while len(sizes := np.bincount(crp(rng, 3000, alpha))) != K:
        alpha *= 1.02 if len(sizes) < K else 0.98
    share = np.maximum(sizes / sizes.sum(), 0.005)
    share /= share.sum()
    means = rng.normal(0.0, _SPREAD.get(D, 4.0 / np.sqrt(D)), (K, D))
    variances = 2.0 / rng.gamma(3.0, 1.0, (K, D))
    labels = rng.choice(K, N, p=share)
    X = means[labels] + np.sqrt(variances[labels]) * rng.normal(size=(N, D))
    best = np.full(N, -np.inf)
    oracle = np.zeros(N, dtype=np.int64)
    for k in range(K):
        score = np.log(share[k]) - 0.5 * (np.log(variances[k]) + (X - means[k]) ** 2 / variances[k]).sum(axis=1)
        oracle[score > best] = k
        best = np.maximum(best, score)
    return X, labels, oracle


def forget_peak() -> None:
    """Start the count of peak memory anew, where the system allows that."""
    if (_MEMORY / "clear_refs").exists():
        (_MEMORY / "clear_refs").write_text("5")


def peak_megabytes() -> float:
    """Peak resident memory of this process; nan where it is not known."""
    if not (_MEMORY / "status").exists():
        return float("nan")
    line = next(line for line in (_MEMORY / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024.0


if __name__ == "__main__":
    main()
