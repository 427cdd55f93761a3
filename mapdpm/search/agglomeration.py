"""Pairs of clusters in the order of what their merger costs the log joint."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import Backend
from mapdpm.objective import within_tolerance
from mapdpm.protocol import Labels
from mapdpm.state import ClusterState


class Pair(NamedTuple):
    """Two slots, and by how much the log joint falls if ``gone`` joins ``kept``: docs/maths.md (19) to (21)."""

    kept: int
    gone: int
    loss: float


class Agglomeration:
    """Finds the cheapest pair of clusters, and merges it. It reads statistics only, no points.

    Each slot keeps its cheapest partner, and only pairs with a changed member are computed again: O(K^2 D) at first,
    O(K D) for each merge.
    """

    def __init__(self, likelihood: Any, prior: Any, backend: Backend) -> None:
        self._likelihood, self._prior, self._backend = likelihood, prior, backend
        self._rows = np.empty((0, likelihood.n_statistics()))
        self._partners: Labels = np.empty(0, dtype=np.int64)
        self._losses = np.empty(0)

    def cheapest(self, state: ClusterState) -> Pair:
        """The pair of clusters of ``state`` whose merger loses least; there are at least two."""
        self._update(state)
        kept = int(np.argmax(within_tolerance(-self._losses)))
        loss = self._losses[kept] + self._prior.log_new(state.n_clusters - 1, 1.0)
        return Pair(kept, int(self._partners[kept]), float(loss))

    def merge(self, state: ClusterState, pair: Pair) -> None:
        """Add the statistics of ``pair.gone`` to those of ``pair.kept``, and empty its slot; labels stay. Edits."""
        self._likelihood.merge(state.rows[pair.kept], state.rows[pair.gone])
        self._likelihood.prepare(state.rows[pair.kept])
        self._likelihood.init(state.rows[pair.gone])
        state.counts[pair.kept] += state.counts[pair.gone]
        state.counts[pair.gone] = 0

    def _update(self, state: ClusterState) -> None:
        """Bring partners and losses up to date with the rows that have changed."""
        rows = state.rows[:, : self._rows.shape[1]]
        if len(rows) == len(self._rows):
            stale = np.any(rows != self._rows, axis=1).astype(np.int64)
        else:
            stale = np.ones(len(rows), dtype=np.int64)
            self._partners = np.full(len(rows), -1, dtype=np.int64)
            self._losses = np.full(len(rows), np.inf)
        self._rows = rows.copy()
        self._backend.merge_losses(self._likelihood, self._prior, state, stale, self._partners, self._losses)
