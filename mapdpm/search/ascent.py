"""One ascent to a local mode: sweep until no point moves, then try moves of many points until none gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from mapdpm.protocol import Labels, Vector

_POINTS_PER_CHANGE = 1000
"""While moves still gain, sweeps stop when at most one point in this many changes its cluster."""

_SWEEPS_BEFORE_MOVES = 20
"""And at the latest after so many sweeps moves are tried: points of a wrong cluster may go on for thousands."""

NEVER: Callable[[], bool] = bool
"""Whether time is up, where there is no limit: ``bool()`` is a quick False."""

MOST_HIDDEN_GAINS = 10
"""The run ends after this many gains in a row that the log joint does not show.

Rounding can hide a gain. So can verbs of a likelihood that contradict each other.
"""


class SearchProblem(Protocol):
    """The questions of a search to a problem of points: each on its own, of groups, of sequences (decision 153).

    Its states have ``labels``, ``n_clusters``, ``clusters`` (a ``ClusterState``) and ``copy()``.
    """

    @property
    def n_points(self) -> int:
        """N."""

    @property
    def few(self) -> int:
        """So many points at most have all their partitions compared."""

    @property
    def flat(self) -> Any:
        """The problem of the same points, each on its own."""

    def starts(self, name: str, plan: Plan, rng: np.random.Generator, report: Report) -> Iterator[Any]:
        """The states that the start ``name`` may mean, refreshed; a run climbs from the best."""

    def from_labels(self, labels: Labels) -> Any:
        """The state of labels 0..K-1."""

    def later(self, plan: Plan) -> tuple[str, ...]:
        """The starts of all runs but the first, in turn."""

    def perturbed(self, state: Any, rng: np.random.Generator) -> Any:
        """A random neighbour of ``state``, which is edited, or a larger state."""

    def refresh(self, state: Any) -> None:
        """Compute all that follows from the labels anew."""

    def log_joint(self, state: Any) -> float:
        """The objective of a refreshed state, in nats."""

    def swept(self, state: Any) -> tuple[Any, int]:
        """The state after a sweep (``state`` edited, or another one), and how many points moved."""

    def log_priors(self, every: Labels, likelihoods: Vector, least: float) -> Vector:
        """log p(z) of all partitions of the points, as ``exhaustive.partitions`` lists them.

        Where ``likelihoods`` show that the objective is below ``least``, it may be -inf.
        """


class Move(Protocol):
    """A move of many points: raises the log joint, or leaves the state as it is."""

    @property
    def name(self) -> str:
        """Its name in ``moves=`` and in ``FitProgress``."""

    def __call__(self, state: Any) -> tuple[Any, int]:
        """The new state (``state`` edited, or another one), and the number of gains."""


MakeMove: TypeAlias = Callable[[Any, np.random.Generator, Callable[[], bool]], Move]
"""Makes a move for a run. Arguments: the problem, a source of randomness, and a function: is the time up?"""


class Plan(NamedTuple):
    """The plan of a run: moves in the order to try them, the most sweeps in a row, and whether time is up."""

    moves: tuple[MakeMove, ...]
    max_sweeps: int
    expired: Callable[[], bool]


class FitProgress(NamedTuple):
    """The report to a callback after each sweep and each successful move; the run ends if the callback returns True.

    ``moved`` counts the points that a sweep moved. For other moves it counts merges, splits and the like.
    """

    restart: int
    sweep: int
    moved: int
    n_clusters: int
    log_joint: float
    move: str = "sweep"

    def __str__(self) -> str:
        """One line for a log."""
        return (
            f"restart {self.restart} {self.move} {self.sweep}: {self.moved} moved, {self.n_clusters} clusters, "
            f"log joint {self.log_joint:.6f}"
        )


class Ascent(NamedTuple):
    """A local mode, and how it was reached."""

    state: Any
    history: list[float]
    n_sweeps: int
    converged: bool
    restart: int


Report: TypeAlias = Callable[[FitProgress], bool]


def unheard(progress: FitProgress) -> bool:  # noqa: ARG001
    """Report to nobody."""
    return False


def ascend(
    problem: SearchProblem, state: Any, plan: Plan, rng: np.random.Generator, report: Report = unheard, restart: int = 0
) -> Ascent:
    """Climb from ``state`` until neither a sweep nor a move of ``plan`` gains; edits it, or a larger copy.

    Sweeps go first. Then come moves, in their order. After a move that gains, sweeps follow, and then the first move
    again. So the cheap moves, named first, run until they gain no more, before the others are tried.
    """
    run = _Run(problem, state, plan, report, restart)
    moves = [make(problem, rng, plan.expired) for make in plan.moves]
    run.sweep(len(state.labels) // _POINTS_PER_CHANGE if moves else 0)
    while not run.ended and (run.gained_by(moves) or not run.converged):
        pass
    # An ended run may have moves left to try, and one without sweeps has not asked single points.
    converged = run.converged and not (moves and run.ended) and plan.max_sweeps > 0
    return Ascent(run.state, run.history, run.n_sweeps, converged, restart)


class _Run:
    """A run under way."""

    def __init__(self, problem: SearchProblem, state: Any, plan: Plan, report: Report, restart: int) -> None:
        self.problem, self.state, self.plan = problem, state, plan
        self.report, self.restart = report, restart
        problem.refresh(state)
        self.history = [problem.log_joint(state)]
        self.n_sweeps = 0
        self.in_a_row = 0  # since a move gained
        self.hidden_gains = 0  # moves in a row whose gain the joint did not show
        self.ended = False
        self.converged = False

    def sweep(self, few: int) -> None:
        """Sweep until at most ``few`` points move in one sweep, or, if there are moves, often enough to try them."""
        if self.plan.max_sweeps == 0:
            self.converged = True  # as far as the moves know
            return
        moved, swept = few + 1, 0
        while moved > few and not self.ended and not (self.plan.moves and swept == _SWEEPS_BEFORE_MOVES):
            swept += 1
            self.state, moved = self.problem.swept(self.state)
            self.n_sweeps += 1
            self.in_a_row += 1
            self.converged = moved == 0 and not self.plan.expired()  # a late sweep may have visited some points only
            self._record(moved, "sweep")
            self.ended |= not self.converged and (self.in_a_row >= self.plan.max_sweeps or self.plan.expired())

    def gained_by(self, moves: list[Move]) -> bool:
        """Try ``moves`` in order, and sweep; whether one of them gained."""
        for move in moves:
            self.state, gained = move(self.state)
            if gained:
                self.converged = False
                self.in_a_row = 0
                before = self.history[-1]
                self._record(gained, move.name)
                self.hidden_gains = 0 if self.history[-1] > before else self.hidden_gains + 1
                self.ended |= self.hidden_gains >= MOST_HIDDEN_GAINS
                self.sweep(len(self.state.labels) // _POINTS_PER_CHANGE)
                return True
            if self.plan.expired():
                self.ended = True
                return False
        if not self.converged:
            self.sweep(0)
            return bool(moves)
        return False

    def _record(self, moved: int, move: str) -> None:
        if moved:
            self.problem.refresh(self.state)
            # Each move gained. If the sum falls, only its rounding can be the cause.
            self.history.append(max(self.problem.log_joint(self.state), self.history[-1]))  # decision 18
        else:
            self.history.append(self.history[-1])
        progress = FitProgress(self.restart, self.n_sweeps, moved, self.state.n_clusters, self.history[-1], move)
        self.ended |= self.report(progress)
