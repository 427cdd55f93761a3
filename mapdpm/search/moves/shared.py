"""Moves of many points whose clusters have common shares: each raises J, with the shares solved anew, or does nothing.

``Merge`` and ``Delete`` are the same for all problems. ``Split`` leaves to a subclass how two halves are judged.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.protocol import Labels
from mapdpm.search.moves.merge_split import AT_FIRST, LATER, SAMPLE, TRIES, Memory, Sought, extended, sample_of
from mapdpm.search.sharing import SharingState
from mapdpm.state import ClusterState

_JUDGED = 8
"""Pairs of clusters that are judged by J, of those whose merge costs the likelihood least."""


class SharingMove:
    """A move with the problem, the source of randomness and the clock."""

    def __init__(self, problem: Any, rng: np.random.Generator, expired: Callable[[], bool]) -> None:
        self.problem = problem
        self.rng = rng
        self.expired = expired

    def gains(self, trial: SharingState, state: SharingState) -> bool:
        """Whether ``trial`` has a higher J than ``state``; both are refreshed."""
        before = self.problem.log_joint(state)
        return is_gain(self.problem.log_joint(trial) - before, before)


class Merge(SharingMove):
    """Two clusters become one if that raises J; the best pair first. O(K^2 D + table) for each merge."""

    name = "merge"

    def __call__(self, state: SharingState) -> tuple[SharingState, int]:
        """Merge clusters of ``state``, which is edited; returns it and the number of merges."""
        merged = 0
        while state.n_clusters > 1 and not self.expired():
            best = self._best_pair(state)
            if best is None:
                break
            k, gone = best
            clusters, likelihood = state.clusters, self.problem.flat.model.likelihood
            clusters.labels[clusters.labels == gone] = k
            clusters.counts[k] += clusters.counts[gone]
            clusters.counts[gone] = 0
            likelihood.merge(clusters.rows[k], clusters.rows[gone])
            likelihood.prepare(clusters.rows[k])
            likelihood.init(clusters.rows[gone])
            state.table[:] = self.problem.table_of(state.labels, clusters.capacity)
            self.problem.share_out(state)
            merged += 1
        state.stale |= merged > 0
        return state, merged

    def _best_pair(self, state: SharingState) -> tuple[int, int] | None:
        """The pair whose merge raises J most, among those that cost the likelihood least; None if none gains."""
        flat, capacity = self.problem.flat, state.clusters.capacity
        partners, losses = np.full(capacity, -1, dtype=np.int64), np.full(capacity, np.inf)
        stale = np.ones(capacity, dtype=np.int64)
        flat.backend.merge_losses(flat.model.likelihood, NO_PRIOR, state.clusters, stale, partners, losses)
        size = self.problem.log_joint(state)
        live = np.flatnonzero(state.clusters.counts)
        table = self.problem.of_slots(state.table, live)
        best, pair = 0.0, None
        for k in np.argsort(losses, kind="stable")[:_JUDGED]:
            if partners[k] < 0:
                break
            one, two = np.searchsorted(live, [k, partners[k]]).tolist()
            prior = self.problem.log_probability(self.problem.merged(table, one, two))
            gain = prior - state.log_prior - losses[k]
            if gain > best and is_gain(gain, size):
                best, pair = gain, (int(k), int(partners[k]))
        return pair


class Split(SharingMove, abc.ABC):
    """A cluster becomes two if that raises J: halves are found as if points had no shares, and then refined."""

    name = "split"

    def __init__(self, problem: Any, rng: np.random.Generator, expired: Callable[[], bool]) -> None:
        super().__init__(problem, rng, expired)
        self._memory = Memory(problem.n_points)

    @abc.abstractmethod
    def judged(
        self, state: SharingState, slot: int, points: Labels, halves: ClusterState
    ) -> tuple[SharingState | None, float]:
        """A state where ``points`` of ``slot`` are divided, refined from ``halves``, if J is higher; and what J gains.

        It does not edit ``state``.
        """

    def __call__(self, state: SharingState) -> tuple[SharingState, int]:
        """Split clusters of ``state``; returns it or its successor, and the number of splits."""
        split = 0
        waiting = np.flatnonzero(state.clusters.counts).tolist()[::-1]
        while waiting and self.problem.flat.max_clusters != state.n_clusters and not self.expired():
            slot = waiting.pop()
            points = np.flatnonzero(state.labels == slot)
            if len(points) < 2 or self._memory.knows(slot, points, 0.0):  # noqa: PLR2004  (two halves)
                continue
            found, gain = self._divided(state, slot, points)
            if found is None:
                self._memory.note(slot, points, gain, self.problem.log_joint(state))
                continue
            state = found
            split += 1
            waiting += [each for each in np.unique(state.labels[points])[::-1].tolist() if each not in waiting]
        return state, split

    def _divided(self, state: SharingState, slot: int, points: Labels) -> tuple[SharingState | None, float]:
        """A state where ``points`` are two clusters, with a higher J, or None; and the best gain."""
        best = -np.inf
        for halves in self.halves(state, points):
            found, gain = self.judged(state, slot, points, halves)
            if found is not None:
                return found, gain
            best = max(best, gain)
        return None, best

    def halves(self, state: SharingState, points: Labels) -> Iterator[ClusterState]:
        """Divisions of ``points`` into two clusters, to be judged one after the other."""
        flat, others = self.problem.flat, state.n_clusters - 1
        all_points = flat.part(points, others)
        large = len(points) > SAMPLE
        sought = None
        for attempt in range(TRIES):
            if large or sought is None:
                sample = sample_of(points, self.rng) if large else points
                sought = Sought(flat.part(sample, others) if large else all_points)
            found = sought.best_halves(AT_FIRST if attempt == 0 else LATER, self.rng).state
            if found is not None:
                yield from extended(all_points, found) if large else (found,)


class Delete(SharingMove):
    """The points of a cluster join the others, one by one, if that raises J; small clusters first. O(N K D) for all."""

    name = "delete"

    def __call__(self, state: SharingState) -> tuple[SharingState, int]:
        """Delete clusters; returns the best state, and the number of clusters deleted."""
        deleted = 0
        for slot in np.argsort(state.clusters.counts, kind="stable"):
            if state.clusters.counts[slot] == 0:
                continue
            if state.n_clusters == 1 or self.expired():
                break
            trial = self._without(state.copy(), int(slot))
            if self.gains(trial, state):
                state = trial
                deleted += 1
        return state, deleted

    def _without(self, state: SharingState, slot: int) -> SharingState:
        """``state``, edited: the points of ``slot`` join other clusters, each given those that went before."""
        points = np.flatnonzero(state.labels == slot)
        state.labels[points] = -1
        state.clusters.counts[slot] = 0
        self.problem.flat.model.likelihood.init(state.clusters.rows[slot])
        state.table[:] = self.problem.table_of(state.labels, state.clusters.capacity)
        state.weights[:, [slot, -1]] = 0.0  # no new cluster
        self.problem.seat(state, points, False)
        state.stale = True
        self.problem.refresh(state)
        return state
