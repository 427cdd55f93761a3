"""The exact transition matrix of an unchanged sampler, found by walking every random choice that it can make.

There is no Monte Carlo error and no tolerance to tune: the posterior pi and the transition matrix P obey pi P = pi to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp
from typing import Any

import numpy as np

from mapdpm.protocol import Matrix, Vector
from mapdpm.testing.enumeration import canonical, partitions

__all__ = ["EnumeratingRng", "canonical", "partitions", "posterior", "transition_matrix"]


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


def posterior(log_joint: Callable[[Any], float], states: int | Sequence[Any]) -> Vector:
    """The exact posterior over ``states``; a number n stands for ``partitions(n)``."""
    values = np.array([log_joint(state) for state in _listed(states)])
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def transition_matrix(
    step: Callable[[Any, EnumeratingRng], Any], states: int | Sequence[Any], key: Callable[[Any], Any] = canonical
) -> Matrix:
    """P[a, b]: the probability that ``step`` leads from state a to state b.

    Parameters
    ----------
    step : callable
        ``step(state, rng)`` starts at one of ``states`` and returns what it reached. All its randomness must come from
        ``rng``.
    states : int or sequence of hashable
        The whole state space, such as ``partitions(4)``, ``labellings(3, 2)`` or ``franchises([2, 1])``. A number n
        stands for ``partitions(n)``.
    key : callable
        ``key(reached)`` is the member of ``states`` that was reached. The default is for labels of partitions.
    """
    every = _listed(states)
    index = {state: a for a, state in enumerate(every)}
    P = np.zeros((len(every), len(every)))
    rng = EnumeratingRng()
    for a, state in enumerate(every):
        for _ in rng.paths():
            reached = step(state, rng)
            P[a, index[key(reached)]] += rng.probability
    return P


def _listed(states: int | Sequence[Any]) -> Sequence[Any]:
    return partitions(states) if isinstance(states, int) else states
