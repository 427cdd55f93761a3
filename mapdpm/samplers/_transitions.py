"""Kernels of samplers of states: transitions of sequences, given the common shares of states (Teh2004 section 7)."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from mapdpm.backends.states import Rows, around, count_step, weight_of_new, weight_of_step
from mapdpm.jit import jitable
from mapdpm.objective import likelihood_scores
from mapdpm.protocol import Labels, Model, RngVerbs
from mapdpm.samplers._restaurants import Restaurants, close_slot, draw_inner_tables, open_slot, parts
from mapdpm.special import log_rising
from mapdpm.state import ClusterState, assign, count_used, unassign


class Machines(NamedTuple):
    """The transitions of sequences, which share one machine, or have one each; kernels edit counts, sizes and weights.

    Machine j is a group of ``restaurants``: the shares of its states are those of the node above.
    """

    previous: Labels
    """(N,): the point before, or -1."""
    following: Labels
    """(N,): the point after, or -1."""
    counts: Labels
    """(machines, capacity + 1, capacity): the transitions of each, as in ``Rows``."""
    sizes: Labels
    """(machines, capacity + 1)"""
    kappa: float
    restaurants: Restaurants
    """The weights of states in each node; ``groups`` has the machine of each point, ``guests`` is not used."""


@jitable
def rows_of(machines: Machines, j: int) -> Rows:
    """The transitions of machine ``j``, to be edited in place."""
    tree = machines.restaurants
    up = tree.parents[tree.weights.shape[0] + j]
    counts, sizes, weights = machines.counts[j], machines.sizes[j], tree.weights[up]
    alpha, gamma = tree.concentrations[up], tree.root_concentration
    return Rows(machines.previous, machines.following, counts, sizes, weights, alpha, machines.kappa, gamma)


def state_sweep(model: Model, state: ClusterState, machines: Machines, first: int, rng: RngVerbs) -> tuple[int, int]:
    """Redraw the states of the points ``first``, ..., each given all others and the shares; O(N K D).

    Returns the first point not visited, because no slot was free, and how many points changed state.
    """
    n, capacity, tree = state.labels.shape[0], state.counts.shape[0], machines.restaurants
    scores = np.empty(capacity)
    used, moved, j = count_used(state), 0, 0
    rows = rows_of(machines, j)
    for i in range(first, n):
        if used == capacity:
            return i, moved
        if tree.groups[i] != j:
            j = tree.groups[i]
            rows = rows_of(machines, j)
        v, w = around(rows, state, i)
        old = unassign(model.likelihood, model.data, None, state, i)
        count_step(rows, v, old, w, -1)
        if state.counts[old] == 0:
            close_slot(tree.weights, old)
            used -= 1
        free, _ = likelihood_scores(model.likelihood, model.data, None, state, i, scores)
        for k in range(capacity):
            if state.counts[k] > 0:
                scores[k] += log(weight_of_step(rows, v, k, w))
        scores[free] += log(weight_of_new(rows, w))
        new = rng.categorical(scores)
        if state.counts[new] == 0:
            open_slot(tree, j, new, rng)
            used += 1
        assign(model.likelihood, model.data, None, state, i, new)
        count_step(rows, v, new, w, 1)
        moved += int(new != old)
    return n, moved


def draw_state_tables(machines: Machines, tables: Labels, rng: RngVerbs) -> None:
    """Draw the number of tables of each state that the shares of its node have opened, in all rows; O(N).

    The guests of a cell of weight a, or a + kappa, sit down one after the other. Guest i + 1 opens a table with
    probability a / (a + i); where kappa is in a, it is of kappa with probability kappa / a, and not counted (Fox et al.
    2008, the override variables). The tables of machines are guests of the nodes above them.
    """
    capacity, leaves = tables.shape[1], machines.restaurants.weights.shape[0] - 1
    for j in range(machines.counts.shape[0]):
        rows = rows_of(machines, j)
        for k in range(capacity):
            tables[leaves + j, k] = 0
            for v in range(capacity + 1):
                own = rows.weights[k]
                a = own + rows.kappa if v == k else own
                for i in range(rows.counts[v, k]):
                    opened = i == 0 or rng.chance(a / (a + i))
                    if opened and (a == own or rng.chance(own / a)):
                        tables[leaves + j, k] += 1
    draw_inner_tables(machines.restaurants, tables, rng)


def log_gammas_of_rows(machines: Machines, rng: RngVerbs) -> float:
    """The sum of log w over rows, w ~ Beta(alpha + kappa, n), or Beta(alpha, n) of starts: auxiliaries (maths (85))."""
    total = 0.0
    for j in range(machines.counts.shape[0]):
        rows = rows_of(machines, j)
        for v in range(rows.sizes.shape[0]):
            if rows.sizes[v] > 0:
                concentration = rows.alpha + (rows.kappa if v < rows.sizes.shape[0] - 1 else 0.0)
                total += parts(rng.log_odds(concentration, float(rows.sizes[v])))[0]
    return total


def log_gain_of_kappa(machines: Machines) -> float:
    """By how much kappa raises the log probability of all transitions, given the shares, in nats."""
    total, kappa = 0.0, machines.kappa
    for j in range(machines.counts.shape[0]):
        rows = rows_of(machines, j)
        for k in range(rows.counts.shape[1]):
            stays, n = float(rows.counts[k, k]), float(rows.sizes[k])
            if stays > 0.0:
                total += log_rising(rows.weights[k] + kappa, stays) - log_rising(rows.weights[k], stays)
            total -= log_rising(rows.alpha + kappa, n) - log_rising(rows.alpha, n)
    return total
