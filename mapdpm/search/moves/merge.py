"""Merge: two clusters become one if that raises the log joint; the best pair first, some merges ahead."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.search.agglomeration import Agglomeration, Pair
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_LOOK_AHEAD = 8
"""Merges in a row that together must gain: three clusters may be one where no two of them are."""


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
        ahead = ClusterState(np.empty(0, dtype=np.int64), state.counts.copy(), state.rows.copy())
        pending: list[Pair] = []
        merged, gain, size = 0, 0.0, 0.0
        while ahead.n_clusters > 1 and len(pending) < _LOOK_AHEAD and not self._expired():
            pair = self._pairs.cheapest(ahead)
            log_marginals = self.problem.backend.log_marginals(self.problem.model.likelihood, ahead)
            gain -= pair.loss
            size += abs(log_marginals[pair.kept] + log_marginals[pair.gone])
            self._pairs.merge(ahead, pair)
            pending.append(pair)
            if is_gain(gain, size):
                merged += len(pending)
                for slot, gone, _ in pending:
                    state.labels[state.labels == gone] = slot
                    state.counts[[slot, gone]], state.rows[[slot, gone]] = (
                        ahead.counts[[slot, gone]],
                        ahead.rows[[slot, gone]],
                    )
                pending, gain, size = [], 0.0, 0.0
        return state, merged
