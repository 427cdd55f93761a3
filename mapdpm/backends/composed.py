"""Functions of a backend that are made of others: a backend has them as they are here, or faster (decision 147)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mapdpm.backends import agglomeration, evidence, halves, parts, states
from mapdpm.backends.states import Rows
from mapdpm.protocol import Labels, Matrix, Model
from mapdpm.state import ClusterState


class Composed(Protocol):
    """What any backend can do that has the kernels."""

    def settle(self: Any, model: Model, state: ClusterState, most: int) -> None:
        """``statistics``, then at most ``most`` sweeps, until no point moves; adds no slot."""
        self.statistics(model, state)
        moved = 1
        while moved and most:
            _, moved = self.sweep(model, state, 0, False)
            most -= 1

    def largest_evidence(
        self: Any, state: ClusterState, parts: Sequence[evidence.Part], expired: Callable[[], bool] = bool
    ) -> list[evidence.Climbed]:
        """The prior of largest evidence for the clusters of ``state``, of each of ``parts`` by itself."""
        return evidence.largest_evidence(self, state, parts, expired)

    def best_halves(self: Any, model: Model, draws: halves.Draws, tried: halves.Tried) -> halves.Halves:
        """The best two clusters of all points, from several starts; None if no start gives two new ones."""
        return halves.best_halves(self, model, draws, tried)

    def recluster(
        self: Any, model: Model, state: ClusterState, points: Labels, anew: ClusterState, order: Labels, most: int
    ) -> tuple[float, float]:
        """Cluster ``points`` of ``state`` anew, in ``anew``; the gain of the log joint, and the joint before."""
        return parts.recluster(self, model, state, points, anew, order, most)

    def draw_states(self: Any, model: Model, state: ClusterState, rows: Rows, begins: Labels, uniforms: Matrix) -> None:
        """Draw the states of all points as paths, one by each row of ``uniforms``."""
        states.draw_states(self, model, state, rows, begins, uniforms)

    def merge(self: Any, model: Model, state: ClusterState, pairs: agglomeration.Agglomeration, most: int) -> int:
        """Merge pairs of clusters while that gains, at most about ``most`` of them; returns how many."""
        return agglomeration.merge(self, model, state, pairs, most)
