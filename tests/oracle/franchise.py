"""The partition prior of the hierarchical Dirichlet process, by enumeration and by convolution: slow, and exact."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.signal import convolve
from scipy.special import gammaln, logsumexp

from tests.oracle import raw


def stirling(n):
    """Unsigned Stirling numbers of the first kind s(n, m) for m = 0..n."""
    row = np.array([1.0])
    for i in range(n):
        row = np.append(0.0, row) + i * np.append(row, 0.0)
    return row


def log_rising(a, n):
    return math.fsum(math.log(a + i) for i in range(int(n)))


def table_of(labels, groups):
    """Counts (groups, clusters) of labels 0..K-1."""
    table = np.zeros((max(groups) + 1, max(labels) + 1), dtype=np.int64)
    np.add.at(table, (np.asarray(groups), np.asarray(labels)), 1)
    return table


def log_partition(table, alpha, gamma):
    """Exact log p(z): a convolution over the clusters of the numbers of tables (Teh2004, tables summed out)."""
    ways = []
    for column in table.T:
        coefficients = np.array([1.0])
        for n in column[column > 0]:
            coefficients = np.convolve(coefficients, stirling(int(n)) * alpha ** np.arange(int(n) + 1))
        ways.append(coefficients)
    groups = sum(log_rising(alpha, n) for n in table.sum(axis=1))
    return log_sum_over_tables(ways, gamma) - groups


def log_sum_over_tables(ways, gamma):
    """log of the sum over all m of p(dishes of m tables) prod_k ways[k][m_k], in a franchise with gamma."""
    total = np.array([0.0])  # log coefficients by the number of all tables
    for coefficients in ways:
        m = np.arange(len(coefficients))
        with np.errstate(divide="ignore"):
            logs = np.where(m > 0, np.log(coefficients) + gammaln(np.maximum(m, 1)), -np.inf)
        longer = np.full(len(total) + len(logs) - 1, -np.inf)
        for i, value in enumerate(total):
            if value > -np.inf:
                longer[i : i + len(logs)] = np.logaddexp(longer[i : i + len(logs)], value + logs)
        total = longer
    tables = np.arange(len(total))
    top = gammaln(gamma + tables) - gammaln(gamma)
    return float(logsumexp(total - top)) + len(ways) * math.log(gamma)


def partitions(n):
    """All labellings of n points, in order of first appearance."""
    found = [()]
    for _ in range(n):
        found = [(*z, k) for z in found for k in range(max(z, default=-1) + 2)]
    return found


def by_franchises(groups, alpha, gamma):
    """p(z) of every partition, by the seating of every customer at every table (Teh2004 (24), (25)): no formula."""
    members = [[i for i, g in enumerate(groups) if g == j] for j in range(max(groups) + 1)]
    found = {}
    for seatings in itertools.product(*(partitions(len(group)) for group in members)):
        p = 1.0
        for seats in seatings:
            for i, seat in enumerate(seats):
                before = seats[:i]
                p *= (before.count(seat) or alpha) / (i + alpha)
        sizes = [max(seats) + 1 for seats in seatings]
        for dishes in partitions(sum(sizes)):
            q = p
            for i, dish in enumerate(dishes):
                q *= (dishes[:i].count(dish) or gamma) / (i + gamma)
            labels, first = [0] * len(groups), 0
            for group, seats, size in zip(members, seatings, sizes, strict=True):
                for i, seat in zip(group, seats, strict=True):
                    labels[i] = dishes[first + seat]
                first += size
            names = {}
            z = tuple(names.setdefault(k, len(names)) for k in labels)
            found[z] = found.get(z, 0.0) + q
    return found


def log_franchise(tables, dishes, groups, alpha, gamma):
    """log p of the tables of points and the dishes of tables (Teh2004 (24), (25)): each group, then all tables."""
    total = 0.0
    for j in set(groups):
        seats = [t for t, g in zip(tables, groups, strict=True) if g == j]
        total += log_partition_of([seats.count(t) for t in set(seats)], alpha)
    return total + log_partition_of([dishes.count(k) for k in set(dishes)], gamma)


def log_partition_of(sizes, alpha):
    """log p of a partition under a Dirichlet process."""
    return len(sizes) * math.log(alpha) + sum(gammaln(n) for n in sizes) - log_rising(alpha, sum(sizes))


def with_tables(labels, parents, leaves, alphas, gamma):
    """All numbers of tables m (nodes but the root, K) that labels can have in a tree, each with log p(labels, m).

    ``parents`` and ``leaves`` (the node of each point) number nodes so that parents come first; ``alphas`` has one a
    node. p is a product over nodes of 1 / alpha^(n) prod_k s(n_k, m_k) alpha^m_k, times that of the root.
    """
    K = max(labels) + 1
    points = np.zeros((len(parents), K), dtype=np.int64)
    np.add.at(points, (np.asarray(leaves), np.asarray(labels)), 1)
    found = []

    def below(v, guests, rows, total):
        if v == 0:
            n = guests[0].sum()
            total += K * math.log(gamma) + gammaln(guests[0]).sum() - log_rising(gamma, n)
            found.append((tuple(np.concatenate(rows[::-1]).tolist()), float(total)))
            return
        cells = guests[v]
        here = total - log_rising(alphas[v], cells.sum())
        for m in itertools.product(*(range(min(n, 1), n + 1) for n in cells.tolist())):
            gain = sum(math.log(stirling(n)[t]) + t * math.log(alphas[v]) for n, t in zip(cells, m, strict=True) if n)
            more = guests.copy()
            more[parents[v]] += m
            below(v - 1, more, [*rows, np.array(m)], here + gain)

    below(len(parents) - 1, points, [], 0.0)
    return found


def log_partition_of_sections(tables, alphas, gamma):
    """Exact log p(z) of groups in sections, with all tables summed out; ``tables`` has one (groups, K) a section.

    A convolution over the clusters of the numbers of tables of each section, and of those of the root; ``alphas`` are
    those of sections and of groups.
    """
    of_sections, of_groups = alphas
    total = None  # by the tables that the groups of each section have, and last those that all sections have
    for k in range(tables[0].shape[1]):
        here = np.ones([1] * (len(tables) + 1))
        for s, table in enumerate(tables):
            seated = np.array([1.0])
            for n in table[:, k]:
                seated = np.convolve(seated, stirling(int(n)) * of_groups ** np.arange(int(n) + 1))
            shape = list(here.shape)
            shape[s], shape[-1] = len(seated), here.shape[-1] + len(seated) - 1
            grown = np.zeros(shape)
            for m, p in enumerate(seated):
                for r, q in enumerate(stirling(m) * of_sections ** np.arange(m + 1)):
                    place = [slice(None)] * len(shape)
                    place[s], place[-1] = slice(m, m + 1), slice(r, r + here.shape[-1])
                    grown[tuple(place)] += p * q * here
            here = grown
        r = np.arange(here.shape[-1])
        here = here * np.where(r > 0, np.exp(gammaln(np.maximum(r, 1))), 0.0)
        total = here if total is None else convolve(total, here, method="direct")
    with np.errstate(divide="ignore"):
        logs = np.log(total)
    for s, size in enumerate(total.shape):
        concentration = of_sections if s < len(tables) else gamma
        m = np.arange(size).reshape([-1 if axis == s else 1 for axis in range(total.ndim)])
        logs = logs - (gammaln(concentration + m) - gammaln(concentration))
    groups = sum(log_rising(of_groups, n) for table in tables for n in table.sum(axis=1))
    return float(logsumexp(logs)) + tables[0].shape[1] * math.log(gamma) - groups


def in_order(names):
    """``names`` as 0, 1, ... in order of first appearance."""
    known = list(dict.fromkeys(names))
    return [known.index(name) for name in names]


def log_joint(X, labels, groups, likelihood, alpha, gamma):
    """Exact log p(z) + log p(x | z), by enumeration of the tables and from the raw points."""
    z, g = in_order(labels), in_order(groups)
    terms = [log_marginal(X[np.array(z) == k], likelihood) for k in range(max(z) + 1)]
    return log_partition(table_of(z, g), alpha, gamma) + math.fsum(terms)


def log_marginal(x, likelihood):
    """log p of the points of one cluster."""
    return math.fsum(raw.log_marginal_terms(x, likelihood))


def log_densities(X, groups, model, fitted_X, fitted_groups):
    """log of sum_k w_jk p(x | points of cluster k) + w_ju p(x) for each point, from labels, shares and raw points."""
    names = list(dict.fromkeys(fitted_groups))
    found = []
    for x, group in zip(X, groups, strict=True):
        inside = [model.labels_[i] for i, g in enumerate(fitted_groups) if g == group]
        total = len(inside) + model.alpha_ if group in names else 1.0
        terms = []
        for k, share in enumerate(model.shares_):
            n = inside.count(k)
            weight = (n + model.alpha_ * share) / total if group in names else share
            past = fitted_X[model.labels_ == k]
            joined = log_marginal(np.vstack([past, x]), model.likelihood_)
            terms.append(math.log(weight) + joined - (log_marginal(past, model.likelihood_) if len(past) else 0.0))
        found.append(logsumexp(terms))
    return np.array(found)
