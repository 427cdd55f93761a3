"""Merge: two clusters become one if that raises the log joint; the best pair first, some merges ahead."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_AT_ONCE = 64
"""So many merges from one look at the clock to the next."""


class Merge:
    """Merging a and b gains L(a + b) - L(a) - L(b) and what p(z) does: docs/maths.md (19) to (21).

    It reads statistics only, no points; ``Agglomeration`` says at what cost. If the best merge loses, further merges
    are tried on top of it, on a copy of the statistics; all are kept if together they gain.
    """

    name = "merge"

    def __init__(self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:  # noqa: ARG002
        self.problem = problem
        self._expired = expired
        self._pairs = Agglomeration(problem.model.likelihood, problem.model.prior, problem.backend)

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Merge clusters of ``state``, which is edited; returns it and the number of merges."""
        merged, more = 0, _AT_ONCE
        while more >= _AT_ONCE and not self._expired():
            more = self.problem.backend.merge(self.problem.model, state, self._pairs, _AT_ONCE)
            merged += more
        return state, merged
