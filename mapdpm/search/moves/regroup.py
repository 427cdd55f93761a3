"""Regroup: cluster the points of a few neighbouring clusters anew, and keep the result if it is better."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.protocol import Labels
from mapdpm.search.moves.parts import nearest, points_of, put_back
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_MOST = 5
_SWEEPS = 30
ROUNDS = 10
_MOST_GROUPS = 300
"""The limit of one run: not all of many clusters are visited in each round."""


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
            (slots,) = nearest(self.problem, state, [own], int(self.rng.integers(2, _MOST + 1)), self.rng)
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
        if not is_gain(*problem.backend.recluster(problem.model, state, points, anew, order[seeds:], _SWEEPS)):
            return None
        return put_back(problem, state, slots, points, anew)
