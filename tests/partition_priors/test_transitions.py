"""The prior of states: its oracle against franchises, integrals and sums to 1; then the fast one against the oracle."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from mapdpm.partition_priors import franchise as module
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.partition_priors.transitions import Transitions
from tests.oracle import franchise, hdp_hmm

PROMISED = 0.03
"""Nats: the docstring says so."""

ONE, TWO = [0, 5], [0, 2, 5]


@pytest.mark.parametrize("begins", [ONE, TWO])
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_the_oracle_sums_to_one(begins, kappa):
    p = [math.exp(hdp_hmm.log_partition(z, begins, 1.3, 0.8, kappa)) for z in franchise.partitions(5)]
    assert math.fsum(p) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("begins", [ONE, TWO])
def test_the_oracle_is_the_seating_of_customers(begins):
    """Given the labels, times are customers of the state before: every franchise of them, without a formula."""
    for z in franchise.partitions(5):
        before = franchise.in_order([pair[0] for pair in hdp_hmm.pairs_of(z, begins)])
        exact = franchise.by_franchises(before, 1.3, 0.8)[z]
        assert math.exp(hdp_hmm.log_partition(z, begins, 1.3, 0.8, 0.0)) == pytest.approx(exact, rel=1e-12)


def test_the_oracle_with_kappa_is_an_integral():
    """One state; the share of the state of the first point is Beta(1, gamma). Then it stays four times."""
    alpha, gamma, kappa = 1.3, 0.8, 2.0

    def density(b):
        stays = math.prod((alpha * b + kappa + i) / (alpha + kappa + i) for i in range(4))
        return stays * stats.beta(1.0, gamma).pdf(b)

    exact, _ = integrate.quad(density, 0.0, 1.0)
    assert math.exp(hdp_hmm.log_partition((0,) * 5, ONE, alpha, gamma, kappa)) == pytest.approx(exact, rel=1e-8)


def random_sequences(n, seed=0):
    """Labels of up to 40 times in up to four states that like to stay, in one or two sequences, and concentrations."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        N, K = int(rng.integers(1, 40)), int(rng.integers(1, 5))
        z = [0]
        for _ in range(N - 1):
            z.append(z[-1] if rng.random() < 0.6 else int(rng.integers(K)))
        begins = [0, N] if N < 2 or rng.random() < 0.5 else [0, int(rng.integers(1, N)), N]
        concentrations = float(rng.choice([0.1, 0.5, 1, 3, 10])), float(rng.choice([0.3, 1, 3, 10]))
        yield franchise.in_order(z), begins, *concentrations, float(rng.choice([0.0, 0.5, 5.0, 50.0]))


def errors(n):
    return np.array(
        [
            Transitions(a, g, kappa).log_partition(hdp_hmm.table_of(z, begins))
            - hdp_hmm.log_partition(z, begins, a, g, kappa)
            for z, begins, a, g, kappa in random_sequences(n)
        ]
    )


@pytest.mark.parametrize("n", [200, pytest.param(2000, marks=pytest.mark.complete)])
def test_log_partition_against_convolution(n):
    found = np.abs(errors(n))
    assert found.max() < PROMISED
    assert found.mean() < PROMISED / 10.0


def test_shares_are_at_their_mode():
    """beta_k = E_k / S: of the tables of a cell, those that the share has opened."""
    for z, begins, a, g, kappa in random_sequences(60, 3):
        table, K = hdp_hmm.table_of(z, begins), max(z) + 1
        shares = Transitions(a, g, kappa).solve(table).shares
        tables = np.zeros(K)
        for (v, k), n in np.ndenumerate(table):
            own, more = a * shares[k], kappa if v == k else 0.0
            tables[k] += math.fsum(own / (own + more + i) for i in range(n))
        np.testing.assert_allclose(shares, np.append(tables, g) / (g + tables.sum()), rtol=1e-9)


def test_without_kappa_rows_are_groups():
    for z, begins, a, g, _ in random_sequences(20, 4):
        table = hdp_hmm.table_of(z, begins)
        rows = table[table.any(axis=1)]
        assert Transitions(a, g).log_partition(table) == pytest.approx(Hierarchy((a,), g).log_partition(rows), abs=1e-9)


def test_long_sequences_and_extreme_concentrations_are_finite():
    table = np.array([[10**6, 3], [2, 10**5], [1, 0]])
    for a in (1e-30, 1.0, 1e30):
        for g in (1e-30, 1.0, 1e30):
            for kappa in (0.0, 1e-30, 1.0, 1e30):
                solved = Transitions(a, g, kappa).solve(table)
                assert np.isfinite(solved.log_partition)
                assert solved.shares.sum() == pytest.approx(1.0)


def test_kappa_that_opens_tables_is_noticed(monkeypatch):
    """As if the tables that kappa opens were drawn by the common shares."""
    right = module._heights

    def heights(level, shares):
        cells = level.cells
        if cells.offsets is None:
            return right(level, shares)
        counts = cells.counts - (cells.offsets > 0.0) * 0.5
        return right(level._replace(cells=cells._replace(counts=counts)), shares)

    monkeypatch.setattr(module, "_heights", heights)
    assert np.abs(errors(40)).max() > 10 * PROMISED
