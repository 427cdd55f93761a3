"""The parameters of a search: their table, their checks; its deadline, and its reports to the user."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mapdpm import backends, names
from mapdpm.protocol import Labels
from mapdpm.rng import seeded
from mapdpm.search.ascent import NEVER, FitProgress, MakeMove, Plan, Report, unheard
from mapdpm.search.moves.catalogue import MOVES
from mapdpm.validation import (
    check_callable,
    check_choice,
    check_count,
    check_jobs,
    check_number,
    check_start,
    refuse_value,
)

UNNAMED = ""
"""The start of a problem whose starts have no names."""

_SEED = 0
_OF_SAMPLE = 0.5


@dataclass(eq=False, repr=False)
class SearchParameters:
    """The parameters that all searches share, and their defaults: the one table of them (decision 155).

    ``MAPDPM`` says what each means. An estimator adds its own, and may have other starts and moves.
    """

    _: KW_ONLY
    init: Any = "sequential"
    moves: tuple[str, ...] = ("merge", "split")
    n_restarts: int = 1
    max_sweeps: int = 100
    time_limit: float | None = None
    backend: str = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    callback: Callable[[FitProgress], object] | None = None

    _moves_known: ClassVar[tuple[str, ...]] = names.MOVES
    """The names that ``moves`` may have."""
    _starts_known: ClassVar[tuple[str, ...]] = ()
    """The names that ``init`` may have."""


@dataclass(eq=False, repr=False)
class ColumnParameters:
    """The parameters of estimators that look at columns, as in ``MAPDPM``."""

    _: KW_ONLY
    kinds: Any = None
    covariance: str = names.COVARIANCE[0]
    relevance: str = names.RELEVANCE[0]


class SearchSettings(NamedTuple):
    """The checked parameters of a search; made by ``check_search``, which starts the clock."""

    moves: tuple[Any, ...]
    n_restarts: int
    max_sweeps: int
    deadline: Deadline
    backend: str
    n_jobs: int
    random_state: Any
    verbose: int
    callback: Callable[[FitProgress], object] | None

    def generator(self) -> np.random.Generator:
        """The source of randomness. Two fits draw the same numbers, unless ``random_state`` is a Generator."""
        seed = _SEED if self.random_state is None else self.random_state  # decision 28
        return np.random.default_rng(seed) if isinstance(seed, int) else seeded(seed).generator

    def plan(self) -> Plan:
        """The plan of each run."""
        return Plan(self.moves, self.max_sweeps, self.deadline.expired)


def check_search(model: SearchParameters) -> SearchSettings:
    """The parameters of the search of ``model``; ValueError for an invalid one. ``check_init`` has ``init``."""
    moves = _moves_of(model.moves, model._moves_known)  # noqa: SLF001  (of the class above)
    n_restarts = check_count("n_restarts", model.n_restarts)
    max_sweeps = check_count("max_sweeps", model.max_sweeps, 0)
    n_jobs = 1 if model.n_jobs is None else check_jobs(model.n_jobs)
    deadline = Deadline.checked(model.time_limit)
    check_callable("callback", model.callback)
    if not isinstance(model.verbose, (bool, np.bool_)):
        check_count("verbose", model.verbose, 0)
    backends.check_name(model.backend)
    check_choice("relevance", getattr(model, "relevance", names.RELEVANCE[0]), names.RELEVANCE)
    verbose, seed = int(model.verbose), model.random_state
    settings = SearchSettings(
        moves, n_restarts, max_sweeps, deadline, model.backend, n_jobs, seed, verbose, model.callback
    )
    if seed is not None and not isinstance(seed, np.random.RandomState):  # drawing from it would change it
        seeded(seed)
    return settings


def check_init(model: SearchParameters, n_points: int) -> str | Labels:
    """The start of ``model``: its name, or labels; None where its starts have no names."""
    known = model._starts_known  # noqa: SLF001  (of the class above)
    return UNNAMED if model.init is None and not known else check_start(model.init, n_points, known)


class Deadline:
    """The deadline of all searches of a fit; the clock starts when this object is made."""

    def __init__(self, time_limit: float | None) -> None:
        self._end = math.inf if time_limit is None else time.monotonic() + time_limit
        self.expired: Callable[[], bool] = NEVER if time_limit is None else self._expired
        """Whether no time is left; ``NEVER`` without a limit."""

    @classmethod
    def checked(cls, time_limit: Any) -> Deadline:
        """The deadline of the parameter ``time_limit``; ValueError where that is invalid."""
        if time_limit is not None and not check_number("time_limit", time_limit) > 0.0:
            refuse_value("time_limit must be > 0 seconds, or None for no limit", time_limit)
        return cls(time_limit)

    def _expired(self) -> bool:
        return time.monotonic() >= self._end

    def of_sample(self) -> Deadline:
        """The deadline of a search on a sample: a share of the time that is left, the rest is for all points."""
        return Deadline(None if self.expired is NEVER else _OF_SAMPLE * max(self._end - time.monotonic(), 0.0))


def reporter(settings: SearchSettings) -> Report:
    """A function that prints a line if verbose, and calls the callback; True if the callback ends the run."""
    verbose, callback = settings.verbose, settings.callback

    def report(progress: FitProgress) -> bool:
        if verbose:
            print(progress)
        stop = callback(progress) if callback is not None else False
        return isinstance(stop, (bool, np.bool_)) and bool(stop)

    return report if verbose or callback is not None else unheard


def _moves_of(moves: Any, known: tuple[str, ...]) -> tuple[MakeMove, ...]:
    shown = ", ".join(map(repr, known))
    if isinstance(moves, str) or not isinstance(moves, (tuple, list)):
        refuse_value(f"moves must be a tuple of names among {shown}", moves)
    catalogue = MOVES[known]
    for name in moves:
        if not isinstance(name, str) or name not in catalogue:
            refuse_value(f"moves must be names among {shown}", name)
    return tuple(catalogue[name] for name in moves)
