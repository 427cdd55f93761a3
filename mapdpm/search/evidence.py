"""The evidence of a prior for given clusters, and its largest value: a search over logarithms, without slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import BACKENDS
from mapdpm.likelihoods._restated import restated
from mapdpm.likelihoods._skipping import like
from mapdpm.line_search import highest
from mapdpm.protocol import Vector
from mapdpm.search.chunks import Frame, Sums, state_of

_MOST_CYCLES = 50
_NOWHERE = np.zeros(0)  # statistics have no anchor to go back to


def log_evidence(likelihood: Any, made_by: Any, clusters: Sums, backend: str) -> float:
    """sum_k log p(x_{c_k}) of clusters under the prior in ``likelihood``, from statistics alone; O(K D).

    ``made_by`` is the likelihood under which the statistics were made.
    """
    clusters = clusters._replace(statistics=restated(clusters.statistics, made_by, likelihood))
    likelihood = like(made_by, likelihood)
    state = state_of(Frame(likelihood, None, _NOWHERE, backend), clusters)
    return float(BACKENDS[backend].log_marginals(likelihood, state).sum())


class Box(NamedTuple):
    """The range of each logarithm, and the tolerances of the search: of a logarithm, and of the gain of a cycle.

    A cycle whose gain is at most ``gain`` (1 + |value|) is the last.
    """

    low: Vector
    high: Vector
    tolerance: float
    gain: float


def largest(at: Callable[[Vector], float], logs: Vector, box: Box) -> Vector:
    """The place in ``box`` where ``at`` is largest, by a search from ``logs``.

    Powell's method (1964): Brent's along each of some directions in turn, which are the axes at first. The joint change
    of such a cycle becomes a direction itself, in place of the one that gained most.
    """
    axes = list(np.eye(len(logs)))
    directions, best = axes, at(logs)
    for _ in range(_MOST_CYCLES):
        before, first, gains = best, logs, []
        for direction in directions:
            logs, value = _best_along(at, (logs, best), direction, box)
            gains.append(value - best)
            best = value
        if best - before <= box.gain * (1.0 + abs(best)):
            if directions is axes:
                break
            directions = axes  # others may all lead out of the box
            continue
        change = logs - first
        most = int(np.argmax(gains))
        if _is_worth_it(at(np.clip(logs + change, box.low, box.high)), best, before, gains[most]):
            direction = change / np.abs(change).max()
            logs, best = _best_along(at, (logs, best), direction, box)
            directions = [*directions[:most], *directions[most + 1 :], direction]
    return logs


def _is_worth_it(further: float, best: float, before: float, most: float) -> bool:
    """Whether the joint change of a cycle makes a good direction, by the value as far ahead again (Powell)."""
    bend = 2.0 * (2.0 * best - before - further) * (best - before - most) ** 2
    return further > before and bend < most * (further - before) ** 2


def _best_along(
    at: Callable[[Vector], float], place: tuple[Vector, float], line: Vector, box: Box
) -> tuple[Vector, float]:
    """The best place along a line, within the box, and its value; ``place`` with its own where none is better."""
    logs, best = place
    moving = line != 0.0
    ends = ((np.stack((box.low, box.high)) - logs)[:, moving]) / line[moving]
    low, high = ends.min(axis=0).max(), ends.max(axis=0).min()
    t = highest(lambda t: at(logs + t * line), low, high, box.tolerance, 0.0)
    value = at(logs + t * line)
    return (logs + t * line, value) if value > best else place
