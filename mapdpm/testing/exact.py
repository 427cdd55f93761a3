"""The exact transition matrix of an unchanged sampler, by walking every random choice it can make.

No Monte Carlo, no tolerance to tune: the posterior pi and the transition matrix P obey pi P = pi to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp

import numpy as np

from mapdpm.protocol import Labels, Matrix, Vector


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

    def integer(self, n: int) -> int:
        return self._pick(np.full(n, 1.0 / n))

    def accept(self, log_ratio: float) -> bool:
        probability = exp(min(0.0, log_ratio))
        return bool(self._pick(np.array([1.0 - probability, probability])))

    def _pick(self, probabilities: Vector) -> int:
        if self._depth == len(self._path):
            self._path.append(0)
        last = len(probabilities) - 1
        while probabilities[self._path[self._depth]] == 0.0 and self._path[self._depth] < last:
            self._path[self._depth] += 1
        choice = self._path[self._depth]
        self._options.append(len(probabilities))
        self.probability *= float(probabilities[choice])
        self._depth += 1
        return choice


def partitions(n: int) -> list[tuple[int, ...]]:
    """All partitions of n points, as labels in order of first appearance: 1, 2, 5, 15, 52, 203, 877, 4140 of them."""

    def grow(labels: tuple[int, ...], k: int) -> Iterator[tuple[int, ...]]:
        if len(labels) == n:
            yield labels
            return
        for label in range(k + 1):
            yield from grow((*labels, label), max(k, label + 1))

    return list(grow((), 0))


def canonical(labels: Labels) -> tuple[int, ...]:
    """Labels renamed in order of first appearance."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(label), len(names)) for label in labels)


def posterior(log_joint: Callable[[tuple[int, ...]], float], n: int) -> Vector:
    """The exact posterior over ``partitions(n)``."""
    values = np.array([log_joint(z) for z in partitions(n)])
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def transition_matrix(step: Callable[[tuple[int, ...], EnumeratingRng], Labels], n: int) -> Matrix:
    """P[a, b]: the probability that ``step`` leads from partition a to partition b.

    ``step(labels, rng)`` returns new labels; all its randomness must come from ``rng``.
    """
    every = partitions(n)
    index = {z: a for a, z in enumerate(every)}
    P = np.zeros((len(every), len(every)))
    rng = EnumeratingRng()
    for a, z in enumerate(every):
        for _ in rng.paths():
            reached = step(z, rng)
            P[a, index[canonical(reached)]] += rng.probability
    return P
