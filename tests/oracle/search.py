"""The correct results of the search for a mode, by enumeration on raw data, and DP-means as published."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from mapdpm.testing.exact import partitions
from tests.oracle import raw


def subset_table(X, likelihood):
    """The log marginal of every subset of the points, by bit mask."""
    n = len(X)
    table = np.zeros(2**n)
    for mask in range(1, 2**n):
        points = [i for i in range(n) if mask >> i & 1]
        table[mask] = math.fsum(raw.log_marginal_terms(X[points], likelihood))
    return table


@functools.cache
def _masks(n):
    """For each partition of n points, the bit masks of its clusters (0 where there is none) and their sizes."""
    every = np.array(partitions(n))
    bits = 1 << np.arange(n)
    masks = np.stack([((every == k) * bits).sum(axis=1) for k in range(n)], axis=1)
    return every, masks


def log_prior(labels, alpha, discount):
    return math.fsum(raw.log_partition(labels, alpha, discount))


def all_joints(X, likelihood, alpha, discount=0.0):
    """Every partition of the points, and its log joint."""
    every, masks = _masks(len(X))
    prior = np.array([log_prior(z, alpha, discount) for z in every])
    return every, prior + subset_table(X, likelihood)[masks].sum(axis=1)


def best_dp_means(X, lam):
    """The lowest objective of DP-means over all partitions of the points."""
    n = len(X)
    _, masks = _masks(n)
    cost = np.zeros(2**n)
    for mask in range(1, 2**n):
        x = X[[i for i in range(n) if mask >> i & 1]]
        cost[mask] = ((x - x.mean(axis=0)) ** 2).sum() + lam
    return cost[masks].sum(axis=1).min()


def best_consistent(X, order, likelihood, alpha, discount=0.0, most=None):
    """The highest log joint of a clustering whose clusters are segments of ``order``: all 2^(n-1) of them."""
    n, best = len(X), -math.inf
    for cuts in itertools.product([0, 1], repeat=n - 1):
        labels = np.empty(n, dtype=int)
        labels[order] = np.concatenate([[0], np.cumsum(cuts)])
        if most is None or labels.max() < most:
            best = max(best, raw.log_joint(X, labels, likelihood, alpha, discount))
    return best


def dp_means(X, lam, most=None, weights=None):
    """Kulis and Jordan 2012, Algorithm 1, point by point: labels and objective."""
    w = np.ones(len(X)) if weights is None else weights
    labels, centres = np.full(len(X), -1), [np.average(X, axis=0, weights=w)]
    while True:
        before = labels.copy()
        for i, x in enumerate(X):
            distances = [((x - c) ** 2).sum() for c in centres]
            if w[i] * min(distances) > lam and (most is None or len(centres) < most):
                centres.append(x.copy())
                labels[i] = len(centres) - 1
            else:
                labels[i] = int(np.argmin(distances))
        used = np.unique(labels)
        labels = np.searchsorted(used, labels)
        centres = [np.average(X[labels == k], axis=0, weights=w[labels == k]) for k in range(len(used))]
        if np.array_equal(labels, before):
            return labels, dp_means_objective(X, labels, lam, w)


def dp_means_objective(X, labels, lam, weights=None):
    """sum_i w_i ||x_i - mean||^2 + lam K."""
    w = np.ones(len(X)) if weights is None else weights
    total = lam * len(np.unique(labels))
    for k in np.unique(labels):
        x, v = X[labels == k], w[labels == k]
        total += v @ ((x - np.average(x, axis=0, weights=v)) ** 2).sum(axis=1)
    return total
