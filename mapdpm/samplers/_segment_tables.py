"""Clusterings along an order: sums over every way to cut it into segments, and draws (Liang2007 section 3)."""

from __future__ import annotations

from math import exp, inf, lgamma, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.logs import log_sum
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.samplers._blocks import log_joining
from mapdpm.samplers._orders import MARKOV, UNIFORM, Transitions, extend


class TableOptions(NamedTuple):
    """How a table is made."""

    orders: int
    """The distribution of orders within clusters: ``_orders.UNIFORM``, ``MARKOV`` or ``IGNORED``."""
    log_per_cluster: float
    """The log weight of each cluster."""
    epsilon: float
    """The share of each sum that the beam may lose."""
    n_recent: int
    """The number of last starts that the beam keeps whatever they weigh. The first points of a cluster are often less
    likely alone than in the cluster before it, mostly with many features, and their start would be pruned."""


class SegmentTable(NamedTuple):
    """For each end e, the starts s of the segments s..e that are kept: ``starts[first[e]:first[e + 1]]``, ascending.

    ``weights`` are log B of each segment (Liang2007 (4), without the factor that depends on K alone). ``terms`` add
    the log weight of a cluster and the log of the sum over all ways to cut the points before s. ``totals[e + 1]`` is
    the log of the sum of exp(terms) of end e.
    """

    first: Labels
    starts: Labels
    weights: Vector
    terms: Vector
    totals: Vector


class OpenSegments(NamedTuple):
    """The segments that reach the present end.

    ``starts`` are ascending; ``numbers`` has the index of the row of each segment, and after these the indices of free
    rows; ``marginals`` are log p of the points of each row.
    """

    starts: Labels
    numbers: Labels
    rows: Matrix
    marginals: Vector


@jitable
def segment_table(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, order: Labels, options: TableOptions
) -> SegmentTable:
    """The table of Liang2007 (6), g'(r) for r = 0 to n, where each cluster weighs exp(log_per_cluster) B(c).

    At each end, starts are kept that together hold 1 - ``epsilon`` of the sum, and the recent ones. Only these reach
    the next end (section 3.3). With ``epsilon`` 0 all do. O(n starts D) time, and O(n starts) memory.
    """
    n, size = order.shape[0], likelihood.size()
    first, totals = np.zeros(n + 1, dtype=np.int64), np.full(n + 1, -inf)
    totals[0] = 0.0
    starts, weights, terms = np.empty(16 * n, dtype=np.int64), np.empty(16 * n), np.empty(16 * n)
    live = OpenSegments(np.empty(n + 1, dtype=np.int64), np.arange(n + 1), np.empty((n + 1, size)), np.empty(n + 1))
    length = n + 1 if options.orders == MARKOV else 1
    transitions = Transitions(np.empty((length, size)), np.empty(length), np.empty(length))
    logs = np.zeros(n + 1)
    held, filled = 0, 0
    for end in range(n):
        live.starts[held] = end
        live.marginals[live.numbers[held]] = 0.0
        likelihood.init(live.rows[live.numbers[held]])
        held += 1
        lengthen(likelihood, data, order[end], live, held)
        if options.orders == MARKOV:
            logs = extend(likelihood, data, order, live.starts[0], end, transitions)
        if filled + held > starts.shape[0]:
            starts, weights, terms = doubled(starts), doubled(weights), doubled(terms)
        for a in range(held):
            s, m = live.starts[a], end - live.starts[a] + 1.0
            weight = log_joining(prior, m) + live.marginals[live.numbers[a]]
            weight += log_order(options.orders, m, logs[s - live.starts[0]])
            starts[filled + a], weights[filled + a] = s, weight
            terms[filled + a] = totals[s] + options.log_per_cluster + weight
        kept = prune(terms[filled : filled + held], options.epsilon, options.n_recent)
        for array in (weights, terms):
            compress(array[filled : filled + held], kept)
        compress(starts[filled : filled + held], kept)
        held = retain(live, kept)
        totals[end + 1] = log_sum(terms[filled : filled + held])
        filled += held
        first[end + 1] = filled
    return SegmentTable(first, starts[:filled], weights[:filled], terms[:filled], totals)


@jitable
def lengthen(likelihood: LikelihoodVerbs, data: Any, i: int, live: OpenSegments, held: int) -> None:
    """Add point ``i`` to the first ``held`` segments."""
    for a in range(held):
        number = live.numbers[a]
        row = live.rows[number]
        live.marginals[number] += likelihood.log_predictive(row, data, i)
        likelihood.add(row, data, i, 1.0)
        likelihood.prepare(row)


@jitable
def log_order(orders: int, m: float, log_markov: float) -> float:
    """Log probability of the order of ``m`` points in their cluster; ``log_markov`` is that given its first point."""
    if orders == UNIFORM:
        return -lgamma(m + 1.0)
    return log_markov - log(m) if orders == MARKOV else 0.0


@jitable
def retain(live: OpenSegments, kept: Any) -> int:
    """Drop the segments that are not ``kept`` and free their rows; return how many are left."""
    at = 0
    for a in range(kept.shape[0]):
        if kept[a]:
            live.starts[at] = live.starts[a]
            live.numbers[at], live.numbers[a] = live.numbers[a], live.numbers[at]
            at += 1
    return at


@jitable
def compress(array: Any, kept: Any) -> None:
    """Move the entries of ``array`` that are ``kept`` to its front, in order."""
    at = 0
    for a in range(kept.shape[0]):
        if kept[a]:
            array[at] = array[a]
            at += 1


@jitable
def prune(terms: Vector, epsilon: float, n_recent: int) -> Any:
    """Which of ``terms`` to keep: all but the smallest, which together are at most ``epsilon`` of the sum.

    The last ``n_recent`` are kept in any case.
    """
    kept = np.full(terms.shape[0], True)
    if epsilon == 0.0:
        return kept
    total = log_sum(terms)
    ranks = np.argsort(terms)
    lost = 0.0
    for a in range(terms.shape[0] - 1):
        lost += exp(terms[ranks[a]] - total)
        if lost > epsilon:
            break
        kept[ranks[a]] = ranks[a] >= terms.shape[0] - n_recent
    return kept


@jitable
def doubled(array: Any) -> Any:
    """``array`` with twice the room."""
    larger = np.empty(2 * array.shape[0], dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger


@jitable
def draw_cuts(table: SegmentTable, cuts: Labels, rng: RngVerbs) -> int:
    """Draw a clustering from q' of ``table``: fill ``cuts`` with the starts of its clusters, last first; return K."""
    end, K = table.totals.shape[0] - 2, 0
    while end >= 0:
        low, high = table.first[end], table.first[end + 1]
        chosen = rng.categorical(table.terms[low:high].copy())
        cuts[K] = table.starts[low + chosen]
        end = cuts[K] - 1
        K += 1
    return K


@jitable
def contains_clustering(table: SegmentTable, ends: Labels) -> bool:
    """Whether the beam of ``table`` kept the clustering whose clusters end before the positions ``ends``."""
    start = 0
    for end in ends:
        found = False
        for a in range(table.first[end - 1], table.first[end]):
            found = found or table.starts[a] == start
        if not found:
            return False
        start = end
    return True


@jitable
def draw_from_all(table: SegmentTable, log_of_k: Vector, cuts: Labels, rng: RngVerbs) -> int:
    """Draw a clustering from p(C | order, x): K in proportion to exp(``log_of_k[K]``) g(n, K), then its cuts.

    g(r, K) is the sum over clusterings of the first r points with K clusters (Liang2007 3.1). Fills ``cuts`` as
    ``draw_cuts`` does, and returns K. O(n^3) time, O(n^2) memory.
    """
    n = table.totals.shape[0] - 1
    g = np.full((n + 1, n + 1), -inf)
    g[0, 0] = 0.0
    scratch = np.empty(n)
    for r in range(1, n + 1):
        low, high = table.first[r - 1], table.first[r]
        for k in range(1, r + 1):
            for a in range(low, high):
                scratch[a - low] = g[table.starts[a], k - 1] + table.weights[a]
            g[r, k] = log_sum(scratch[: high - low])
    logw = np.empty(n)
    for k in range(n):
        logw[k] = log_of_k[k + 1] + g[n, k + 1]
    K = rng.categorical(logw) + 1
    end = n
    for at in range(K):
        low, high = table.first[end - 1], table.first[end]
        terms = np.empty(high - low)
        for a in range(low, high):
            terms[a - low] = g[table.starts[a], K - at - 1] + table.weights[a]
        cuts[at] = table.starts[low + rng.categorical(terms)]
        end = cuts[at]
    return K


@jitable
def labels_of_cuts(order: Labels, cuts: Labels, K: int) -> Labels:
    """The labels 0 to K - 1 of the points, for clusters whose starts along ``order`` are ``cuts``, last first."""
    labels = np.empty(order.shape[0], dtype=np.int64)
    end = order.shape[0]
    for at in range(K):
        for r in range(cuts[at], end):
            labels[order[r]] = at
        end = cuts[at]
    return labels
