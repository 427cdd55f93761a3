"""Full covariance matrices in C: a converged sweep beside those of other families and backends, and BGMM's iteration.

Run: python bench/full_covariance.py. Times are nanoseconds a point, medians of interleaved rounds in one process. The
clusters are known to all; BayesianGaussianMixture(full) is given their number, and its iterations are those after the
first. All run in one thread. The breast cancer data of scikit-learn is fitted whole, from the paper's prior.
"""

from __future__ import annotations

import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import about
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from mapdpm import MAPDPM, NormalGamma, NormalInverseWishart
from mapdpm.backends import BACKENDS
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.state import ClusterState, empty

SHAPES = ((2, 5, 20_000), (10, 20, 20_000), (50, 20, 20_000), (50, 100, 10_000))
ROUNDS = 5
PRIOR = partition_prior(1.0)


def drawn(K: int, D: int, n: int) -> tuple[Any, Any]:
    """Points of clusters with covariance matrices of their own, and the clusters."""
    rng = np.random.default_rng(0)
    centres, labels = 3.0 * rng.normal(size=(K, D)), rng.integers(0, K, n)
    mixing = rng.normal(size=(K, D, D)) / np.sqrt(D) + 0.7 * np.eye(D)
    noise = rng.normal(size=(n, D))
    return centres[labels] + np.stack([mixing[k] @ e for k, e in zip(labels, noise, strict=True)]), labels


def converged(model: Model, labels: Any) -> ClusterState:
    """The state in which nobody moves."""
    state = empty(model.likelihood, len(labels), labels.max() + 2)
    state.labels[:] = labels
    moved = 1
    while moved:
        BACKENDS["c"].statistics(model, state)
        _, moved = BACKENDS["c"].sweep(model, state, 0, False)
    return state


def seconds_of(work: Callable[[], Any]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def iteration(X: Any, K: int) -> float:
    """Seconds of one iteration of BayesianGaussianMixture, from the difference of five and one."""
    seconds = []
    for n in (1, 5):
        peer = BayesianGaussianMixture(
            n_components=K, max_iter=n, tol=0.0, init_params="random_from_data", random_state=0
        )
        seconds.append(seconds_of(lambda peer=peer: peer.fit(X)))
    return (seconds[1] - seconds[0]) / 4.0


def shape(K: int, D: int, n: int) -> dict[str, Any]:
    """One line."""
    X, labels = drawn(K, D, n)
    models = [Model(family.empirical(X), PRIOR, X) for family in (NormalGamma, NormalInverseWishart)]
    diagonal, full = ((model, converged(model, labels)) for model in models)
    few = Model(full[0].likelihood, PRIOR, X[:1000])
    state = converged(few, labels[:1000])
    ways: dict[str, tuple[Callable[[], Any], int]] = {
        "diagonal sweep": (lambda: BACKENDS["c"].sweep(*diagonal, 0, False), n),
        "full sweep": (lambda: BACKENDS["c"].sweep(*full, 0, False), n),
        "rows anew": (lambda: BACKENDS["c"].statistics(*full), n),
        "numba sweep": (lambda: BACKENDS["numba"].sweep(few, state, 0, False), 1000),
    }
    BACKENDS["numba"].sweep(few, state, 0, False)  # compiles
    times: dict[str, list[float]] = {name: [] for name in (*ways, "BGMM iteration")}
    for _ in range(ROUNDS):
        for name, (work, points) in ways.items():
            times[name].append(1e9 * seconds_of(work) / points)
        times["BGMM iteration"].append(1e9 * iteration(X, K) / n)
    ratios = {
        "full / diagonal": [a / b for a, b in zip(times["full sweep"], times["diagonal sweep"], strict=True)],
        "BGMM / full": [a / b for a, b in zip(times["BGMM iteration"], times["full sweep"], strict=True)],
    }
    medians = {name: statistics.median(values) for name, values in (times | ratios).items()}
    return {"clusters": K, "features": D, "points": n, "allowed / diagonal": float(D)} | medians


def breast_cancer() -> dict[str, Any]:
    """Whole fits of 569 points in 30 features."""
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    prior = NormalInverseWishart.empirical(X)
    line: dict[str, Any] = {"data": "breast cancer"}
    for name in ("c", "numba"):
        model = MAPDPM(likelihood=prior, backend=name).fit(X)
        line |= {f"{name}, s": seconds_of(lambda model=model: model.fit(X)), f"{name}, log joint": model.log_joint_}
    return line


def main() -> None:
    """Print lines."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    threadpool_limits(1)
    for line in (*(shape(*each) for each in SHAPES), breast_cancer()):
        print(json.dumps({"bench": "full_covariance", **about(), **line}), flush=True)


if __name__ == "__main__":
    main()
