"""Parameters of a prior at the largest evidence: a pattern search over logarithms, without slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mapdpm.golden_section import golden_section
from mapdpm.protocol import Vector

_MOST_CYCLES = 50


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

    A pattern search (Hooke and Jeeves 1961): golden section along each logarithm, then along their joint change, until
    a cycle gains nothing.
    """
    best = at(logs)
    for _ in range(_MOST_CYCLES):
        before, first = best, logs
        for direction in (*np.eye(len(logs)), None):
            line = logs - first if direction is None else direction  # the joint change, along a ridge
            far = float(np.abs(line).max())
            if far > box.tolerance:
                line = line / far
                place = _best_along(at, logs, line, box)
                if (value := at(place)) > best:
                    logs, best = place, value
        if best - before <= box.gain * (1.0 + abs(best)):
            break
    return logs


def _best_along(at: Callable[[Vector], float], place: Vector, line: Vector, box: Box) -> Vector:
    """The best place along a line, within the box."""
    moving = line != 0.0
    ends = ((np.stack((box.low, box.high)) - place)[:, moving]) / line[moving]
    low, high = ends.min(axis=0).max(), ends.max(axis=0).min()
    t = golden_section(lambda t: at(place + t * line), low, high, box.tolerance)
    found: Vector = place + t * line
    return found
