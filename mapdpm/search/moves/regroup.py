"""Regroup: cluster the points of a few neighbouring clusters anew, and keep the result if it is better."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from mapdpm.data import point_set
from mapdpm.objective import is_gain, within_tolerance
from mapdpm.protocol import Labels
from mapdpm.search.ascent import Plan, ascend
from mapdpm.search.moves.merge import Merge
from mapdpm.search.moves.parts import put_back
from mapdpm.search.moves.split import Split
from mapdpm.search.problem import Problem
from mapdpm.search.steps import filled
from mapdpm.state import ClusterState

_MOST = 5
_SWEEPS = 30
_ROUNDS = 3
_MOST_GROUPS = 100
"""The limit of one call: each attempt is a search of its own, so not all of many clusters are tried."""


class Regroup:
    """A small restart: it escapes modes that neither merges nor splits can leave.

    For each cluster in turn, a random point of it names the neighbours, the two to five clusters that score it best.
    All their points are taken out. About as many random points open new clusters, and the others join in random order.
    Sweeps, merges and splits follow. O(points taken out, K, D) each.
    """

    name = "regroup"

    def __init__(self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:
        self.problem = problem
        self.rng = rng
        self._expired = expired
        self._plan = Plan((Merge, functools.partial(Split, tries=1)), _SWEEPS, expired)

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Visit the clusters of ``state`` some times; returns it or its successor, and how many groups improved."""
        improved = 0
        used = np.flatnonzero(state.counts)
        turns = np.concatenate([self.rng.permutation(used) for _ in range(_ROUNDS)])
        for slot in turns[:_MOST_GROUPS]:
            if state.n_clusters < 2 or self._expired():  # noqa: PLR2004  (a group needs two)
                break
            if state.counts[slot] == 0:
                continue
            slots = self._group(state, int(slot))
            points = np.flatnonzero(np.isin(state.labels, slots)).astype(np.int64)
            part = self.problem.part(points, state.n_clusters - len(slots))
            present = ClusterState(points, state.counts[slots], state.rows[slots])
            before = part.log_joint(present)
            after = ascend(part, self._afresh(part, len(slots)), self._plan, self.rng)
            if is_gain(after.history[-1] - before, before):
                state = put_back(self.problem, state, slots, points, after.state)
                improved += 1
        return state, improved

    def _group(self, state: ClusterState, slot: int) -> Labels:
        """``slot`` and its neighbours."""
        point = int(self.rng.choice(np.flatnonzero(state.labels == slot)))
        scores = np.empty((1, state.capacity))
        problem = self.problem
        alone = point_set(problem.model.data).rows(np.array([point]))
        problem.backend.score(problem.model._replace(data=alone), state, scores)
        scores[0, state.counts == 0] = -np.inf
        group = [slot]
        for _ in range(1, min(int(self.rng.integers(2, _MOST + 1)), state.n_clusters)):
            scores[0, group[-1]] = -np.inf
            group.append(int(np.argmax(within_tolerance(scores[0]))))
        return np.array(group, dtype=np.int64)

    def _afresh(self, part: Problem, n_clusters: int) -> ClusterState:
        """A sequential start around random points."""
        n = part.n_points
        most = n if part.max_clusters is None else min(n, part.max_clusters)
        seeds = min(int(self.rng.integers(1, n_clusters + 2)), most)
        order = self.rng.permutation(n).astype(np.int64)
        state = part.empty(n, part.capacity(seeds))
        state.labels[order[:seeds]] = np.arange(seeds)
        part.refresh(state)
        return filled(part, state, order[seeds:])
