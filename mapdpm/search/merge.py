"""Merge: two clusters become one where that raises the log joint; the best pair first, until none is left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapdpm.objective import is_gain, within_tolerance
from mapdpm.protocol import Labels
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState


class Merge:
    """Merging a and b gains L(a + b) - L(a) - L(b) and what p(z) does: docs/maths.md (19) to (21).

    Statistics decide, no point is read. Each slot keeps its cheapest partner, and only pairs of which one has changed
    since are computed again: O(K^2 D) at first, O(K D) for each merge.
    """

    name = "merge"

    def __init__(self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:  # noqa: ARG002
        self.problem = problem
        self._expired = expired
        self._rows = np.empty((0, problem.likelihood.n_statistics()))

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Merge pairs of clusters of ``state``, which is edited, and say how many."""
        merged = 0
        while state.n_clusters > 1 and not self._expired():
            self._update(state)
            k = int(np.argmax(within_tolerance(-self._losses)))
            j = int(self._partners[k])
            log_marginals = self.problem.backend.log_marginals(self.problem.likelihood, state)
            gain = -self._losses[k] - self.problem.prior.log_new(state.n_clusters - 1, 1.0)
            if not is_gain(gain, log_marginals[k] + log_marginals[j]):
                break
            self._merge(state, k, j)
            merged += 1
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
        problem.backend.merge_losses(problem.likelihood, problem.prior, state, stale, self._partners, self._losses)

    def _merge(self, state: ClusterState, k: int, j: int) -> None:
        likelihood = self.problem.likelihood
        likelihood.merge(state.rows[k], state.rows[j])
        likelihood.prepare(state.rows[k])
        likelihood.init(state.rows[j])
        state.counts[k] += state.counts[j]
        state.counts[j] = 0
        state.labels[state.labels == j] = k
