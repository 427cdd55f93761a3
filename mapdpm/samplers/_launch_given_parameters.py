"""Kernels of splits from a launch, given parameters: those of both sides are drawn, then the side of each point."""

from __future__ import annotations

from math import exp, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.logs import log_half_sum, log_share
from mapdpm.protocol import Labels, Matrix, Model, NonconjugateVerbs, RngVerbs, Vector
from mapdpm.samplers._blocks import log_block
from mapdpm.samplers._whole_clusters import Chosen
from mapdpm.state import ClusterState, count_used

_HALF = 0.5


class Launched(NamedTuple):
    """The result of a launch: parameters of two clusters, and logs of their shares."""

    parameters: Matrix
    log_sizes: Vector


class Parting(NamedTuple):
    """Two clusters, or one, with parameters of the two and of the one; ``launch`` is the side of each member in it."""

    chosen: Chosen
    launch: Labels
    apart: Matrix
    whole: Vector


class Sums(NamedTuple):
    """Over members: log probabilities of the sides and of the opposite ones, log densities apart and as one."""

    log_q: float
    log_opposite: float
    apart: float
    whole: float


def launch_given(
    family: NonconjugateVerbs, data: Any, points: Labels, sides: Labels, n_steps: int, rng: RngVerbs
) -> tuple[float, Launched]:
    """``n_steps`` of drawing parameters of two sides and putting each point on its better side. O(n) densities each.

    Returns the log likelihood, but for n, after the last step; -inf where a side was empty. ``rng`` must begin at the
    same place each time, so that the launch is a function of the points.
    """
    n_parameters: int = family.n_parameters()  # type: ignore[attr-defined]
    launched, worth = Launched(np.zeros((2, n_parameters)), np.zeros(2)), -inf
    for _ in range(n_steps + 1):
        for side in range(2):
            some = points[sides == side]
            if some.shape[0] == 0:
                return -inf, launched
            family.propose(launched.parameters[side], data, some, rng)
            launched.log_sizes[side] = log(some.shape[0] + _HALF)
        worth = better_sides(family, data, points, launched, sides)
    return worth, launched


@jitable
def better_sides(family: NonconjugateVerbs, data: Any, points: Labels, launched: Launched, sides: Labels) -> float:
    """Put each point on its better side; return the log likelihood of the two, but for n."""
    total = 0.0
    for m in range(points.shape[0]):
        first, second = log_weights(family, data, launched.parameters, launched.log_sizes, points[m])
        sides[m] = int(second > first)
        total += max(first, second) + log1p(exp(-abs(second - first)))
    return total


@jitable
def log_weights(
    family: NonconjugateVerbs, data: Any, parameters: Matrix, log_sizes: Vector, i: int
) -> tuple[float, float]:
    """Log of share and density of point ``i`` on each side."""
    first = log_sizes[0] + family.log_likelihood(parameters[0], data, i)  # type: ignore[attr-defined]
    return first, log_sizes[1] + family.log_likelihood(parameters[1], data, i)  # type: ignore[attr-defined]


def draw_parameters(family: NonconjugateVerbs, data: Any, parting: Parting, rng: RngVerbs) -> None:
    """Draw the parameters that a split or a merge lacks, from the proposals given the launch or given all members."""
    members = parting.chosen.members
    if parting.chosen.first == parting.chosen.second:
        for side in range(2):
            family.propose(parting.apart[side], data, members[parting.launch == side], rng)
    else:
        family.propose(parting.whole, data, members, rng)


def choose_sides_given(
    family: NonconjugateVerbs, data: Any, parting: Parting, log_sizes: Vector, rng: RngVerbs
) -> Sums:
    """The sums over some members. Before a split, their sides are drawn first, independently."""
    logw, chosen = np.empty(2), parting.chosen
    log_q, log_opposite, apart, whole = 0.0, 0.0, 0.0, 0.0
    draws = chosen.first == chosen.second
    for m in range(chosen.members.shape[0]):
        i = chosen.members[m]
        logw[0], logw[1] = log_weights(family, data, parting.apart, log_sizes, i)
        first, second = logw[0] - log_sizes[0], logw[1] - log_sizes[1]
        odds = logw[1] - logw[0]
        exchanged = first + log_sizes[1] - (second + log_sizes[0])  # with the parameters of side 0 on side 1
        if draws:
            chosen.choices[m] = rng.categorical(logw)
        on_second = chosen.choices[m] == 1
        log_q += log_share(odds if on_second else -odds)
        log_opposite += log_share(-exchanged if on_second else exchanged)
        apart += second if on_second else first
        whole += family.log_likelihood(parting.whole, data, i)  # type: ignore[attr-defined]
    return Sums(log_q, log_opposite, apart, whole)


def decide_given(model: Model, state: ClusterState, parting: Parting, sums: Sums, rng: RngVerbs) -> bool:
    """Accept or reject by Metropolis-Hastings; maths (69). A split with an empty side is rejected."""
    family, data, prior = model.likelihood.family, model.data, model.prior
    chosen = parting.chosen
    n, m = float(np.sum(chosen.choices == 0)), float(np.sum(chosen.choices == 1))
    if n == 0.0 or m == 0.0:
        return False
    is_split = chosen.first == chosen.second
    n_others = count_used(state) - (1 if is_split else 2)

    log_q, log_opposite = sums.log_q, sums.log_opposite
    for side in range(2):
        points = chosen.members[parting.launch == side]
        log_q += family.log_proposal(parting.apart[side], data, points)
        log_opposite += family.log_proposal(parting.apart[1 - side], data, points)
    log_q = log_half_sum(log_q, log_opposite) - family.log_proposal(parting.whole, data, chosen.members)

    ratio = log_block(prior, n_others, n) + log_block(prior, n_others + 1, m) - log_block(prior, n_others, n + m)
    ratio += family.log_prior(parting.apart[0]) + family.log_prior(parting.apart[1]) - family.log_prior(parting.whole)
    ratio += sums.apart - sums.whole - log_q - log(n_others + 2.0)
    return bool(rng.accept(ratio if is_split else -ratio))
