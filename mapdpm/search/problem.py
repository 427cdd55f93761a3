"""The problem of clustering points each on its own: its points, its model, its states and how it is swept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mapdpm import objective
from mapdpm.backends import Backend
from mapdpm.data import point_set
from mapdpm.data.standard import cells_of
from mapdpm.protocol import Labels, Model, Vector
from mapdpm.search.ascent import NEVER, Plan, Report
from mapdpm.search.exhaustive import MOST_POINTS, shapes_of
from mapdpm.state import ClusterState, blank_row, compacted, empty, resized

_FIRST_CAPACITY = 16
_GIBBS_SWEEPS = 3
_NUMBERS = 1 << 28
"""So many numbers, of rows times points, are read from one look at the clock to the next."""
_CELLS, _CELLS_OF_A_RUN, _FEWEST_IN_CELL = "cells", (10, 81), 4


class Problem(NamedTuple):
    """A ``SearchProblem``, and the arguments that all moves share; ``max_clusters`` is a hard cap, or None."""

    model: Model
    backend: Backend
    max_clusters: int | None
    n_points: int
    blank: Vector
    """The row of an empty cluster. It is made once: a search makes many parts, and they may be small."""
    expired: Callable[[], bool] = NEVER
    """Whether time is up; sweeps and starts over many points end soon after."""

    @classmethod
    def of(
        cls, model: Model, backend: Backend, max_clusters: int | None, expired: Callable[[], bool] = NEVER
    ) -> Problem:
        """The problem of clustering the points of ``model``."""
        n_points = point_set(model.data).n_points
        return cls(model, backend, max_clusters, n_points, blank_row(model.likelihood), expired)

    @property
    def few(self) -> int:
        """``exhaustive.MOST_POINTS``."""
        return MOST_POINTS

    @property
    def flat(self) -> Problem:
        """The same points, each on its own."""
        return self

    @property
    def prior(self) -> Any:
        """The partition prior."""
        return self.model.prior

    # ---- states -----------------------------------------------------------------------------------------------------

    def empty(self, n_points: int, capacity: int) -> ClusterState:
        """A state of ``n_points`` points, all out, and ``capacity`` free slots."""
        return empty(self.model.likelihood, n_points, capacity, self.blank)

    def capacity(self, n_clusters: int) -> int:
        """Slots for a state of ``n_clusters``, with some to spare if more clusters are allowed."""
        wanted = max(_FIRST_CAPACITY, 2 * n_clusters)
        return wanted if self.max_clusters is None else min(wanted, self.max_clusters)

    def may_grow(self, state: ClusterState) -> bool:
        """Whether more slots are allowed."""
        return self.max_clusters is None or len(state.counts) < self.max_clusters

    def grown(self, state: ClusterState) -> ClusterState:
        """``state`` with twice the slots."""
        return resized(self.model.likelihood, state, self.capacity(state.capacity))

    def refresh(self, state: ClusterState) -> None:
        """Compute the rows of ``state`` anew from its labels, so that rounding does not add up (decision 7)."""
        self.backend.statistics(self.model, state)

    def from_labels(self, labels: Labels) -> ClusterState:
        """The state with given labels 0..K-1; O(N D)."""
        state = self.empty(0, self.capacity(int(labels.max()) + 1))._replace(labels=labels.copy())
        self.refresh(state)
        return state

    def sequential(self, order: Labels) -> ClusterState:
        """The state that a sequential start in ``order`` leads to (docs/maths.md, section 6, on starts); O(N K D)."""
        return self.filled(self.empty(len(order), self.capacity(1)), order)

    def filled(self, state: ClusterState, order: Labels) -> ClusterState:
        """Add the unassigned points of ``order`` one by one. Edits ``state``, or replaces it when it grows.

        Points that are still out when time is up join the largest cluster.
        """
        passed = 0
        while True:
            end = self._next_look(state, passed, len(order))
            passed += self.backend.sequential_start(self.model, state, order[passed:end], self.may_grow(state))
            if passed == len(order):
                return state
            if self.expired():
                state.labels[order[passed:]] = np.argmax(state.counts)
                self.refresh(state)
                return state
            if passed < end:
                state = self.grown(state)

    def put_back(self, state: ClusterState, slots: Labels, points: Labels, part: ClusterState) -> ClusterState:
        """``state``, edited or its larger successor, whose ``slots`` now hold ``points`` as ``part`` clusters them.

        ``slots`` are emptied; the clusters of ``part`` go to them, in order of first appearance, and to the lowest free
        slots. The caller keeps to the cap.
        """
        part = compacted(self.model.likelihood, part, self.blank)
        wanted = part.capacity - 1
        state.counts[slots] = 0
        state.rows[slots] = self.blank
        while wanted > state.capacity - state.n_clusters:
            state = self.grown(state)
        free = np.flatnonzero(state.counts == 0)
        places = np.concatenate((slots, free[~np.isin(free, slots)]))[:wanted]
        state.labels[points] = places[part.labels]
        state.counts[places] = part.counts[:wanted]
        state.rows[places] = part.rows[:wanted]
        return state

    # ---- what a run asks --------------------------------------------------------------------------------------------

    def starts(self, name: str, plan: Plan, rng: np.random.Generator, report: Report) -> Iterator[ClusterState]:  # noqa: ARG002
        """A sequential start, or one cluster of all points; of "cells", some dozens of a balanced partition.

        One cluster of all points stands beside a sequential start if moves follow. Under a large concentration, points
        open clusters of their own one by one, and single moves do not undo that; from one cluster, splits find the
        clusters that pay.
        """
        n = self.n_points
        if name == _CELLS:
            n_cells = min(int(rng.integers(*_CELLS_OF_A_RUN)), n // _FEWEST_IN_CELL, self.max_clusters or n)
            yield self.from_labels(cells_of(self.model.data, max(n_cells, 1), self.expired))
            return
        if name != "single":
            order = np.arange(n) if name == "sequential" else rng.permutation(n)
            state = self.sequential(order.astype(np.int64, copy=False))
            self.refresh(state)
            yield state
        if name == "single" or plan.moves:
            yield self.from_labels(np.zeros(n, dtype=np.int64))

    def later(self, plan: Plan) -> tuple[str, ...]:
        """After the best run; without moves in random order: the paper's runs know no other."""
        return ("best", _CELLS, "best", "gibbs", "random-order") if plan.moves else ("random-order",)

    def perturbed(self, state: ClusterState, rng: np.random.Generator) -> ClusterState:
        """``state`` after a few Gibbs sweeps. Edits it, or replaces it when it grows. O(N K D)."""
        for _ in range(_GIBBS_SWEEPS):
            while self.may_grow(state) and 2 * state.n_clusters > state.capacity:
                state = self.grown(state)
            self.backend.perturb(self.model, state, rng.random(len(state.labels)))
            self.refresh(state)
        return state

    def swept(self, state: ClusterState) -> tuple[ClusterState, int]:
        """The state after one sweep (Raykov2014 (15)), and how many points moved.

        Each point in turn moves to the slot that raises the log joint most. Edits ``state``, or replaces it when it
        grows. O(N K D). It ends early when time is up.
        """
        position, moved, n = 0, 0, len(state.labels)
        while True:
            end = self._next_look(state, position, n)
            model, first = self._first(state, end)
            position, more = self.backend.sweep(model, first, position, self.may_grow(state))
            moved += int(more)
            if position == n or self.expired():
                return state, moved
            if position < end:
                state = self.grown(state)

    def _next_look(self, state: ClusterState, position: int, n: int) -> int:
        """The point, of ``n``, at which to look at the clock again; without a time limit, that after the last."""
        if self.expired is NEVER:
            return n
        return min(n, position + max(1, _NUMBERS // (self.blank.size * max(state.n_clusters, _FIRST_CAPACITY))))

    def _first(self, state: ClusterState, end: int) -> tuple[Model, ClusterState]:
        """The points before ``end``, and their state: its counts and rows are those of all, and so is what it edits."""
        n, (likelihood, prior, data, weights) = len(state.labels), self.model
        if end == n:
            return self.model, state

        def part(first: int, last: int) -> Model:
            own = None if weights is None else weights[first:last]
            return Model(likelihood, prior, point_set(data).part(first, last), own)

        # rows that are made anew need the points that are not there
        others = self.empty(0, state.capacity)._replace(labels=state.labels[end:])
        self.backend.statistics(part(end, n), others)
        return part(0, end), state._replace(labels=state.labels[:end], base=others.rows)

    def log_joint(self, state: ClusterState) -> float:
        """log p(x, z), in nats."""
        log_marginals = self.backend.log_marginals(self.model.likelihood, state)
        return objective.log_joint(self.model.prior, state, log_marginals)

    def log_priors(self, every: Labels, likelihoods: Vector, least: float) -> Vector:  # noqa: ARG002
        """log p(z) of all partitions of the points, as ``exhaustive.partitions`` lists them."""
        weights = self.model.weights
        shapes, shape_of = shapes_of((1.0,) * self.n_points if weights is None else tuple(weights.tolist()))
        return np.array([self.prior.log_partition(shape[shape > 0]) for shape in shapes])[shape_of]

    def part(self, points: Labels, n_others: int) -> Problem:
        """The problem of how ``points`` are clustered, while ``n_others`` clusters hold all other points.

        Its log joint differs from that of the whole by a constant, so gains are equal.
        """
        cap = None if self.max_clusters is None else self.max_clusters - n_others
        model = objective.part_of(self.model, points, n_others)
        return self._replace(model=model, max_clusters=cap, n_points=len(points))
