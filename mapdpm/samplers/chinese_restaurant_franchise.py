"""The Chinese restaurant franchise: seats of points and dishes of tables (Teh2004 section 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, cast

import numpy as np

from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.objective import likelihood_scores
from mapdpm.protocol import Labels, Model, RngVerbs, Vector
from mapdpm.rng import seeded
from mapdpm.samplers._blocks import draw_parameters
from mapdpm.samplers._franchise_given_parameters import dish_sweep_given, family_of, seat_sweep_given
from mapdpm.samplers._seated_sampler import SEATS, SeatedSampler
from mapdpm.samplers._seating import Seating, free_place, leave_seat, most_seats, seating_of
from mapdpm.samplers._with_parameters import PARAMETERS, ParameterProposals, is_counted, observed_without_conjugacy
from mapdpm.samplers.chain import CLUSTER, Chain
from mapdpm.samplers.chain_data import ChainData
from mapdpm.samplers.grouped_sampler import GroupedChain
from mapdpm.samplers.nonconjugate_gibbs import NonconjugateGibbs
from mapdpm.samplers.sampler import Info
from mapdpm.samplers.sharing_sampler import SHARES
from mapdpm.search.observed import Observed
from mapdpm.state import ClusterState, assign, count_used
from mapdpm.validation import in_order_of_appearance

Sweep = Callable[[Seating, int], tuple[int, int]]
"""A sweep from a place on: the first place not visited, because no slot was free, and how many points moved."""


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
        old = leave_seat(model, state, seating, i)
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


class ChineseRestaurantFranchise(ParameterProposals, SeatedSampler):
    r"""Gibbs sampling of clusters that groups share, by a franchise of Chinese restaurants (Teh2004 section 5.1).

    Each group is a restaurant, whose points sit at tables; each table has a dish, which is a cluster. Shares are
    integrated out. A step draws, in order:

    1. the seat of each point: a table of its group in proportion to n_jt p(x | its dish), or a new table in proportion
       to alpha [sum_k m_k / (m + gamma) p(x | dish k) + gamma / (m + gamma) p(x)], whose dish is drawn by these terms;
    2. the dish of each table: dish k in proportion to m_k p(all points of the table | dish k), or a new one with gamma
       for m_k. All points of the table move at once (Teh2004 (34) with the parameters integrated out).

    Parameters
    ----------
    summed : bool
        False draws the parameters of each dish (Teh2004 (35)), and seats and dishes given them, as (32) to (34) are
        printed: the dish of a new table is drawn first; to sum it out "gives better convergence" (section 5.1). It
        takes families without conjugacy, with the verbs of ``NonconjugateGibbs``. ``extra["parameters"]`` has
        the parameters.
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

    Printed is that the dish of a new table is drawn for each point. For a point that sits alone this has another
    stationary distribution: with ``summed=False`` it keeps its own dish there, as in Algorithm 8 of Neal (2000).

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

    _seats = staticmethod(compiled_if_possible(seat_sweep))
    _seats_given = staticmethod(compiled_if_possible(seat_sweep_given))
    _dishes_given = staticmethod(compiled_if_possible(dish_sweep_given))
    _draw_parameters = staticmethod(compiled_if_possible(draw_parameters))

    def __init__(
        self, alpha: Any = 1.0, gamma: float = 1.0, *, summed: bool = True, split_merge: bool = False, **model: Any
    ) -> None:
        super().__init__(alpha, gamma, **model)
        if split_merge and not summed:
            msg = "split_merge moves dishes with their parameters integrated out: take summed=True"
            raise ValueError(msg)
        self.summed = bool(summed)
        self.redraw_dishes_by(split_merge)

    def observe(self, X: Any) -> Observed:
        """The points of ``X``; with ``summed=False`` also those of a family without conjugacy."""
        if not self.summed and not hasattr(self.target.likelihood, "log_predictive"):
            return observed_without_conjugacy(self.target.likelihood, X)
        return super().observe(X)

    @property
    def draws_parameters(self) -> bool:  # type: ignore[override]
        """Whether parameters of dishes are drawn."""
        return not self.summed

    def first_labels(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Labels:
        """As of other samplers of groups; without conjugacy, "sequential" is that of ``NonconjugateGibbs``."""
        if not is_counted(data.likelihood) or not isinstance(init, str) or init != "sequential":
            return super().first_labels(data, init, rng)
        flat = NonconjugateGibbs(self.target.prior.gamma).chain(data, init, rng)
        flat.refresh()
        return flat.state.labels

    def equip(self, chain: Chain) -> None:
        """Carry the seats: first all points of a group that share a cluster share a table. Carry drawn parameters."""
        self.carry_seats(cast("GroupedChain", chain))
        if not self.summed:
            shape = (chain.state.capacity, chain.likelihood.n_parameters())
            chain.carry(PARAMETERS, np.zeros(shape), (CLUSTER, "parameter"))
            if is_counted(chain.likelihood):
                self.redraw_parameters(chain, False, None, seeded(0))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Seats, then dishes, at fixed alpha and gamma."""
        chain = cast("GroupedChain", chain)
        seats = [chain.aux[SEATS]]
        info = self._summed(chain, seats, rng) if self.summed else self._given(chain, rng)
        self.count_tables(chain, seats)
        if SHARES in chain.aux:  # of another sampler in a hybrid, for the trace
            self.draw_shares(chain, rng)
        return info

    def _summed(self, chain: GroupedChain, seats: list[Labels], rng: RngVerbs) -> Info:
        moved = self.redraw_seats(chain, rng)
        info = self.redraw_dishes(chain, seats, rng)
        return info._replace(moved=info.moved + moved)

    def _given(self, chain: GroupedChain, rng: RngVerbs) -> Info:
        conjugate = not is_counted(chain.likelihood)
        if conjugate:
            self._draw_parameters(chain.likelihood, chain.state, chain.aux[PARAMETERS], rng)
        moved = self.redraw_seats(chain, rng) + self.redraw_dishes_given(chain, rng)
        if conjugate:
            return Info(chain.n_clusters, moved)
        return Info(chain.n_clusters, moved, chain.n_clusters, self.redraw_parameters(chain, True, None, rng))

    def redraw_seats(self, chain: GroupedChain, rng: RngVerbs) -> int:
        """Redraw the seats of all points; returns how many changed dish."""

        def sweep(seating: Seating, first: int) -> tuple[int, int]:
            if self.summed:
                return self._seats(chain.model, chain.state, seating, first, rng)
            family, parameters = family_of(chain), chain.aux[PARAMETERS]
            return self._seats_given(family, chain.model, chain.state, seating, parameters, first, rng)

        seating = self._seating(chain)
        return self._swept(chain, seating, len(seating.points), sweep)

    def redraw_dishes_given(self, chain: GroupedChain, rng: RngVerbs) -> int:
        """Redraw the dishes of all tables given parameters; returns how many points changed dish."""

        def sweep(seating: Seating, first: int) -> tuple[int, int]:
            family, parameters = family_of(chain), chain.aux[PARAMETERS]
            return self._dishes_given(family, chain.model, chain.state, seating, parameters, first, rng)

        return self._swept(chain, seating_of(chain), chain.n_points, sweep)

    def _swept(self, chain: GroupedChain, seating: Seating, end: int, sweep: Sweep) -> int:
        """Run a sweep up to the place ``end``, with more slots where it has none left; returns how many moved."""
        first = moved = 0
        while True:
            first, more = sweep(seating, first)
            moved += int(more)
            if first == end:
                break
            more_slots = chain.reserve().capacity - len(seating.tables)
            seating = seating._replace(tables=np.pad(seating.tables, (0, more_slots)))
        chain.aux[SEATS][:] = in_order_of_appearance(seating.seats)
        return moved

    def _seating(self, chain: GroupedChain) -> Seating:
        return seating_of(chain)
