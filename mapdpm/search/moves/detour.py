"""Detour: a merge or a split that loses at first, and gains once the neighbours have settled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.protocol import Labels
from mapdpm.search.moves.memory import Memory
from mapdpm.search.moves.parts import members, nearest, points_of, put_back
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_GROUP = 6
"""So many clusters settle: those that change, and their nearest neighbours."""
_PARTNERS = 3
_SWEEPS = 5
_NOBODY = np.empty(0, dtype=np.int64)
_MOST = 100
"""The most clusters that a call visits."""


class Detour:
    """A larger neighbourhood than merges and splits, which are judged before any other point moves.

    The best halves of a cluster that ``Split`` found and refused, and each cluster merged with one of its nearest
    neighbours: sweeps follow over the points of the change and of the clusters near it. The result is kept if the log
    joint is then higher. Each change is tried once. O(points of six clusters, D) each, four of them a cluster.
    """

    name = "detour"

    def __init__(
        self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool], memory: Memory | None = None
    ) -> None:
        self.problem = problem
        self.rng = rng
        self._expired = expired
        self._memory = Memory(problem.n_points) if memory is None else memory

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Try changes of ``state`` until one gains; returns it or its larger successor, and how many gained."""
        if state.n_clusters == 0:
            return state, 0
        places = members(state)
        turns = self.rng.permutation(np.flatnonzero(state.counts))[:_MOST]
        near = nearest(self.problem, state, [places[slot] for slot in turns], _GROUP, self.rng)
        near_to = dict(zip(turns.tolist(), near, strict=True))
        for slots, halves in self._changes(state, places, near_to):
            if self._expired():
                break
            if self._memory.is_tried(state.rows[slots]):
                continue
            group = [*slots, *(k for k in near_to[slots[0]].tolist() if k not in slots)][:_GROUP]
            after = self._settled(state, np.array(group, dtype=np.int64), halves)
            if after is not None:
                return after, 1
        return state, 0

    def _changes(
        self, state: ClusterState, places: list[Labels], near_to: dict[int, Labels]
    ) -> Iterator[tuple[list[int], Labels | None]]:
        """A slot and the halves of its points, the least loss first; then two slots to merge, and None."""
        if self.problem.max_clusters != state.n_clusters:
            for slot, halves in self._memory.refused(places):
                if slot in near_to:
                    yield [slot], halves
        for slot, near in near_to.items():
            for other in near[1 : 1 + _PARTNERS].tolist():
                yield sorted((slot, other)) if other in near_to else [slot, other], None

    def _settled(self, state: ClusterState, group: Labels, halves: Labels | None) -> ClusterState | None:
        """The state after its first two slots merge, or the first gets ``halves``; None if that does not gain."""
        problem, model = self.problem, self.problem.model
        points, others = points_of(state, group), state.n_clusters - len(group)
        place_of = np.zeros(state.capacity, dtype=np.int64)
        place_of[group] = np.arange(len(group))
        labels = place_of[state.labels[points]]
        if halves is None:
            labels[labels == 1] = 0
        else:
            labels[labels == 0] = np.where(halves == halves[0], 0, len(group))
        most = len(group) + 1
        capacity = most if problem.max_clusters is None else min(most, problem.max_clusters - others)
        anew = problem.empty(0, capacity)._replace(labels=labels)
        if not is_gain(*problem.backend.recluster(model, state, points, anew, _NOBODY, _SWEEPS)):
            return None
        return put_back(problem, state, group, points, anew)
