"""The density of shares in a tree: against scipy's, and its integral is the probability of the partition."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from mapdpm.data.group_tree import read_tree
from mapdpm.partition_priors.hierarchy import Hierarchy, hierarchy, log_density_of_shares
from tests.oracle import franchise as oracle

ALPHAS, GAMMA = (1.5, 0.9), 2.2
SPACING = 0.2
TIMES = np.arange(-3.6, 7.2, SPACING)
"""Log ratios are sinh(t): the density falls as exp(x) to the left, and only as x^-2.2 to the right, where the share of
the rest in the parent may be near 0. Beyond sinh(7.2) = 670 there is 670^-1.2 = 4e-4 of that tail."""


def above(tree, i, u):
    """Whether inner node ``u`` is above point ``i``."""
    v = tree.n_inner + tree.of_points[i]
    while v > 0 and v != u:
        v = tree.parents[v]
    return v == u


def setting(groups, labels):
    """The tree, the points of groups in clusters, alphas of children, and the clusters below each inner node."""
    tree = read_tree(np.array(groups), len(groups))
    alphas = np.array([ALPHAS[level] for level in tree.levels[: tree.n_inner]])
    below = [sorted({labels[i] for i in range(len(labels)) if above(tree, i, u)}) for u in range(tree.n_inner)]
    return tree, oracle.table_of(labels, tree.of_points.tolist()), alphas, below


def exact(labels, tree):
    """p(z): the sum over all numbers of tables."""
    by_node = [GAMMA if level == 0 else ALPHAS[level - 1] for level in tree.levels]
    leaves = (tree.n_inner + tree.of_points).tolist()
    return math.fsum(math.exp(p) for _, p in oracle.with_tables(labels, tree.parents.tolist(), leaves, by_node, GAMMA))


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        ([[0], [1], [1]], (0, 1, 1)),
        ([[0, 0], [0, 1], [0, 0]], (0, 0, 0)),
        pytest.param([[0, 0], [1, 0]], (0, 0), marks=pytest.mark.complete),
    ],
)
def test_the_density_integrates_to_the_partition(groups, labels):
    tree, guests, alphas, below = setting(groups, labels)
    n_ratios, total = sum(map(len, below)), 0.0
    for times in itertools.product(TIMES, repeat=n_ratios):
        ratios, weights = iter(np.sinh(times)), np.zeros((tree.n_inner, max(labels) + 2))
        for u, served in enumerate(below):
            x = np.array([*(next(ratios) for _ in served), 0.0])
            weights[u, [*served, -1]] = alphas[u] * np.exp(x - np.logaddexp.reduce(x))
        density = log_density_of_shares(tree.parents, guests, weights, alphas, GAMMA)
        total += math.exp(density + np.log(np.cosh(times)).sum())
    assert total * SPACING**n_ratios == pytest.approx(exact(labels, tree), rel=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_against_scipy(seed):
    """Random trees of three levels and random shares; clusters that a node does not have are in its rest."""
    rng = np.random.default_rng(seed)
    groups, labels = rng.integers(0, 2, (8, 2)).tolist(), oracle.in_order(rng.integers(0, 4, 8).tolist())
    tree, guests, alphas, below = setting(groups, labels)
    K = max(labels) + 1
    shares = rng.dirichlet(np.ones(K + 1), tree.n_inner)
    total = K * math.log(GAMMA) + GAMMA * math.log(shares[0, -1])
    for u in range(1, tree.n_inner):
        own, up = shares[u, below[u]], shares[tree.parents[u], below[u]]
        pairs = np.append(up, 1.0 - up.sum()) * ALPHAS[0], np.append(own, 1.0 - own.sum())
        total += stats.dirichlet(pairs[0]).logpdf(pairs[1]) + np.log(pairs[1]).sum()  # the density of log ratios
    for group in range(tree.n_groups):
        up = tree.parents[tree.n_inner + group]
        total += sum(oracle.log_rising(ALPHAS[1] * shares[up, k], guests[group, k]) for k in range(K))
        total -= oracle.log_rising(ALPHAS[1], guests[group].sum())
    found = log_density_of_shares(tree.parents, guests, shares * alphas[:, None], alphas, GAMMA)
    assert found == pytest.approx(total, rel=1e-10)


def test_one_alpha_stands_for_all_levels():
    assert hierarchy(2, 3).of_levels(2) == Hierarchy((2.0, 2.0), 3.0)
    assert hierarchy([1, 2], 3).of_levels(2) == Hierarchy((1.0, 2.0), 3.0)
    with pytest.raises(ValueError, match="one for each level of groups: 3, got 2"):
        hierarchy([1, 2], 3).of_levels(3)
    with pytest.raises(ValueError, match="got none"):
        hierarchy([], 3)
