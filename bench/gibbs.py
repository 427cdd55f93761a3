"""The generic collapsed Gibbs sweep under numba against a hand-written one for one family: ns a point, and the ratio.

Run: python bench/gibbs.py [--points 10000] [--rounds 15]. Normal-Gamma, Dirichlet process, D = 10, K = 20 separated
clusters, converged labels. Both start from the same state and the same seed and must draw the same labels; each round
times both, in turn; the ratio is the median of the ratios of rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from math import exp, log

import numpy as np
from numba import njit

from mapdpm import NormalGamma
from mapdpm import state as states
from mapdpm.backends.generic import gibbs_sweep
from mapdpm.backends.python import NUMBA
from mapdpm.jit import compiled
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.rng import seeded
from mapdpm.special import log_rising

LOG_PI = log(np.pi)
rising = njit(error_model="numpy")(log_rising)


@njit(error_model="numpy")
def prepare(row, m0, c0, a0, b0):  # noqa: ANN001, ANN201
    """Constants of a row: n, mean, M2 | constant, exponent, centre, inverse scale."""
    D = m0.shape[0]
    n = row[0]
    c, a = c0 + n, a0 + 0.5 * n
    stretch = 2.0 * (c + 1.0) / c
    product, logs = 1.0, 0.0
    for d in range(D):
        delta = row[1 + d] - m0[d]
        b = b0[d] + 0.5 * (row[1 + D + d] + c0 * n * delta * delta / c)
        row[3 + 2 * D + d] = m0[d] + n * delta / c
        row[3 + 3 * D + d] = 1.0 / (stretch * b)
        product *= b
        if product > 1e100 or product < 1e-100:
            logs += log(product)
            product = 1.0
    row[1 + 2 * D] = D * (rising(a, 0.5) - 0.5 * (LOG_PI + log(stretch))) - 0.5 * (logs + log(product))
    row[2 + 2 * D] = a + 0.5


@njit(error_model="numpy")
def by_hand(X, m0, c0, a0, b0, alpha, labels, counts, rows, scores, generator):  # noqa: ANN001, ANN201, C901, PLR0913, PLR0917
    """Neal's Algorithm 3 for Normal-Gamma data, all in one function."""
    N, D = X.shape
    K = counts.shape[0]
    for i in range(N):
        k = labels[i]
        row = rows[k]
        counts[k] -= 1
        if counts[k] == 0:
            row[:] = 0.0
        else:
            row[0] -= 1.0
            share = 1.0 / row[0]
            for d in range(D):
                delta = X[i, d] - row[1 + d]
                row[1 + d] -= delta * share
                row[1 + D + d] = max(0.0, row[1 + D + d] - delta * (X[i, d] - row[1 + d]))
        prepare(row, m0, c0, a0, b0)
        free, top = -1, -np.inf
        for k in range(K):
            if counts[k] == 0 and free >= 0:
                scores[k] = -np.inf
                continue
            row = rows[k]
            product, logs = 1.0, 0.0
            for d in range(D):
                t = X[i, d] - row[3 + 2 * D + d]
                product *= 1.0 + t * t * row[3 + 3 * D + d]
                if product > 1e100:
                    logs += log(product)
                    product = 1.0
            size = float(counts[k])
            if counts[k] == 0:
                free, size = k, alpha
            scores[k] = log(size) + row[1 + 2 * D] - row[2 + 2 * D] * (logs + log(product))
            top = max(top, scores[k])
        total = 0.0
        for k in range(K):
            scores[k] = exp(scores[k] - top)
            total += scores[k]
        u = generator.random() * total
        k = 0
        while k < K - 1 and (scores[k] <= 0.0 or u >= scores[k]):
            u -= scores[k]
            k += 1
        labels[i] = k
        counts[k] += 1
        row = rows[k]
        row[0] += 1.0
        share = 1.0 / row[0]
        for d in range(D):
            delta = X[i, d] - row[1 + d]
            row[1 + d] += delta * share
            row[1 + D + d] += delta * (X[i, d] - row[1 + d])
        prepare(row, m0, c0, a0, b0)


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    D, K, N = 10, 20, arguments.points
    rng = np.random.default_rng(0)
    truth = rng.integers(0, K, N)
    X = rng.normal(0.0, 3.0, (K, D))[truth] + rng.normal(size=(N, D))
    likelihood, prior = NormalGamma(np.zeros(D), 0.1, 1.0, np.ones(D)), partition_prior(1.0)
    state = states.empty(likelihood, N, K + 4)
    state.labels[:] = truth
    NUMBA.statistics(Model(likelihood, None, X), state)
    generic = compiled(gibbs_sweep)
    labels, counts = state.labels.copy(), state.counts.copy()
    rows = np.zeros((K + 4, 3 + 4 * D))
    rows[:, : 1 + 2 * D] = state.rows[:, : 1 + 2 * D]
    parameters = (likelihood.m0, likelihood.c0, likelihood.a0, likelihood.b0, prior.alpha)
    for row in rows:
        prepare(row, *parameters[:4])
    one, two = seeded(1), seeded(1)
    scores = np.empty(K + 4)
    ratios, times = [], []
    for round_ in range(arguments.rounds + 1):
        start = time.perf_counter()
        generic(Model(likelihood, prior, X), state, 0, True, one)
        middle = time.perf_counter()
        by_hand(X, *parameters, labels, counts, rows, scores, two.generator)
        end = time.perf_counter()
        assert np.array_equal(labels, state.labels)
        if round_:  # the first compiles
            ratios.append((middle - start) / (end - middle))
            times.append(((middle - start) / N * 1e9, (end - middle) / N * 1e9))
    ours, theirs = (statistics.median(t) for t in zip(*times, strict=True))
    ratio = statistics.median(ratios)
    print(
        json.dumps({"D": D, "K": K, "generic_ns": round(ours), "by_hand_ns": round(theirs), "ratio": round(ratio, 3)})
    )


if __name__ == "__main__":
    main()
