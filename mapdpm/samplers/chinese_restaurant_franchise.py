"""The Chinese restaurant franchise: seats of points and dishes of tables (Teh2004 section 5.1)."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple, cast

import numpy as np

from mapdpm.counting_sort import by_slot
from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.objective import likelihood_scores
from mapdpm.protocol import Labels, Model, RngVerbs, Vector
from mapdpm.samplers._blocks import count_used
from mapdpm.samplers._seats import SEATS, SeatedSampler
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.grouped import SHARES, GroupedChain
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState, assign, unassign


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


def seat_sweep(model: Model, state: ClusterState, seating: Seating, first: int, rng: RngVerbs) -> tuple[int, int]:
    """Redraw the seats of the points at ``first``, ``first + 1``, ... of ``seating.points`` (Teh2004 (32), (33)).

    Returns the first place not visited, because no slot was free, and how many points changed dish. O(N (K D + tables
    of a group)).
    """
    points, groups, seats, sizes = seating.points, seating.groups, seating.seats, seating.sizes
    dishes, tables = seating.dishes, seating.tables
    n, capacity = points.shape[0], state.counts.shape[0]
    scores, choices = np.empty(capacity), np.empty(most_seats(seating) + capacity)
    used, moved = count_used(state), 0
    for at in range(first, n):
        if used == capacity:
            return at, moved
        i = points[at]
        old = unassign(model.likelihood, model.data, None, state, i)
        sizes[seats[i]] -= 1
        tables[old] -= int(sizes[seats[i]] == 0)
        used -= int(state.counts[old] == 0)
        free, _ = likelihood_scores(model.likelihood, model.data, None, state, i, scores)
        n_seats = fill_choices(seating, groups[i], scores, free, choices)
        chosen = rng.categorical(choices[: n_seats + capacity])
        if chosen < n_seats:
            seat = seating.begins[groups[i]] + chosen
        else:
            seat = free_place(seating, groups[i])
            dishes[seat] = chosen - n_seats
            tables[dishes[seat]] += 1
            used += int(state.counts[dishes[seat]] == 0)
        assign(model.likelihood, model.data, None, state, i, dishes[seat])
        seats[i] = seat
        sizes[seat] += 1
        moved += int(dishes[seat] != old)
    return n, moved


@jitable
def fill_choices(seating: Seating, j: int, scores: Vector, free: int, choices: Vector) -> int:
    """Fill ``choices`` with the log weights of the places of group ``j``, then of a new table with each dish.

    A table t of the group has n_jt p(x | its dish), a new one alpha m_k / (m + gamma) p(x | dish k), or alpha gamma /
    (m + gamma) p(x) with a new dish, in slot ``free``: the dish of a new table is summed out. ``scores`` has the log
    densities. Returns the number of places, up to the last one taken.
    """
    sizes, tables = seating.sizes, seating.tables
    begin, n_seats, total = seating.begins[j], 0, seating.gamma_of_dishes
    for t in range(begin, seating.begins[j + 1]):
        choices[t - begin] = -np.inf
        if sizes[t] > 0:
            choices[t - begin] = log(sizes[t]) + scores[seating.dishes[t]]
            n_seats = t + 1 - begin
    for k in range(tables.shape[0]):
        total += tables[k]
    for k in range(tables.shape[0]):
        weight = seating.gamma_of_dishes if k == free else float(tables[k])
        choices[n_seats + k] = -np.inf
        if weight > 0.0:
            choices[n_seats + k] = log(seating.alpha * weight / total) + scores[k]
    return n_seats


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


class ChineseRestaurantFranchise(SeatedSampler):
    r"""Gibbs sampling of clusters that groups share, by a franchise of Chinese restaurants (Teh2004 section 5.1).

    Each group is a restaurant, whose points sit at tables; each table has a dish, which is a cluster. Shares are
    integrated out. A step draws, in order:

    1. the seat of each point: a table of its group in proportion to n_jt p(x | its dish), or a new table in proportion
       to alpha [sum_k m_k / (m + gamma) p(x | dish k) + gamma / (m + gamma) p(x)], whose dish is drawn by these terms;
    2. the dish of each table: dish k in proportion to m_k p(all points of the table | dish k), or a new one with gamma
       for m_k. All points of the table move at once (Teh2004 (34) with the parameters integrated out).

    Parameters
    ----------
    split_merge : bool
        Whether step 2 also proposes five times to split a dish, or to merge two. Their tables are parted by sequential
        allocation (Dahl 2003).
    **model
        The parameters of ``GroupedSampler``. It takes one level of groups.

    Notes
    -----
    ``sample(X, sampler, groups=...)``; partitions are dishes. ``Trace.extra["tables"]`` has the table of each point,
    numbered over all groups in order of first appearance, and ``extra["m"]`` the tables of each dish in each group.
    O(N (K D + tables of a group)) a step, and for each table the rows of the others of its dish.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> from mapdpm.samplers import sample
    >>> X = np.array([[0.0], [0.2], [9.0], [9.3], [9.1], [0.1]])
    >>> sampler = ChineseRestaurantFranchise(likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1))
    >>> trace = sample(X, sampler, groups=[0, 0, 0, 1, 1, 1], draws=50, burn_in=10, random_state=0)
    >>> trace.binder_estimate().tolist()
    [0, 0, 1, 1, 1, 0]
    """

    most_levels = 1

    _sweep = staticmethod(compiled_if_possible(seat_sweep))
    _by_slot = staticmethod(compiled_if_possible(by_slot))

    def __init__(self, alpha: Any = 1.0, gamma: float = 1.0, *, split_merge: bool = False, **model: Any) -> None:
        super().__init__(alpha, gamma, **model)
        self.redraw_dishes_by(split_merge)

    def equip(self, chain: Chain) -> None:
        """Carry the seats: first all points of a group that share a cluster share a table."""
        self.carry_seats(cast("GroupedChain", chain))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Seats, then dishes, at fixed alpha and gamma."""
        chain = cast("GroupedChain", chain)
        seats = [chain.aux[SEATS]]
        moved = self._redraw_seats(chain, rng)
        info = self.redraw_dishes(chain, seats, rng)
        self.count_tables(chain, seats)
        if SHARES in chain.aux:  # of another sampler in a hybrid, for the trace
            self.draw_shares(chain, rng)
        return info._replace(moved=info.moved + moved)

    def _redraw_seats(self, chain: GroupedChain, rng: RngVerbs) -> int:
        seating = self._seating(chain)
        first, moved = 0, 0
        while True:
            first, more = self._sweep(chain.model, chain.state, seating, first, rng)
            moved += int(more)
            if first == len(seating.points):
                break
            more_slots = chain.reserve().capacity - len(seating.tables)
            seating = seating._replace(tables=np.pad(seating.tables, (0, more_slots)))
        _, chain.aux[SEATS][:] = np.unique(seating.seats, return_inverse=True)
        return moved

    def _seating(self, chain: GroupedChain) -> Seating:
        """The seats of ``chain``, each table at a place of its group, in order of numbers."""
        groups, seats = chain.tree.of_points, chain.aux[SEATS]
        points, begins = self._by_slot(groups, chain.tree.n_groups)
        tables, at = np.unique(seats, return_index=True)
        group = groups[at]
        order = np.argsort(group, kind="stable")
        places = np.empty(len(tables), dtype=np.int64)
        places[order] = begins[group[order]] + np.arange(len(tables)) - np.searchsorted(group[order], group[order])
        sizes, dishes = np.zeros((2, chain.n_points), dtype=np.int64)
        sizes[places] = np.bincount(seats, minlength=len(tables))
        dishes[places] = chain.state.labels[at]
        alpha, gamma = float(chain.prior.alphas[0]), float(chain.prior.gamma)
        return Seating(points, begins, groups, places[seats], sizes, dishes, chain.tables.sum(axis=0), alpha, gamma)
