"""Part of a state: the points of its clusters, clusters put back after they were changed, and what was in vain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.protocol import Labels, Matrix
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState, compacted

_SAME = 0.98
"""The share of its points that makes a cluster the one that could not be split before."""


def members(state: ClusterState) -> list[Labels]:
    """The points of each slot, in order; O(N)."""
    # numpy's stable sort of short integers is a radix sort.
    short = state.labels.astype(np.uint16) if state.capacity <= np.iinfo(np.uint16).max else state.labels
    order = np.argsort(short, kind="stable")
    return np.split(order, np.cumsum(state.counts)[:-1])


def put_back(problem: Problem, state: ClusterState, slots: Labels, points: Labels, part: ClusterState) -> ClusterState:
    """``state``, edited or its larger successor, whose ``slots`` now hold ``points`` as ``part`` clusters them.

    ``slots`` are emptied; the clusters of ``part`` go to them, in order of first appearance, and to the lowest free
    slots. The caller keeps to the cap.
    """
    part = compacted(problem.model.likelihood, part, problem.blank)
    wanted = part.capacity - 1
    state.counts[slots] = 0
    state.rows[slots] = problem.blank
    while wanted > state.capacity - state.n_clusters:
        state = problem.grown(state)
    free = np.flatnonzero(state.counts == 0)
    places = np.concatenate((slots, free[~np.isin(free, slots)]))[:wanted]
    state.labels[points] = places[part.labels]
    state.counts[places] = part.counts[:wanted]
    state.rows[places] = part.rows[:wanted]
    return state


class Memory:
    """Clusters without a gainful split, and changes of clusters that were tried.

    Of each cluster it keeps the gain of its best halves without the term for a new cluster. This gain does not depend
    on alpha, so it holds in the next fit of the same points, too.
    """

    def __init__(self, n_points: int) -> None:
        self._slots = np.full(n_points, -1, dtype=np.int64)  # that in which a point last was in vain
        self._clusters: dict[int, tuple[int, float, float]] = {}
        self._halves: dict[int, tuple[Labels, Labels, float]] = {}
        self._tried: set[bytes] = set()

    def copied(self) -> Memory:
        """A copy, for another run that starts from the same state; O(N)."""
        other = Memory(0)
        other._slots = self._slots.copy()
        other._clusters, other._halves, other._tried = self._clusters.copy(), self._halves.copy(), self._tried.copy()
        return other

    def note(self, slot: int, points: Labels, gain: float, size: float, halves: Labels | None = None) -> None:
        """Remember ``points`` of ``slot``; ``gain``, of their best ``halves``, is a difference of terms of ``size``."""
        self._slots[points] = slot
        self._clusters[slot] = len(points), gain, size
        self._halves.pop(slot, None)
        if halves is not None:
            self._halves[slot] = points, halves, gain

    def knows(self, slot: int, points: Labels, opening: float) -> bool:
        """Whether ``points`` are a cluster that was tried, and opening another at ``opening`` nats would not gain."""
        n_points, gain, size = self._clusters.get(slot, (0, 0.0, 0.0))
        common = np.count_nonzero(self._slots[points] == slot)
        return bool(common >= _SAME * max(len(points), n_points)) and not is_gain(gain + opening, size)

    def refused(self, places: list[Labels]) -> Iterator[tuple[int, Labels]]:
        """Each slot whose points, in ``places``, are still those of its best halves, and these; least loss first."""
        for slot, (points, halves, _) in sorted(self._halves.items(), key=lambda item: (-item[1][2], item[0])):
            if slot < len(places) and np.array_equal(places[slot], points):
                yield slot, halves

    def is_tried(self, rows: Matrix) -> bool:
        """Whether a change of exactly these clusters was tried; from now on it was."""
        key = rows.tobytes()
        known = key in self._tried
        self._tried.add(key)
        return known
