"""Pairs of clusters in the order of what their merger costs the log joint. c_kernels/batch/merge.c is the twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.objective import is_gain, within_tolerance
from mapdpm.protocol import Labels, Matrix, Model, Vector
from mapdpm.state import ClusterState

_LOOK_AHEAD = 8
"""Merges in a row that together must gain: three clusters may be one where no two of them are."""

_NUMBERS, _LOOKS = 1 << 22, 64
"""If pairs of rows have more numbers than this, so many looks at the clock are made while partners are sought."""


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

    def __init__(self, likelihood: Any, prior: Any, backend: Any) -> None:
        self._likelihood, self._prior, self._backend = likelihood, prior, backend
        self.resize(0)

    def resize(self, capacity: int) -> None:
        """Forget all pairs, for so many slots."""
        self.known: Matrix = np.full((capacity, self._likelihood.n_statistics()), np.nan)
        """The statistics for which the cheapest partners are known."""
        self.partners: Labels = np.full(capacity, -1, dtype=np.int64)
        self.losses: Vector = np.full(capacity, np.inf)

    def cheapest(self, state: ClusterState) -> Pair:
        """The pair of clusters of ``state`` whose merger loses least; there are at least two."""
        self._update(state)
        kept = int(np.argmax(within_tolerance(-self.losses)))
        loss = self.losses[kept] + self._prior.log_new(state.n_clusters - 1, 1.0)
        return Pair(kept, int(self.partners[kept]), float(loss))

    def merge(self, state: ClusterState, pair: Pair) -> None:
        """Add the statistics of ``pair.gone`` to those of ``pair.kept``, and empty its slot; labels stay. Edits."""
        self._likelihood.merge(state.rows[pair.kept], state.rows[pair.gone])
        self._likelihood.prepare(state.rows[pair.kept])
        self._likelihood.init(state.rows[pair.gone])
        state.counts[pair.kept] += state.counts[pair.gone]
        state.counts[pair.gone] = 0

    def found_in_time(self, state: ClusterState, expired: Callable[[], bool]) -> bool:
        """Find the partners of all clusters, where that takes long; False if time was up before.

        They are found from the last slot on: a slot has its partner among those above it, and others are hidden.
        """
        capacity, width = state.rows.shape
        if capacity == len(self.known) and np.array_equal(state.rows[:, : self.known.shape[1]], self.known):
            return True
        if state.n_clusters * state.n_clusters * width <= _NUMBERS:
            return not expired()
        self.resize(capacity)
        used, step = np.flatnonzero(state.counts), -(-state.n_clusters // _LOOKS)
        for last in range(len(used), 0, -step):
            if expired():
                self.resize(capacity)
                return False
            own = used[max(last - step, 0) : last]
            counts, stale = state.counts.copy(), np.zeros(capacity, dtype=np.int64)
            counts[: own[0]], stale[own] = 0, 1
            hidden = state._replace(counts=counts)
            self._backend.merge_losses(self._likelihood, self._prior, hidden, stale, self.partners, self.losses)
        self.known[:] = state.rows[:, : self.known.shape[1]]
        return True

    def _update(self, state: ClusterState) -> None:
        """Bring partners and losses up to date with the rows that have changed."""
        if state.capacity != len(self.known):
            self.resize(state.capacity)
        rows = state.rows[:, : self.known.shape[1]]
        stale = np.any(rows != self.known, axis=1).astype(np.int64)
        self.known[:] = rows
        self._backend.merge_losses(self._likelihood, self._prior, state, stale, self.partners, self.losses)


def merge(backend: Any, model: Model, state: ClusterState, pairs: Agglomeration, most: int) -> int:
    """Merge the cheapest pairs of ``state``, which is edited, while that gains; returns how many were merged.

    If the best merge loses, further merges are tried on top of it, on a copy of the statistics; all are kept if
    together they gain. It ends when none do, or when ``most`` pairs were merged.
    """
    ahead = ClusterState(np.empty(0, dtype=np.int64), state.counts.copy(), state.rows.copy())
    pending: list[Pair] = []
    merged, gain, size = 0, 0.0, 0.0
    while ahead.n_clusters > 1 and len(pending) < _LOOK_AHEAD and merged < most:
        pair = pairs.cheapest(ahead)
        log_marginals = backend.log_marginals(model.likelihood, ahead)
        gain -= pair.loss
        size += abs(log_marginals[pair.kept] + log_marginals[pair.gone])
        pairs.merge(ahead, pair)
        pending.append(pair)
        if is_gain(gain, size):
            merged += len(pending)
            for slot, gone, _ in pending:
                state.labels[state.labels == gone] = slot
                changed = [slot, gone]
                state.counts[changed], state.rows[changed] = ahead.counts[changed], ahead.rows[changed]
            pending, gain, size = [], 0.0, 0.0
    return merged
