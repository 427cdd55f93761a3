"""The exact transition matrix of an unchanged sampler, found by walking every random choice that it can make.

There is no Monte Carlo error and no tolerance to tune: the posterior pi and the transition matrix P obey pi P = pi to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mapdpm.protocol import Matrix, Vector
from mapdpm.testing.enumerating_rng import CompiledEnumeratingRng, EnumeratingRng
from mapdpm.testing.enumeration import canonical, partitions

__all__ = ["EnumeratingRng", "canonical", "partitions", "posterior", "transition_matrix"]


def posterior(log_joint: Callable[[Any], float], states: int | Sequence[Any]) -> Vector:
    """The exact posterior over ``states``; a number n stands for ``partitions(n)``."""
    values = np.array([log_joint(state) for state in _listed(states)])
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def transition_matrix(
    step: Callable[[Any, Any], Any],
    states: int | Sequence[Any],
    key: Callable[[Any], Any] = canonical,
    rng: EnumeratingRng | CompiledEnumeratingRng | None = None,
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
    rng : EnumeratingRng or CompiledEnumeratingRng, optional
        The generator that ``step`` is given. The default is an ``EnumeratingRng``; compiled kernels need the other one.
    """
    every = _listed(states)
    index = {state: a for a, state in enumerate(every)}
    P = np.zeros((len(every), len(every)))
    rng = EnumeratingRng() if rng is None else rng
    for a, state in enumerate(every):
        for _ in rng.paths():
            reached = step(state, rng)
            P[a, index[key(reached)]] += rng.probability
    return P


def _listed(states: int | Sequence[Any]) -> Sequence[Any]:
    return partitions(states) if isinstance(states, int) else states
