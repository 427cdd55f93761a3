"""Clusterings along an order: every way to cut it into segments, summed over, and drawn (Liang2007 section 3)."""

from __future__ import annotations

from math import exp, inf, lgamma, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.samplers._blocks import log_joining
from mapdpm.samplers._orders import MARKOV, UNIFORM, Transitions, extend


class Way(NamedTuple):
    """How a table is made: ``orders`` of points within clusters (``_orders``), log weight of a cluster, and beam.

    A beam keeps the last ``young`` starts whatever they weigh: the first points of a cluster are often less likely by
    themselves than in the cluster before it, the more so the more features there are, and are then soon forgotten.
    """

    orders: int
    per_cluster: float
    epsilon: float
    young: int


class Segments(NamedTuple):
    """For each end e, the starts that are kept of segments s..e, in ``starts[first[e]:first[e + 1]]``, rising.

    ``weights`` are log B of each segment (Liang2007 (4): without what depends on K alone), ``terms`` log B' and the log
    of the sum over all ways to cut what comes before; ``totals[e + 1]`` is the log of the sum of the terms of e.
    """

    first: Labels
    starts: Labels
    weights: Vector
    terms: Vector
    totals: Vector


class Live(NamedTuple):
    """Segments that reach the present end: their ``starts``, rising, and for each a row, of which it has the number.

    ``numbers`` behind those in use are of rows that are free; ``marginals`` are log p of the points of each row.
    """

    starts: Labels
    numbers: Labels
    rows: Matrix
    marginals: Vector


@jitable
def segments(likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, order: Labels, way: Way) -> Segments:
    """The table of Liang2007 (6), g'(r) for r = 0 to n, where each cluster weighs exp(way.per_cluster) B(c).

    Of the starts of an end those are kept that together hold 1 - ``way.epsilon`` of its sum, and only these, and the
    young ones, reach the next end (section 3.3); with 0 all are. O(n starts D) time, and O(n starts) memory.
    """
    n, size = order.shape[0], likelihood.size()
    first, totals = np.zeros(n + 1, dtype=np.int64), np.full(n + 1, -inf)
    totals[0] = 0.0
    starts, weights, terms = np.empty(16 * n, dtype=np.int64), np.empty(16 * n), np.empty(16 * n)
    live = Live(np.empty(n + 1, dtype=np.int64), np.arange(n + 1), np.empty((n + 1, size)), np.empty(n + 1))
    length = n + 1 if way.orders == MARKOV else 1
    transitions = Transitions(np.empty((length, size)), np.empty(length), np.empty(length))
    logs = np.zeros(n + 1)
    held, filled = 0, 0
    for end in range(n):
        live.starts[held] = end
        live.marginals[live.numbers[held]] = 0.0
        likelihood.init(live.rows[live.numbers[held]])
        held += 1
        lengthen(likelihood, data, order[end], live, held)
        if way.orders == MARKOV:
            logs = extend(likelihood, data, order, live.starts[0], end, transitions)
        if filled + held > starts.shape[0]:
            starts, weights, terms = grown(starts), grown(weights), grown(terms)
        for a in range(held):
            s, m = live.starts[a], end - live.starts[a] + 1.0
            weight = log_joining(prior, m) + live.marginals[live.numbers[a]]
            weight += log_order(way.orders, m, logs[s - live.starts[0]])
            starts[filled + a], weights[filled + a] = s, weight
            terms[filled + a] = totals[s] + way.per_cluster + weight
        kept = prune(terms[filled : filled + held], way.epsilon, way.young)
        for array in (weights, terms):
            squeeze(array[filled : filled + held], kept)
        squeeze(starts[filled : filled + held], kept)
        held = keep(live, kept)
        totals[end + 1] = log_sum(terms[filled : filled + held])
        filled += held
        first[end + 1] = filled
    return Segments(first, starts[:filled], weights[:filled], terms[:filled], totals)


@jitable
def lengthen(likelihood: LikelihoodVerbs, data: Any, i: int, live: Live, held: int) -> None:
    """Let the first ``held`` segments take in point ``i``."""
    for a in range(held):
        number = live.numbers[a]
        row = live.rows[number]
        live.marginals[number] += likelihood.log_predictive(row, data, i)
        likelihood.add(row, data, i, 1.0)
        likelihood.prepare(row)


@jitable
def log_order(orders: int, m: float, wandering: float) -> float:
    """Log probability of the order of ``m`` points within their cluster."""
    if orders == UNIFORM:
        return -lgamma(m + 1.0)
    return wandering - log(m) if orders == MARKOV else 0.0


@jitable
def keep(live: Live, kept: Any) -> int:
    """Let go of the other segments, and their rows; how many are left."""
    at = 0
    for a in range(kept.shape[0]):
        if kept[a]:
            live.starts[at] = live.starts[a]
            live.numbers[at], live.numbers[a] = live.numbers[a], live.numbers[at]
            at += 1
    return at


@jitable
def squeeze(array: Any, kept: Any) -> None:
    """Move the entries that are kept to the front, in order."""
    at = 0
    for a in range(kept.shape[0]):
        if kept[a]:
            array[at] = array[a]
            at += 1


@jitable
def prune(terms: Vector, epsilon: float, young: int) -> Any:
    """Which of ``terms`` to keep: without the smallest that together are ``epsilon`` of the sum at most.

    The last ``young`` stay.
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
        kept[ranks[a]] = ranks[a] >= terms.shape[0] - young
    return kept


@jitable
def log_sum(terms: Vector) -> float:
    """Log of the sum of exp(terms)."""
    top = terms.max()
    if top == -inf:
        return -inf
    total = 0.0
    for a in range(terms.shape[0]):
        total += exp(terms[a] - top)
    return top + log(total)


@jitable
def grown(array: Any) -> Any:
    """Twice as long."""
    larger = np.empty(2 * array.shape[0], dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger


@jitable
def draw_cuts(table: Segments, cuts: Labels, rng: RngVerbs) -> int:
    """Draw a clustering from q' of ``table``; fill ``cuts`` with the starts of its clusters, last first; how many."""
    end, K = table.totals.shape[0] - 2, 0
    while end >= 0:
        low, high = table.first[end], table.first[end + 1]
        chosen = rng.categorical(table.terms[low:high].copy())
        cuts[K] = table.starts[low + chosen]
        end = cuts[K] - 1
        K += 1
    return K


@jitable
def holds(table: Segments, ends: Labels) -> bool:
    """Whether the beam of ``table`` kept the clustering whose clusters end before positions ``ends``."""
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
def draw_from_all(table: Segments, log_of_k: Vector, cuts: Labels, rng: RngVerbs) -> int:
    """Draw a clustering from p(C | order, x) itself: K by ``log_of_k[K]`` g(n, K), then its cuts (Liang2007 3.1).

    g(r, K) sums over clusterings of the first r points with K clusters. O(n^3) time, O(n^2) memory.
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
def labelled(order: Labels, cuts: Labels, K: int) -> Labels:
    """The clusters of points, 0 to K - 1, whose starts along ``order`` are ``cuts``, last first."""
    labels = np.empty(order.shape[0], dtype=np.int64)
    end = order.shape[0]
    for at in range(K):
        for r in range(cuts[at], end):
            labels[order[r]] = at
        end = cuts[at]
    return labels
