"""The states of sequences under an HDP-HMM, by convolution and by sums over raw transitions: slow, and exact."""

from __future__ import annotations

import math

import numpy as np

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


def ways_of(table, alpha, kappa):
    """For each state the coefficients by its number of tables, over all rows."""
    found = []
    for k in range(table.shape[1]):
        coefficients = np.array([1.0])
        for v, row in enumerate(table):
            cell = tables_of_cell(int(row[k]), alpha, kappa if v == k + 1 else 0.0)
            coefficients = np.convolve(coefficients, cell)
        found.append(coefficients)
    return found


def log_rows(table, alpha, kappa):
    """log of the denominators of all rows; that of starts, the first, has no kappa."""
    starts, *rows = table.sum(axis=1)
    return franchise.log_rising(alpha, starts) + sum(franchise.log_rising(alpha + kappa, n) for n in rows)


def log_partition(labels, begins, alpha, gamma, kappa):
    """Exact log p(z) of labels 0..K-1: a convolution over the states of the numbers of tables."""
    table = table_of(labels, begins)
    ways = ways_of(table, alpha, kappa)
    return franchise.log_sum_over_tables(ways, gamma) - log_rows(table, alpha, kappa)
