"""Permutations of points in which clusters are contiguous: draws given a partition, and their probabilities.

A permutation given a partition is a uniform order of the clusters, and an order within each: uniform, or a Markov chain
that goes to points that are likely given the last one (Liang2007 sections 3 and 4.1).
"""

from __future__ import annotations

from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, RngVerbs, Vector
from mapdpm.samplers._blocks import shuffle
from mapdpm.samplers._pairs import set_row
from mapdpm.state import ClusterState

UNIFORM, MARKOV, IGNORED = 0, 1, 2
"""The distribution of the order in a cluster. IGNORED leaves its probability out, for a hill climb."""


@jitable
def draw_order(
    likelihood: LikelihoodVerbs, data: Any, state: ClusterState, kind: int, rng: RngVerbs
) -> tuple[Labels, Labels]:
    """Draw a permutation given the partition; return it and the end of each cluster along it.

    An end is the position after the last point. O(N); for Markov orders O(N_k^2 D) more for each cluster.
    """
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    clusters = np.empty(capacity, dtype=np.int64)
    K = 0
    for k in range(capacity):
        if state.counts[k] > 0:
            clusters[K] = k
            K += 1
    shuffle(clusters, K, rng)
    ends, free = np.empty(K, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    total = 0
    for c in range(K):
        free[clusters[c]] = total
        total += state.counts[clusters[c]]
        ends[c] = total
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        order[free[state.labels[i]]] = i
        free[state.labels[i]] += 1
    first = 0
    for c in range(K):
        if kind == MARKOV:
            markov_order(likelihood, data, order[first : ends[c]], state.rows.shape[1], rng)
        else:
            shuffle(order[first:], ends[c] - first, rng)
        first = ends[c]
    return order, ends


@jitable
def markov_order(likelihood: LikelihoodVerbs, data: Any, points: Labels, size: int, rng: RngVerbs) -> None:
    """Put ``points`` into a random order: the first is uniform, each next one in proportion to p(x | the last one)."""
    n = points.shape[0]
    row = np.empty(size)
    chosen = rng.integer(n)
    for at in range(n - 1):
        points[at], points[chosen] = points[chosen], points[at]
        set_row(likelihood, row, data, points[at])
        logw = np.empty(n - at - 1)
        for m in range(at + 1, n):
            logw[m - at - 1] = likelihood.log_predictive(row, data, points[m])
        chosen = at + 1 + rng.categorical(logw)
    points[n - 1], points[chosen] = points[chosen], points[n - 1]


class Transitions(NamedTuple):
    """The transition probabilities of Markov orders at each position t of a permutation.

    ``singles[t]`` is the row of its point alone, ``steps[t]`` is log p(x_{t+1} | x_t), and ``sums[t]`` is the log of
    the sum of p(x_u | x_t) over t < u up to the present end.
    """

    singles: Matrix
    steps: Vector
    sums: Vector


@jitable
def extend(
    likelihood: LikelihoodVerbs, data: Any, order: Labels, first: int, end: int, transitions: Transitions
) -> Vector:
    """Extend segments to ``end``: the log probability of the order of each segment s..end given its first point.

    Entry s - ``first`` of the result is that of start s. O((end - first) D).
    """
    singles, steps, sums = transitions
    for t in range(first, end):
        step = likelihood.log_predictive(singles[t], data, order[end])
        sums[t] = log_add(sums[t], step)
        if t == end - 1:
            steps[t] = step
    set_row(likelihood, singles[end], data, order[end])
    sums[end] = -inf
    logs = np.zeros(end - first + 1)
    for t in range(end - 1, first - 1, -1):
        logs[t - first] = logs[t - first + 1] + steps[t] - sums[t]
    return logs


@jitable
def log_add(a: float, b: float) -> float:
    """The log of exp(a) + exp(b)."""
    top = max(a, b)
    return top if top == -inf else top + log(exp(a - top) + exp(b - top))
