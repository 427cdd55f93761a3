"""Each kernel of the C backend, and the calls of a stream, by pytest-benchmark.

Run: python bench/kernels.py [--benchmark-compare ...] or pytest bench/kernels.py. Times are of a call on 10,000 points
in 10 features and 20 clusters, or on one point of a stream.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from mapdpm import NormalGamma, OnlineMAPDPM
from mapdpm import state as states
from mapdpm.backends.c import C
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model

N, D, K = 10_000, 10, 20
PRIOR = partition_prior(1.0)
LIKELIHOOD = NormalGamma(np.zeros(D), 0.1, 1.0, np.ones(D))


def model_of(X: Any) -> Model:
    """The arguments of the kernels."""
    return Model(LIKELIHOOD, PRIOR, X)


@pytest.fixture(scope="module", params=["float64", "float32"])
def case(request: Any) -> tuple[Any, Any]:
    """Separated clusters, and the state in which nobody moves."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, K, N)
    X = (rng.normal(0.0, 3.0, (K, D))[labels] + rng.normal(size=(N, D))).astype(request.param)
    state = states.empty(LIKELIHOOD, N, K + 4)
    state.labels[:] = labels
    C.statistics(model_of(X), state)
    while C.sweep(model_of(X), state, 0, False)[1]:
        C.statistics(model_of(X), state)
    return X, state


def test_converged_sweep(benchmark: Any, case: Any) -> None:
    """Nobody moves."""
    X, state = case
    assert benchmark(C.sweep, model_of(X), state, 0, False) == (N, 0)


def test_first_sweep(benchmark: Any, case: Any) -> None:
    """Nearly all move."""
    X, _ = case
    random = np.random.default_rng(1).integers(0, K, N)

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        state = states.empty(LIKELIHOOD, N, K + 4)
        state.labels[:] = random
        C.statistics(model_of(X), state)
        return (model_of(X), state, 0, False), {}

    benchmark.pedantic(C.sweep, setup=fresh, rounds=20)


def test_sequential_start(benchmark: Any, case: Any) -> None:
    """From nothing."""
    X, _ = case

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        state = states.empty(LIKELIHOOD, N, 4 * K)
        return (model_of(X), state, np.arange(N), False), {}

    benchmark.pedantic(C.sequential_start, setup=fresh, rounds=20)


def test_statistics(benchmark: Any, case: Any) -> None:
    """All rows anew."""
    X, state = case
    benchmark(C.statistics, model_of(X), state)


@pytest.mark.parametrize("verb", ["score", "best_slots", "log_densities"])
def test_scoring(benchmark: Any, case: Any, verb: str) -> None:
    """Points against clusters that stay."""
    X, state = case
    if verb == "score":
        benchmark(C.score, model_of(X), state, np.empty((N, state.capacity)))
    elif verb == "best_slots":
        benchmark(C.best_slots, model_of(X), state, True, np.empty(N, dtype=np.int64))
    else:
        benchmark(C.log_densities, model_of(X), state, np.empty(N))


def test_merge_losses(benchmark: Any, case: Any) -> None:
    """Every pair."""
    _, state = case
    stale = np.ones(state.capacity, dtype=np.int64)
    partners, losses = np.full(state.capacity, -1), np.full(state.capacity, np.inf)
    benchmark(C.merge_losses, LIKELIHOOD, PRIOR, state, stale, partners, losses)


def test_learn_one(benchmark: Any, case: Any) -> None:
    """One point of a stream, from a list."""
    X, _ = case
    learner = OnlineMAPDPM(max_clusters=32, warmup=500)
    learner.learn_many(X)
    point = X[0].tolist()
    benchmark(learner.learn_one, point)


def test_learn_many(benchmark: Any, case: Any) -> None:
    """10,000 points of a stream."""
    X, _ = case
    learner = OnlineMAPDPM(max_clusters=32, warmup=500)
    learner.learn_many(X)
    benchmark(learner.learn_many, X)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--benchmark-only", *sys.argv[1:]]))
