"""Functions of a backend that are made of others: a backend has them as they are here, or faster."""

from __future__ import annotations

from typing import Any

from mapdpm.backends import evidence, halves
from mapdpm.protocol import Model, Vector
from mapdpm.state import ClusterState


class Composed:
    """What any backend can do that has the kernels."""

    def settle(self: Any, model: Model, state: ClusterState, most: int) -> None:
        """``statistics``, then at most ``most`` sweeps, until no point moves; adds no slot."""
        self.statistics(model, state)
        moved = 1
        while moved and most:
            _, moved = self.sweep(model, state, 0, False)
            most -= 1

    def largest_evidence(
        self: Any, made_by: Any, state: ClusterState, widths: evidence.Widths, logs: Vector
    ) -> tuple[Vector, float]:
        """The place of ``widths`` with the largest evidence for the clusters of ``state``, and its gain on ``logs``."""
        return evidence.largest_evidence(self, made_by, state, widths, logs)

    def best_halves(self: Any, model: Model, draws: halves.Draws, tried: halves.Tried) -> halves.Halves:
        """The best two clusters of all points, from several starts; None if no start gives two new ones."""
        return halves.best_halves(self, model, draws, tried)
