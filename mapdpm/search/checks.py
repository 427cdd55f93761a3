"""The parameters of a search, checked once; its deadline, and its reports to the user."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mapdpm import backends
from mapdpm.protocol import Labels
from mapdpm.rng import seeded
from mapdpm.search.ascent import FitProgress, MakeMove, Plan, unheard
from mapdpm.search.moves.catalogue import MOVES
from mapdpm.validation import check_callable, check_count, check_number, check_start

_SEED = 0
_LEAST_TIME = 1e-6  # seconds; a limit is > 0


class SearchSettings(NamedTuple):
    """The checked parameters of a search; made by ``check_search``."""

    moves: tuple[Any, ...]
    n_restarts: int
    max_sweeps: int
    time_limit: float | None
    backend: str
    n_jobs: int
    random_state: Any
    verbose: int
    callback: Callable[[FitProgress], object] | None

    def generator(self) -> np.random.Generator:
        """The source of randomness. Two fits draw the same numbers, unless ``random_state`` is a Generator."""
        return seeded(_SEED if self.random_state is None else self.random_state).generator

    def plan(self, deadline: Deadline) -> Plan:
        """The plan of each run."""
        return Plan(self.moves, self.max_sweeps, deadline.expired)


def check_search(estimator: Any, catalogue: Mapping[str, Any] = MOVES) -> SearchSettings:
    """The parameters of the search of ``estimator``, its moves from ``catalogue``; ValueError for an invalid one."""
    moves = _moves_of(estimator.moves, catalogue)
    n_restarts = check_count("n_restarts", estimator.n_restarts)
    max_sweeps = check_count("max_sweeps", estimator.max_sweeps)
    n_jobs = 1 if estimator.n_jobs is None else check_count("n_jobs", estimator.n_jobs)
    limit = estimator.time_limit
    if limit is not None and not check_number("time_limit", limit) > 0.0:
        msg = f"time_limit must be > 0 seconds, or None for no limit, got {limit!r}"
        raise ValueError(msg)
    check_callable("callback", estimator.callback)
    if not isinstance(estimator.verbose, (bool, np.bool_)):
        check_count("verbose", estimator.verbose, 0)
    backends.check_name(estimator.backend)
    settings = SearchSettings(
        moves,
        n_restarts,
        max_sweeps,
        limit,
        estimator.backend,
        n_jobs,
        estimator.random_state,
        int(estimator.verbose),
        estimator.callback,
    )
    if not isinstance(settings.random_state, np.random.RandomState):  # drawing from it would change it
        settings.generator()
    return settings


def check_init(init: Any, n_points: int, most: int | None, what: str) -> Labels | None:
    """Labels to start from, or None; ValueError where they are none, or have more than ``most`` of ``what``."""
    if init is None:
        return None
    labels = np.asarray(check_start(init, n_points, ()))
    n = len(np.unique(labels))
    if most is not None and n > most:
        msg = f"init has {n} {what}, and max_{what} is {most}: raise it, or merge labels"
        raise ValueError(msg)
    return labels


class Deadline:
    """The deadline of a search; the clock starts when this object is made."""

    def __init__(self, time_limit: float | None) -> None:
        self._end = math.inf if time_limit is None else time.monotonic() + time_limit

    def expired(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._end

    def left(self) -> float | None:
        """The seconds left, as a ``time_limit``; None without a limit."""
        return None if self._end == math.inf else max(self._end - time.monotonic(), _LEAST_TIME)


def reporter(settings: SearchSettings) -> Callable[[FitProgress], bool]:
    """A function that prints a line if verbose, and calls the callback; True if the callback ends the run."""
    verbose, callback = settings.verbose, settings.callback

    def report(progress: FitProgress) -> bool:
        if verbose:
            print(progress)
        stop = callback(progress) if callback is not None else False
        return isinstance(stop, (bool, np.bool_)) and bool(stop)

    return report if verbose or callback is not None else unheard


def _moves_of(moves: Any, catalogue: Mapping[str, Any]) -> tuple[MakeMove, ...]:
    known = ", ".join(map(repr, catalogue))
    if isinstance(moves, str) or not isinstance(moves, (tuple, list)):
        msg = f"moves must be a tuple of names among {known}, got {moves!r}"
        raise ValueError(msg)
    for name in moves:
        if not isinstance(name, str) or name not in catalogue:
            msg = f"moves must be names among {known}, got {name!r}"
            raise ValueError(msg)
    return tuple(catalogue[name] for name in moves)
