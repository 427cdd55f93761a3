"""The prior of a tree of groups against convolution and enumeration, its limits, and the shares of all nodes."""

import math

import numpy as np
import pytest

from mapdpm.data.group_tree import read_tree
from mapdpm.partition_priors import franchise as module
from mapdpm.partition_priors.hierarchy import Hierarchy
from tests.oracle import franchise as oracle

PROMISED = 0.03
"""Nats: the docstring says so."""


def random_sections(n, seed=0):
    """Up to three sections of up to three groups, with up to four clusters and 26 points; alphas, gamma."""
    rng = np.random.default_rng(seed)
    while n > 0:
        n_sections, K = rng.integers(1, 4), rng.integers(1, 5)
        tables = [rng.poisson(rng.choice([0.3, 1.0, 2.0]), (rng.integers(1, 4), K)) for _ in range(n_sections)]
        tables = [table for table in tables if table.any()]
        if not tables or sum(table.sum() for table in tables) > (26 if len(tables) < 3 else 16):
            continue
        had = sum(table.sum(axis=0) for table in tables) > 0
        n -= 1
        yield [table[table.any(axis=1)][:, had] for table in tables], *rng.choice([0.1, 0.5, 1.0, 3.0, 20.0], 3)


def parents_of(tables):
    """The parents of a root, its sections and their groups."""
    groups = [np.full(len(table), s + 1) for s, table in enumerate(tables)]
    return np.concatenate([[-1], np.zeros(len(tables), dtype=np.int64), *groups])


def errors(n, seed=0):
    return np.array(
        [
            Hierarchy((a, b), g).log_partition(np.vstack(tables), parents_of(tables))
            - oracle.log_partition_of_sections(tables, (a, b), g)
            for tables, a, b, g in random_sections(n, seed)
        ]
    )


def test_the_oracle_is_the_sum_over_all_tables():
    labels, tables = [0, 0, 1, 0, 1], [np.array([[2, 0], [0, 1]]), np.array([[1, 1]])]
    by_node = [2.0, 0.7, 0.7, 1.3, 1.3, 1.3]
    every = oracle.with_tables(labels, parents_of(tables).tolist(), [3, 3, 4, 5, 5], by_node, 2.0)
    exact = math.fsum(math.exp(p) for _, p in every)
    assert math.exp(oracle.log_partition_of_sections(tables, (0.7, 1.3), 2.0)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("n", [60, pytest.param(400, marks=pytest.mark.complete)])
def test_sections_against_convolution(n):
    found = np.abs(errors(n))
    assert found.max() < PROMISED
    assert found.mean() < PROMISED / 10.0


@pytest.mark.parametrize("n", [30, pytest.param(200, marks=pytest.mark.complete)])
def test_three_levels_of_groups_against_enumeration(n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        n_points = int(rng.integers(3, 8))
        tree = read_tree(rng.integers(0, 2, (n_points, 3)), n_points)
        labels = oracle.in_order(rng.integers(0, 3, n_points).tolist())
        alphas, gamma = tuple(rng.choice([0.1, 0.5, 1.0, 3.0, 20.0], 3)), float(rng.choice([0.3, 1.0, 5.0]))
        by_node = [gamma if level == 0 else alphas[level - 1] for level in tree.levels]
        leaves = (tree.n_inner + tree.of_points).tolist()
        every = oracle.with_tables(labels, tree.parents.tolist(), leaves, by_node, gamma)
        exact = math.log(math.fsum(math.exp(p) for _, p in every))
        table = oracle.table_of(labels, tree.of_points.tolist())
        assert Hierarchy(alphas, gamma).log_partition(table, tree.parents) == pytest.approx(exact, abs=PROMISED)


def test_probabilities_of_all_partitions_sum_to_one():
    tree = read_tree(np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 0], [1, 1]]), 6)
    prior, groups = Hierarchy((1.5, 0.8), 2.0), tree.of_points.tolist()
    p = [math.exp(prior.log_partition(oracle.table_of(z, groups), tree.parents)) for z in oracle.partitions(6)]
    assert math.fsum(p) == pytest.approx(1.0, abs=PROMISED)


@pytest.mark.parametrize("large", [1e5, 1e9, 1e20, 1e30])
def test_a_level_of_large_alpha_is_not_there(large):
    """Sections that are as the root, and groups that are as their section, whose points are then one group."""
    for tables, a, _, g in random_sections(20, 1):
        flat = Hierarchy((a,), g)
        # Two customers share a table with probability n^2 / alpha: below 1e-2 for 26 points.
        sections = Hierarchy((large, a), g).log_partition(np.vstack(tables), parents_of(tables))
        assert sections == pytest.approx(flat.log_partition(np.vstack(tables)), abs=PROMISED)
        groups = Hierarchy((a, large), g).log_partition(np.vstack(tables), parents_of(tables))
        assert groups == pytest.approx(flat.log_partition(np.array([t.sum(axis=0) for t in tables])), abs=PROMISED)


def test_one_column_is_a_vector():
    table = np.array([[3, 0, 1], [2, 2, 0]])
    alone, given = (Hierarchy((1.2,), 2.0).solve(table, parents) for parents in (None, np.array([-1, 0, 0])))
    assert alone.log_partition == given.log_partition
    np.testing.assert_array_equal(alone.shares, given.shares)


def tables_below(guests, weights):
    """The expected tables of a cell: a sum over customers in the limit of whole numbers, by digammas."""
    return weights * (module.digamma(weights + guests) - module.digamma(weights))


def test_shares_are_at_their_mode():
    """In each node (a + E) / S: E by sums over the customers of groups, and by those expected of sections."""
    for tables, a, b, g in random_sections(40, 2):
        shares = Hierarchy((a, b), g).solve(np.vstack(tables), parents_of(tables)).shares
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
        of_sections = np.zeros((len(tables), shares.shape[1]))
        for s, table in enumerate(tables):
            for group in table:
                for k, n in enumerate(group):
                    w = b * shares[s + 1, k]
                    of_sections[s, k] += math.fsum(w / (w + i) for i in range(n))
            wanted = a * shares[0] + of_sections[s]
            np.testing.assert_allclose(shares[s + 1], wanted / wanted.sum(), rtol=1e-8)  # rounds end at 1e-9
        expected = np.append(tables_below(of_sections[:, :-1], a * shares[0, :-1]).sum(axis=0), g)
        np.testing.assert_allclose(shares[0], expected / expected.sum(), rtol=1e-8)


def test_huge_groups_and_extreme_concentrations_are_finite():
    table, parents = np.array([[10**6, 1, 0], [0, 3, 10**5], [5, 0, 1]]), np.array([-1, 0, 0, 1, 1, 2])
    for a in (1e-30, 1e-3, 1.0, 1e6, 1e30):
        for b in (1e-30, 1.0, 1e30):
            for g in (1e-30, 1.0, 1e30):
                solved = Hierarchy((a, b), g).solve(table, parents)
                assert np.isfinite(solved.log_partition)
                np.testing.assert_allclose(solved.shares.sum(axis=1), 1.0)


# ---- planted errors --------------------------------------------------------------------------------------------------


@pytest.mark.complete
def test_tables_that_do_not_vary_are_noticed(monkeypatch):
    """As if the sections had as many tables as they are expected to have, for sure."""
    right = module._heights

    def heights(level, shares):
        found = right(level._replace(cells=level.cells._replace(tables=None)), shares)
        if level.cells.tables is not None:
            first = level.alpha * level.cells.at
            np.add.at(found, level.cells.dishes, -module.log_rising_of_arrays(first, level.cells.counts)[:, None])
        return found

    monkeypatch.setattr(module, "_heights", heights)
    assert np.abs(errors(60)).max() > 3 * PROMISED


@pytest.mark.complete
def test_points_for_tables_are_noticed(monkeypatch):
    """The guests of a section are the tables of its groups, not their points."""
    right = module.mode_of

    def mode_of(level, bases, start):
        found = right(level, bases, start)
        points = level.cells.sums(level.cells.counts)
        return found._replace(tables=points) if bases.any() else found

    monkeypatch.setattr("mapdpm.partition_priors.hierarchy.mode_of", mode_of)
    assert np.abs(errors(60)).max() > 3 * PROMISED


@pytest.mark.complete
def test_alphas_in_another_order_are_noticed():
    worst = 0.0
    for tables, a, b, g in random_sections(60):
        found = Hierarchy((b, a), g).log_partition(np.vstack(tables), parents_of(tables))
        worst = max(worst, abs(found - oracle.log_partition_of_sections(tables, (a, b), g)))
    assert worst > 3 * PROMISED
