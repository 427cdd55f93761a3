"""The climb of a fit in passes: it holds clusters and a few points, and asks for passes over all points.

Labels of all points are a function of a few rows (``chunks.Labelling``). In turn, the climb passes over all points,
visits the points between clusters by the exact rule, merges clusters, and splits them; each step raises the log joint.
It ends at a mode of moves of single points, as a search by sweeps does (docs/maths.md, section 25).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from mapdpm import objective
from mapdpm.partition_priors.emptied import largest_held
from mapdpm.protocol import Labels, Model, PartitionPrior
from mapdpm.search import chunks, passes
from mapdpm.search.ascent import MOST_HIDDEN_GAINS, FitProgress
from mapdpm.search.chunks import Frame, Held, Labelling, Passed, Picked, Quota, Sums
from mapdpm.search.moves.merge_split import Merge
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState, resized

T = TypeVar("T")

BETWEEN = 1 << 15
"""The most points of a pass that are visited by the exact rule."""
_FEWEST_BETWEEN = 64  # of each part
_BAND = 2.0  # nats, or units of the prior: by so much at most is the second best slot of such a point worse
_FEW = 1000  # a pass that moves at most one point in this many is followed by other moves
_PATIENCE = 4  # or so many passes
_QUIET = 16  # points that may move in a pass before the exact rule asks all
_VISITS = 50
_FREE = 8  # slots


class Passes(Protocol):
    """Runs passes over all points; results do not depend on how."""

    n_points: int
    n_parts: int

    def __call__(self, frame: Frame, function: Callable[..., Passed], *arguments: Any) -> Passed:
        """``function(frame, chunk, *arguments)`` of all chunks, joined in order."""

    def map(self, function: Callable[[Any], T], jobs: list[Any]) -> list[T]:
        """``function`` of each job, in order."""


class Limits(NamedTuple):
    """The most clusters (None: any number), the most passes in a row, is time up, and the report after each step."""

    max_clusters: int | None
    max_passes: int
    expired: Callable[[], bool]
    report: Callable[[FitProgress], bool]


class Tried(NamedTuple):
    """A cluster as it was when a split of it was in vain."""

    weight: float
    log_marginal: float


class Start(NamedTuple):
    """Clusters of a sample, and no points at all, in the form that verbs read."""

    clusters: Sums
    nothing: Any


class Split(Protocol):
    """A move that splits clusters of a climb."""

    def __call__(self, climb: Climb) -> int:
        """Split clusters that gain by it; returns how many."""


class Climb:
    """A climb under way.

    ``clusters`` are sums over all points by some labels, ``joint`` is their log joint. ``labelling``, by the tangents
    at ``clusters``, labels the points in the next pass.
    """

    def __init__(self, run: Passes, frame: Frame, start: Start, limits: Limits, rng: np.random.Generator) -> None:
        self.run, self.frame, self.limits, self.rng = run, frame, limits, rng
        self.nothing = start.nothing
        self.history: list[float] = []
        self.n_passes = 0
        self.ended = self.converged = False
        self.joint = -np.inf
        self.clusters = start.clusters
        self.labelling = chunks.labelling_of(frame, start.clusters)
        self.tried: list[Tried | None] = [None] * self.n_clusters
        """The last split in vain of each slot."""
        self._in_a_row = 0  # passes since a move gained
        self._hidden_gains = 0  # moves in a row whose gain the joint did not show
        self._flow = run.n_points
        self._quota = Quota(max(_FEWEST_BETWEEN, BETWEEN // run.n_parts), _BAND * frame.prior.unit)

    # ---- what moves ask ----------------------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.clusters.counts)

    def n_allowed(self) -> float:
        """How many more clusters are allowed."""
        most = self.limits.max_clusters
        return np.inf if most is None else max(0, most - self.n_clusters)

    def prior_of_part(self) -> PartitionPrior:
        """The prior of how the points of one cluster are parted, given the other clusters."""
        return self.frame.prior.given_other_clusters(self.n_clusters - 1)

    def marginals(self, sums: Sums) -> Any:
        """The log marginal of each cluster of ``sums``."""
        state = chunks.state_of(self.frame, sums)
        return self.frame.backend.log_marginals(self.frame.likelihood, state)

    def joint_of(self, prior: PartitionPrior, sums: Sums) -> float:
        """The log joint of ``sums`` under ``prior``."""
        state = chunks.state_of(self.frame, sums)
        marginals = self.frame.backend.log_marginals(self.frame.likelihood, state)
        return objective.log_joint(prior, state, marginals)

    def is_small(self, weights: Any) -> Any:
        """Whether clusters of such weights are so small that a pass might empty them to a loss: they are held."""
        return weights <= largest_held(self.frame.prior, self.n_clusters)

    # ---- the climb ---------------------------------------------------------------------------------------------------

    def climb(self, merges: bool, split: Split | None) -> None:
        """Climb to a mode, or until the limits end it."""
        while not self.ended:
            self._settle()
            if self.ended or (merges and self._merge()) or (split is not None and self._split(split)):
                continue
            if self._is_mode():
                self.converged = True
                return

    def sums_by(self, function: Callable[..., Passed], *arguments: Any) -> tuple[tuple[Sums, ...], Picked | None]:
        """A pass whose first sums are those of all points: they become the clusters. Slots that are empty now go.

        The other sums, and slots of what is picked, are returned as they are if no slot went; else there are none.
        """
        labelling, before = self.labelling, self.clusters
        passed = self._pass(function, *arguments)
        total = passed.sums[0]
        self._count_flow(before, total)
        stayed = self._take(total, self._held(labelling, total, labelling.held))
        self._say("pass", self._flow)
        return passed.sums[1:] if stayed else (), passed.points if stayed else None

    def take(self, clusters: Sums, held: Held, tried: list[Tried | None], move: str, n_moves: int) -> None:
        """Take over the result of a move: ``clusters`` with ``tried``, and where their held points are."""
        before = self.joint
        self.tried = tried
        self._take(clusters, held)
        self._in_a_row = 0
        self._hidden_gains = 0 if self.joint > before else self._hidden_gains + 1
        self._say(move, n_moves)
        self.ended |= self._hidden_gains >= MOST_HIDDEN_GAINS

    def _pass(self, function: Callable[..., Passed], *arguments: Any) -> Passed:
        self.n_passes += 1
        self._in_a_row += 1
        return self.run(self.frame, function, self.labelling, *arguments)

    def _settle(self) -> None:
        """Pass until few points move; the points between clusters are visited after each pass."""
        moved, patience = self.run.n_points, _PATIENCE
        while moved > self.run.n_points // _FEW and patience and not self.ended:
            patience -= 1
            moved = max(self._visited(passes.near, self._quota)[0], self._flow)

    def _is_mode(self) -> bool:
        """Pass until no point moves, by tangents or by the exact rule; False once clusters have come or gone."""
        moved = 0
        while not self.ended:
            before = self.clusters
            exact = max(moved, self._flow) <= _QUIET
            if exact:
                asked = (before, self.n_allowed() > 0, self._quota, self.n_passes)
                moved, saw_all = self._visited(passes.restless, *asked)
            else:
                moved, saw_all = self._visited(passes.near, self._quota)[0], False
            if len(self.clusters.counts) != len(before.counts):
                return False
            if exact and saw_all and not moved and _are_equal(before, self.clusters):
                return True
        return False

    def _merge(self) -> int:
        held = self.labelling.held
        state = chunks.state_of(self.frame, self.clusters)._replace(labels=held.slots.copy())
        state, n_merges = Merge(self._problem(self.nothing, None), self.rng, self.limits.expired)(state)
        if n_merges:
            merged = Sums(state.counts, state.rows[:, : self.clusters.statistics.shape[1]].copy())
            self.take(merged, Held(held.numbers, state.labels), [None] * len(state.counts), Merge.name, n_merges)
        return n_merges

    def _split(self, split: Split) -> int:
        return split(self) if self.n_allowed() > 0 else 0

    def _visited(self, function: Callable[..., Passed], *arguments: Any) -> tuple[int, bool]:
        """A pass that picks points; they move one by one, by the exact rule, until none wants to.

        Returns the number of moves, and whether all points were picked that should be.
        """
        labelling, before = self.labelling, self.clusters
        passed = self._pass(function, *arguments)
        base, picked, K = passed.sums[0], passed.picked, self.n_clusters
        total = self._with(base, picked, picked.slots, K)
        self._count_flow(before, total)
        slots, n_moves = self._moved_one_by_one(base, total, picked)
        K = max(K, int(slots.max(initial=-1)) + 1)
        visited = self._with(_resized(base, K), picked, slots, K)
        held = self._held(labelling, visited, Held(picked.numbers, slots))
        self.tried += [None] * (K - len(self.tried))
        self._take(visited, held)
        self._say("pass", max(self._flow, n_moves))
        return n_moves, picked.is_complete

    def _moved_one_by_one(self, base: Sums, total: Sums, picked: Picked) -> tuple[Labels, int]:
        """The slots of the points picked after sweeps over them alone, and the number of moves."""
        problem = self._problem(picked.points, picked.weights)
        n_free = int(min(_FREE, self.n_allowed()))
        state = chunks.state_of(self.frame, total, n_free)
        state = state._replace(labels=picked.slots.copy(), base=chunks.state_of(self.frame, base, n_free).rows)
        n_moves, visits, moved = 0, 0, 1
        while moved and visits < _VISITS:
            position, moved = 0, 0
            visits += 1
            while position < len(picked.slots):
                position, more = problem.backend.sweep(problem.model, state, position, problem.may_grow(state))
                moved += int(more)
                if position < len(picked.slots):
                    state = _grown(problem, state)
            n_moves += moved
        return state.labels, n_moves

    def _problem(self, points: Any, weights: Any) -> Problem:
        """The problem of moving some points, which are less the anchor."""
        model = Model(self.frame.likelihood, self.frame.prior, points, weights)
        return Problem.of(model, self.frame.backend, self.limits.max_clusters, self.limits.expired)

    def _with(self, base: Sums, picked: Picked, slots: Labels, K: int) -> Sums:
        """The sums of ``base`` and of the picked points."""
        own = chunks.sums_of(self.frame, picked.points, picked.weights, slots, K)
        return chunks.joined(self.frame, [Passed((base,)), Passed((own,))]).sums[0]

    def _held(self, labelling: Labelling, total: Sums, known: Held) -> Held:
        """The points of all small clusters of ``total``: those ``known``, and others that ``labelling`` put there."""
        small = (total.counts > 0) & self.is_small(total.statistics[:, 0])
        elsewhere = known.numbers[~small[known.slots]]  # by now, whatever the labelling says
        known = known.only(small[known.slots])
        unknown = np.flatnonzero(small & (np.bincount(known.slots, minlength=len(small)) < total.counts))
        unknown = unknown[unknown < len(labelling.constants)]
        if not len(unknown):
            return known
        found = self.run(self.frame, passes.members, labelling, unknown).picked
        new = ~np.isin(found.numbers, np.append(known.numbers, elsewhere))
        return known.and_also(found.numbers[new], found.slots[new])

    def _take(self, total: Sums, held: Held) -> bool:
        """Make ``total`` the clusters, without slots that are empty; whether none was."""
        live = total.counts > 0
        self.clusters = total.only(live)
        self.tried = [each for each, lives in zip(self.tried, live, strict=True) if lives]
        small = live & self.is_small(total.statistics[:, 0])
        held = held.only(small[held.slots])
        names = np.cumsum(live) - 1
        self.labelling = chunks.labelling_of(self.frame, self.clusters, Held(held.numbers, names[held.slots]))
        # No step lowers the joint. If the sum falls, only its rounding can be the cause.
        self.joint = max(self.joint, self.joint_of(self.frame.prior, self.clusters))
        return bool(live.all())

    def _count_flow(self, before: Sums, total: Sums) -> None:
        """How many points a pass has moved, at least; all of them in the first pass, or if a slot is empty now."""
        same = self.n_passes > 1 and bool(np.all(total.counts > 0))
        self._flow = (int(np.abs(total.counts - before.counts).sum()) + 1) // 2 if same else self.run.n_points

    def _say(self, move: str, moved: int) -> None:
        self.history.append(self.joint)
        if not self.ended:
            progress = FitProgress(0, self.n_passes, moved, self.n_clusters, self.joint, move)
            self.ended = self.limits.report(progress) or self._in_a_row >= self.limits.max_passes
        self.ended |= self.limits.expired()


def _are_equal(one: Sums, two: Sums) -> bool:
    return np.array_equal(one.counts, two.counts) and np.array_equal(one.statistics, two.statistics)


def _resized(sums: Sums, K: int) -> Sums:
    """``sums`` with empty slots behind them."""
    more = K - len(sums.counts)
    return Sums(np.pad(sums.counts, (0, more)), np.pad(sums.statistics, ((0, more), (0, 0))))


def _grown(problem: Problem, state: ClusterState) -> ClusterState:
    """``state`` with twice the slots, and its base with as many."""
    likelihood, base = problem.model.likelihood, state.base
    larger = problem.grown(state)
    base = resized(likelihood, ClusterState(state.labels, state.counts, base), larger.capacity).rows  # type: ignore[arg-type]
    return larger._replace(base=base)
