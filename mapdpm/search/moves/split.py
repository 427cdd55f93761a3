"""Split: one cluster becomes two if that raises the log joint."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mapdpm import objective
from mapdpm.backends.halves import Draws, Start, Tried
from mapdpm.data import point_set
from mapdpm.objective import is_gain
from mapdpm.protocol import Labels
from mapdpm.search.moves.memory import Memory
from mapdpm.search.moves.parts import members, put_back
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

SAMPLE = 2000
"""The sample size for the search of two halves in a larger cluster."""
_REFINEMENTS = 3
TRIES = 2

AT_FIRST = (Start.WIDEST, Start.FARTHEST_PAIR, Start.RANDOM_PAIR, Start.DIFFERENCES, Start.AXES)
LATER = (Start.RANDOM_PAIR, Start.RANDOM_PAIR, Start.DIFFERENCES, Start.AXES)


class Split:
    """Splitting gains what merging the two parts would lose (docs/maths.md (19) to (21)).

    The move looks for two clusters among the points of one: several starts, each followed by sweeps. It compares the
    best log joint with that of the one cluster. In a large cluster it searches a sample, and extends the halves found
    to all points before judging them. It skips a cluster without a gainful split until the cluster has changed. It
    tries the halves of a split again at once.

    O(N D) for judging, and O(D) for each of at most 2,000 points, sweep and start.
    """

    name = "split"

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        expired: Callable[[], bool],
        tries: int = TRIES,
        memory: Memory | None = None,
    ) -> None:
        self.problem = problem
        self.rng = rng
        self._expired = expired
        self._tries = tries
        self._memory = Memory(problem.n_points) if memory is None else memory

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Split clusters of ``state``; returns it or its larger successor, and the number of splits."""
        split = 0
        waiting = list(enumerate(members(state)))[::-1]
        while waiting and self.problem.max_clusters != state.n_clusters and not self._expired():
            slot, points = waiting.pop()
            # Another cluster beside those there are: the one term of the gain in which alpha is.
            opening = self.problem.model.prior.log_new(state.n_clusters, 1.0)
            if len(points) < 2 or self._memory.knows(slot, points, opening):  # noqa: PLR2004  (two halves)
                continue
            halves, gain, size = self._halves(state, slot, points)
            if halves is None or not is_gain(gain, size):
                self._memory.note(slot, points, gain - opening, size, None if halves is None else halves.labels)
                continue
            state = put_back(self.problem, state, np.array([slot]), points, halves)
            split += 1
            # A cluster of many would otherwise lose one at a time, and all points be swept for each.
            for half in (0, 1):
                part = points[halves.labels == half]
                waiting.append((int(state.labels[part[0]]), part))
        return state, split

    def _halves(self, state: ClusterState, slot: int, points: Labels) -> tuple[ClusterState | None, float, float]:
        """The first two clusters of ``points`` that gain, or else the best two; the gain, and its size."""
        problem, others = self.problem, state.n_clusters - 1
        whole = ClusterState(points, state.counts[[slot]], state.rows[[slot]])
        prior = problem.model.prior.given_other_clusters(others)
        before = objective.log_joint(prior, whole, problem.backend.log_marginals(problem.model.likelihood, whole))
        all_points, sought, best, gain = None, None, None, -np.inf
        large = len(points) > SAMPLE
        for attempt in range(TRIES if large else self._tries):
            if large or sought is None:
                sample = point_set(problem.model.data).sample(points, SAMPLE, self.rng) if large else points
                sought = Sought(problem.part(sample, others))
            found = sought.best_halves(AT_FIRST if attempt == 0 else LATER, self.rng)
            if found is None:
                continue
            if large and all_points is None:
                all_points = problem.part(points, others)
            for halves in extended(all_points, found) if all_points is not None else (found,):
                after = objective.log_joint(
                    prior, halves, problem.backend.log_marginals(problem.model.likelihood, halves)
                )
                if best is None or after - before > gain:
                    best, gain = halves, after - before
                if is_gain(gain, before):
                    return best, gain, before
        return best, gain, before


class Sought:
    """The points of a search for halves, and the halves tried so far."""

    def __init__(self, part: Problem) -> None:
        self._part = part
        self._tried = Tried(part.n_points)

    def best_halves(self, starts: tuple[Start, ...], rng: np.random.Generator) -> ClusterState | None:
        """The best two clusters of all points, from several starts; None if no start gives two new ones."""
        part, width = self._part, point_set(self._part.model.data).width
        draws = Draws.drawn(starts, part.n_points, width, rng)
        return part.backend.best_halves(part.model, draws, self._tried)


def extended(part: Problem, halves: ClusterState) -> Iterator[ClusterState]:
    """Extend ``halves``, found on a sample, to all points of ``part``: first as found, then refined.

    Each point goes to its best half, a few times; it ends if one half is empty. Scores ignore weights, the judgement
    does not. The sweeps over all data that follow a split refine it point by point.
    """
    state = ClusterState(np.full(part.n_points, -1, dtype=np.int64), halves.counts.copy(), halves.rows.copy())
    for _ in range(_REFINEMENTS):
        labels = np.empty_like(state.labels)
        part.backend.best_slots(part.model, state, False, labels)
        if np.array_equal(labels, state.labels):
            break
        state = state._replace(labels=labels)
        part.refresh(state)
        if state.n_clusters == 1:
            break
        yield state
