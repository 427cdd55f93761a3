"""The runs of a search: an ascent from each of several starts. The highest objective wins."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.search.ascent import Ascent, FitProgress, MakeMove, Plan, Report, SearchProblem, ascend, unheard
from mapdpm.search.exhaustive import best_of_all
from mapdpm.search.moves.merge_split import Memory, Merge, Split
from mapdpm.search.moves.neighbours import ROUNDS, Detour, Regroup
from mapdpm.search.settings import SearchSettings
from mapdpm.threads import Threads

_AGAIN = ("gibbs", "best")
"""Starts from the best run so far: after a random change of it, or as it is, for ``Regroup`` to perturb it."""

_ROUND = 4
_MANY = 10_000  # points


class Starts(NamedTuple):
    """The starts of all runs: ``first``, and then those of ``cycle`` in turn.

    Each is the name of a start, one of ``_AGAIN``, or labels 0..K-1.
    """

    first: Any
    cycle: tuple[Any, ...]
    n_runs: int

    def of(self, restart: int) -> Any:
        """The start of run ``restart``, counted from 0."""
        return self.cycle[(restart - 1) % len(self.cycle)] if restart else self.first


def searched(
    problem: SearchProblem, start: Any, search: SearchSettings, plan: Plan, report: Report
) -> tuple[Ascent, Memory]:
    """The best of ``search.n_restarts`` runs, the first from ``start``; of all partitions where points are few."""
    starts = Starts(start, problem.later(plan), search.n_restarts)
    found, memory = best_of_runs(problem, starts, plan, search.generator(), report, search.n_jobs)
    return finished(problem, found, plan), memory


def finished(problem: SearchProblem, found: Ascent, plan: Plan) -> Ascent:
    """``found``, or the best of all partitions where points are few and a search by moves has converged."""
    few = plan.moves and found.converged and 1 < problem.n_points <= problem.few
    return best_of_all(problem, found) if few else found


def best_of_runs(
    problem: SearchProblem, starts: Starts, plan: Plan, rng: np.random.Generator, report: Report, n_jobs: int = 1
) -> tuple[Ascent, Memory]:
    """The ascent with the highest objective (the earlier one if two are equal), and what it has tried.

    The first run is alone; the others come in rounds of four, which may run at once in ``n_jobs`` threads. "The best so
    far" is the best of the rounds before, and each run has its own seed, drawn in order before its round. So the result
    does not depend on ``n_jobs``. A run that starts from the best so far (decision 27) knows what it has tried. No
    round begins after the deadline of ``plan``. An exception, as a KeyboardInterrupt, ends all threads at their next
    step.
    """
    best = _run(problem, starts, plan, report, None, 0, int(rng.integers(2**63)))
    if starts.n_runs == 1 or plan.expired():
        return best
    threads = Threads(n_jobs)

    def heard(progress: FitProgress) -> bool:
        threads.check()
        return False if report is unheard else threads.call(report, progress)

    with threads:
        for first in range(1, starts.n_runs, _ROUND):
            if plan.expired():
                break
            together = range(first, min(first + _ROUND, starts.n_runs))
            seeds = rng.integers(2**63, size=len(together)).tolist()
            run = functools.partial(_run, problem, starts, plan, heard, best)
            best = functools.reduce(_better, threads.each(run, together, seeds), best)
    return best


class _Run(NamedTuple):
    ascent: Ascent
    memory: Memory


def _better(one: _Run, two: _Run) -> _Run:
    """The run with the higher objective; the first one if they are equal."""
    before, after = one.ascent.history[-1], two.ascent.history[-1]
    return two if is_gain(after - before, before) else one


def _run(
    problem: SearchProblem, starts: Starts, plan: Plan, report: Report, best: _Run | None, restart: int, seed: int
) -> _Run:
    """Run ``restart``; ``best`` is the best of the rounds before, if there is one."""
    if best is not None and plan.expired():
        return best
    generator, start = np.random.default_rng(seed), starts.of(restart)
    if best is not None and isinstance(start, str) and start in _AGAIN:
        memory, state = best.memory.copied(), best.ascent.state.copy()
        state = state if start == "best" else problem.perturbed(state, generator)
    else:
        memory, state = Memory(problem.n_points), _started(problem, start, plan, generator, report)
    own = remembering(plan._replace(moves=_moves_of(problem, plan, start, restart)), memory)
    return _Run(ascend(problem, state, own, generator, report, restart), memory)


def _started(problem: SearchProblem, start: Any, plan: Plan, rng: np.random.Generator, report: Report) -> Any:
    """The state of given labels, or the best of those that the name of a start may mean."""
    if not isinstance(start, str):
        return problem.from_labels(start)
    first, *others = problem.starts(start, plan, rng, report)
    if not others:
        return first
    return max((first, *others), key=problem.log_joint)


def remembering(plan: Plan, memory: Memory) -> Plan:
    """``plan``, whose moves know what was in vain in earlier runs on the same points."""

    def knowing(move: Any) -> MakeMove:
        knows = getattr(move, "func", move) in (Split, Detour)
        return functools.partial(move, memory=memory) if knows else move

    return plan._replace(moves=tuple(map(knowing, plan.moves)))


def _moves_of(problem: SearchProblem, plan: Plan, start: Any, restart: int) -> tuple[MakeMove, ...]:
    """The moves of a run: those of ``plan``, and what finds more among points that are each on their own.

    A search that merges and splits also makes detours, and clusters each neighbourhood anew once. Then one search for
    halves is enough. A run that starts from the best one does so many times, and one that starts after Gibbs sweeps
    not at all: it was perturbed already. With many points the first run makes none of this: sweeps over six clusters
    are then much of a fit.
    """
    many = restart == 0 and problem.n_points >= _MANY
    if not plan.moves or problem.flat is not problem or Regroup in plan.moves or many:
        return plan.moves
    rounds = {"best": ROUNDS, "gibbs": 0}.get(start, 1) if isinstance(start, str) else 1
    regroup = (functools.partial(Regroup, rounds=rounds),) if rounds else ()
    if Merge in plan.moves and Split in plan.moves:
        moves = tuple(functools.partial(Split, tries=1) if move is Split else move for move in plan.moves)
        return (*moves, Detour, *regroup)
    return (*plan.moves, *regroup) if restart else plan.moves
