"""The problem of a search with groups: points, their groups, and the prior of a tree of groups."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from mapdpm.backends.grouped import GroupCounts
from mapdpm.data.group_tree import GroupTree
from mapdpm.partition_priors.hierarchy import Hierarchy, Solution
from mapdpm.protocol import Labels, Vector
from mapdpm.search.problem import Problem
from mapdpm.search.sharing import SharingProblem, SharingState

_GIBBS_SWEEPS = 3


@dataclass(frozen=True)
class GroupedProblem(SharingProblem):
    """The points and their groups; a table counts the points of each group in each slot, (groups, capacity).

    Points of one group are neighbours.
    """

    flat: Problem
    groups: Labels
    """(N,): the group of each point, 0, 1, ..., rising."""
    parents: Labels
    """(inner nodes + groups,): the parent of each inner node, the root first, and then of each group."""
    n_groups: int
    prior: Hierarchy

    @classmethod
    def of(cls, flat: Problem, tree: GroupTree, prior: Hierarchy) -> GroupedProblem:
        """The problem of the points of the leaves of ``tree``, which ``flat`` has in order of their groups."""
        return cls(flat, np.sort(tree.of_points), tree.parents, tree.n_groups, prior)

    @property
    def n_inner(self) -> int:
        """The number of nodes above the groups."""
        return len(self.parents) - self.n_groups

    def counts(self, state: SharingState) -> GroupCounts:
        """The argument of kernels: views of ``state``."""
        new_share = 1.0 / (1.0 + self.prior.gamma)
        return GroupCounts(self.groups, state.table, state.weights, self.parents, new_share)

    def table_of(self, labels: Labels, capacity: int) -> Labels:
        """The points of each group in each slot."""
        seated = labels >= 0
        cells = self.groups[seated] * capacity + labels[seated]
        return np.bincount(cells, minlength=self.n_groups * capacity).reshape(self.n_groups, capacity)

    def of_slots(self, table: Labels, slots: Labels) -> Labels:
        """The columns of ``slots``."""
        return table[:, slots]

    def merged(self, table: Labels, k: int, gone: int) -> Labels:
        """``table`` with the column ``gone`` added to ``k``."""
        table = table.copy()
        table[:, k] += table[:, gone]
        return np.delete(table, gone, axis=1)

    def solve(self, table: Labels) -> Solution:
        """The shares of all inner nodes at the mode, and log p(z)."""
        return self.prior.solve(table, self.parents)

    def log_probability(self, table: Labels) -> float:
        """log p(z) of a table all of whose slots are in use."""
        return self.prior.log_partition(table, self.parents)

    def concentrations(self) -> Vector:
        """(inner nodes,): the alpha of the children of each."""
        return self.prior.of_children(self.parents, self.n_inner)

    def with_numbers(self, numbers: tuple[float, ...]) -> GroupedProblem:
        """The same points under other concentrations: alphas, and gamma."""
        return dataclasses.replace(self, prior=Hierarchy(numbers[:-1], numbers[-1]))

    def sweep_from(self, state: SharingState, position: int, may_grow: bool) -> tuple[int, int]:
        """Sweep (Teh2004 (37), solved for the mode)."""
        model, backend = self.flat.model, self.flat.backend
        return backend.grouped_sweep(model, state.clusters, self.counts(state), position, may_grow)

    def seat(self, state: SharingState, order: Labels, may_grow: bool) -> int:
        """Add points one after the other."""
        model, backend = self.flat.model, self.flat.backend
        return backend.grouped_start(model, state.clusters, self.counts(state), order, may_grow)

    def perturbed(self, state: SharingState, rng: np.random.Generator) -> SharingState:
        """Some Gibbs sweeps from ``state``; O(N K D)."""
        for _ in range(_GIBBS_SWEEPS):
            while self.flat.may_grow(state.clusters) and 2 * state.n_clusters > state.clusters.capacity:
                state = self.grown(state)
            self.flat.backend.grouped_perturb(
                self.flat.model, state.clusters, self.counts(state), rng.random(self.n_points)
            )
            state.stale = True
            self.refresh(state)
        return state
