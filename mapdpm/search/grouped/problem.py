"""The problem of a search with groups: points, their groups, the prior; and a partition of them with its shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mapdpm.backends.grouped import GroupCounts
from mapdpm.objective import is_gain
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState, copied, resized

_GIBBS_SWEEPS = 3


@dataclass
class GroupedState:
    """A partition of grouped points; moves edit its arrays, and ``refresh`` makes all of them anew from the labels."""

    clusters: ClusterState
    table: Labels
    """(groups, capacity): points of each group in each slot."""
    weights: Matrix
    """(inner nodes, capacity + 1): the alpha of the children of each inner node times its share of each slot; last that
    of a new cluster."""
    log_prior: float = 0.0
    """log p(z) after ``refresh``."""
    stale: bool = True
    """Whether points have moved since ``refresh``: then rows have the rounding of what was added and removed."""

    @property
    def labels(self) -> Labels:
        """The slot of each point."""
        return self.clusters.labels

    @property
    def n_clusters(self) -> int:
        """The number of slots in use."""
        return self.clusters.n_clusters

    def copy(self) -> GroupedState:
        """The same state with arrays of its own."""
        return GroupedState(copied(self.clusters), self.table.copy(), self.weights.copy(), self.log_prior, self.stale)


class GroupedProblem(NamedTuple):
    """The arguments that all moves share; points of one group are neighbours."""

    flat: Problem
    """The same points without their groups."""
    groups: Labels
    """(N,): the group of each point, 0, 1, ..., rising."""
    parents: Labels
    """(inner nodes + groups,): the parent of each inner node, the root first, and then of each group."""
    n_groups: int
    prior: Hierarchy

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.groups)

    @property
    def n_inner(self) -> int:
        """The number of nodes above the groups."""
        return len(self.parents) - self.n_groups

    def counts(self, state: GroupedState) -> GroupCounts:
        """The argument of kernels: views of ``state``."""
        new_share = 1.0 / (1.0 + self.prior.gamma)
        return GroupCounts(self.groups, state.table, state.weights, self.parents, new_share)

    def state_of(self, clusters: ClusterState) -> GroupedState:
        """The state of ``clusters``, refreshed; O(N D)."""
        table = np.zeros((self.n_groups, clusters.capacity), dtype=np.int64)
        state = GroupedState(clusters, table, np.zeros((self.n_inner, clusters.capacity + 1)))
        self.refresh(state)
        return state

    def refresh(self, state: GroupedState) -> None:
        """Compute rows, table and shares of ``state`` from its labels; O(N D)."""
        if not state.stale:
            return
        self.flat.refresh(state.clusters)
        state.table[:] = self.table_of(state.labels, state.clusters.capacity)
        self.share_out(state)
        state.stale = False

    def share_out(self, state: GroupedState) -> None:
        """Set the shares of ``state`` to those at the mode given its table, and its log p(z)."""
        live = np.flatnonzero(state.clusters.counts)
        solution = self.prior.solve(state.table[:, live], self.parents)
        state.weights[:] = 0.0
        state.weights[:, np.append(live, -1)] = self.alphas()[:, None] * solution.shares
        state.log_prior = solution.log_partition

    def log_probability(self, table: Labels) -> float:
        """log p(z) of a table of counts (groups, K)."""
        return self.prior.log_partition(table, self.parents)

    def alphas(self) -> Vector:
        """(inner nodes,): the alpha of the children of each."""
        return self.prior.of_children(self.parents, self.n_inner)

    def table_of(self, labels: Labels, capacity: int) -> Labels:
        """The table of counts (groups, capacity) of ``labels``."""
        cells = np.bincount(self.groups * capacity + labels, minlength=self.n_groups * capacity)
        return cells.reshape(self.n_groups, capacity)

    def log_joint(self, state: GroupedState) -> float:
        """J = log p(z) + log p(x | z) of a refreshed state, in nats."""
        return math.fsum(
            [state.log_prior, *self.flat.backend.log_marginals(self.flat.model.likelihood, state.clusters)]
        )

    def grown(self, state: GroupedState) -> GroupedState:
        """``state`` with twice the slots."""
        capacity = self.flat.capacity(state.clusters.capacity)
        more = capacity - state.clusters.capacity
        return GroupedState(
            resized(self.flat.model.likelihood, state.clusters, capacity),
            np.pad(state.table, ((0, 0), (0, more))),
            np.hstack([state.weights[:, :-1], np.zeros((self.n_inner, more)), state.weights[:, -1:]]),
            state.log_prior,
            state.stale,
        )

    def with_room(self, state: GroupedState) -> GroupedState:
        """``state``, or a larger one, with a free slot where the cap allows one."""
        full = state.n_clusters == state.clusters.capacity
        return self.grown(state) if full and self.flat.may_grow(state.clusters) else state

    def swept(self, state: GroupedState) -> tuple[GroupedState, int]:
        """The state after one sweep with the shares held (Teh2004 (37), solved for the mode), and how many moved.

        Sweeps raise the joint of the partition and the shares; J integrates the shares out, so a sweep could lower it.
        Such a sweep is undone, and counts as one that moved nothing. O(N K D).
        """
        self.refresh(state)
        before, earlier = self.log_joint(state), state.copy()
        position, moved = 0, 0
        while True:
            may_grow = self.flat.may_grow(state.clusters)
            backend = self.flat.backend
            position, more = backend.grouped_sweep(
                self.flat.model, state.clusters, self.counts(state), position, may_grow
            )
            moved += int(more)
            if position == self.n_points:
                break
            state = self.grown(state)
        if not moved:
            return state, 0
        state.stale = True
        self.refresh(state)
        return (state, moved) if is_gain(self.log_joint(state) - before, before) else (earlier, 0)

    def filled(self, state: GroupedState, order: Labels) -> GroupedState:
        """Add the points of ``order``, which are out of ``state``, one after the other; edits it, or a larger one."""
        passed = 0
        while True:
            rest, may_grow = order[passed:], self.flat.may_grow(state.clusters)
            passed += self.flat.backend.grouped_start(
                self.flat.model, state.clusters, self.counts(state), rest, may_grow
            )
            if passed == len(order):
                state.stale = True
                return state
            state = self.grown(state)

    def started(self, order: Labels) -> GroupedState:
        """The state that a sequential start in ``order`` leads to; O(N K D)."""
        clusters = self.flat.empty(self.n_points, self.flat.capacity(1))
        weights = np.zeros((self.n_inner, clusters.capacity + 1))
        weights[:, -1] = self.alphas()
        state = GroupedState(clusters, np.zeros((self.n_groups, clusters.capacity), dtype=np.int64), weights)
        state = self.filled(state, order)
        self.refresh(state)
        return state

    def perturbed(self, state: GroupedState, rng: np.random.Generator) -> GroupedState:
        """Some Gibbs sweeps from ``state``, whose arrays are edited, or those of a larger one; O(N K D)."""
        for _ in range(_GIBBS_SWEEPS):
            while self.flat.may_grow(state.clusters) and 2 * state.n_clusters > state.clusters.capacity:
                state = self.grown(state)
            self.flat.backend.grouped_perturb(
                self.flat.model, state.clusters, self.counts(state), rng.random(self.n_points)
            )
            state.stale = True
            self.refresh(state)
        return state
