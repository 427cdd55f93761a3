"""Merge: two clusters become one if that raises the log joint; the best pair first, some merges ahead."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapdpm.objective import is_gain, within_tolerance
from mapdpm.protocol import Labels
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_LOOK_AHEAD = 8
"""Merges in a row that together must gain: three clusters may be one where no two of them are."""


class Merge:
    """Merging a and b gains L(a + b) - L(a) - L(b) and what p(z) does: docs/maths.md (19) to (21).

    It reads statistics only, no points. Each slot keeps its cheapest partner, and only pairs with a changed member are
    computed again: O(K^2 D) at first, O(K D) for each merge. If the best merge loses, further merges are tried on top
    of it, on a copy of the statistics; all are kept if together they gain.
    """

    name = "merge"

    def __init__(self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:  # noqa: ARG002
        self.problem = problem
        self._expired = expired
        self._rows = np.empty((0, problem.model.likelihood.n_statistics()))

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Merge clusters of ``state``, which is edited; returns it and the number of merges."""
        ahead = ClusterState(np.empty(0, dtype=np.int64), state.counts.copy(), state.rows.copy())
        pending: list[tuple[int, int]] = []
        merged, gain, size = 0, 0.0, 0.0
        while ahead.n_clusters > 1 and len(pending) < _LOOK_AHEAD and not self._expired():
            self._update(ahead)
            k = int(np.argmax(within_tolerance(-self._losses)))
            j = int(self._partners[k])
            log_marginals = self.problem.backend.log_marginals(self.problem.model.likelihood, ahead)
            gain -= self._losses[k] + self.problem.model.prior.log_new(ahead.n_clusters - 1, 1.0)
            size += abs(log_marginals[k] + log_marginals[j])
            self._merge(ahead, k, j)
            pending.append((k, j))
            if is_gain(gain, size):
                merged += len(pending)
                for slot, gone in pending:
                    state.labels[state.labels == gone] = slot
                    state.counts[[slot, gone]], state.rows[[slot, gone]] = (
                        ahead.counts[[slot, gone]],
                        ahead.rows[[slot, gone]],
                    )
                pending, gain, size = [], 0.0, 0.0
        return state, merged

    def _update(self, state: ClusterState) -> None:
        """Bring partners and losses up to date with the rows that have changed."""
        rows = state.rows[:, : self._rows.shape[1]]
        if len(rows) == len(self._rows):
            stale = np.any(rows != self._rows, axis=1).astype(np.int64)
        else:
            stale = np.ones(len(rows), dtype=np.int64)
            self._partners: Labels = np.full(len(rows), -1, dtype=np.int64)
            self._losses = np.full(len(rows), np.inf)
        self._rows = rows.copy()
        problem = self.problem
        problem.backend.merge_losses(
            problem.model.likelihood, problem.model.prior, state, stale, self._partners, self._losses
        )

    def _merge(self, state: ClusterState, k: int, j: int) -> None:
        likelihood = self.problem.model.likelihood
        likelihood.merge(state.rows[k], state.rows[j])
        likelihood.prepare(state.rows[k])
        likelihood.init(state.rows[j])
        state.counts[k] += state.counts[j]
        state.counts[j] = 0
