"""The mode of alpha and gamma of a hierarchical Dirichlet process, given a table of counts and Gamma priors."""

from __future__ import annotations

import math
from collections.abc import Callable

from mapdpm.golden_section import golden_section
from mapdpm.partition_priors.hierarchy import LARGEST_CONCENTRATION, Hierarchy
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels

_ROUNDS = 3
_FARTHEST = math.log(LARGEST_CONCENTRATION) - 1e-9  # a concentration at the edge is still allowed
_STEP = 1.0
_NEAR = 1e-5


def posterior_mode(
    table: Labels,
    parents: Labels,
    prior: Hierarchy,
    alpha_priors: tuple[GammaPrior, ...] | None,
    gamma_prior: GammaPrior | None,
) -> Hierarchy:
    """``prior`` with alphas and gamma at the mode of the posterior of their logarithms; None keeps one as it is.

    ``alpha_priors`` has one of all levels, or one a level. The density of the logarithms has an interior mode under
    every Gamma prior of rate > 0; that of alpha itself may be largest at 0. One after the other is maximised, a few
    times.
    """
    n_levels = len(prior.alphas)
    several = alpha_priors or (None,)
    hyperpriors = [*(several * n_levels if len(several) == 1 else several), gamma_prior]
    for _ in range(_ROUNDS):
        for i, hyperprior in enumerate(hyperpriors):
            if hyperprior is not None:
                density = _log_density(table, parents, prior, i, hyperprior)
                prior = _with(prior, i, math.exp(_highest(density, math.log(prior.numbers[i]))))
    return prior


def _with(prior: Hierarchy, i: int, value: float) -> Hierarchy:
    """``prior`` with another number ``i``."""
    numbers = [*prior.numbers]
    numbers[i] = value
    return Hierarchy(tuple(numbers[:-1]), numbers[-1])


def _log_density(
    table: Labels, parents: Labels, prior: Hierarchy, i: int, hyperprior: GammaPrior
) -> Callable[[float], float]:
    """The log density of the log of one concentration, up to a constant."""

    def of(t: float) -> float:
        value = math.exp(t)
        return _with(prior, i, value).log_partition(table, parents) + hyperprior.log_density(value) + t

    return of


def _highest(f: Callable[[float], float], start: float) -> float:
    """The place of the maximum uphill from ``start``: steps that double while it rises, then golden sections."""
    t = _within(start)
    value = f(t)
    step = _STEP if f(_within(t + _STEP)) > f(_within(t - _STEP)) else -_STEP
    before = _within(t - step)
    while (to := _within(t + step)) != t and (further := f(to)) > value:
        before, t, value, step = t, to, further, 2.0 * step
    return golden_section(f, min(before, to), max(before, to), _NEAR)


def _within(t: float) -> float:
    """``t``, or the nearest log of a concentration that is allowed."""
    return max(-_FARTHEST, min(t, _FARTHEST))
