"""The mode of concentrations, such as alpha and gamma, given a partition and Gamma priors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mapdpm.line_search import highest
from mapdpm.partition_priors.hierarchy import LARGEST_CONCENTRATION
from mapdpm.partition_priors.hyperpriors import GammaPrior

_ROUNDS = 3
_FARTHEST = math.log(LARGEST_CONCENTRATION) - 1e-9  # a concentration at the edge is still allowed
_STEP = 1.0
_NEAR = 1e-5


def posterior_mode(
    log_partition: Callable[[tuple[float, ...]], float],
    numbers: tuple[float, ...],
    hyperpriors: Sequence[GammaPrior | None],
) -> tuple[float, ...]:
    """``numbers`` at the mode of the posterior of their logarithms; one whose prior is None stays as it is.

    ``log_partition`` of the numbers is log p(z). The density of the logarithms has an interior mode under every Gamma
    prior of rate > 0; that of a concentration itself may be largest at 0. One after the other is maximised, a few
    times.
    """
    for _ in range(_ROUNDS):
        for i, hyperprior in enumerate(hyperpriors):
            if hyperprior is not None:
                density = _log_density(log_partition, numbers, i, hyperprior)
                numbers = _with(numbers, i, math.exp(_highest(density, math.log(numbers[i]))))
    return numbers


def _with(numbers: tuple[float, ...], i: int, value: float) -> tuple[float, ...]:
    """``numbers`` with another number ``i``."""
    return (*numbers[:i], value, *numbers[i + 1 :])


def _log_density(
    log_partition: Callable[[tuple[float, ...]], float], numbers: tuple[float, ...], i: int, hyperprior: GammaPrior
) -> Callable[[float], float]:
    """The log density of the log of one concentration, up to a constant."""

    def of(t: float) -> float:
        value = math.exp(t)
        return log_partition(_with(numbers, i, value)) + hyperprior.log_density(value) + t

    return of


def _highest(f: Callable[[float], float], start: float) -> float:
    """The place of the maximum uphill from ``start``: steps that double while it rises, then Brent's method."""
    t = _within(start)
    value = f(t)
    step = _STEP if f(_within(t + _STEP)) > f(_within(t - _STEP)) else -_STEP
    before = _within(t - step)
    while (to := _within(t + step)) != t and (further := f(to)) > value:
        before, t, value, step = t, to, further, 2.0 * step
    return highest(f, min(before, to), max(before, to), _NEAR, t)[0]


def _within(t: float) -> float:
    """``t``, or the nearest log of a concentration that is allowed."""
    return max(-_FARTHEST, min(t, _FARTHEST))
