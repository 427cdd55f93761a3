"""Every family obeys the laws, and says what scipy says of raw data."""

import decimal
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, special, stats

from mapdpm import (
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.testing import laws
from tests.families import CONTINUOUS, DISCRETE, FAMILIES, NORMAL, as_array, example
from tests.marks import complete_but
from tests.oracle import raw

SEEDS = st.integers(0, 2**32 - 1)
SUPPORTS = {GammaExponential: (0.0, math.inf)}


@pytest.mark.parametrize("family", FAMILIES)
@given(seed=SEEDS)
def test_laws(family, seed):
    likelihood, data = example(family, np.random.default_rng(seed), n=9)
    laws.check_likelihood(likelihood, data, 9, seed)


@pytest.mark.parametrize("family", CONTINUOUS)
@given(seed=SEEDS)
def test_predictive_is_a_density(family, seed):
    likelihood, X = example(family, np.random.default_rng(seed), n=4, D=1)
    laws.normalisation(likelihood, X, SUPPORTS.get(family, (-math.inf, math.inf)))


@pytest.mark.parametrize("family", complete_but([BetaBernoulli, DirichletMultinomial], DISCRETE))
@given(seed=SEEDS)
def test_predictive_is_a_distribution(family, seed):
    """It sums to 1 over all points: Poisson data with scipy's tail, words over all sequences of four."""
    likelihood, data = example(family, np.random.default_rng(seed), n=4, D=2 if family is not GammaPoisson else 1)
    if family is GammaPoisson:  # all up to 200 deviations of the predictive
        a, b = likelihood.a0[0] + data.sum(), likelihood.b0[0] + 4
        points = np.arange(int(2e2 * math.sqrt(a * (b + 1)) / b) + 100.0)[:, None]
        left = stats.nbinom(a, b / (b + 1)).sf(len(points) - 1)
    elif family is Categorical:
        points, left = np.arange(2.0)[:, None], 0.0
    else:
        sequences = np.array(list(itertools.product(range(2), repeat=4)))
        points = sequences if family is BetaBernoulli else np.stack([(sequences == v).sum(axis=1) for v in (0, 1)], 1)
        points = points[:, :2].astype(float)
        left = 0.0
    others = likelihood.read(points) if hasattr(likelihood, "read") else points
    row = laws.row_of(likelihood, data, range(4))
    times = 4 if family is BetaBernoulli else 1  # each pair came four times
    total = math.fsum(math.exp(likelihood.log_predictive(row, others, i)) for i in range(len(points))) / times
    assert abs(total + left - 1.0) <= 1e-12 * len(points)


@pytest.mark.parametrize("family", NORMAL)
@given(seed=SEEDS)
def test_offset_costs_no_digits(family, seed):
    likelihood, X = example(family, np.random.default_rng(seed), n=50)
    laws.offset(likelihood, X)


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance, *raw.PREDICTIVES])
@given(seed=SEEDS)
def test_marginal_is_scipys(family, seed):
    likelihood, data = example(family, np.random.default_rng(seed), n=12)
    row = laws.row_of(likelihood, data, range(12))
    terms = raw.log_marginal_terms(as_array(data), likelihood)
    # scipy factorises a matrix of condition 1 + n / c0 (or n rho / variance) < 1e4: it, not we, sets the bound.
    assert abs(likelihood.log_marginal(row) - math.fsum(terms)) <= 1e-10 * (1.0 + sum(map(abs, terms)))


@given(seed=SEEDS)
def test_inverse_wishart_marginal_is_the_textbooks(seed):
    """(35) of raw data, by scipy's multivariate gamma function and numpy's determinants."""
    likelihood, X = example(NormalInverseWishart, np.random.default_rng(seed), n=12)
    m0, c0, nu0, psi0, _ = likelihood
    n, D = X.shape
    centred, pull = X - X.mean(axis=0), X.mean(axis=0) - m0
    psi = psi0 + centred.T @ centred + c0 * n / (c0 + n) * np.outer(pull, pull)
    terms = [special.multigammaln((nu0 + n) / 2, D), -special.multigammaln(nu0 / 2, D)]
    terms += [nu0 / 2 * np.linalg.slogdet(psi0)[1], -(nu0 + n) / 2 * np.linalg.slogdet(psi)[1]]
    terms += [D / 2 * math.log(c0 / (c0 + n)), -n * D / 2 * math.log(math.pi)]
    row = laws.row_of(likelihood, X, range(n))
    assert abs(likelihood.log_marginal(row) - math.fsum(terms)) <= 1e-10 * (1.0 + sum(map(abs, terms)))


@given(seed=SEEDS)
def test_inverse_wishart_of_one_feature_is_normal_gamma(seed):
    one, X = example(NormalInverseWishart, np.random.default_rng(seed), n=12, D=1)
    two = NormalGamma(one.m0, one.c0, one.nu0 / 2, one.psi0[:, 0] / 2)
    rows = [[laws.row_of(each, X, points) for points in (range(11), range(5), range(5, 11))] for each in (one, two)]
    said = [
        (
            f.log_marginal(r),
            f.log_predictive(r, X, 11),
            f.log_predictive_weighted(r, X, 11, 0.3),
            f.log_merge(r, *parts),
        )
        for f, (r, *parts) in zip((one, two), rows, strict=True)
    ]
    np.testing.assert_allclose(*said, rtol=0.0, atol=64 * one.size() * 2.0**-52 * (1.0 + abs(said[0][0])))
    np.testing.assert_allclose(one.moments(np.array(rows[0])), two.moments(np.array(rows[1])), rtol=1e-12, atol=1e-12)


@pytest.mark.complete
@given(seed=SEEDS)
def test_a_factor_follows_its_matrix_through_long_chains(seed):
    """Points come and go 300 times, some of them 1e4 times as far out; the row says what one made anew does.

    ``remove`` lets four digits go before it asks for a new row: 1e-12 of what is added up.
    """
    rng = np.random.default_rng(seed)
    likelihood, X = example(NormalInverseWishart, rng, n=40, D=4)
    X[:4] *= 1e4
    inside, rebuilt = set(range(4, 20)), 0
    row = laws.row_of(likelihood, X, inside)
    for i in rng.integers(0, 40, 300).tolist():
        if i not in inside:
            inside.add(i)
            likelihood.add(row, X, i, 1.0)
        elif len(inside) > 1:
            inside.remove(i)
            if not likelihood.remove(row, X, i, 1.0):
                rebuilt += 1
                row = laws.row_of(likelihood, X, inside)
        likelihood.prepare(row)
        fresh = laws.row_of(likelihood, X, inside)
        L = likelihood.log_marginal(fresh)
        assert abs(likelihood.log_marginal(row) - L) <= 1e-9 * (1.0 + abs(L))
        q = likelihood.log_predictive(fresh, X, 30)
        assert abs(likelihood.log_predictive(row, X, 30) - q) <= 1e-9 * (1.0 + abs(q) + abs(L))
    assert rebuilt > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_is_an_immutable_comparable_value(family):
    one, _ = example(family, np.random.default_rng(1))
    same, _ = example(family, np.random.default_rng(1))
    other, _ = example(family, np.random.default_rng(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert pickle.loads(pickle.dumps(one)) == one
    assert one._replace(**one._asdict()) == one
    with pytest.raises(ValueError, match="read-only"):
        one[-1][0] = 7.0
    with pytest.raises(AttributeError):
        setattr(one, one._fields[-1], 7.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NormalGamma(0.0, -1.0, 1.0, 1.0), "c0 must be > 0, got -1.0"),
        (lambda: NormalGamma(0.0, 1.0, 0.0, 1.0), "a0 must be > 0, got 0.0"),
        (lambda: NormalGamma(0.0, 1.0, 1.0, [1.0, -2.0]), "b0 must be > 0, got -2.0"),
        (lambda: NormalGamma(0.0, 1.0, math.nan, 1.0), "a0 must be a finite number, got nan"),
        (lambda: NormalGamma(math.inf, 1.0, 1.0, 1.0), "m0 must be finite, got inf"),
        (lambda: NormalGamma([0.0, 0.0], 1.0, 1.0, [1.0, 1.0, 1.0]), "m0 has 2, b0 has 3"),
        (lambda: NormalGamma("zero", 1.0, 1.0, 1.0), "m0 must be a number or a sequence of numbers"),
        (lambda: NormalGamma(0.0, None, 1.0, 1.0), "c0 must be a number, got None"),
        (lambda: NormalGamma([[0.0]], 1.0, 1.0, 1.0), r"got an array of shape \(1, 1\)"),
        (lambda: NormalGamma(0.0, 1.0, 1e9, 1.0), "a0 must be between 1e-100 and 1e\\+08"),
        (lambda: NormalGamma(10**400, 1.0, 1.0, 1.0), "m0 must be a number or a sequence"),
        (lambda: NormalGamma(0.0, 10**400, 1.0, 1.0), "c0 must be a finite number"),
        (lambda: NormalGamma(1j, 1.0, 1.0, 1.0), "m0 must be a number or a sequence"),
        (lambda: NormalGamma.empirical([1.0, 2.0]), "X must be a 2-D array"),
        (lambda: NormalGamma.empirical([]), "X must be a 2-D array"),
        (lambda: NormalGamma(0.0, 1e-200, 1.0, 1.0), "c0 must be between 1e-100 and 1e"),
        (lambda: NormalKnownVariance(0.0, 0.0, 1.0), "prior_variance must be > 0, got 0.0"),
        (lambda: NormalKnownVariance(0.0, 1.0, -1.0), "variance must be > 0, got -1.0"),
        (lambda: NormalInverseWishart(0.0, 1.0, 0.0, 1.0), "nu0 must be > 0, got 0.0"),
        (
            lambda: NormalInverseWishart([0.0] * 3, 1.0, 2.0, 1.0),
            "nu0 must be > the number of features less one, 2, got 2.0; D \\+ 2 is a common choice",
        ),
        (
            lambda: NormalInverseWishart(0.0, 1.0, 4.0, [[1, 2], [0, 4]]),
            "psi0 must be symmetric, got 2.0 at row 0, col",
        ),
        (lambda: NormalInverseWishart(0.0, 1.0, 4.0, [[1, 2], [2, 4]]), "psi0 must be positive definite, got a matrix"),
        (lambda: NormalInverseWishart(0.0, 1.0, 4.0, [[1, 0], [0, -1]]), "the diagonal of psi0 must be > 0, got -1.0"),
        (lambda: NormalInverseWishart(0.0, 1.0, 4.0, [[1, math.nan], [0, 1]]), "psi0 must be finite, got nan"),
        (lambda: NormalInverseWishart(0.0, 1.0, 4.0, np.ones((2, 3))), r"got an array of shape \(2, 3\)"),
        (lambda: NormalInverseWishart(0.0, 1.0, 4.0, [1.0, 0.0]), "psi0 must be > 0, got 0.0"),
        (lambda: NormalInverseWishart([0.0] * 2, 1.0, 4.0, np.eye(3)), "m0 has 2, psi0 has 3"),
        (lambda: NormalInverseWishart(0.0, 1.0, 3.0, 1.0).for_data(np.zeros((2, 5))), "less one, 4, got 3.0"),
        (lambda: DirichletMultinomial(0.0), "beta must be > 0, got 0.0"),
        (
            lambda: DirichletMultinomial([1.0, 1.0]).for_data(np.zeros((1, 3))),
            "parameters of 2 entries but the data has 3 feat",
        ),
        (lambda: DirichletMultinomial.empirical([[1.0, 0.5]]), "X must hold counts, whole .* 0.5 at row 0, column 1"),
        (lambda: DirichletMultinomial.read(sparse.csr_array([[1.0, -2.0]])), "there is -2 at row 0, column 1"),
        (lambda: DirichletMultinomial.read(sparse.csr_array([[1j]])), "X must hold counts, .*, got complex128"),
        (lambda: DirichletMultinomial.read(sparse.csr_array((3, 0))), "with at least one of each, got shape"),
        (lambda: GammaPoisson(-1.0, 1.0), "a0 must be > 0, got -1.0"),
        (lambda: GammaPoisson(1.0, 1.0).for_data(np.array([[0.0, 1.5]])), "whole numbers .* 1.5 at row 0, column 1"),
        (lambda: BetaBernoulli(1.0, 0.0), "b0 must be > 0, got 0.0"),
        (lambda: BetaBernoulli(1.0, 1.0).for_data(np.array([[1.0], [2.0]])), "zeros and ones, .* 2 at row 1, column 0"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("n", [1e3, 1e5, 1e8, 1e12])
def test_large_clusters_keep_their_digits(n):
    """(a + 1/2) log of a product near 1: to 1e-11 of its size, against 40 digits."""
    D = 20
    likelihood = NormalGamma(np.zeros(D), 0.1, 1.0, np.ones(D))
    row = np.zeros(likelihood.size())
    row[0], row[1 + D : 1 + 2 * D] = n, n
    likelihood.prepare(row)
    x = np.random.default_rng(3).normal(0.0, 2.0, (1, D))
    centre, scale = row[-2 * D : -D], row[-D:]
    with decimal.localcontext(decimal.Context(prec=40)):
        factors = [
            1 + decimal.Decimal(s) * (decimal.Decimal(v) - decimal.Decimal(m)) ** 2
            for v, m, s in zip(x[0].tolist(), centre.tolist(), scale.tolist(), strict=True)
        ]
        tail = float(decimal.Decimal(row[1 + 2 * D + 1]) * sum(f.ln() for f in factors))
    q = likelihood.log_predictive(row, x, 0) - row[1 + 2 * D]
    assert abs(q + tail) <= 1e-11 * (1.0 + tail)


def test_empirical_priors():
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    assert NormalGamma.empirical(X) == NormalGamma([2.0, 5.0], 5.0, 1.0, [1.0, 1.0])
    assert NormalKnownVariance.empirical(X) == NormalKnownVariance([2.0, 5.0], [1.0, 1.0], [0.1, 0.1])
    assert NormalInverseWishart.empirical(X) == NormalInverseWishart([2.0, 5.0], 5.0, 4.0, [1.0, 1.0])
    assert GammaPoisson.empirical(X) == GammaPoisson([1.0, 1.0], [0.5, 0.2])
    assert BetaBernoulli.empirical([[1, 0], [1, 0]]) == BetaBernoulli([1.5, 0.5], [0.5, 1.5])
    assert DirichletMultinomial.empirical(X) == DirichletMultinomial([7.0 * 5 / 16, 7.0 * 11 / 16])
    for family in (NormalInverseWishart, GammaPoisson, BetaBernoulli, DirichletMultinomial):
        data = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
        weighted, repeated = family.empirical(data, [1.0, 2.0, 0.0]), family.empirical(data[[0, 1, 1]])
        for one, two in zip(weighted, repeated, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-14)
