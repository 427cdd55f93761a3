"""The states of sequences under an HDP-HMM, by convolution and by sums over raw transitions: slow, and exact."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from scipy.special import logsumexp

from tests.oracle import franchise

START = -1


def pairs_of(labels, begins):
    """All (state before, state), with START before the first of a sequence."""
    return [(START if i in set(begins[:-1]) else labels[i - 1], labels[i]) for i in range(len(labels))]


def table_of(labels, begins, K=None):
    """Counts (K + 1, K): row k of what comes after state k, and the last row of starts."""
    K = max(labels) + 1 if K is None else K
    table = np.zeros((K + 1, K), dtype=np.int64)
    for before, after in pairs_of(labels, begins):
        table[before, after] += 1  # START is the last row
    return table


@functools.cache
def tables_of_cell(n, alpha, kappa):
    """Coefficients by the number of tables that the share has opened: of (alpha y + kappa)^(n), rising."""
    total = np.zeros(n + 1)
    for m, p in enumerate(franchise.stirling(n)):
        for j in range(m + 1):
            total[j] += p * math.comb(m, j) * alpha**j * kappa ** (m - j)
    return total


def ways_of(table, alpha, kappa):
    """For each state the coefficients by its number of tables, over all rows."""
    found = []
    for k in range(table.shape[1]):
        coefficients = np.array([1.0])
        for v, row in enumerate(table):
            cell = tables_of_cell(int(row[k]), alpha, kappa if v == k else 0.0)
            coefficients = np.convolve(coefficients, cell)
        found.append(coefficients)
    return found


def log_rows(table, alpha, kappa):
    """log of the denominators of all rows; that of starts, the last, has no kappa."""
    *rows, starts = table.sum(axis=1)
    return franchise.log_rising(alpha, starts) + sum(franchise.log_rising(alpha + kappa, n) for n in rows)


def log_partition(labels, begins, alpha, gamma, kappa):
    """Exact log p(z) of labels 0..K-1: a convolution over the states of the numbers of tables."""
    table = table_of(labels, begins)
    ways = ways_of(table, alpha, kappa)
    return franchise.log_sum_over_tables(ways, gamma) - log_rows(table, alpha, kappa)


# ---- machines of their own -------------------------------------------------------------------------------------------


def tables_of_machine(table, alphas, kappa):
    """All (m, t, log weight) of a machine: the tables of its node at the root, and of its rows there, by state."""
    denominators = log_rows(table, alphas[1], kappa)
    found = []
    for t in itertools.product(*(range(len(c)) for c in ways_of(table, alphas[1], kappa))):
        ways = math.prod(c[n] for c, n in zip(ways_of(table, alphas[1], kappa), t, strict=True))
        for m in itertools.product(*(range(n + 1) for n in t)):
            own = ways * math.prod(franchise.stirling(n)[k] * alphas[0] ** k for n, k in zip(t, m, strict=True))
            if own > 0.0:
                found.append((m, t, math.log(own) - franchise.log_rising(alphas[0], sum(t)) - denominators))
    return found


def with_tables(labels, begins, alphas, gamma, kappa):
    """All (tables, log p(labels, tables)) of sequences with machines of their own: those of nodes, then of rows."""
    K = max(labels) + 1
    machines = [
        tables_of_machine(table_of(labels[a:b], [0, b - a], K), alphas, kappa) for a, b in itertools.pairwise(begins)
    ]
    for chosen in itertools.product(*machines):
        guests = np.sum([m for m, _, _ in chosen], axis=0)
        root = K * math.log(gamma) + sum(math.lgamma(n) for n in guests) - franchise.log_rising(gamma, sum(guests))
        yield (*(m for m, _, _ in chosen), *(t for _, t, _ in chosen)), root + sum(value for _, _, value in chosen)


# ---- a fitted model, on new points -----------------------------------------------------------------------------------


def hidden_markov_model(labels, begins, shares, alpha, kappa):
    """Starts (K + 1,) and steps (K + 1, K + 1): posterior means given labels and shares; the last state is new."""
    states, pairs = range(len(shares)), pairs_of(labels, begins)

    def row(v):
        after = [b for a, b in pairs if a == v]
        sticks = kappa if v != START else 0.0
        own = [after.count(k) + alpha * shares[k] + (sticks if v == k else 0.0) for k in states]
        return [each / (len(after) + alpha + sticks) for each in own]

    return np.array(row(START)), np.array([row(v) for v in states])


def log_predictives(X, past, labels, likelihood):
    """(n, K + 1): log p(x | points of state k), from raw points; last that of a new state."""
    found = []
    for k in range(max(labels) + 2):
        own = past[np.asarray(labels) == k]
        before = franchise.log_marginal(own, likelihood) if len(own) else 0.0
        found.append([franchise.log_marginal(np.vstack([own, x]), likelihood) - before for x in X])
    return np.array(found).T


def paths_of(start, steps, scores):
    """All paths of a sequence (paths, n), and log p(path, points) of each."""
    every = np.array(list(itertools.product(range(len(start)), repeat=len(scores))))
    joints = []
    for path in every.tolist():
        terms = [math.log(start[path[0]])] + [math.log(steps[a, b]) for a, b in itertools.pairwise(path)]
        joints.append(math.fsum(terms) + math.fsum(scores[t, k] for t, k in enumerate(path)))
    return every, np.array(joints)


def best_path(start, steps, scores):
    """The path of the highest log joint."""
    every, joints = paths_of(start, steps, scores)
    return every[joints.argmax()]


def log_density(start, steps, scores):
    """Log p(points), over all paths."""
    return logsumexp(paths_of(start, steps, scores)[1])


def smoothed(start, steps, scores):
    """(n, K + 1): p(state at each time | all points), over all paths."""
    every, joints = paths_of(start, steps, scores)
    weights = np.exp(joints - logsumexp(joints))
    return np.array([np.bincount(column, weights, len(start)) for column in every.T])


def filtered(start, steps, scores):
    """(n, K + 1): p(state at each time | points up to then), over all paths up to then."""
    return np.array([smoothed(start, steps, scores[: t + 1])[-1] for t in range(len(scores))])
