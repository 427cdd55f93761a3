"""The modes that the search finds: what moves gain over sweeps alone, and how far a default run stays below the best.

Run: python bench/search.py [--only moves default] [--sets N] [--restarts 1 20] [--moves merge split].

``moves``: Raykov2014 section 4.1, 100 data sets of 600 points in two features. A line for each number of restarts: mean
gain of the log joint over the paper's algorithm (moves=()) in nats, share of sets that end below it by more than 1e-6,
NMI, difference in K, milliseconds a fit.

``default``: 200 data sets of different make, 100 to 800 points in 1 to 30 features. A line for one run and one for ten
restarts: share of sets that end more than 10 nats below the best that 50 restarts found, mean and largest distance from
it, CPU milliseconds a fit (median), and the CPU time in fits of one run (median, and the share of sets above 12).
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from sklearn import datasets

from mapdpm import MAPDPM, NormalKnownVariance, metrics
from mapdpm.protocol import Matrix
from mapdpm.testing.data import crp_mixture

NEAR = 10.0
MOST = 12.0


def moves(n_sets: int, restarts: list[int], names: tuple[str, ...]) -> None:
    """Fit the sets of section 4.1, and print the table."""
    for n_restarts in restarts:
        rows, seconds = [], 0.0
        for seed in range(n_sets):
            X, labels, likelihood = crp_mixture(np.random.default_rng([41, seed]))
            paper = MAPDPM(3.0, likelihood=likelihood, moves=()).fit(X)
            model = MAPDPM(3.0, likelihood=likelihood, moves=names, n_restarts=n_restarts)
            start = time.perf_counter()
            model.fit(X)
            seconds += time.perf_counter() - start
            gain = model.log_joint_ - paper.log_joint_
            nmi = metrics.normalized_mutual_info(labels, model.labels_)
            rows.append((gain, gain < -1e-6, nmi, model.n_clusters_ - len(np.unique(labels))))
        gain, below, nmi, dk = np.mean(rows, axis=0)
        figures = {
            "restarts": n_restarts,
            "moves": names,
            "sets": n_sets,
            "gain_nats": round(gain, 2),
            "share_below_paper": below,
            "NMI": round(nmi, 3),
            "dK": round(dk, 2),
            "ms_per_fit": round(1e3 * seconds / n_sets, 1),
        }
        print(json.dumps(figures), flush=True)


def normal(rng: np.random.Generator, noise: str = "normal") -> Matrix:
    """Clusters of different sizes, separations and widths."""
    D, K = int(rng.choice([1, 2, 3, 5, 8, 15, 30])), int(rng.integers(2, 21))
    shares = rng.dirichlet(np.full(K, rng.choice([0.5, 1.0, 10.0])))
    labels = rng.choice(K, int(rng.choice([100, 200, 400, 800])), p=shares)
    scales = np.exp(rng.normal(0.0, rng.choice([0.0, 0.7]), (K, D)))
    means = rng.normal(0.0, rng.choice([1.0, 2.0, 4.0, 8.0]), (K, D))
    shape = (len(labels), D)
    if noise == "correlated":
        turns = rng.normal(size=(K, D, D)) / np.sqrt(D)
        return means[labels] + np.einsum("nij,nj->ni", turns[labels], rng.normal(size=shape))
    drawn = rng.standard_t(rng.choice([2.0, 3.0, 5.0]), shape) if noise == "heavy" else rng.normal(size=shape)
    return means[labels] + scales[labels] * drawn


def noisy(rng: np.random.Generator) -> Matrix:
    """Clusters, and a quarter of the points uniform."""
    X = normal(rng)
    n = len(X) // 4
    X[:n] = rng.uniform(X.min(axis=0), X.max(axis=0), (n, X.shape[1]))
    return X[rng.permutation(len(X))]


def skewed(rng: np.random.Generator) -> Matrix:
    """Exponentials of clusters."""
    X = normal(rng)
    return np.exp(X / X.std())


def real(rng: np.random.Generator) -> Matrix:
    """Some rows of a set of scikit-learn: raw, scaled, or its first principal components."""
    name = rng.choice(["wine", "iris", "breast_cancer", "digits", "diabetes"])
    X = getattr(datasets, f"load_{name}")().data
    X = X[rng.permutation(len(X))[: int(rng.choice([100, 200, 400, 800]))]]
    X = X[:, X.std(axis=0) > 0]
    how = rng.choice(["raw", "scaled", "components"])
    if how == "raw":
        return X[:, rng.permutation(X.shape[1])[:30]]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return X if how == "scaled" else (U * s)[:, : int(rng.integers(2, 21))]


def nth_set(i: int) -> tuple[str, Matrix, Any, float]:
    """The make of set ``i``, its points, their likelihood and alpha."""
    rng = np.random.default_rng([7, i])
    make = ("normal", "heavy", "correlated", "skewed", "uniform", "noisy", "section 4.1", "known", "real", "real")[
        i % 10
    ]
    if make == "section 4.1":
        X, _, likelihood = crp_mixture(rng)
        return make, X, likelihood, 3.0
    if make == "uniform":
        X = rng.random((int(rng.choice([100, 200, 400])), int(rng.choice([1, 2, 3, 5, 8]))))
    elif make in {"heavy", "correlated"}:
        X = normal(rng, make)
    else:
        X = {"normal": normal, "skewed": skewed, "noisy": noisy, "known": normal, "real": real}[make](rng)
    X = np.ascontiguousarray(X)
    if make == "known":
        return make, X, NormalKnownVariance.empirical(X), float(rng.choice([0.1, 1.0, 10.0]))
    return make, X, None, 1.0


def default(n_sets: int, names: tuple[str, ...]) -> None:
    """Fit sets of different make once, with ten restarts and with 50, and print how far they end below the best."""
    joints, seconds = np.empty((n_sets, 3)), np.empty((n_sets, 3))
    for i in range(n_sets):
        _, X, likelihood, alpha = nth_set(i)
        for j, n_restarts in enumerate((1, 10, 50)):
            model = MAPDPM(alpha, likelihood=likelihood, moves=names, n_restarts=n_restarts, random_state=int(j == 2))
            start = time.process_time()
            joints[i, j] = model.fit(X).log_joint_
            seconds[i, j] = time.process_time() - start
    below, fits = joints.max(axis=1, keepdims=True) - joints, seconds / seconds[:, :1]
    for j, n_restarts in enumerate((1, 10)):
        figures = {
            "restarts": n_restarts,
            "moves": names,
            "sets": n_sets,
            "share_10_nats_below": round(np.mean(below[:, j] > NEAR), 3),
            "mean_below": round(below[:, j].mean(), 2),
            "most_below": round(below[:, j].max(), 1),
            "cpu_ms_per_fit": round(1e3 * np.median(seconds[:, j]), 1),
            "fits": round(np.median(fits[:, j]), 1),
            "share_above_12_fits": round(np.mean(fits[:, j] > MOST), 3),
        }
        print(json.dumps(figures), flush=True)


def main() -> None:
    """Fit, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["moves", "default"], nargs="+", default=["moves", "default"])
    parser.add_argument("--sets", type=int, help="100 of section 4.1, and 200 of different make")
    parser.add_argument("--restarts", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--moves", nargs="+", default=["merge", "split"])
    arguments = parser.parse_args()
    if "moves" in arguments.only:
        moves(arguments.sets or 100, arguments.restarts, tuple(arguments.moves))
    if "default" in arguments.only:
        default(arguments.sets or 200, tuple(arguments.moves))


if __name__ == "__main__":
    main()
