"""Generators of data for tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods import NormalGamma, NormalKnownVariance
from mapdpm.protocol import Labels, Likelihood, Matrix, Vector


def crp(generator: np.random.Generator, n_points: int, alpha: float) -> Labels:
    """Labels drawn from the Chinese restaurant process (Raykov2014 (2))."""
    labels = np.zeros(n_points, dtype=np.int64)
    sizes: list[int] = []
    for i in range(n_points):
        u = generator.random() * (i + alpha)
        labels[i] = next((k for k, total in enumerate(np.cumsum(sizes)) if u < total), len(sizes))
        if labels[i] == len(sizes):
            sizes.append(0)
        sizes[labels[i]] += 1
    return labels


def crp_mixture(
    generator: np.random.Generator, n_points: int = 600, alpha: float = 3.0
) -> tuple[Matrix, Labels, NormalGamma]:
    """Points, labels and prior as in Raykov2014 section 4.1: two features, m0 = 1, c0 = .1, a0 = 1, b0 = 10."""
    prior = NormalGamma([1.0, 1.0], 0.1, 1.0, [10.0, 10.0])
    labels = crp(generator, n_points, alpha)
    shape = (int(labels.max()) + 1, 2)
    precision = generator.gamma(prior.a0, 1.0 / prior.b0, shape)
    means = prior.m0 + generator.standard_normal(shape) / np.sqrt(prior.c0 * precision)
    noise = generator.standard_normal((n_points, 2)) / np.sqrt(precision[labels])
    return means[labels] + noise, labels, prior


class Case(NamedTuple):
    """One clustering problem, and its start."""

    X: Matrix
    likelihood: Likelihood | None = None
    alpha: float = 1.0
    discount: float = 0.0
    weights: Vector | None = None
    init: Any = "sequential"
    max_clusters: int | None = None
    missing: str = "error"


def small(generator: np.random.Generator) -> Case:
    """Two to eight points in one to three features: few enough to list all partitions."""
    n, D = int(generator.integers(2, 9)), int(generator.integers(1, 4))
    X = generator.normal(0.0, generator.choice([1.0, 3.0]), (n, D))
    scale = generator.uniform(0.2, 3.0, D)
    likelihood = NormalGamma(generator.normal(size=D), generator.uniform(0.05, 2.0), generator.uniform(0.5, 3.0), scale)
    alpha, discount = float(generator.choice([0.2, 1.0, 4.0])), float(generator.choice([0.0, 0.4]))
    return Case(X, likelihood, alpha, discount)


def hostile(generator: np.random.Generator, most_points: int = 400) -> Case:
    """A random problem that is hard for a kernel.

    1 to 60 features, up to 60 clusters, and by chance: heavy tails, ties, a constant column, an offset of 1e6,
    outliers a billion times too large or in geometric progression, repeated points, weights of ratios up to 1e18, a
    Pitman-Yor discount, a start from labels or from one cluster, a cap on clusters.
    """
    chance = generator.random
    D, K, N = (int(generator.integers(1, top)) for top in (61, 61, most_points + 1))
    centres = generator.normal(0.0, generator.choice([0.3, 1.0, 3.0, 8.0]), (K, D))
    noise = generator.normal(size=(N, D)) if chance() < 0.6 else generator.standard_t(2, size=(N, D))
    X = centres[generator.integers(0, K, N)] + noise
    if chance() < 0.25:
        X = np.round(X)
    if chance() < 0.2:
        X[:, generator.integers(D)] = 3.7
    if chance() < 0.25:
        X = X + 1e6
    if chance() < 0.25:
        X[generator.integers(0, N, 2)] *= 1e9
    elif chance() < 0.2:
        X[: min(N, 7)] *= 30.0 ** np.arange(7, 7 - min(N, 7), -1)[:, None]
    if chance() < 0.2:
        X[N // 2 :] = X[: N - N // 2]
    starts = [generator.integers(0, 5, N), np.arange(N), "single"]
    start = starts[generator.integers(3)] if chance() < 0.3 else "sequential"
    cap = int(generator.integers(1, 8)) if chance() < 0.2 and isinstance(start, str) else None
    process = (float(generator.choice([0.1, 1.0, 5.0])), float(generator.choice([0.0, 0.3])))
    return Case(X, _family_for(X, generator), *process, _weights_for(N, generator), start, cap)


def _family_for(X: Matrix, generator: np.random.Generator) -> Likelihood | None:
    middle, scale = np.median(X, axis=0), 0.1 + generator.random()
    which = generator.choice(["empirical", "gamma", "known"], p=[0.3, 0.45, 0.25])
    if which == "empirical":
        return None
    if which == "gamma":
        c0, a0 = float(generator.choice([1e-3, 0.1, 1.0])), float(generator.choice([1.0, 2.0]))
        return NormalGamma(middle, c0, a0, scale)
    return NormalKnownVariance(middle, generator.choice([1.0, 10.0, 100.0]), scale)


def _weights_for(n: int, generator: np.random.Generator) -> Vector | None:
    which = generator.choice(["none", "mild", "wild"], p=[0.75, 0.15, 0.1])
    if which == "none":
        return None
    exponents = generator.uniform(-0.3, 0.5, n) if which == "mild" else generator.uniform(-0.5, 9.0, n)
    return 10.0**exponents
