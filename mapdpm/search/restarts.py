"""Restarts: an ascent from each of several starts. The highest log joint wins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.search.ascent import Ascent, FitProgress, MakeMove, Plan, ascend, better, unheard
from mapdpm.search.moves.detour import Detour
from mapdpm.search.moves.memory import Memory
from mapdpm.search.moves.merge import Merge
from mapdpm.search.moves.regroup import ROUNDS, Regroup
from mapdpm.search.moves.split import Split
from mapdpm.search.problem import Problem
from mapdpm.search.steps import perturbed, started_from, started_sequentially
from mapdpm.state import ClusterState, copied
from mapdpm.threads import Threads

AGAIN = ("gibbs", "best")
"""Starts from the best run so far: after a few Gibbs sweeps, or as it is, for ``Regroup`` to perturb it."""

LATER = ("best", "gibbs", "random-order")
"""The starts of all runs but the first, in turn."""

_SEQUENTIAL = ("sequential", "random-order")
_ROUND = 4
_MANY = 10_000  # points


class Starts(NamedTuple):
    """The starts of all runs: ``first``, and then those of ``cycle`` in turn.

    Each is one of ``names.STARTS``, of ``AGAIN``, or labels 0..K-1.
    """

    first: Any
    cycle: tuple[Any, ...]
    n_runs: int

    def of(self, restart: int) -> Any:
        """The start of run ``restart``, counted from 0."""
        return self.cycle[(restart - 1) % len(self.cycle)] if restart else self.first


def best_of_restarts(
    problem: Problem,
    starts: Starts,
    plan: Plan,
    rng: np.random.Generator,
    report: Callable[[FitProgress], bool],
    n_jobs: int = 1,
) -> tuple[Ascent, Memory]:
    """The ascent with the highest log joint (the earlier one if two are equal), and what it has tried.

    The first run is alone; the others come in rounds of four, which may run at once in ``n_jobs`` threads. "The best so
    far" is the best of the rounds before, and each run has its own seed, drawn in order before its round. So the result
    does not depend on ``n_jobs``. A run that starts from the best so far knows what that run has tried. No round begins
    after the deadline of ``plan``. An exception, as a KeyboardInterrupt, ends all threads at their next step.
    """
    threads = Threads(n_jobs)

    def heard(progress: FitProgress) -> bool:
        threads.check()
        return False if report is unheard else threads.call(report, progress)

    def run(restart: int, seed: int, best: _Run | None = None) -> _Run:
        if best is not None and plan.expired():
            return best
        generator = np.random.default_rng(seed)
        start = starts.of(restart)
        goes_on = best is not None and isinstance(start, str) and start in AGAIN
        memory = best.memory.copied() if goes_on and best is not None else Memory(problem.n_points)
        state = _started(problem, start, None if best is None else best.ascent, generator)
        if plan.moves and isinstance(start, str) and start in _SEQUENTIAL:
            state = _unless_one_is_better(problem, state)
        own = remembering(plan._replace(moves=_moves_of(plan, start, restart, problem.n_points)), memory)
        return _Run(ascend(problem, state, own, generator, heard, restart), memory)

    with threads:
        best = threads.each(run, [0], [int(rng.integers(2**63))])[0]
        for first in range(1, starts.n_runs, _ROUND):
            if plan.expired():
                break
            together = range(first, min(first + _ROUND, starts.n_runs))
            seeds = rng.integers(2**63, size=len(together)).tolist()
            best = functools.reduce(_better, threads.each(functools.partial(run, best=best), together, seeds), best)
    return best


class _Run(NamedTuple):
    ascent: Ascent
    memory: Memory


def _better(one: _Run, two: _Run) -> _Run:
    return two if better(one.ascent, two.ascent) is two.ascent else one


def remembering(plan: Plan, memory: Memory) -> Plan:
    """``plan``, whose moves know what was in vain in earlier runs on the same points."""

    def knowing(move: Any) -> MakeMove:
        knows = getattr(move, "func", move) in (Split, Detour)
        return functools.partial(move, memory=memory) if knows else move

    return plan._replace(moves=tuple(map(knowing, plan.moves)))


def _moves_of(plan: Plan, start: Any, restart: int, n_points: int) -> tuple[MakeMove, ...]:
    """The moves of a run: those of ``plan``, and what finds more.

    A search that merges and splits also makes detours, and clusters each neighbourhood anew once. Then one search for
    halves is enough. A run that starts from the best one does so many times, and one that starts after Gibbs sweeps
    not at all: it was perturbed already. With many points the first run does not: sweeps
    over six clusters are then much of a fit.
    """
    if not plan.moves or Regroup in plan.moves or (restart == 0 and n_points >= _MANY):
        return plan.moves
    rounds = {"best": ROUNDS, "gibbs": 0}.get(start, 1) if isinstance(start, str) else 1
    regroup = (functools.partial(Regroup, rounds=rounds),) if rounds else ()
    if Merge in plan.moves and Split in plan.moves:
        moves = tuple(functools.partial(Split, tries=1) if move is Split else move for move in plan.moves)
        return (*moves, Detour, *regroup)
    return (*plan.moves, *regroup) if restart else plan.moves


def _unless_one_is_better(problem: Problem, state: ClusterState) -> ClusterState:
    """``state``, or one cluster of all points if that has the higher log joint; O(N D).

    Under a large concentration, points open clusters of their own one by one, and single moves do not undo that. From
    one cluster, splits find the clusters that pay.
    """
    problem.refresh(state)
    single = started_from(problem, np.zeros(problem.n_points, dtype=np.int64))
    return single if problem.log_joint(single) > problem.log_joint(state) else state


def _started(problem: Problem, start: Any, best: Ascent | None, rng: np.random.Generator) -> ClusterState:
    n = problem.n_points
    if isinstance(start, np.ndarray):
        return started_from(problem, start)
    if start in AGAIN and best is not None:
        state = copied(best.state)
        return state if start == "best" else perturbed(problem, state, rng)
    if start == "single":
        return started_from(problem, np.zeros(n, dtype=np.int64))
    order = np.arange(n) if start == "sequential" else rng.permutation(n)
    return started_sequentially(problem, order.astype(np.int64))
