"""The prior of grouped points against enumeration, convolution and limits; and the shares at their mode."""

import math

import numpy as np
import pytest
from scipy.special import gammaln, polygamma, psi

from mapdpm.partition_priors import DirichletProcess
from mapdpm.partition_priors import franchise as module
from mapdpm.partition_priors.hierarchy import Hierarchy, hierarchy
from mapdpm.special import digamma, log_rising, log_rising_of_arrays, rising_moments, trigamma
from tests.oracle import franchise as oracle

PROMISED = 0.01
"""Nats: the docstring says some 0.005; the next term of the saddlepoint's series is about half of the last one used."""


def random_tables(n, seed=0):
    """Tables of up to 6 groups and 5 clusters, with concentrations from 0.1 to 50."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        table = rng.integers(0, 12, rng.integers(1, 7, 2)) * (rng.random() < 0.8)
        table = table * (rng.random(table.shape) < 0.7)
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if table.size:
            yield table, float(rng.choice([0.1, 0.5, 1, 3, 10, 50])), float(rng.choice([0.3, 1, 3, 10]))


def franchise(alpha, gamma):
    """The process with one level of groups."""
    return Hierarchy((alpha,), gamma)


def errors(n=400):
    return np.array(
        [franchise(a, g).log_partition(table) - oracle.log_partition(table, a, g) for table, a, g in random_tables(n)]
    )


def test_the_oracle_is_the_seating_of_customers():
    """Convolution against every franchise of five customers: all digits, and both sum to 1."""
    groups = [0, 0, 1, 1, 1]
    seated = oracle.by_franchises(groups, 0.8, 1.7)
    assert math.fsum(seated.values()) == pytest.approx(1.0, rel=1e-13)
    for z, p in seated.items():
        table = oracle.table_of(z, groups)
        assert math.exp(oracle.log_partition(table, 0.8, 1.7)) == pytest.approx(p, rel=1e-12)


def test_log_partition_against_convolution():
    found = np.abs(errors())
    assert found.max() < PROMISED
    assert found.mean() < PROMISED / 10.0


@pytest.mark.parametrize("n", [1, 10, 50, 120])
def test_a_single_cell_is_certain(n):
    """One cluster of one group, under a small gamma: the worst case, of which the docstring says 0.02 nats."""
    for alpha in (0.3, 1.0, 4.0):
        assert franchise(alpha, 1e-6).log_partition(np.array([[n]])) == pytest.approx(0.0, abs=0.02)


def test_probabilities_of_all_partitions_sum_to_one():
    groups = [0, 0, 0, 1, 1, 2]
    prior = franchise(1.5, 2.0)
    p = [math.exp(prior.log_partition(oracle.table_of(z, groups))) for z in oracle.partitions(6)]
    assert math.fsum(p) == pytest.approx(1.0, abs=PROMISED)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 7.0])
def test_many_tables_are_one_dirichlet_process_of_all_points(gamma):
    """As alpha grows, each customer has a table: the prior of MAPDPM with gamma, whatever the groups."""
    for table, _, _ in random_tables(40, 3):
        one = franchise(1e9, gamma).log_partition(table)
        # Two customers of a table have probability n / alpha: 1e-7 for 60 points.
        assert one == pytest.approx(DirichletProcess(gamma).log_partition(table.sum(axis=0).astype(float)), abs=1e-3)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 7.0])
def test_one_group_with_many_dishes_is_a_dirichlet_process(alpha):
    """As gamma grows, each table has a dish of its own. Between the limits a single group is no Dirichlet process."""
    sizes = np.array([7.0, 3.0, 1.0])
    exact = DirichletProcess(alpha).log_partition(sizes)
    assert franchise(alpha, 1e9).log_partition(sizes.astype(np.int64)[None]) == pytest.approx(exact, abs=PROMISED)
    between = franchise(alpha, 1.0).log_partition(sizes.astype(np.int64)[None])
    assert between == pytest.approx(oracle.log_partition(sizes.astype(np.int64)[None], alpha, 1.0), abs=PROMISED)
    assert abs(between - exact) > 10 * PROMISED


def test_neither_groups_nor_clusters_have_an_order():
    rng = np.random.default_rng(1)
    for table, a, g in random_tables(40, 5):
        other = rng.permutation(rng.permutation(table).T).T
        # Sums of at most 30 terms in another order, and shares to 1e-12: far below this.
        assert franchise(a, g).log_partition(other) == pytest.approx(franchise(a, g).log_partition(table), abs=1e-8)


def test_shares_are_at_their_mode():
    """beta_k = E_k / S, beta_u = gamma / S with S = gamma + sum_k E_k, by sums over customers."""
    for table, a, g in random_tables(60, 7):
        shares = franchise(a, g).solve(table).shares[0]
        weights = a * shares[:-1]
        tables = [
            math.fsum(w / (w + i) for n in column for i in range(n)) for w, column in zip(weights, table.T, strict=True)
        ]
        wanted = np.append(tables, g) / (g + math.fsum(tables))
        np.testing.assert_allclose(shares, wanted, rtol=1e-10)  # Newton's last step is 1e-12
        assert shares.sum() == pytest.approx(1.0, rel=1e-12)


def test_huge_groups_and_extreme_concentrations_are_finite():
    table = np.array([[10**6, 1, 0], [0, 3, 10**5]])
    for a in (1e-50, 1e-3, 1.0, 1e50):
        for g in (1e-50, 1.0, 1e50):
            solved = franchise(a, g).solve(table)
            assert np.isfinite(solved.log_partition)
            assert solved.shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("a", [1e-12, 1e-3, 0.7, 9.99, 10.0, 37.0, 1e8])
def test_sums_over_customers(a):
    """The vectorised sums against sums of each term; 1e-13 is a thousand roundings."""
    n = np.array([1, 2, 9, 10, 11, 12, 40, 3000])
    arrays = np.full(len(n), a)
    rising = log_rising_of_arrays(arrays, n)
    means, squares = rising_moments(arrays, n)
    for i, count in enumerate(n):
        exact = math.fsum(math.log(a + j) for j in range(count))
        assert rising[i] == pytest.approx(exact, rel=1e-12, abs=1e-12)
        assert rising[i] == pytest.approx(log_rising(a, float(count)), rel=1e-12, abs=1e-12)
        assert means[i] == pytest.approx(math.fsum(a / (a + j) for j in range(count)), rel=1e-13)
        assert squares[i] == pytest.approx(math.fsum((a / (a + j)) ** 2 for j in range(count)), rel=1e-13)


@pytest.mark.parametrize("a", [1e-12, 1e-3, 0.7, 9.99, 10.0, 37.0, 1e4])
def test_numbers_of_customers_may_be_means(a):
    """Real counts against scipy, whose differences lose some digits."""
    n = np.array([0.3, 1.0, 1.7, 9.5, 31.2, 3000.4])
    arrays = np.full(len(n), a)
    means, squares = rising_moments(arrays, n)
    np.testing.assert_allclose(log_rising_of_arrays(arrays, n), gammaln(a + n) - gammaln(a), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(means, a * (psi(a + n) - psi(a)), rtol=1e-9)
    np.testing.assert_allclose(squares, a * a * (polygamma(1, a) - polygamma(1, a + n)), rtol=1e-9)
    np.testing.assert_allclose(digamma(arrays + n), psi(a + n), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(trigamma(arrays + n), polygamma(1, a + n), rtol=1e-13)


@pytest.mark.parametrize(
    ("alpha", "gamma", "words"),
    [
        (0.0, 1.0, "alpha must be > 0"),
        (1.0, -1.0, "gamma must be > 0"),
        (1e60, 1.0, "alpha must be between 1e-30 and 1e.30"),
        (1.0, "x", "gamma"),
    ],
)
def test_concentrations_are_checked(alpha, gamma, words):
    with pytest.raises(ValueError, match=words):
        hierarchy(alpha, gamma)


# ---- planted errors --------------------------------------------------------------------------------------------------


def test_a_table_for_each_customer_is_noticed(monkeypatch):
    """As if alpha were large."""
    right = module._heights
    monkeypatch.setattr(module, "_heights", lambda level, shares: right(level._replace(alpha=1e9), shares))
    assert np.abs(errors(100)).max() > 10 * PROMISED


def test_gamma_dropped_is_noticed(monkeypatch):
    """K ln gamma is left out."""
    right = Hierarchy.log_partition
    fault = lambda self, table: right(self, table) - table.shape[1] * math.log(self.gamma)  # noqa: E731
    monkeypatch.setattr(Hierarchy, "log_partition", fault)
    assert np.abs(errors(100)).max() > 10 * PROMISED


def test_the_variance_of_shares_is_needed(monkeypatch):
    """Without the spread of the clusters in the curvature of the saddlepoint."""

    class NoSpread(module._Cumulants):
        __slots__ = ()

        @classmethod
        def of(cls, *given):
            found = super().of(*given)
            return found._replace(second=0.0 * found.second)

    monkeypatch.setattr(module, "_Cumulants", NoSpread)
    assert np.abs(errors(100)).max() > 10 * PROMISED
