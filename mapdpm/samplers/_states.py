"""Kernels of samplers of states: transitions of sequences, given the common shares of states (Teh2004 section 7)."""

from __future__ import annotations

from math import log

import numpy as np

from mapdpm.backends.states import Rows, around, count_step, give_share_back, weight_of_new, weight_of_step
from mapdpm.jit import jitable
from mapdpm.objective import likelihood_scores
from mapdpm.protocol import Labels, Model, RngVerbs
from mapdpm.samplers._blocks import count_used
from mapdpm.samplers._restaurants import LEAST, parts
from mapdpm.state import ClusterState, assign, unassign


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
        v, w = around(rows, state, i)
        old = unassign(model.likelihood, model.data, None, state, i)
        count_step(rows, v, old, w, -1)
        if state.counts[old] == 0:
            give_share_back(rows, old)
            used -= 1
        free, _ = likelihood_scores(model.likelihood, model.data, None, state, i, scores)
        for k in range(capacity):
            if state.counts[k] > 0:
                scores[k] += log(weight_of_step(rows, v, k, w))
        scores[free] += log(weight_of_new(rows, w))
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
