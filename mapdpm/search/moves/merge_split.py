"""Merge and split: two clusters become one, or one two, if that raises the log joint; and what was in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mapdpm import objective
from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.backends.halves import Draws, Halves, Start, Tried
from mapdpm.data import point_set
from mapdpm.objective import is_gain
from mapdpm.protocol import Labels, Matrix
from mapdpm.search.ascent import NEVER
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_AT_ONCE = 64
"""So many merges from one look at the clock to the next."""

SAMPLE = 2000
"""The sample size for the search of two halves in a larger cluster."""
_REFINEMENTS = 3
TRIES = 2
_SAME = 0.98
"""The share of its points that makes a cluster the one that could not be split before."""

AT_FIRST = (Start.WIDEST, Start.FARTHEST_PAIR, Start.RANDOM_PAIR, Start.DIFFERENCES, Start.AXES)
LATER = (Start.RANDOM_PAIR, Start.RANDOM_PAIR, Start.DIFFERENCES, Start.AXES)


class Merge:
    """Merging a and b gains L(a + b) - L(a) - L(b) and what p(z) does: docs/maths.md (19) to (21).

    It reads statistics only, no points; ``Agglomeration`` says at what cost. If the best merge loses, further merges
    are tried on top of it (decision 35), on a copy of the statistics; all are kept if together they gain.
    """

    name = "merge"

    def __init__(self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:  # noqa: ARG002
        self.problem = problem
        self._expired = expired
        self._pairs = Agglomeration(problem.model.likelihood, problem.model.prior, problem.backend)

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Merge clusters of ``state``, which is edited; returns it and the number of merges."""
        merged, more = 0, _AT_ONCE
        if self._expired is not NEVER and not self._pairs.found_in_time(state, self._expired):
            return state, 0
        while more >= _AT_ONCE and not self._expired():
            more = self.problem.backend.merge(self.problem.model, state, self._pairs, _AT_ONCE)
            merged += more
        return state, merged


class Memory:
    """Clusters without a gainful split, and changes of clusters that were tried (decision 134).

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
        problem, split = self.problem, 0
        waiting, used = list(enumerate(state.members()))[::-1], state.n_clusters
        # Another cluster beside those there are: the one term of the gain in which alpha is.
        opening = problem.model.prior.log_new(used, 1.0)
        while waiting and problem.max_clusters != used and not self._expired():
            slot, points = waiting.pop()
            if len(points) < 2 or self._memory.knows(slot, points, opening):  # noqa: PLR2004  (two halves)
                continue
            halves, gain, before = self._halves(state, slot, points, used - 1)
            if halves is None or not is_gain(gain, before):
                self._memory.note(slot, points, gain - opening, before, None if halves is None else halves.labels)
                continue
            state = problem.put_back(state, np.array([slot]), points, halves)
            split, used = split + 1, used + 1
            opening = problem.model.prior.log_new(used, 1.0)
            # A cluster of many would otherwise lose one at a time, and all points be swept for each.
            for half in (0, 1):
                part = points[halves.labels == half]
                waiting.append((int(state.labels[part[0]]), part))
        return state, split

    def _halves(self, state: ClusterState, slot: int, points: Labels, others: int) -> Halves:
        """The first two clusters of ``points`` that gain, or else the best two; beside ``others``."""
        if len(points) > SAMPLE:
            return self._halves_of_many(state, slot, points, others)
        sought = Sought(self.problem.part(points, others))
        best = sought.best_halves(AT_FIRST, self.rng)
        for _ in range(1, self._tries):
            if best.state is None or not is_gain(best.gain, best.before):
                best = max(best, sought.best_halves(LATER, self.rng), key=_gain)
        return best

    def _halves_of_many(self, state: ClusterState, slot: int, points: Labels, others: int) -> Halves:
        """``_halves`` by samples, extended to all points."""
        problem = self.problem
        whole = ClusterState(points, state.counts[[slot]], state.rows[[slot]])
        prior = problem.model.prior.given_other_clusters(others)
        before = objective.log_joint(prior, whole, problem.backend.log_marginals(problem.model.likelihood, whole))
        best, all_points = Halves(None, -np.inf, before), None
        for attempt in range(TRIES):
            sample = sample_of(points, self.rng)
            found = Sought(problem.part(sample, others)).best_halves(AT_FIRST if attempt == 0 else LATER, self.rng)
            if found.state is None:
                continue
            all_points = problem.part(points, others) if all_points is None else all_points
            for halves in extended(all_points, found.state):
                after = objective.log_joint(
                    prior, halves, problem.backend.log_marginals(problem.model.likelihood, halves)
                )
                best = max(best, Halves(halves, after - before, before), key=_gain)
                if is_gain(best.gain, before):
                    return best
        return best


def sample_of(points: Labels, rng: np.random.Generator) -> Labels:
    """``SAMPLE`` of the points, at random and in order."""
    return np.sort(rng.choice(points, SAMPLE, replace=False))


def _gain(halves: Halves) -> float:
    return halves.gain


class Sought:
    """The points of a search for halves, and the halves tried so far."""

    def __init__(self, part: Problem) -> None:
        self._part = part
        self._tried = Tried(part.n_points)

    def best_halves(self, starts: tuple[Start, ...], rng: np.random.Generator) -> Halves:
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
