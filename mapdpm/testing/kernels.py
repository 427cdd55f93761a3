"""Samplers held to the exact posterior: ``exact`` for whole steps, with their kernels as plain Python."""

from __future__ import annotations

import copy
from math import fsum, inf
from typing import Any

import numpy as np

from mapdpm import state as states
from mapdpm.backends.generic import log_marginals
from mapdpm.protocol import Labels, Likelihood, Matrix, PartitionPriorVerbs, Vector
from mapdpm.samplers.chain import Adapted, Chain
from mapdpm.testing import exact, laws

_SELDOM = 37  # paths from one check of the state to the next, which costs as much as a path


class PlainChain(Chain):
    """A chain that compiles nothing, which would take longer than what it is for."""

    __slots__ = ()

    _statistics = staticmethod(states.statistics)
    _log_marginals = staticmethod(log_marginals)


def uncompiled(sampler: Any) -> Any:
    """``sampler``, and its parts, with their kernels as plain Python."""
    plain = copy.copy(sampler)
    for name in dir(type(sampler)):
        kernel = getattr(type(sampler), name)
        if hasattr(kernel, "kernel"):
            setattr(plain, name, kernel.kernel)
    if hasattr(plain, "samplers"):
        plain.samplers = tuple(uncompiled(part) for part in plain.samplers)
    return plain


def matrix_of(sampler: Any, likelihood: Likelihood, data: Any, n: int) -> Matrix:
    """The transition matrix of a move of ``sampler``, past its burn-in, over the partitions of ``n`` points.

    A move is a step but for alpha and a discount, which are drawn after it. What always holds of a state is checked.
    """
    plain, prior = uncompiled(sampler), sampler.model.prior
    paths = 0

    def step(z: tuple[int, ...], rng: Any) -> Labels:
        nonlocal paths
        if prior.log_partition(np.bincount(z).astype(np.float64)) == -inf:
            return np.array(z)  # where no chain can be
        chain = PlainChain(likelihood, prior, data, np.array(z), Adapted(2.0))
        plain.move(chain, rng)
        if paths % _SELDOM == 0:
            states.check(likelihood, data, None, chain.state)
        paths += 1
        return chain.state.labels

    return exact.transition_matrix(step, n)


def posterior_of(prior: PartitionPriorVerbs, likelihood: Likelihood, data: Any, n: int) -> Vector:
    """p(z | x) of all partitions, from the marginals of raw rows."""

    def log_joint(z: tuple[int, ...]) -> float:
        groups = [[i for i in range(n) if z[i] == k] for k in range(max(z) + 1)]
        marginals = [likelihood.log_marginal(laws.row_of(likelihood, data, group)) for group in groups]
        return prior.log_partition(np.array([float(len(group)) for group in groups])) + fsum(marginals)

    return exact.posterior(log_joint, n)
