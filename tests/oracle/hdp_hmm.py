"""The states of sequences under an HDP-HMM, by convolution and by sums over raw transitions: slow, and exact."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from tests.oracle import franchise

START = -1


def pairs_of(labels, begins):
    """All (state before, state), with START before the first of a sequence."""
    return [(START if i in set(begins[:-1]) else labels[i - 1], labels[i]) for i in range(len(labels))]


def table_of(labels, begins):
    """Counts (K + 1, K): row 0 of starts, row k + 1 of what comes after state k."""
    K = max(labels) + 1
    table = np.zeros((K + 1, K), dtype=np.int64)
    for before, after in pairs_of(labels, begins):
        table[before + 1, after] += 1
    return table


def tables_of_cell(n, alpha, kappa):
    """Coefficients by the number of tables that the share has opened: of (alpha y + kappa)^(n), rising."""
    total = np.zeros(n + 1)
    for m, p in enumerate(franchise.stirling(n)):
        for j in range(m + 1):
            total[j] += p * math.comb(m, j) * alpha**j * kappa ** (m - j)
    return total


def log_partition_of(table, alpha, gamma, kappa):
    """Exact log p(z): a convolution over the states of the numbers of tables."""
    K = table.shape[1]
    total = np.array([0.0])
    for k in range(K):
        coefficients = np.array([1.0])
        for v in range(K + 1):
            cell = tables_of_cell(int(table[v, k]), alpha, kappa if v == k + 1 else 0.0)
            coefficients = np.convolve(coefficients, cell)
        m = np.arange(len(coefficients))
        with np.errstate(divide="ignore"):
            logs = np.where(m > 0, np.log(coefficients) + gammaln(np.maximum(m, 1)), -np.inf)
        longer = np.full(len(total) + len(logs) - 1, -np.inf)
        for i, value in enumerate(total):
            if value > -np.inf:
                longer[i : i + len(logs)] = np.logaddexp(longer[i : i + len(logs)], value + logs)
        total = longer
    m = np.arange(len(total))
    top = float(logsumexp(total - (gammaln(gamma + m) - gammaln(gamma))))
    sizes = table.sum(axis=1)
    rows = franchise.log_rising(alpha, sizes[0]) + sum(franchise.log_rising(alpha + kappa, n) for n in sizes[1:])
    return top + K * math.log(gamma) - rows


def log_partition(labels, begins, alpha, gamma, kappa):
    """Exact log p(z) of labels 0..K-1."""
    return log_partition_of(table_of(labels, begins), alpha, gamma, kappa)
