"""Moves of many points of groups: each raises J, with the shares solved anew, or leaves the state as it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapdpm.data import point_set
from mapdpm.objective import is_gain
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.protocol import Labels
from mapdpm.search.grouped.problem import GroupedProblem, GroupedState
from mapdpm.search.moves.parts import members, put_back
from mapdpm.search.moves.split import AT_FIRST, LATER, SAMPLE, TRIES, FutileSplits, Sought, extended
from mapdpm.state import ClusterState

_JUDGED = 8
"""Pairs of clusters that are judged by J, of those whose merge costs the likelihood least."""
_SWEEPS = 10


class _Move:
    """A move with the problem, the source of randomness and the clock."""

    def __init__(self, problem: GroupedProblem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:
        self.problem = problem
        self.rng = rng
        self.expired = expired


class Merge(_Move):
    """Two clusters become one if that raises J; the best pair first. O(K^2 D + groups K) for each merge."""

    name = "merge"

    def __call__(self, state: GroupedState) -> tuple[GroupedState, int]:
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
            state.table[:, k] += state.table[:, gone]
            state.table[:, gone] = 0
            self.problem.share_out(state)
            merged += 1
        state.stale |= merged > 0
        return state, merged

    def _best_pair(self, state: GroupedState) -> tuple[int, int] | None:
        """The pair whose merge raises J most, among those that cost the likelihood least; None if none gains."""
        flat, capacity = self.problem.flat, state.clusters.capacity
        partners, losses = np.full(capacity, -1, dtype=np.int64), np.full(capacity, np.inf)
        stale = np.ones(capacity, dtype=np.int64)
        flat.backend.merge_losses(flat.model.likelihood, NO_PRIOR, state.clusters, stale, partners, losses)
        size = self.problem.log_joint(state)
        live = np.flatnonzero(state.clusters.counts)
        best, pair = 0.0, None
        for k in np.argsort(losses, kind="stable")[:_JUDGED]:
            if partners[k] < 0:
                break
            table = state.table[:, live].copy()
            table[:, live == k] += state.table[:, partners[k], None]
            prior = self.problem.log_probability(table[:, live != partners[k]])
            gain = prior - state.log_prior - losses[k]
            if gain > best and is_gain(gain, size):
                best, pair = gain, (int(k), int(partners[k]))
        return pair


class Cell(_Move):
    """All points of a group in a cluster join another cluster, or open one: the table move of Teh2004 (5.1)."""

    name = "cell"

    def __call__(self, state: GroupedState) -> tuple[GroupedState, int]:
        """Move cells, cluster by cluster; returns the best state, and the number of cells moved."""
        moved = 0
        for slot in np.flatnonzero(state.clusters.counts).tolist():
            if self.expired():
                break
            points = np.flatnonzero(state.labels == slot)
            state = self.problem.with_room(state)
            trial = state.copy()
            n_moved = self._moved(trial, slot, points)
            if n_moved:
                before, after = self.problem.log_joint(state), self.problem.log_joint(trial)
                if is_gain(after - before, before):
                    state = trial
                    moved += n_moved
        state.stale |= moved > 0
        return state, moved

    def _moved(self, state: GroupedState, slot: int, points: Labels) -> int:
        """Move the cells of ``slot``; returns how many."""
        flat = self.problem.flat
        groups, cell_of = np.unique(self.problem.groups[points], return_inverse=True)
        if len(groups) < 2:  # noqa: PLR2004  (one cell is the whole cluster)
            return 0
        part = flat.part(points, 0)
        cells = part.empty(0, len(groups))._replace(labels=cell_of.astype(np.int64))
        part.refresh(cells)
        to = np.empty(len(groups), dtype=np.int64)
        flat.backend.move_cells(
            flat.model.likelihood, state.clusters, self.problem.counts(state), slot, groups, cells.rows, to
        )
        moved = int(np.count_nonzero(to != slot))
        if moved:
            state.labels[points] = to[cell_of]
            self.problem.share_out(state)
        return moved


class Split(_Move):
    """A cluster becomes two if that raises J: its halves are found without the groups, and then refined with them."""

    name = "split"

    def __init__(self, problem: GroupedProblem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:
        super().__init__(problem, rng, expired)
        self._futile = FutileSplits(problem.n_points)

    def __call__(self, state: GroupedState) -> tuple[GroupedState, int]:
        """Split clusters of ``state``; returns it or its larger successor, and the number of splits."""
        split = 0
        waiting = list(enumerate(members(state.clusters)))[::-1]
        while waiting and self.problem.flat.max_clusters != state.n_clusters and not self.expired():
            slot, points = waiting.pop()
            if len(points) < 2 or self._futile.knows(slot, points, 0.0):  # noqa: PLR2004  (two halves)
                continue
            found, gain = self._halves(state, slot, points)
            if found is None:
                self._futile.note(slot, points, gain, self.problem.log_joint(state))
                continue
            state = self._with_halves(state, slot, points, found)
            split += 1
            for half in (0, 1):
                part = points[found.labels == half]
                waiting.append((int(state.labels[part[0]]), part))
        return state, split

    def _halves(self, state: GroupedState, slot: int, points: Labels) -> tuple[ClusterState | None, float]:
        """Two clusters of ``points`` with a higher J than one, or None; and the best gain."""
        flat, others = self.problem.flat, state.n_clusters - 1
        all_points = flat.part(points, others)
        large = len(points) > SAMPLE
        sought, best = None, -np.inf
        for attempt in range(TRIES):
            if large or sought is None:
                sample = point_set(flat.model.data).sample(points, SAMPLE, self.rng) if large else points
                sought = Sought(flat.part(sample, others) if large else all_points)
            found = sought.best_halves(AT_FIRST if attempt == 0 else LATER, self.rng)
            if found is None:
                continue
            for halves in extended(all_points, found) if large else (found,):
                refined, gain = self._judged(state, slot, points, halves)
                if refined is not None and is_gain(gain, self.problem.log_joint(state)):
                    return refined, gain
                best = max(best, gain)
        return None, best

    def _judged(
        self, state: GroupedState, slot: int, points: Labels, halves: ClusterState
    ) -> tuple[ClusterState | None, float]:
        """``halves``, refined by sweeps with the groups of the points, and what they gain; None if one is left."""
        flat = self.problem.flat
        names, groups = np.unique(self.problem.groups[points], return_inverse=True)
        parents = np.append(
            self.problem.parents[: self.problem.n_inner], self.problem.parents[self.problem.n_inner + names]
        )
        problem = GroupedProblem(flat.part(points, 0), groups, parents, len(names), self.problem.prior)
        weights = np.zeros((self.problem.n_inner, 3))
        weights[:, :2] = state.weights[:, [slot]] / 2.0
        trial = GroupedState(halves, problem.table_of(halves.labels, 2), weights)
        for _ in range(_SWEEPS):
            _, moved = flat.backend.grouped_sweep(problem.flat.model, trial.clusters, problem.counts(trial), 0, False)
            if not moved or trial.n_clusters == 1:
                break
        if trial.n_clusters == 1:
            return None, -np.inf
        problem.flat.refresh(trial.clusters)
        live = np.flatnonzero(state.clusters.counts)
        table = np.zeros((self.problem.n_groups, len(live) + 1), dtype=np.int64)
        table[:, :-1] = state.table[:, live]
        column = int(np.searchsorted(live, slot))
        table[:, column] = 0
        table[np.ix_(names, np.array([column, len(live)]))] = problem.table_of(trial.labels, 2)
        marginals = flat.backend.log_marginals(flat.model.likelihood, trial.clusters)
        whole = ClusterState(points, state.clusters.counts[[slot]], state.clusters.rows[[slot]])
        gain = self.problem.log_probability(table) - state.log_prior + float(marginals.sum())
        return trial.clusters, gain - float(flat.backend.log_marginals(flat.model.likelihood, whole)[0])

    def _with_halves(self, state: GroupedState, slot: int, points: Labels, halves: ClusterState) -> GroupedState:
        state = self.problem.with_room(state)
        clusters = put_back(self.problem.flat, state.clusters, np.array([slot]), points, halves)
        new = GroupedState(clusters, self.problem.table_of(clusters.labels, clusters.capacity), state.weights)
        self.problem.share_out(new)
        return new


class Delete(_Move):
    """The points of a cluster join the others, one by one, if that raises J; small clusters first. O(N K D) for all."""

    name = "delete"

    def __call__(self, state: GroupedState) -> tuple[GroupedState, int]:
        """Delete clusters; returns the best state, and the number of clusters deleted."""
        deleted = 0
        for slot in np.argsort(state.clusters.counts, kind="stable"):
            if state.clusters.counts[slot] == 0:
                continue
            if state.n_clusters == 1 or self.expired():
                break
            trial = self._without(state.copy(), int(slot))
            before, after = self.problem.log_joint(state), self.problem.log_joint(trial)
            if is_gain(after - before, before):
                state = trial
                deleted += 1
        return state, deleted

    def _without(self, state: GroupedState, slot: int) -> GroupedState:
        """``state``, edited: the points of ``slot`` join other clusters, each given those that went before."""
        points = np.flatnonzero(state.labels == slot)
        state.labels[points] = -1
        state.clusters.counts[slot] = 0
        self.problem.flat.model.likelihood.init(state.clusters.rows[slot])
        state.table[:, slot] = 0
        state.weights[:, [slot, -1]] = 0.0  # no new cluster
        flat = self.problem.flat
        flat.backend.grouped_start(flat.model, state.clusters, self.problem.counts(state), points, False)
        state.stale = True
        self.problem.refresh(state)
        return state


MOVES = {kind.name: kind for kind in (Merge, Cell, Split, Delete)}
"""``moves=`` of ``HDPMixture``."""
