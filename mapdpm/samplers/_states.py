"""Kernels of samplers of states: transitions of sequences, given the common shares of states (Teh2004 section 7)."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.objective import likelihood_scores
from mapdpm.protocol import Labels, Model, RngVerbs, Vector
from mapdpm.samplers._blocks import count_used
from mapdpm.samplers._restaurants import LEAST, parts
from mapdpm.state import ClusterState, assign, unassign


class Rows(NamedTuple):
    """The transitions of all states and of the starts of sequences; kernels edit ``counts``, ``sizes`` and ``weights``.

    Slot k has row k; the last row is that of starts, and does not stick.
    """

    previous: Labels
    """(N,): the point before, or -1."""
    following: Labels
    """(N,): the point after, or -1."""
    counts: Labels
    """(capacity + 1, capacity)"""
    sizes: Labels
    """(capacity + 1,): the sums of rows."""
    weights: Vector
    """(capacity + 1,): alpha times the share of each slot, 0 of a free one; last that of all states nobody was in."""
    alpha: float
    kappa: float
    root_concentration: float
    """gamma; a field of that name would hide the verb of an rng from numba."""


@jitable
def weight_between(rows: Rows, v: int, k: int) -> float:
    """The weight of state ``k`` after row ``v``."""
    weight = rows.counts[v, k] + rows.weights[k]
    return weight + rows.kappa if v == k else weight


@jitable
def weight_of_step(rows: Rows, v: int, k: int, w: int) -> float:
    """The weight of state ``k`` between ``v`` and ``w``, whose transitions are not counted; w is -1 for none.

    The transition into k is one more of row k, if that is v (Fox et al. 2008; maths (84)).
    """
    weight = weight_between(rows, v, k)
    if w < 0:
        return weight
    again = 1.0 if v == k else 0.0
    out = weight_between(rows, k, w) + (again if k == w else 0.0)
    return weight * out / (rows.sizes[k] + rows.alpha + rows.kappa + again)


@jitable
def count_step(rows: Rows, v: int, k: int, w: int, change: int) -> None:
    """Count the transitions from ``v`` to ``k`` and from there to ``w`` once more, or less."""
    rows.counts[v, k] += change
    rows.sizes[v] += change
    if w >= 0:
        rows.counts[k, w] += change
        rows.sizes[k] += change


def state_sweep(model: Model, state: ClusterState, rows: Rows, first: int, rng: RngVerbs) -> tuple[int, int]:
    """Redraw the states of the points ``first``, ..., each given all others and the shares; O(N K D).

    Returns the first point not visited, because no slot was free, and how many points changed state.
    """
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    scores = np.empty(capacity)
    used, moved = count_used(state), 0
    for i in range(first, n):
        if used == capacity:
            return i, moved
        v = state.labels[rows.previous[i]] if rows.previous[i] >= 0 else capacity
        w = state.labels[rows.following[i]] if rows.following[i] >= 0 else -1
        old = unassign(model.likelihood, model.data, None, state, i)
        count_step(rows, v, old, w, -1)
        if state.counts[old] == 0:
            rows.weights[-1] += rows.weights[old]
            rows.weights[old] = 0.0
            used -= 1
        free, _ = likelihood_scores(model.likelihood, model.data, None, state, i, scores)
        for k in range(capacity):
            if state.counts[k] > 0:
                scores[k] += log(weight_of_step(rows, v, k, w))
        out = rows.weights[w] / (rows.alpha + rows.kappa) if w >= 0 else 1.0
        scores[free] += log(rows.weights[-1] * out)
        new = rng.categorical(scores)
        if state.counts[new] == 0:
            open_state(rows, new, rng)
            used += 1
        assign(model.likelihood, model.data, None, state, i, new)
        count_step(rows, v, new, w, 1)
        moved += int(new != old)
    return n, moved


@jitable
def open_state(rows: Rows, k: int, rng: RngVerbs) -> None:
    """Give a new state its part of the rest, Beta(1, gamma)."""
    part, others = parts(rng.log_odds(1.0, rows.root_concentration))
    rest = rows.weights[-1]
    rows.weights[k] = max(rest * np.exp(part), LEAST)
    rows.weights[-1] = max(rest * np.exp(others), LEAST)


def draw_state_tables(rows: Rows, tables: Labels, rng: RngVerbs) -> None:
    """Draw the number of tables of each state that the common shares have opened, in all rows; O(N).

    The guests of a cell of weight a, or a + kappa, sit down one after the other. Guest i + 1 opens a table with
    probability a / (a + i); where kappa is in a, it is of kappa with probability kappa / a, and not counted (Fox et al.
    2008, the override variables).
    """
    capacity = tables.shape[0]
    for k in range(capacity):
        tables[k] = 0
        for v in range(capacity + 1):
            own = rows.weights[k]
            a = own + rows.kappa if v == k else own
            for i in range(rows.counts[v, k]):
                opened = i == 0 or rng.chance(a / (a + i))
                if opened and (a == own or rng.chance(own / a)):
                    tables[k] += 1


def log_gammas_of_rows(rows: Rows, rng: RngVerbs) -> float:
    """The sum of log w over rows, w ~ Beta(alpha + kappa, n), or Beta(alpha, n) of starts: auxiliaries (maths (85))."""
    total = 0.0
    for v in range(rows.sizes.shape[0]):
        if rows.sizes[v] > 0:
            concentration = rows.alpha + (rows.kappa if v < rows.sizes.shape[0] - 1 else 0.0)
            total += parts(rng.log_odds(concentration, float(rows.sizes[v])))[0]
    return total
