"""What estimators share: the parameters of a search, checked, and the search itself."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from mapdpm import backends
from mapdpm.data import point_set
from mapdpm.protocol import Labels, Weights
from mapdpm.rng import seeded
from mapdpm.search.ascent import Ascent, Plan, Progress
from mapdpm.search.moves.catalogue import MOVES
from mapdpm.search.problem import Problem
from mapdpm.search.restarts import STARTS, Starts, best_of_restarts
from mapdpm.state import blank_row
from mapdpm.validation import (
    check_callable,
    check_count,
    check_labels,
    check_number,
    in_order_of_appearance,
)

ABSENT = -1  # the label of a point of weight 0
_SEED = 0


def check_search(estimator: Any) -> None:
    """ValueError where a parameter of the search is not what it must be: before any work."""
    _moves_of(estimator.moves)
    check_count("n_restarts", estimator.n_restarts)
    check_count("max_sweeps", estimator.max_sweeps)
    if estimator.n_jobs is not None:
        check_count("n_jobs", estimator.n_jobs)
    if estimator.time_limit is not None and not check_number("time_limit", estimator.time_limit) > 0.0:
        msg = f"time_limit must be > 0 seconds, or None for no limit, got {estimator.time_limit!r}"
        raise ValueError(msg)
    check_callable("callback", estimator.callback)
    if not isinstance(estimator.verbose, (bool, np.bool_)):
        check_count("verbose", estimator.verbose, 0)
    backends.check_name(estimator.backend)
    if not isinstance(estimator.random_state, np.random.RandomState):  # which drawing from would change
        generator_of(estimator)


def check_start(init: Any, n_points: int, max_clusters: int | None) -> str | Labels:
    """The name of a start, or labels 0..K-1."""
    if not isinstance(init, str):
        return check_labels(init, n_points, max_clusters)
    if init not in STARTS:
        msg = f"init must be one of {', '.join(map(repr, STARTS))} or an array of labels, got {init!r}"
        raise ValueError(msg)
    return init


def taking_part(points: Any, weights: Weights, labels: str | Labels) -> tuple[Any, Weights, str | Labels]:
    """Points, weights and labels to start from, of the points whose weight is not 0."""
    if weights is None or np.all(weights):
        return points, weights, labels
    present = np.flatnonzero(weights)
    kept = weights[present]
    start = labels if isinstance(labels, str) else in_order_of_appearance(labels[present])
    return point_set(points).rows(present), None if np.all(kept == 1.0) else kept, start


def with_absent(labels: Labels, weights: Weights) -> Labels:
    """``labels`` of the points that took part, and -1 for those whose weight is 0."""
    if weights is None or len(labels) == len(weights):
        return labels
    spread = np.full(len(weights), ABSENT)
    spread[np.flatnonzero(weights)] = labels
    return spread


class Watch:
    """Who is told how a fit goes, and when its time is up: the clock starts when this is made."""

    def __init__(self, estimator: Any) -> None:
        self._verbose, self._callback = estimator.verbose, estimator.callback
        self._deadline = math.inf if estimator.time_limit is None else time.monotonic() + estimator.time_limit

    def expired(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._deadline

    def report(self, progress: Progress) -> bool:
        """Tell of ``progress``; whether the run is to end."""
        if self._verbose:
            print(progress)
        stop = self._callback(progress) if self._callback is not None else False
        return isinstance(stop, (bool, np.bool_)) and bool(stop)


def plan_of(estimator: Any, watch: Watch) -> Plan:
    """How the runs of a checked ``estimator`` go."""
    return Plan(_moves_of(estimator.moves), estimator.max_sweeps, watch.expired)


def searched(
    estimator: Any, watch: Watch, plan: Plan, problem: Problem, first: str | Labels, cycle: tuple[str, ...]
) -> Ascent:
    """The best run for a checked ``estimator``: from ``first``, and then in turn from the starts of ``cycle``."""
    if not plan.moves:
        cycle = ("random-order",)  # the paper's algorithm knows no way from one run to the next
    starts = Starts(first, cycle, estimator.n_restarts)
    problem = problem._replace(blank=blank_row(problem.likelihood))
    return best_of_restarts(problem, starts, plan, generator_of(estimator), watch.report, estimator.n_jobs or 1)


def generator_of(estimator: Any) -> np.random.Generator:
    """The source of randomness. Fitting twice gives the same clusters, unless another source is asked for."""
    return seeded(_SEED if estimator.random_state is None else estimator.random_state).generator


def _moves_of(moves: Any) -> tuple[Any, ...]:
    known = ", ".join(map(repr, MOVES))
    if isinstance(moves, str) or not isinstance(moves, (tuple, list)):
        msg = f"moves must be a tuple of names among {known}, got {moves!r}"
        raise ValueError(msg)
    for name in moves:
        if not isinstance(name, str) or name not in MOVES:
            msg = f"moves must be names among {known}, got {name!r}"
            raise ValueError(msg)
    return tuple(MOVES[name] for name in moves)
