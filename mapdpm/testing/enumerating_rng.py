"""Rngs that answer with every possible outcome in turn: one for plain Python, and one for compiled kernels."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from typing import NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, Vector

_MOST_CHOICES = 1000
_DEPTH, _LENGTH = 0, 1  # the entries of ``place``


class EnumeratingRng:
    """Answers the verbs of ``Rng`` with every possible outcome in turn, and keeps the probability of the path.

    >>> rng = EnumeratingRng()
    >>> [(rng.integer(2), rng.probability) for _ in rng.paths()]
    [(0, 0.5), (1, 0.5)]
    """

    def __init__(self) -> None:
        self.probability = 1.0
        self._path: list[int] = []
        self._options: list[int] = []
        self._depth = 0

    def paths(self) -> Iterator[None]:
        """One iteration for each sequence of outcomes: run the sampler once in each."""
        self._path = []
        while True:
            self.probability, self._options, self._depth = 1.0, [], 0
            yield
            while self._path and self._path[-1] + 1 == self._options[len(self._path) - 1]:
                self._path.pop()
            if not self._path:
                return
            self._path[-1] += 1

    def categorical(self, logw: Vector) -> int:
        shares = np.exp(logw - logw.max())
        return self._pick(shares / shares.sum())

    def by_weight(self, weights: Vector) -> int:
        return self._pick(weights / weights.sum())

    def integer(self, n: int) -> int:
        return self._pick(np.full(n, 1.0 / n))

    def accept(self, log_ratio: float) -> bool:
        probability = exp(min(0.0, log_ratio))
        return self.chance(probability)

    def chance(self, probability: float) -> bool:
        return bool(self._pick(np.array([1.0 - probability, probability])))

    def _pick(self, probabilities: Vector) -> int:
        if self._depth == len(self._path):
            self._path.append(0)
        while probabilities[self._path[self._depth]] == 0.0:
            self._path[self._depth] += 1
        choice = self._path[self._depth]
        self._options.append(int(np.flatnonzero(probabilities)[-1]) + 1)  # behind it none is possible
        self.probability *= float(probabilities[choice])
        self._depth += 1
        return choice


class CompiledEnumeratingRng(NamedTuple):
    """``EnumeratingRng`` in arrays: compiled kernels take it, so that what is enumerated is what users run.

    No path holds an outcome of probability 0: compiled code does not notice an index that is outside of an array.
    ``compiled_enumerating_rng()`` makes one.

    Attributes
    ----------
    path : array of int
        The choices of the present path.
    options : array of int
        For each choice, how many outcomes there were up to the last one of probability > 0.
    place : array of int, shape (2,)
        How many choices the present run has made, and the length of the path.
    product : array of float, shape (1,)
        The probability of the choices that the present run has made.
    """

    path: Labels
    options: Labels
    place: Labels
    product: Vector

    @property
    def probability(self) -> float:
        """The probability of the path."""
        return float(self.product[0])

    def paths(self) -> Iterator[None]:
        """One iteration for each sequence of outcomes: run the sampler once in each."""
        self.place[_LENGTH] = 0
        while True:
            self.place[_DEPTH], self.product[0] = 0, 1.0
            yield
            length = int(self.place[_LENGTH])
            while length > 0 and self.path[length - 1] + 1 == self.options[length - 1]:
                length -= 1
            if length == 0:
                return
            self.path[length - 1] += 1
            self.place[_LENGTH] = length

    def categorical(self, logw: Vector) -> int:
        top = logw.max()
        for k in range(logw.shape[0]):
            logw[k] = exp(logw[k] - top)
        return self.by_weight(logw)

    def by_weight(self, weights: Vector) -> int:
        last = weights.shape[0] - 1
        while weights[last] == 0.0:
            last -= 1
        choice = next_choice(self, last + 1)
        while weights[choice] == 0.0:
            choice += 1
        return take(self, choice, weights[choice] / weights.sum())

    def integer(self, n: int) -> int:
        return take(self, next_choice(self, n), 1.0 / n)

    def accept(self, log_ratio: float) -> bool:
        return self.chance(exp(min(0.0, log_ratio)))

    def chance(self, probability: float) -> bool:
        if probability == 1.0:
            return True
        choice = next_choice(self, 2 if probability > 0.0 else 1)
        return take(self, choice, probability if choice == 1 else 1.0 - probability) == 1


@jitable
def next_choice(rng: CompiledEnumeratingRng, n_outcomes: int) -> int:
    """The choice among the outcomes 0 to ``n_outcomes`` - 1 that the path has here; 0 where the path ends."""
    depth = rng.place[_DEPTH]
    if depth == rng.path.shape[0]:
        msg = "one path makes more random choices than can be enumerated"
        raise ValueError(msg)
    if depth == rng.place[_LENGTH]:
        rng.place[_LENGTH] += 1
        rng.path[depth] = 0
    rng.options[depth] = n_outcomes
    return int(rng.path[depth])


@jitable
def take(rng: CompiledEnumeratingRng, choice: int, probability: float) -> int:
    """Write ``choice`` into the path, and go on to the next one."""
    rng.path[rng.place[_DEPTH]] = choice
    rng.place[_DEPTH] += 1
    rng.product[0] *= probability
    return choice


def compiled_enumerating_rng() -> CompiledEnumeratingRng:
    """A ``CompiledEnumeratingRng`` at the start of the first path.

    >>> rng = compiled_enumerating_rng()
    >>> [(rng.integer(2), rng.probability) for _ in rng.paths()]
    [(0, 0.5), (1, 0.5)]
    """
    path, options = np.zeros((2, _MOST_CHOICES), dtype=np.int64)
    return CompiledEnumeratingRng(path, options, np.zeros(2, dtype=np.int64), np.ones(1))
