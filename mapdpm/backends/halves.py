"""The search for the best two clusters of some points: several starts, each followed by sweeps.

c_kernels/batch/halves.c is the twin, operation by operation. Random numbers are drawn before the search, so that all
backends draw alike.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends.parts import log_joint_of
from mapdpm.data.standard import standard_columns, sums
from mapdpm.objective import is_gain
from mapdpm.protocol import SMALLEST, Labels, Matrix, Model, Vector
from mapdpm.state import ClusterState, empty

ATOMS = 64
SWEEPS = 10
_LINES = 3
_POWER_STEPS = 12


class Start(IntEnum):
    """A start of the search, by its number in C."""

    WIDEST = 0
    """The best cut along the direction of largest variance."""
    FARTHEST_PAIR = 1
    """The point farthest from the mean, and the one farthest from that; others join them in random order."""
    RANDOM_PAIR = 2
    """Two random points; others join them in random order."""
    DIFFERENCES = 3
    """The best cut along lines through two random points: random projections that prefer wide directions."""
    AXES = 4
    """The best cut along some random features: good for features of few values, and for independent ones."""


_WITH_ORDER = (Start.FARTHEST_PAIR, Start.RANDOM_PAIR)


class Draws(NamedTuple):
    """Starts, and what they draw: where the widest direction is sought from; the numbers of one after the other."""

    starts: Labels
    direction: Vector | None
    numbers: Labels

    @classmethod
    def drawn(cls, starts: Sequence[Start], n: int, D: int, rng: np.random.Generator) -> Draws:
        """The draws of ``starts`` for ``n`` points, whose vectors have ``D`` entries."""
        m = min(_LINES, D)
        pools = {Start.RANDOM_PAIR: [(n, 2)], Start.DIFFERENCES: [(n, 2)] * m, Start.AXES: [(D, m)]}
        direction, numbers, waiting = None, [], []
        for start in starts:
            waiting += pools.get(start, [])
            if start is Start.WIDEST:
                direction = rng.standard_normal(D)
            elif start in _WITH_ORDER:
                numbers += [distinct(rng, waiting), rng.permutation(n)]
                waiting = []
        numbers.append(distinct(rng, waiting))
        return cls(np.array(starts, dtype=np.int64), direction, np.concatenate(numbers, dtype=np.int64))


class Tried:
    """The halves of some points that were tried: whether each point is in the half of the first one."""

    def __init__(self, n_points: int) -> None:
        self.n = 0
        self.sides: NDArray[np.uint8] = np.empty((0, n_points), dtype=np.uint8)

    def room(self, more: int) -> NDArray[np.uint8]:
        """``sides``, with room for ``more`` halves behind the first ``n``."""
        if len(self.sides) < self.n + more:
            self.sides = np.concatenate([self.sides[: self.n], np.empty((more, self.sides.shape[1]), dtype=np.uint8)])
        return self.sides

    def add(self, labels: Labels) -> bool:
        """Whether the halves are new; from now on they are not."""
        sides = (labels == labels[0]).astype(np.uint8)
        if np.any(np.all(self.sides[: self.n] == sides, axis=1)):
            return False
        self.room(1)[self.n] = sides
        self.n += 1
        return True


class Halves(NamedTuple):
    """Two clusters, or None where there are none; and the gain of the log joint on that of one cluster, ``before``.

    The log joint ``before`` leaves out the terms that both share.
    """

    state: ClusterState | None
    gain: float
    before: float


def best_halves(backend: Any, model: Model, draws: Draws, tried: Tried) -> Halves:
    """The best two clusters of all points, from several starts; None if no start gives two new ones."""
    search = _Search(backend, model, draws)
    whole = empty(model.likelihood, 0, 1)._replace(labels=np.zeros(tried.sides.shape[1], dtype=np.int64))
    backend.statistics(model, whole)
    best, best_joint, before = None, -math.inf, log_joint_of(backend, model, whole)
    for start in draws.starts.tolist():
        labels = search.begun(Start(start))
        if not tried.add(labels):  # a few points have few halves
            continue
        state = empty(model.likelihood, 0, 2)._replace(labels=labels)
        backend.settle(model, state, SWEEPS)
        if state.n_clusters < 2:  # noqa: PLR2004  (two halves)
            continue
        joint = log_joint_of(backend, model, state)
        if best is None or is_gain(joint - best_joint, best_joint):
            best, best_joint = state, joint
    return Halves(best, best_joint - before, before)


def best_cut(backend: Any, model: Model, projections: Matrix, most_atoms: int) -> Labels:
    """Labels 0 and 1 of the best two clusters, one all below the other in one of ``projections`` (n of them, N).

    O(N log N + N D) each. Cuts are tried between at most ``most_atoms`` runs of points.
    """
    best, best_joint = np.zeros(projections.shape[1], dtype=np.int64), -np.inf
    for projection in projections:
        order = np.argsort(projection, kind="stable").astype(np.int64)
        first, joint = backend.cut(model, order, min(most_atoms, len(order)))
        if best_joint == -np.inf or is_gain(joint - best_joint, best_joint):
            best[order[:first]], best[order[first:]], best_joint = 0, 1, joint
    return best


def widest_direction(columns: Matrix, direction: Vector) -> Vector:
    """The direction along which points, whose mean is near 0, are widest; by power iteration from ``direction``."""
    for _ in range(_POWER_STEPS):
        product = sums(columns * projected(columns, direction))
        direction = product / max(float(np.abs(product).max()), SMALLEST)
    return direction


def projected(columns: Matrix, direction: Vector) -> Vector:
    """The place of each point along ``direction``."""
    along = np.zeros(columns.shape[1])
    for column, entry in zip(columns, direction, strict=True):
        along += column * entry
    return along


class _Search:
    """The points of a search, and the draws that are left."""

    def __init__(self, backend: Any, model: Model, draws: Draws) -> None:
        self._backend, self._model, self._draws = backend, model, draws
        self._columns = standard_columns(model.data)
        self._used = 0

    def begun(self, start: Start) -> Labels:
        """Labels 0 and 1 of a start."""
        D, n = self._columns.shape
        n_lines = min(_LINES, D)
        if start is Start.FARTHEST_PAIR:
            one = _farthest(self._columns, np.zeros(D))
            two = _farthest(self._columns, self._columns[:, one])
            return self._around(one, two if two != one else (one + 1) % n)
        if start is Start.RANDOM_PAIR:
            return self._around(*self._next(2).tolist())
        if start is Start.DIFFERENCES:
            pairs = [self._columns[:, self._next(2)] for _ in range(n_lines)]
            lines = np.stack([projected(self._columns, pair[:, 0] - pair[:, 1]) for pair in pairs])
        elif start is Start.AXES:
            lines = self._columns[self._next(n_lines)]
        else:
            assert self._draws.direction is not None  # noqa: S101  (a fault of this package)
            lines = projected(self._columns, widest_direction(self._columns, self._draws.direction))[None]
        return best_cut(self._backend, self._model, lines, ATOMS)

    def _next(self, n: int) -> Labels:
        self._used += n
        return self._draws.numbers[self._used - n : self._used]

    def _around(self, one: int, two: int) -> Labels:
        """The sequential start of two clusters, from one point each."""
        n = self._columns.shape[1]
        state = empty(self._model.likelihood, n, 2)
        state.labels[one], state.labels[two] = 0, 1
        self._backend.statistics(self._model, state)
        order = self._next(n)
        self._backend.sequential_start(self._model, state, order[state.labels[order] < 0], False)
        return state.labels


def _farthest(columns: Matrix, place: Vector) -> int:
    """The point farthest from ``place``; the first of equals."""
    distances = np.zeros(columns.shape[1])
    for column, entry in zip(columns, place, strict=True):
        distances += (column - entry) * (column - entry)
    return int(np.argmax(distances))


@functools.lru_cache(256)
def _tops(pools: tuple[tuple[int, int], ...]) -> Labels:
    """The largest value of each draw of ``distinct``."""
    return np.array([top for n, k in pools for top in (*range(n - k, n), *range(k - 1, 0, -1))], dtype=np.int64)


def distinct(rng: np.random.Generator, pools: Sequence[tuple[int, int]]) -> Labels:
    """For each (n, k) of ``pools``, one after the other: k different numbers below n, at random and in random order.

    The numbers, and what is drawn from ``rng``, are those of ``rng.choice(n, k, replace=False)`` for a few numbers, by
    one call for all: Floyd's algorithm (Bentley and Floyd 1987), and a shuffle.
    """
    if not pools:
        return np.empty(0, dtype=np.int64)
    draws = iter(rng.integers(0, _tops(tuple(pools)), endpoint=True).tolist())
    found: list[int] = []
    for n, k in pools:
        chosen: list[int] = []
        for top in range(n - k, n):
            number = next(draws)
            chosen.append(top if number in chosen else number)
        for i in range(k - 1, 0, -1):
            j = next(draws)
            chosen[i], chosen[j] = chosen[j], chosen[i]
        found += chosen
    return np.array(found, dtype=np.int64)
