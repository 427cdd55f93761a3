"""Samplers of clusters that groups share: what those of Teh2004 have in common."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from mapdpm.counting_sort import by_slot
from mapdpm.data.group_tree import GroupTree, read_tree
from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors.hierarchy import LARGEST_CONCENTRATION, Hierarchy, hierarchy, log_density_of_shares
from mapdpm.partition_priors.hyperpriors import check_levels
from mapdpm.protocol import Labels, RngVerbs, Vector
from mapdpm.samplers._restaurants import Restaurants
from mapdpm.samplers._with_parameters import PARAMETERS, is_counted, log_joint_given
from mapdpm.samplers.chain import CLUSTER, Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.concentration import draw_alpha_by_auxiliary
from mapdpm.samplers.sharing_sampler import (
    NODE,
    SHARES,
    TABLES,
    SharingChain,
    SharingSampler,
    SharingTarget,
    draw_alpha_of_groups,
)
from mapdpm.samplers.starts import labels_without_order


class GroupedChain(SharingChain):
    """A partition of grouped points; ``prior`` is a ``Hierarchy`` with an alpha for each level of ``tree``.

    ``aux["m"]`` has the number of tables of each cluster in each node of the tree but the root. Shares, if they are
    carried, have an axis of inner nodes.
    """

    __slots__ = ("group_sizes", "order", "tree")

    tree: GroupTree
    order: Labels
    """(N,): the points, group by group."""
    group_sizes: Labels

    _by_slot = staticmethod(compiled_if_possible(by_slot))
    _log_joint_given = staticmethod(compiled_if_possible(log_joint_given))
    _log_density = staticmethod(compiled_if_possible(log_density_of_shares))

    def set_groups(self, tree: GroupTree) -> None:
        """Take over the groups of points. O(N)."""
        self.tree = tree
        self.order, begins = self._by_slot(tree.of_points, tree.n_groups)
        self.group_sizes = np.diff(begins)

    def guests(self) -> Labels:
        """(groups, slots): n_jk, the points of each group in each slot. O(N)."""
        groups, capacity = self.tree.n_groups, self.state.capacity
        cells = self.tree.of_points * capacity + self.state.labels
        return np.bincount(cells, minlength=groups * capacity).reshape(groups, capacity)

    def restaurants(self) -> Restaurants:
        """The argument of kernels, with the shares that are carried, or else weights of 0."""
        tree = self.tree
        levels = tree.levels[: tree.n_inner]
        concentrations = np.array([self.prior.alphas[level] for level in levels])
        none = np.zeros((tree.n_inner, self.state.capacity + 1))
        weights = self.weights(concentrations) if SHARES in self.aux else none
        gamma = float(self.prior.gamma)
        return Restaurants(tree.parents, self.order, tree.of_points, self.guests(), weights, concentrations, gamma)

    def customers(self) -> Vector:
        """(nodes but the root,): the points of each group, and the tables of the children of each inner node."""
        tree, n_inner = self.tree, self.tree.n_inner
        found = np.zeros(len(tree.parents))
        np.add.at(found, tree.parents[1:], self.tables.sum(axis=1))
        found[n_inner:] = self.group_sizes
        return found[1:]

    def log_joint(self) -> float:
        """log p(x, z), in nats, given alpha and gamma; with several levels log p(x, z, beta).

        Without conjugacy, log p(x, z, theta).
        """
        if is_counted(self.likelihood):
            family, parameters = cast("Any", self.likelihood).family, self.aux[PARAMETERS]
            return self.log_partition() + float(self._log_joint_given(family, self.data, self.state, parameters))
        marginals = self._log_marginals(self.likelihood, self.state)
        return math.fsum([self.log_partition(), *marginals[self.state.counts > 0]])

    def log_partition(self) -> float:
        """log p(z), in nats (maths (53) to (57)); with several levels log p(z, beta) of all shares (maths (78))."""
        if self.tree.n_levels > 1:
            parents, _, _, guests, weights, alphas, gamma = self.restaurants()
            return float(self._log_density(parents, guests, weights, alphas, gamma))
        alpha, gamma = (max(value, 1.0 / LARGEST_CONCENTRATION) for value in (self.prior.alphas[0], self.prior.gamma))
        return Hierarchy((alpha,), gamma).log_partition(self.guests()[:, self.state.counts > 0])


class GroupedSampler(SharingSampler):
    """A sampler of a hierarchical Dirichlet process mixture: of p(z | x), or p(z, alpha, gamma | x).

    Parameters
    ----------
    alpha : float > 0, or sequence of float
        Concentration of the groups; one a level for a tree of groups, or one number for all levels.
    gamma : float > 0
        Concentration of the common shares.
    likelihood : Likelihood or None
        The conjugate family, with its prior. None is the empirical Normal-Gamma of the points.
    alpha_prior : GammaPrior, or sequence of GammaPrior, optional
        Each alpha is drawn anew in each step; ``alpha`` is where it starts.
    gamma_prior : GammaPrior, optional
        gamma is drawn anew in each step.

    Raises
    ------
    ValueError
        A number is out of its range. The message says which ones are not.
    """

    chain_type: type[Chain] = GroupedChain
    takes = ("groups",)
    most_levels: int | None = None
    """The levels of groups that the sampler knows; None: any number."""

    def __init__(
        self,
        alpha: Any = 1.0,
        gamma: float = 1.0,
        *,
        likelihood: Any = None,
        alpha_prior: Any = None,
        gamma_prior: Any = None,
    ) -> None:
        self.target = SharingTarget.of(likelihood, hierarchy(alpha, gamma), alpha_prior, gamma_prior)

    def check_given(self, given: Given, n_points: int) -> Given:
        """``given`` with the tree of its groups; ValueError without groups, and for what is no label a point."""
        if given.groups is None:
            msg = (
                f"{type(self).__name__} needs groups=, one label a point; CollapsedGibbs samples points without groups"
            )
            raise ValueError(msg)
        super().check_given(given._replace(groups=None), n_points)
        tree = read_tree(given.groups, n_points)
        if self.most_levels is not None and tree.n_levels > self.most_levels:
            msg = f"{type(self).__name__} takes one level of groups, got {tree.n_levels}; DirectAssignment takes trees"
            raise ValueError(msg)
        self.target.prior.of_levels(tree.n_levels)
        check_levels(self.target.alpha_prior, tree.n_levels)
        return given._replace(groups=tree)

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain on ``data``. "sequential" draws labels under gamma as if all points were of one group."""
        tree = data.given.groups
        prior = self.target.prior.of_levels(tree.n_levels)
        chain = self.chain_type(data.likelihood, prior, data.data, self.first_labels(data, init, rng))
        cast("GroupedChain", chain).set_groups(tree)
        chain.carry(TABLES, one_table_a_cell(cast("GroupedChain", chain)), (NODE, CLUSTER))
        self.equip(chain)
        return chain

    def first_labels(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Labels:
        """The labels of a new chain."""
        return labels_without_order(data, self.target.prior.gamma, init, rng)

    def draw_shares(self, chain: GroupedChain, rng: RngVerbs) -> Restaurants:
        """Draw the shares of inner nodes given the tables, and carry them; returns the argument of kernels."""
        restaurants = chain.restaurants()
        self._draw_shares(restaurants, chain.tables, chain.state.counts, rng)
        chain.take_weights(restaurants.weights, restaurants.concentrations)
        return restaurants

    def draw_concentrations(self, chain: Any, rng: RngVerbs) -> None:
        """Draw the concentrations that have a prior, given the tables; their own shares are integrated out."""
        alphas, customers, tables = list(chain.prior.alphas), chain.customers(), chain.tables.sum(axis=1)
        for level, prior in enumerate(self.alpha_priors(len(alphas))):
            own = chain.tree.levels[1:] == level + 1
            alphas[level] = draw_alpha_of_groups(alphas[level], customers[own], int(tables[own].sum()), prior, rng)
        gamma = chain.prior.gamma
        if self.target.gamma_prior is not None:
            n_tables = int(tables[chain.tree.levels[1:] == 1].sum())
            gamma = draw_alpha_by_auxiliary(gamma, n_tables, chain.n_clusters, self.target.gamma_prior, rng)
        chain.prior = Hierarchy(tuple(alphas), gamma)


def one_table_a_cell(chain: GroupedChain) -> Labels:
    """(nodes but the root, slots): a table for each cluster of a group, and of an inner node."""
    tree = chain.tree
    served = np.zeros((len(tree.parents), chain.state.capacity), dtype=np.int64)
    served[tree.n_inner :] = chain.guests() > 0
    for node in range(len(tree.parents) - 1, 0, -1):
        served[tree.parents[node]] |= served[node]
    return served[1:]
