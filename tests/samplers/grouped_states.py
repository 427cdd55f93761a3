"""All states of samplers of grouped points, with their exact posterior: seats and dishes, or labels and tables."""

import math

import numpy as np

from mapdpm.samplers import Given
from mapdpm.testing import exact, kernels, laws
from mapdpm.testing.enumeration import canonical, canonical_franchise, franchises, partitions
from tests.oracle import franchise as oracle


def log_likelihood(likelihood, data, labels):
    """log p(x | z), from rows of raw points."""
    clusters = [np.flatnonzero(np.array(labels) == k) for k in range(max(labels) + 1)]
    return math.fsum(likelihood.log_marginal(laws.row_of(likelihood, data, points)) for points in clusters)


def lag(sampler, likelihood, data, states, log_joints, enter, key, groups, **options):
    """max |pi P - pi|, and P."""
    given = sampler.check_given(Given(groups=np.array(groups)), len(groups))
    space = kernels.StateSpace(states, enter, key)
    P = kernels.matrix_of(sampler, likelihood, data, space, given, **options)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    pi = exact.posterior(dict(zip(states, log_joints, strict=True)).get, states)
    return np.abs(pi @ P - pi).max(), P


def lag_of_seats(sampler, likelihood, data, sizes, **options):
    """The lag of a sampler whose chains have tables and dishes, over all franchises of groups of ``sizes``."""
    groups = np.repeat(range(len(sizes)), sizes).tolist()
    alpha, gamma = sampler.target.prior.alphas[0], sampler.target.prior.gamma
    states = franchises(sizes)

    def log_joint(tables, dishes):
        labels = [dishes[t] for t in tables]
        return oracle.log_franchise(tables, dishes, groups, alpha, gamma) + log_likelihood(likelihood, data, labels)

    def enter(chain, state):
        tables, dishes = map(np.array, state)
        chain.become(dishes[tables])
        sampler.parts[0].count_tables(chain, [tables])

    def key(chain):
        tables = chain.aux["tables"]
        dishes = np.zeros(tables.max() + 1, dtype=np.int64)
        dishes[tables] = chain.state.labels
        return canonical_franchise(tables, dishes)

    joints = [log_joint(*state) for state in states]
    return lag(sampler, likelihood, data, states, joints, enter, key, groups, **options)


def states_with_tables(groups, tree, alphas, gamma):
    """All (labels, m), with log p(labels, m)."""
    leaves = tree.n_inner + tree.of_points
    by_node = [gamma if level == 0 else alphas[level - 1] for level in tree.levels]
    return [
        ((z, m), joint)
        for z in partitions(len(groups))
        for m, joint in oracle.with_tables(z, tree.parents.tolist(), leaves.tolist(), by_node, gamma)
    ]


def lag_of_tables(sampler, likelihood, data, groups, **options):
    """The lag of a sampler whose chains have labels and numbers of tables, over all of them."""
    tree = sampler.check_given(Given(groups=np.array(groups)), len(groups)).groups
    prior = sampler.target.prior.of_levels(tree.n_levels)
    found = states_with_tables(groups, tree, prior.alphas, prior.gamma)
    states = [state for state, _ in found]
    joints = [joint + log_likelihood(likelihood, data, state[0]) for state, joint in found]

    def enter(chain, state):
        labels, tables = state
        chain.become(np.array(labels))
        K = max(labels) + 1
        chain.tables[:] = 0
        chain.tables[:, :K] = np.array(tables).reshape(-1, K)

    def key(chain):
        slots = list(dict.fromkeys(chain.state.labels.tolist()))
        return canonical(chain.state.labels), tuple(chain.tables[:, slots].ravel().tolist())

    return lag(sampler, likelihood, data, states, joints, enter, key, groups, **options)
