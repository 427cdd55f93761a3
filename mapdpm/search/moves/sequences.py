"""Moves of many points of sequences: whole paths, and splits of states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.protocol import Labels
from mapdpm.search.moves import shared
from mapdpm.search.moves.halves_in_time import halves_in_time
from mapdpm.search.sharing import SharingState
from mapdpm.state import ClusterState

_SWEEPS = 4


class Path(shared.SharingMove):
    """All points take the states of the most probable path, if that raises J (Viterbi); O(N K (K + D))."""

    name = "path"

    def __call__(self, state: SharingState) -> tuple[SharingState, int]:
        """The best path under the means of transitions and emissions; the better state, and 1 if it gained."""
        path = self.problem.best_path(state)
        if np.array_equal(path, state.labels):
            return state, 0
        trial = self.problem.with_labels(state.copy(), path)
        return (trial, 1) if self.gains(trial, state) else (state, 0)


class Split(shared.Split):
    """A state becomes two if that raises J: halves are found in time, and then as if points had no order."""

    def halves(self, state: SharingState, points: Labels) -> Iterator[ClusterState]:
        """Divisions of ``points`` into two, the best first."""
        yield from halves_in_time(self.problem.of_points(points), self.rng)
        yield from super().halves(state, points)

    def judged(
        self, state: SharingState, slot: int, points: Labels, halves: ClusterState
    ) -> tuple[SharingState | None, float]:
        """The state with the halves, after its ``points`` have taken their best states a few times."""
        problem, before = self.problem, self.problem.log_joint(state)
        state = problem.with_room(state)
        clusters = problem.flat.put_back(state.copy().clusters, np.array([slot]), points, halves)
        trial = SharingState(clusters, problem.table_of(clusters.labels, clusters.capacity), state.weights.copy())
        problem.share_out(trial)
        for _ in range(_SWEEPS):
            _, moved = problem.visit(trial, points, 0, False)
            if not moved:
                break
        trial.stale = True
        problem.refresh(trial)
        gain = problem.log_joint(trial) - before
        return (trial, gain) if is_gain(gain, before) else (None, gain)
