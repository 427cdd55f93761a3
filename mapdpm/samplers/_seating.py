"""The tables of all groups, each in a place of its own: what kernels of the franchise edit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, Model
from mapdpm.samplers._seated_sampler import SEATS
from mapdpm.samplers.grouped_sampler import GroupedChain
from mapdpm.state import ClusterState, unassign


class Seating(NamedTuple):
    """The tables of all groups: those of group j are places ``begins[j]`` to ``begins[j + 1]`` - 1, one a point."""

    points: Labels
    """(N,): the points of the first group, then those of the second, ..."""
    begins: Labels
    """(groups + 1,)"""
    groups: Labels
    """(N,): the group of each point."""
    seats: Labels
    """(N,): the place of each point's table."""
    sizes: Labels
    """(N,): the points at the table of each place; 0 of a free place."""
    dishes: Labels
    """(N,): the slot of each table's dish."""
    tables: Labels
    """(slots,): m_k, the number of tables of each dish."""
    alpha: float
    gamma_of_dishes: float
    """gamma: a field of that name would hide the verb of an rng from numba."""


@jitable
def leave_seat(model: Model, state: ClusterState, seating: Seating, i: int) -> int:
    """Take point ``i`` from its table and out of the state; its dish loses an emptied table, and is returned."""
    dish = unassign(model.likelihood, model.data, None, state, i)
    seating.sizes[seating.seats[i]] -= 1
    seating.tables[dish] -= int(seating.sizes[seating.seats[i]] == 0)
    return dish


@jitable
def free_place(seating: Seating, j: int) -> int:
    """The lowest place of group ``j`` without a table; one of its points has no seat, so there is one."""
    t = seating.begins[j]
    while seating.sizes[t] > 0:
        t += 1
    return int(t)


@jitable
def most_seats(seating: Seating) -> int:
    """The number of points of the largest group."""
    most = 0
    for j in range(seating.begins.shape[0] - 1):
        most = max(most, seating.begins[j + 1] - seating.begins[j])
    return most


def seating_of(chain: GroupedChain) -> Seating:
    """The seats of ``chain``, each table at a place of its group, in order of numbers."""
    groups, seats = chain.tree.of_points, chain.aux[SEATS]
    begins = np.concatenate([[0], np.cumsum(chain.group_sizes)])
    numbers, at = np.unique(seats, return_index=True)
    group = groups[at]
    order = np.argsort(group, kind="stable")
    places = np.empty(len(numbers), dtype=np.int64)
    places[order] = begins[group[order]] + np.arange(len(numbers)) - np.searchsorted(group[order], group[order])
    sizes, dishes = np.zeros((2, chain.n_points), dtype=np.int64)
    sizes[places] = np.bincount(seats, minlength=len(numbers))
    dishes[places] = chain.state.labels[at]
    tables = np.bincount(chain.state.labels[at], minlength=chain.state.capacity)
    alpha, gamma = float(chain.prior.alphas[0]), float(chain.prior.gamma)
    return Seating(chain.order, begins, groups, places[seats], sizes, dishes, tables, alpha, gamma)
