"""Direct assignment of grouped points to shared clusters: Teh2004 sections 5.2 and 5.3, on trees of any depth (6.2)."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from mapdpm.backends.grouped import group_scores, group_weights, slot_weight
from mapdpm.jit import compiled_if_possible
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.protocol import Labels, Model, RngVerbs
from mapdpm.samplers._restaurants import Restaurants, close_slot, draw_tables, open_slot, seat
from mapdpm.samplers._seated_sampler import SEATS, SeatedSampler
from mapdpm.samplers._words import word_sweep
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.grouped_sampler import GroupedChain
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState, assign, count_used, unassign


def direct_sweep(
    model: Model, state: ClusterState, restaurants: Restaurants, first: int, rng: RngVerbs
) -> tuple[int, int]:
    """Redraw the clusters of the points at ``first``, ... of ``restaurants.points``, given the shares (Teh2004 (37)).

    Returns the first place not visited, because no slot was free, and how many points changed cluster. O(N K D).
    """
    points, groups, guests = restaurants.points, restaurants.groups, restaurants.guests
    n, capacity = points.shape[0], state.counts.shape[0]
    n_inner = restaurants.weights.shape[0]
    scores, log_weights = np.empty(capacity), np.empty(capacity)
    used, moved, group = count_used(state), 0, -1
    weights = restaurants.weights[0]
    for at in range(first, n):
        if used == capacity:
            return at, moved
        i = points[at]
        if groups[i] != group:
            group = groups[i]
            weights = restaurants.weights[restaurants.parents[n_inner + group]]
            group_weights(state, guests, weights, group, log_weights)
        old = unassign(model.likelihood, model.data, None, state, i)
        guests[group, old] -= 1
        if state.counts[old] == 0:
            close_slot(restaurants.weights, old)
            used -= 1
        else:
            log_weights[old] = slot_weight(guests, weights, group, old)
        group_scores(model, state, weights, log_weights, i, scores)
        new = rng.categorical(scores)
        if state.counts[new] == 0:
            open_slot(restaurants, group, new, rng)
            used += 1
        assign(model.likelihood, model.data, None, state, i, new)
        guests[group, new] += 1
        log_weights[new] = slot_weight(guests, weights, group, new)
        moved += int(new != old)
    return n, moved


class DirectAssignment(SeatedSampler):
    r"""Gibbs sampling of clusters that groups share, by direct assignment (Teh2004 sections 5.2 and 5.3).

    The shares of groups are integrated out; the common shares beta are drawn. A step draws, in order:

    1. beta given the tables: Dir(m_.1, ..., m_.K, gamma), of which the last is the share of all new clusters;
    2. each label: p(z_ji = k | rest) is (n_jk + alpha beta_k) p(x_ji | cluster k), and alpha beta_u p(x_ji) for a new
       cluster, which takes b ~ Beta(1, gamma) of beta_u (Teh2004 (37));
    3. the number of tables m_jk of each cluster in each group, as a sum of n_jk Bernoulli draws (Teh2004 (40), (46)).

    With a tree of groups, each inner node has shares of its own: tables are drawn from the leaves to the root, shares
    from the root to the inner nodes above the leaves.

    Parameters
    ----------
    to_tables : bool
        Whether step 3 seats the points at tables instead (Teh2004 (44), (45)). Then the dish of each table is drawn
        anew, with all its points, as in ``ChineseRestaurantFranchise``: the combination of Teh2004 section 5.4. With a
        tree, these are the tables of the first level, with all that is below them.
    split_merge : bool
        Whether it also proposes to split dishes and to merge them, as there; then points are seated anyway.
    **model
        The parameters of ``GroupedSampler``.

    Notes
    -----
    ``sample(X, sampler, groups=...)``. ``Trace.extra["m"]`` has the tables, (groups, K); ``extra["beta"]`` the shares,
    (K + 1,), the last of new clusters. With a tree, ``m`` has a row for each node but the root, level by level, and
    ``beta`` a row for each inner node. ``values`` has alpha and gamma. O(N K D) a step; tokens of documents
    (``Categorical``) have a sweep of their own: 7 times as fast with 20 topics, 17 with 100 (``bench/documents.py``).

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> from mapdpm.samplers import sample
    >>> X = np.array([[0.0], [0.2], [9.0], [9.3], [9.1], [0.1]])
    >>> sampler = DirectAssignment(likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1))
    >>> trace = sample(X, sampler, groups=[0, 0, 0, 1, 1, 1], draws=50, burn_in=10, random_state=0)
    >>> trace.binder_estimate().tolist()
    [0, 0, 1, 1, 1, 0]
    """

    _sweep = staticmethod(compiled_if_possible(direct_sweep))
    _word_sweep = staticmethod(compiled_if_possible(word_sweep))
    _draw_tables = staticmethod(compiled_if_possible(draw_tables))
    _seat = staticmethod(compiled_if_possible(seat))

    def __init__(
        self, alpha: Any = 1.0, gamma: float = 1.0, *, to_tables: bool = False, split_merge: bool = False, **model: Any
    ) -> None:
        super().__init__(alpha, gamma, **model)
        self.to_tables = bool(to_tables or split_merge)
        if self.to_tables:
            self.redraw_dishes_by(split_merge)

    def equip(self, chain: Chain) -> None:
        """Carry the shares of inner nodes: equal ones until the first step draws them."""
        chain = cast("GroupedChain", chain)
        chain.carry_shares(chain.tree.n_inner)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Shares, then labels, then tables, at fixed alpha and gamma."""
        chain = cast("GroupedChain", chain)
        restaurants = self.draw_shares(chain, rng)
        sweep = self._word_sweep if isinstance(chain.likelihood, Categorical) else self._sweep
        first, moved = 0, 0
        while True:
            first, more = sweep(chain.model, chain.state, restaurants, first, rng)
            moved += int(more)
            if first == len(restaurants.points):
                break
            chain.reserve()
            restaurants = restaurants.grown(chain.state.capacity)
        chain.take_weights(restaurants.weights, restaurants.concentrations)
        if not self.to_tables and SEATS not in chain.aux:
            self._draw_tables(restaurants, chain.tables, rng)
            return Info(chain.n_clusters, moved)
        seats, info = self._seats(chain, restaurants, rng), Info(chain.n_clusters)
        if self.to_tables:
            info = self.redraw_dishes(chain, seats, rng)
        self.count_tables(chain, seats)
        if self.to_tables:
            self.draw_shares(chain, rng)  # for the trace: dishes have changed
        return info._replace(moved=info.moved + moved)

    def _seats(self, chain: GroupedChain, restaurants: Restaurants, rng: RngVerbs) -> list[Labels]:
        """Seat all points at tables, then tables at those of the node above, up to the first level (Teh2004 5.4)."""
        tree, capacity = chain.tree, chain.state.capacity
        weights = restaurants.weights[tree.parents[1:], :-1].ravel()
        nodes, dishes = tree.n_inner + tree.of_points, chain.state.labels
        found: list[Labels] = []
        for _ in range(tree.n_levels):
            tables = np.empty(len(nodes), dtype=np.int64)
            self._seat(weights, (nodes - 1) * capacity + dishes, tables, rng)
            _, at = np.unique(tables, return_index=True)
            found.append(tables)
            nodes, dishes = tree.parents[nodes[at]], dishes[at]
        return found
