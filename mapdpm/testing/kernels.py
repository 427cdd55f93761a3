"""The transition matrices of samplers: ``exact`` for whole steps, with kernels as plain Python or compiled."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from math import fsum, inf
from typing import Any, NamedTuple

import numpy as np

from mapdpm import state as states
from mapdpm.protocol import Likelihood, Matrix, PartitionPriorVerbs, Vector
from mapdpm.rng import seeded
from mapdpm.samplers.chain import Adapted, Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.testing import exact, laws
from mapdpm.testing.enumerating_rng import EnumeratingRng, compiled_enumerating_rng
from mapdpm.testing.enumeration import canonical, partitions

_SELDOM = 37  # paths from one check of the state to the next, which costs as much as a path


class StateSpace(NamedTuple):
    """The states that a sampler moves among, and how a chain is put into one and read."""

    states: Sequence[Any]
    """All states, hashable: labels, or labels with what the chain carries beside them."""
    enter: Callable[[Chain, Any], None]
    """``enter(chain, state)`` puts a chain into a state."""
    key: Callable[[Chain], Any]
    """``key(chain)`` is the state of a chain, whatever the names of its slots."""


def of_partitions(n: int) -> StateSpace:
    """The state space of a sampler of partitions of ``n`` points."""
    return StateSpace(
        partitions(n), lambda chain, z: chain.become(np.array(z)), lambda chain: canonical(chain.state.labels)
    )


def _plain_kernels(kind: type) -> dict[str, Callable[..., Any]]:
    """The compiled kernels of a class, by name, as the plain functions that they are made of."""
    found = {name: getattr(kind, name) for name in dir(kind)}
    return {name: kernel.kernel for name, kernel in found.items() if hasattr(kernel, "kernel")}


def plain_chain(kind: type[Chain]) -> type[Chain]:
    """A kind of chain that compiles nothing, which would take longer than all calls in a test."""
    plain = {name: staticmethod(kernel) for name, kernel in _plain_kernels(kind).items()}
    return type(f"Plain{kind.__name__}", (kind,), {"__slots__": (), **plain})


PlainChain = plain_chain(Chain)


def uncompiled(sampler: Any) -> Any:
    """``sampler``, its parts and its chains, with their kernels as plain Python."""
    plain = copy.copy(sampler)
    vars(plain).update(_plain_kernels(type(sampler)))
    plain.chain_type = plain_chain(sampler.chain_type)
    if hasattr(plain, "samplers"):
        plain.samplers = tuple(uncompiled(part) for part in plain.samplers)
    return plain


def matrix_of(
    sampler: Any,
    likelihood: Likelihood,
    data: Any,
    space: int | StateSpace,
    given: Any = None,
    *,
    compiled: bool = False,
    rng: Any = None,
) -> Matrix:
    """The transition matrix of a move of ``sampler``, past its burn-in, over ``space``.

    A move is a step without the draws of alpha and a discount, which follow it. The invariants of the cluster state
    are checked on the way.

    Parameters
    ----------
    sampler : Sampler
        Run unchanged.
    likelihood : Likelihood
        The family, for these points.
    data : array
        The points.
    space : int or StateSpace
        A number n stands for the partitions of n points.
    given : Given, optional
        Groups, sequences or times, for a sampler that takes them.
    compiled : bool
        Whether kernels are compiled: many times faster, once numba has taken its seconds to compile them.
    rng : EnumeratingRng, optional
        A ``QuadratureRng`` for a sampler with continuous draws, whose kernels are not compiled.

    Returns
    -------
    Array of shape (n_states, n_states)
    """
    sampler, prior = sampler if compiled else uncompiled(sampler), sampler.target.prior
    flat = isinstance(space, int)
    space = of_partitions(space) if isinstance(space, int) else space
    chain = sampler.chain(ChainData(likelihood, data, given or Given()), "single", seeded(0))
    chain.adapted = Adapted(2.0)
    paths = 0

    def step(state: Any, rng: Any) -> Any:
        nonlocal paths
        if flat and prior.log_partition(np.bincount(state).astype(np.float64)) == -inf:
            return state  # no chain can be there
        space.enter(chain, state)
        sampler.move(chain, rng)
        if paths % _SELDOM == 0:
            states.check(likelihood, data, None, chain.state)
        paths += 1
        return space.key(chain)

    if rng is None:
        rng = compiled_enumerating_rng() if compiled else EnumeratingRng()
    return exact.transition_matrix(step, space.states, key=lambda reached: reached, rng=rng)


def posterior_of(prior: PartitionPriorVerbs, likelihood: Likelihood, data: Any, n: int) -> Vector:
    """p(z | x) of all partitions of ``n`` points, from the marginals of raw rows."""

    def log_joint(z: tuple[int, ...]) -> float:
        groups = [[i for i in range(n) if z[i] == k] for k in range(max(z) + 1)]
        marginals = [likelihood.log_marginal(laws.row_of(likelihood, data, group)) for group in groups]
        return prior.log_partition(np.array([float(len(group)) for group in groups])) + fsum(marginals)

    return exact.posterior(log_joint, partitions(n))
