"""The problem of a search whose clusters have common shares; and a partition of its points with its shares."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.search.ascent import FitProgress, Plan, Report, ascend
from mapdpm.search.exhaustive import labels_of
from mapdpm.search.moves.merge_split import Merge, Split
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState, resized

_ERROR = 0.05  # nats; the docstrings of Hierarchy and Transitions promise 0.03


@dataclass
class SharingState:
    """A partition and its shares; moves edit its arrays, and ``refresh`` makes all of them anew from the labels."""

    clusters: ClusterState
    table: Labels
    """The counts that the prior reads, as ``SharingProblem.table_of`` makes them."""
    weights: Matrix
    """(inner nodes, capacity + 1): the concentration below each inner node times its share of each slot; last that of a
    new cluster."""
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

    def copy(self) -> SharingState:
        """The same state with arrays of its own."""
        return SharingState(self.clusters.copy(), self.table.copy(), self.weights.copy(), self.log_prior, self.stale)


class SharingProblem(abc.ABC):
    """What all moves share: the points, and a prior that reads a table of counts.

    A subclass says what the table counts, and calls the kernels that hold the shares.
    """

    flat: Problem
    """The same points, each on its own."""
    prior: Any
    """Of partitions; its concentrations are ``numbers``."""
    few = 7
    """So many points have 877 partitions; most are ruled out by their likelihood alone."""

    # ---- what a subclass says ---------------------------------------------------------------------------------------

    @abc.abstractmethod
    def table_of(self, labels: Labels, capacity: int) -> Labels:
        """The table of counts of ``labels``, for ``capacity`` slots; points of label -1 are out."""

    @abc.abstractmethod
    def of_slots(self, table: Labels, slots: Labels) -> Labels:
        """The part of ``table`` of the slots in use."""

    @abc.abstractmethod
    def merged(self, table: Labels, k: int, gone: int) -> Labels:
        """``table``, all of whose slots are in use, where the points of ``gone`` are in ``k``, one slot less."""

    @abc.abstractmethod
    def solve(self, table: Labels) -> Any:
        """The ``shares`` at the mode given ``table``, all of whose slots are in use, and ``log_partition``."""

    @abc.abstractmethod
    def concentrations(self) -> Vector:
        """(inner nodes,): the concentration below each."""

    @abc.abstractmethod
    def with_numbers(self, numbers: tuple[float, ...]) -> Any:
        """The same problem under other concentrations, ``prior.numbers``."""

    @abc.abstractmethod
    def sweep_from(self, state: SharingState, position: int, may_grow: bool) -> tuple[int, int]:
        """Sweep from the point ``position`` on, with the shares held; the point where slots ran out, and moves."""

    @abc.abstractmethod
    def seat(self, state: SharingState, order: Labels, may_grow: bool) -> int:
        """Add the points of ``order``, which are out, one after the other; returns how many found a slot."""

    @abc.abstractmethod
    def perturbed(self, state: SharingState, rng: np.random.Generator) -> SharingState:
        """A random neighbour of ``state``, whose arrays are edited, or those of a larger one."""

    # ---- what follows -----------------------------------------------------------------------------------------------

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self.flat.n_points

    def log_probability(self, table: Labels) -> float:
        """log p(z) of a table all of whose slots are in use."""
        return float(self.solve(table).log_partition)

    def state_of(self, clusters: ClusterState) -> SharingState:
        """The state of ``clusters``, refreshed; O(N D)."""
        table = self.table_of(clusters.labels, clusters.capacity)
        state = SharingState(clusters, table, np.zeros((len(self.concentrations()), clusters.capacity + 1)))
        self.refresh(state)
        return state

    def refresh(self, state: SharingState) -> None:
        """Compute rows, table and shares of ``state`` from its labels; O(N D)."""
        if not state.stale:
            return
        self.recount(state)
        self.share_out(state)
        state.stale = False

    def recount(self, state: SharingState) -> None:
        """Compute rows and table of ``state`` from its labels, and hold the shares; O(N D)."""
        self.flat.refresh(state.clusters)
        state.table[:] = self.table_of(state.labels, state.clusters.capacity)

    def share_out(self, state: SharingState) -> None:
        """Set the shares of ``state`` to those at the mode given its table, and its log p(z)."""
        live = np.flatnonzero(state.clusters.counts)
        solution = self.solve(self.of_slots(state.table, live))
        state.weights[:] = 0.0
        state.weights[:, np.append(live, -1)] = self.concentrations()[:, None] * solution.shares
        state.log_prior = solution.log_partition

    def log_joint(self, state: SharingState) -> float:
        """J = log p(z) + log p(x | z) of a refreshed state, in nats."""
        log_marginals = self.flat.backend.log_marginals(self.flat.model.likelihood, state.clusters)
        return math.fsum([state.log_prior, *log_marginals])

    def grown(self, state: SharingState) -> SharingState:
        """``state`` with twice the slots."""
        clusters = resized(self.flat.model.likelihood, state.clusters, self.flat.capacity(state.clusters.capacity))
        more = clusters.capacity - state.clusters.capacity
        weights = np.hstack([state.weights[:, :-1], np.zeros((len(state.weights), more)), state.weights[:, -1:]])
        return SharingState(
            clusters, self.table_of(clusters.labels, clusters.capacity), weights, state.log_prior, state.stale
        )

    def with_room(self, state: SharingState) -> SharingState:
        """``state``, or a larger one, with a free slot where the cap allows one."""
        full = state.n_clusters == state.clusters.capacity
        return self.grown(state) if full and self.flat.may_grow(state.clusters) else state

    def swept(self, state: SharingState) -> tuple[SharingState, int]:
        """The state after one sweep with the shares held, and how many points moved.

        Sweeps raise the joint of the partition and the shares; J integrates the shares out, so a sweep could lower it.
        Such a sweep is undone, and counts as one that moved nothing. O(N K D).
        """
        self.refresh(state)
        before, earlier = self.log_joint(state), state.copy()
        position, moved = 0, 0
        while True:
            position, more = self.sweep_from(state, position, self.flat.may_grow(state.clusters))
            moved += int(more)
            if position == self.n_points:
                break
            state = self.grown(state)
        if not moved:
            return state, 0
        state.stale = True
        self.refresh(state)
        return (state, moved) if is_gain(self.log_joint(state) - before, before) else (earlier, 0)

    def filled(self, state: SharingState, order: Labels) -> SharingState:
        """Add the points of ``order``, which are out of ``state``, one after the other; edits it, or a larger one."""
        passed = 0
        while True:
            passed += self.seat(state, order[passed:], self.flat.may_grow(state.clusters))
            if passed == len(order):
                state.stale = True
                return state
            state = self.grown(state)

    def from_labels(self, labels: Labels) -> SharingState:
        """The state of ``labels`` 0..K-1; O(N D)."""
        return self.state_of(self.flat.from_labels(labels))

    def sequential(self) -> SharingState:
        """The state that a sequential start in the order of points leads to; O(N K D)."""
        clusters = self.flat.empty(self.n_points, self.flat.capacity(1))
        alphas = self.concentrations()
        weights = np.zeros((len(alphas), clusters.capacity + 1))
        weights[:, -1] = alphas
        state = SharingState(clusters, self.table_of(clusters.labels, clusters.capacity), weights)
        state = self.filled(state, np.arange(self.n_points))
        self.refresh(state)
        return state

    # ---- what a run asks --------------------------------------------------------------------------------------------

    def starts(self, name: str, plan: Plan, rng: np.random.Generator, report: Report) -> Iterator[SharingState]:  # noqa: ARG002
        """The states that a run may start from: the mode of the points each on its own, and a sequential start."""
        yield self._pooled(plan, rng, report)
        yield self.sequential()

    def later(self, plan: Plan) -> tuple[str, ...]:  # noqa: ARG002
        """The starts of all runs but the first: random neighbours of the best."""
        return ("gibbs",)

    def log_priors(self, every: Labels, likelihoods: Vector, least: float) -> Vector:
        """log p(z) of all partitions of the points; -inf where it is too low to matter.

        As p(z) <= 1, all are ruled out whose likelihood is below the best J so far, ``least`` at first; ``_ERROR``
        allows for that of log p(z).
        """
        log_priors = np.full(len(every), -np.inf)
        for i in np.argsort(-likelihoods, kind="stable"):
            if likelihoods[i] + _ERROR <= least:
                break
            table = self.table_of(labels_of(every[i]), int(np.count_nonzero(every[i])))
            log_priors[i] = self.log_probability(table)
            least = max(least, float(likelihoods[i] + log_priors[i]))
        return log_priors

    def _pooled(self, plan: Plan, rng: np.random.Generator, report: Report) -> SharingState:
        """The mode of the points, each on its own; reports of it have another objective, and say so."""
        flat = self.flat

        def said(progress: FitProgress) -> bool:
            return report(progress._replace(move=f"pooled {progress.move}"))

        start = flat.sequential(np.arange(self.n_points))
        moves = (Merge, Split) if plan.moves else ()
        return self.state_of(ascend(flat, start, plan._replace(moves=moves), rng, said).state)
