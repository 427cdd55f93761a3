"""Moves of many points of groups: that of cells, and splits that are refined with the groups."""

from __future__ import annotations

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.protocol import Labels
from mapdpm.search.groups import GroupedProblem
from mapdpm.search.moves import shared
from mapdpm.search.sharing import SharingState
from mapdpm.state import ClusterState

_SWEEPS = 10


class Cell(shared.SharingMove):
    """All points of a group in a cluster join another cluster, or open one: the table move of Teh2004 (5.1)."""

    name = "cell"

    def __call__(self, state: SharingState) -> tuple[SharingState, int]:
        """Move cells, cluster by cluster; returns the best state, and the number of cells moved."""
        moved = 0
        for slot in np.flatnonzero(state.clusters.counts).tolist():
            if self.expired():
                break
            points = np.flatnonzero(state.labels == slot)
            state = self.problem.with_room(state)
            trial = state.copy()
            n_moved = self._moved(trial, slot, points)
            if n_moved and self.gains(trial, state):
                state = trial
                moved += n_moved
        state.stale |= moved > 0
        return state, moved

    def _moved(self, state: SharingState, slot: int, points: Labels) -> int:
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


class Split(shared.Split):
    """A cluster becomes two if that raises J: its halves are found without the groups, and then refined with them."""

    def judged(
        self, state: SharingState, slot: int, points: Labels, halves: ClusterState
    ) -> tuple[SharingState | None, float]:
        """The halves after sweeps of ``points`` between them, with their groups; judged before they are put back."""
        flat, p = self.problem.flat, self.problem
        names, groups = np.unique(p.groups[points], return_inverse=True)
        parents = np.append(p.parents[: p.n_inner], p.parents[p.n_inner + names])
        problem = GroupedProblem(flat.part(points, 0), groups, parents, len(names), p.prior)
        weights = np.zeros((p.n_inner, 3))
        weights[:, :2] = state.weights[:, [slot]] / 2.0
        trial = SharingState(halves, problem.table_of(halves.labels, 2), weights)
        for _ in range(_SWEEPS):
            _, moved = problem.sweep_from(trial, 0, False)
            if not moved or trial.n_clusters == 1:
                break
        if trial.n_clusters == 1:
            return None, -np.inf
        problem.flat.refresh(trial.clusters)
        live = np.flatnonzero(state.clusters.counts)
        table = np.zeros((p.n_groups, len(live) + 1), dtype=np.int64)
        table[:, :-1] = state.table[:, live]
        column = int(np.searchsorted(live, slot))
        table[:, column] = 0
        table[np.ix_(names, np.array([column, len(live)]))] = problem.table_of(trial.labels, 2)
        marginals = flat.backend.log_marginals(flat.model.likelihood, trial.clusters)
        whole = ClusterState(points, state.clusters.counts[[slot]], state.clusters.rows[[slot]])
        gain = p.log_probability(table) - state.log_prior + float(marginals.sum())
        gain -= float(flat.backend.log_marginals(flat.model.likelihood, whole)[0])
        if not is_gain(gain, p.log_joint(state)):
            return None, gain
        return self._with_halves(state, slot, points, trial.clusters), gain

    def _with_halves(self, state: SharingState, slot: int, points: Labels, halves: ClusterState) -> SharingState:
        state = self.problem.with_room(state)
        clusters = self.problem.flat.put_back(state.clusters, np.array([slot]), points, halves)
        new = SharingState(clusters, self.problem.table_of(clusters.labels, clusters.capacity), state.weights)
        self.problem.share_out(new)
        return new
