"""Moves of a few neighbouring clusters: detours, and points that are clustered anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mapdpm.data import point_set
from mapdpm.objective import is_gain, within_tolerance
from mapdpm.protocol import Labels
from mapdpm.search.moves.merge_split import Memory
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_GROUP = 6
"""So many clusters settle after a detour: those that change, and their nearest neighbours."""
_PARTNERS = 3
_SWEEPS_OF_CHANGE = 5
_NOBODY = np.empty(0, dtype=np.int64)
_MOST_VISITED = 100
"""The most clusters that a call of ``Detour`` visits."""

ROUNDS = 10
_LARGEST = 5
_SWEEPS_AFRESH = 30
_MOST_GROUPS = 300
"""The limit of one run: not all of many clusters are visited in each round."""


class Detour:
    """A larger neighbourhood than merges and splits, which are judged before any other point moves (decision 135).

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
        used = state.n_clusters
        if used == 0:
            return state, 0
        places = state.members()
        turns = self.rng.permutation(np.flatnonzero(state.counts))[:_MOST_VISITED]
        near = nearest(self.problem, state, [places[slot] for slot in turns], _GROUP, self.rng)
        near_to = dict(zip(turns.tolist(), near, strict=True))
        for slots, halves in self._changes(state, places, near_to):
            if self._expired():
                break
            if self._memory.is_tried(state.rows[slots]):
                continue
            group = [*slots, *(k for k in near_to[slots[0]].tolist() if k not in slots)][:_GROUP]
            after = self._settled(state, np.array(group, dtype=np.int64), halves, used - len(group))
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

    def _settled(self, state: ClusterState, group: Labels, halves: Labels | None, others: int) -> ClusterState | None:
        """The state after its first two slots merge, or the first gets ``halves``; None if that does not gain."""
        problem, model = self.problem, self.problem.model
        points, place_of = points_of(state, group), np.zeros(len(state.counts), dtype=np.int64)
        place_of[group] = np.arange(len(group))
        labels = place_of[state.labels[points]]
        if halves is None:
            labels[labels == 1] = 0
        else:
            labels[labels == 0] = np.where(halves == halves[0], 0, len(group))
        most = len(group) + 1
        capacity = most if problem.max_clusters is None else min(most, problem.max_clusters - others)
        anew = problem.empty(0, capacity)._replace(labels=labels)
        if not is_gain(*problem.backend.recluster(model, state, points, anew, _NOBODY, _SWEEPS_OF_CHANGE)):
            return None
        return problem.put_back(state, group, points, anew)


class Regroup:
    """A small restart: it escapes modes that neither merges nor splits can leave.

    For each cluster in turn, a random point of it names the neighbours, the two to five clusters that score it best.
    All their points are taken out. About as many random points open new clusters, the others join in random order, and
    sweeps follow. An attempt makes no split of its own: those that gain by one are found sooner by more attempts, at
    the same cost. O(points taken out, D) each.
    """

    name = "regroup"

    def __init__(
        self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool], rounds: int = ROUNDS
    ) -> None:
        self.problem = problem
        self.rng = rng
        self._expired = expired
        self._rounds = rounds
        self._n_tried = 0

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Visit the clusters of ``state``; returns it or its successor, and how many groups improved.

        All calls of a run together visit each cluster ``rounds`` times. So its cost is known, however often it gains.
        """
        improved = 0
        used = np.flatnonzero(state.counts)
        turns = np.concatenate([self.rng.permutation(used) for _ in range(self._rounds)])
        for slot in turns[self._n_tried : _MOST_GROUPS].tolist():
            self._n_tried += 1
            if state.n_clusters < 2 or self._expired():  # noqa: PLR2004  (a group needs two)
                break
            if state.counts[slot] == 0:
                continue
            own = np.flatnonzero(state.labels == slot)
            (slots,) = nearest(self.problem, state, [own], int(self.rng.integers(2, _LARGEST + 1)), self.rng)
            after = self._afresh(state, slots)
            if after is not None:
                state = after
                improved += 1
        return state, improved

    def _afresh(self, state: ClusterState, slots: Labels) -> ClusterState | None:
        """The state after sweeps that follow a sequential start around random points of ``slots``, if that gains.

        They are as many as there were clusters, one less or one more. One more cluster may open.
        """
        problem, points = self.problem, points_of(state, slots)
        n, others = len(points), state.n_clusters - len(slots)
        most = n if problem.max_clusters is None else min(n, problem.max_clusters - others)
        seeds = min(len(slots) + int(self.rng.integers(-1, 2)), most)
        order = self.rng.permutation(n).astype(np.int64, copy=False)
        anew = problem.empty(n, min(seeds + 1, most))
        anew.labels[order[:seeds]] = np.arange(seeds)
        if not is_gain(*problem.backend.recluster(problem.model, state, points, anew, order[seeds:], _SWEEPS_AFRESH)):
            return None
        return problem.put_back(state, slots, points, anew)


def points_of(state: ClusterState, slots: Labels) -> Labels:
    """The points of some slots, in order; O(N)."""
    wanted = np.zeros(len(state.counts), dtype=np.bool_)
    wanted[slots] = True
    return np.flatnonzero(wanted[state.labels])


def nearest(
    problem: Problem, state: ClusterState, places: list[Labels], most: int, rng: np.random.Generator
) -> list[Labels]:
    """For the points of each of some clusters: its slot, and up to ``most - 1`` others that score a random point best.

    The best go first. O(K D) a cluster.
    """
    points = np.array([at[rng.integers(len(at))] for at in places], dtype=np.int64)
    scores = np.empty((len(points), len(state.counts)))
    problem.backend.score(problem.model._replace(data=point_set(problem.model.data).rows(points)), state, scores)
    scores[:, state.counts == 0] = -np.inf
    groups, every = [state.labels[points]], np.arange(len(points))
    for _ in range(1, min(most, state.n_clusters)):
        scores[every, groups[-1]] = -np.inf
        groups.append(np.argmax(within_tolerance(scores), axis=1))
    return list(np.stack(groups, axis=1))
