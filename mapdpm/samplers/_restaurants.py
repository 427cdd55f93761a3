"""Restaurants of groups (Teh2004 section 4.2): the tables of each node of a tree of groups, and common shares.

Nodes, parents and groups are those of ``data.group_tree``. The node of a leaf has the points of a group as customers,
an inner node has the tables of its children. Clusters are dishes.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from mapdpm.counting_sort import by_slot
from mapdpm.jit import jitable
from mapdpm.protocol import Labels, Matrix, RngVerbs, Vector

LEAST = 1e-300
"""Weights of clusters are at least this: a share may be too small for a float."""


class Restaurants(NamedTuple):
    """The counts and weights of a tree of groups; kernels edit ``guests`` and ``weights``."""

    parents: Labels
    """(nodes,)"""
    points: Labels
    """The points that a sweep visits, in order: group by group, for then the weights of a group are computed once."""
    groups: Labels
    """(N,): the group of each point."""
    guests: Labels
    """(groups, capacity): n_jk, the points of group j in slot k."""
    weights: Matrix
    """(inner nodes, capacity + 1): alpha of the children times the share of each slot in the node, beta; 0 of a free
    slot; last the share of all clusters that nobody has."""
    concentrations: Vector
    """(inner nodes,): alpha of the children of each."""
    root_concentration: float
    """gamma; a field of that name would hide the verb of an rng from numba."""

    def grown(self, capacity: int) -> Restaurants:
        """The same with more slots, which are free."""
        more = capacity - self.guests.shape[1]
        guests = np.hstack([self.guests, np.zeros((len(self.guests), more), dtype=np.int64)])
        weights = np.hstack([self.weights[:, :-1], np.zeros((len(self.weights), more)), self.weights[:, -1:]])
        return self._replace(guests=guests, weights=weights)


@jitable
def close_slot(weights: Matrix, k: int) -> None:
    """Give the shares of an emptied slot back to those that nobody has."""
    for u in range(weights.shape[0]):
        weights[u, -1] += weights[u, k]
        weights[u, k] = 0.0


@jitable
def open_slot(restaurants: Restaurants, j: int, k: int, rng: RngVerbs) -> None:
    """Draw the shares of a new cluster in slot ``k``, opened by a point of group ``j``.

    It is a size-biased pick from the rest of the root: its part of that rest is Beta(1, gamma). Each inner node below
    splits its own rest by a Beta with the weights of the cluster and of the rest in its parent; on the path to the
    point the cluster was seen once, so its weight is one more (maths (72)).
    """
    parents, weights = restaurants.parents, restaurants.weights
    n_inner = weights.shape[0]
    seen_once = np.zeros(n_inner)
    u = parents[n_inner + j]
    while u >= 0:
        seen_once[u] = 1.0
        u = parents[u]
    for u in range(n_inner):
        if u == 0:
            seen, rest = 1.0, restaurants.root_concentration
        else:
            seen, rest = weights[parents[u], k] + seen_once[u], weights[parents[u], -1]
        part, others = parts(rng.log_odds(seen, rest))  # one part of the rest after the other: decision 107
        weights[u, k] = max(weights[u, -1] * exp(part), LEAST)
        weights[u, -1] = max(weights[u, -1] * exp(others), LEAST)


@jitable
def parts(log_odds: float) -> tuple[float, float]:
    """log x and log (1 - x) of an x between 0 and 1, given log x / (1 - x)."""
    if log_odds > 0.0:
        small = -log_odds - log1p(exp(-log_odds))
        return -log1p(exp(-log_odds)), small
    return log_odds - log1p(exp(log_odds)), -log1p(exp(log_odds))


def draw_shares(restaurants: Restaurants, tables: Labels, used: Labels, rng: RngVerbs) -> None:
    """Draw the shares of all inner nodes given tables, parents first: Dir(m, gamma) at the root (Teh2004 section 5.2).

    Those of a node below are Dir(weights in the parent + tables of its children). ``tables`` is (nodes - 1, capacity),
    of all nodes but the root; ``used`` are the points of each slot. O(inner nodes x K).
    """
    parents, weights = restaurants.parents, restaurants.weights
    n_inner, capacity = weights.shape[0], tables.shape[1]
    guests = np.zeros((n_inner, capacity))
    for v in range(1, parents.shape[0]):
        for k in range(capacity):
            guests[parents[v], k] += tables[v - 1, k]
    shapes = np.empty(capacity + 1)
    for u in range(n_inner):
        later = 0.0  # the shapes of all clusters that have not got their share yet
        for k in range(capacity + 1):
            if k == capacity:
                shapes[k] = restaurants.root_concentration if u == 0 else weights[parents[u], -1]
            else:
                shapes[k] = guests[u, k] + (0.0 if u == 0 else weights[parents[u], k])
            later += shapes[k]
        log_rest = log(restaurants.concentrations[u])
        for k in range(capacity):
            weights[u, k] = 0.0
            if used[k] > 0:
                later = max(later - shapes[k], shapes[capacity])
                part, others = parts(rng.log_odds(shapes[k], later))
                weights[u, k] = max(exp(log_rest + part), LEAST)
                log_rest += others
        weights[u, -1] = max(exp(log_rest), LEAST)


def draw_tables(restaurants: Restaurants, tables: Labels, rng: RngVerbs) -> None:
    """Draw the number of tables of each dish in each node, children first, given the shares (Teh2004 (40), (46)).

    Fills ``tables``. O(N) for each level.
    """
    parents, guests, weights = restaurants.parents, restaurants.guests, restaurants.weights
    n_inner, capacity = weights.shape[0], tables.shape[1]
    for v in range(parents.shape[0] - 1, n_inner - 1, -1):
        for k in range(capacity):
            tables[v - 1, k] = tables_of(guests[v - n_inner, k], weights[parents[v], k], rng)
    draw_inner_tables(restaurants, tables, rng)


@jitable
def draw_inner_tables(restaurants: Restaurants, tables: Labels, rng: RngVerbs) -> None:
    """Draw the number of tables of each dish in the inner nodes below the root, given those of the leaves."""
    parents, weights = restaurants.parents, restaurants.weights
    n_inner, capacity = weights.shape[0], tables.shape[1]
    guests = np.zeros((n_inner, capacity), dtype=np.int64)
    for v in range(parents.shape[0] - 1, 0, -1):
        for k in range(capacity):
            if v < n_inner:
                tables[v - 1, k] = tables_of(guests[v, k], weights[parents[v], k], rng)
            guests[parents[v], k] += tables[v - 1, k]


@jitable
def tables_of(n: int, a: float, rng: RngVerbs) -> int:
    """The number of tables of ``n`` guests of a dish of weight ``a``, who sit down one after the other.

    Guest i + 1 opens a table with probability a / (a + i).
    """
    m = min(n, 1)
    for i in range(1, n):
        m += int(rng.chance(a / (a + i)))
    return m


def seat(weights: Vector, cells: Labels, seats: Labels, rng: RngVerbs) -> None:
    """Seat the guests of each cell at its tables one after the other (Teh2004 (44), (45)): Polya's urn.

    ``cells`` (n,) has the cell of each guest, a dish in a node, and ``weights`` the weight of each cell. With
    probability a / (a + i) the guest that comes after i others opens a table, else it joins one of them, drawn
    uniformly. Fills ``seats`` with the table of each guest, numbered in order. O(n).
    """
    members, begins = by_slot(cells, weights.shape[0])
    n_tables = 0
    for c in range(weights.shape[0]):
        for i in range(begins[c + 1] - begins[c]):
            guest = members[begins[c] + i]
            if i == 0 or rng.chance(weights[c] / (weights[c] + i)):
                seats[guest] = n_tables
                n_tables += 1
            else:
                seats[guest] = seats[members[begins[c] + rng.integer(i)]]
