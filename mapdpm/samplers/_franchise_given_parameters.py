"""Kernels of the franchise given the parameters of dishes: Teh2004 (32) to (35), with and without conjugacy."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.counting_sort import by_slot
from mapdpm.jit import jitable
from mapdpm.protocol import Labels, Matrix, Model, NonconjugateVerbs, RngVerbs, Vector
from mapdpm.samplers._blocks import free_slot
from mapdpm.samplers._seating import Seating, free_place, leave_seat, most_seats
from mapdpm.samplers._with_parameters import is_counted, log_joint_of
from mapdpm.samplers.chain import Chain
from mapdpm.state import ClusterState, assign, count_used, unassign


class FromPrior(NamedTuple):
    """A conjugate family whose proposal is its prior: of both densities only the ratio is asked for, which is 1."""

    likelihood: Any

    def log_prior(self, parameters: Vector) -> float:  # noqa: ARG002  (numba compares names)
        return 0.0

    def log_proposal(self, parameters: Vector, data: Any, points: Labels) -> float:  # noqa: ARG002
        return 0.0

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return float(self.likelihood.log_likelihood(parameters, data, i))

    def propose(self, parameters: Vector, data: Any, points: Labels, rng: RngVerbs) -> None:  # noqa: ARG002
        row = np.empty(self.likelihood.size())
        self.likelihood.init(row)
        self.likelihood.draw(row, parameters, rng)


@jitable
def open_dish(
    family: NonconjugateVerbs, data: Any, points: Labels, parameters: Matrix, kept: bool, k: int, rng: RngVerbs
) -> float:
    """The log weight of a new dish in slot ``k``, whose parameters are drawn from q unless they are ``kept``.

    Log of F(points | theta) h(theta) / q(theta | points).
    """
    if not kept:
        family.propose(parameters[k], data, points, rng)
    return log_joint_of(family, data, points, parameters[k]) - family.log_proposal(parameters[k], data, points)


@jitable
def dish_of_new_table(state: ClusterState, seating: Seating, old: int, alone: bool, rng: RngVerbs) -> int:
    """Draw the slot of the dish of a new table (Teh2004 (32)); a point that sat alone with dish ``old`` keeps that."""
    if alone:
        return old
    scores, new = np.empty(state.counts.shape[0]), free_slot(state)
    for k in range(scores.shape[0]):
        weight = seating.gamma_of_dishes if k == new else float(seating.tables[k])
        scores[k] = log(weight) if weight > 0.0 else -np.inf
    return int(rng.categorical(scores))


def seat_sweep_given(
    family: NonconjugateVerbs,
    model: Model,
    state: ClusterState,
    seating: Seating,
    parameters: Matrix,
    first: int,
    rng: RngVerbs,
) -> tuple[int, int]:
    """``seat_sweep`` given parameters (Teh2004 (32), (33)): the dish of a new table is drawn before the seat.

    A point that sits alone keeps its dish as that of the new table, as Algorithm 8 of Neal (2000) does; printed is a
    draw for it, too, which has another stationary distribution.
    """
    points, groups, seats, sizes = seating.points, seating.groups, seating.seats, seating.sizes
    dishes, tables = seating.dishes, seating.tables
    n, capacity, moved = points.shape[0], state.counts.shape[0], 0
    choices = np.empty(most_seats(seating) + 1)
    point = np.empty(1, dtype=np.int64)
    for at in range(first, n):
        if count_used(state) == capacity:
            return at, moved
        i = points[at]
        point[0] = i
        old = leave_seat(model, state, seating, i)
        dish = dish_of_new_table(state, seating, old, sizes[seats[i]] == 0, rng)
        if state.counts[dish] == 0:
            log_new = open_dish(family, model.data, point, parameters, dish == old, dish, rng)
        else:
            log_new = family.log_likelihood(parameters[dish], model.data, i)  # type: ignore[attr-defined]
        begin, n_seats = seating.begins[groups[i]], 0
        for t in range(begin, seating.begins[groups[i] + 1]):
            choices[t - begin] = -np.inf
            if sizes[t] > 0:
                density = family.log_likelihood(parameters[dishes[t]], model.data, i)  # type: ignore[attr-defined]
                choices[t - begin] = log(sizes[t]) + density
                n_seats = t + 1 - begin
        choices[n_seats] = log(seating.alpha) + log_new
        chosen = rng.categorical(choices[: n_seats + 1])
        seat = begin + chosen
        if chosen == n_seats:
            seat = free_place(seating, groups[i])
            dishes[seat] = dish
            tables[dish] += 1
        assign(model.likelihood, model.data, None, state, i, dishes[seat])
        seats[i] = seat
        sizes[seat] += 1
        moved += int(dishes[seat] != old)
    return n, moved


def dish_sweep_given(
    family: NonconjugateVerbs,
    model: Model,
    state: ClusterState,
    seating: Seating,
    parameters: Matrix,
    first: int,
    rng: RngVerbs,
) -> tuple[int, int]:
    """Redraw the dishes of the tables from place ``first`` on, given parameters (Teh2004 (34)).

    The only table of a dish keeps its parameters as those of the new dish. Returns as ``seat_sweep_given``.
    """
    capacity, moved = state.counts.shape[0], 0
    members, begins = by_slot(seating.seats, seating.sizes.shape[0])
    scores = np.empty(capacity)
    for t in range(first, seating.sizes.shape[0]):
        if seating.sizes[t] == 0:
            continue
        if count_used(state) == capacity:
            return t, moved
        points, old = members[begins[t] : begins[t + 1]], seating.dishes[t]
        for m in range(points.shape[0]):
            unassign(model.likelihood, model.data, None, state, points[m])
        seating.tables[old] -= 1
        new = old if seating.tables[old] == 0 else free_slot(state)
        for k in range(capacity):
            scores[k] = -np.inf
            if state.counts[k] > 0:
                scores[k] = log(seating.tables[k])
                for m in range(points.shape[0]):
                    scores[k] += family.log_likelihood(parameters[k], model.data, points[m])  # type: ignore[attr-defined]
        log_new = open_dish(family, model.data, points, parameters, new == old, new, rng)
        scores[new] = log(seating.gamma_of_dishes) + log_new
        dish = rng.categorical(scores)
        for m in range(points.shape[0]):
            assign(model.likelihood, model.data, None, state, points[m], dish)
        seating.dishes[t] = dish
        seating.tables[dish] += 1
        moved += points.shape[0] * int(dish != old)
    return int(seating.sizes.shape[0]), moved


def family_of(chain: Chain) -> Any:
    """The family whose proposals open dishes: the user's own, or the prior of a conjugate one."""
    likelihood: Any = chain.likelihood
    return likelihood.family if is_counted(likelihood) else FromPrior(likelihood)
