"""Every family obeys the laws, and says what scipy says of raw data."""

import decimal
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.testing import laws
from tests.families import FAMILIES, SparseDirichletMultinomial, dense, example
from tests.oracle import raw

SEEDS = st.integers(0, 2**32 - 1)
SUPPORTS = {GammaExponential: (0.0, math.inf)}


@pytest.mark.parametrize("family", [*FAMILIES, SparseDirichletMultinomial])
@given(seed=SEEDS)
def test_laws(family, seed):
    likelihood, data = example(family, np.random.default_rng(seed), n=9)
    laws.check_likelihood(likelihood, data, 9, seed)


@pytest.mark.parametrize("family", FAMILIES)
@given(seed=SEEDS)
def test_predictive_is_a_density(family, seed):
    likelihood, X = dense(family, np.random.default_rng(seed), n=4, D=1)
    laws.normalisation(likelihood, X, SUPPORTS.get(family, (-math.inf, math.inf)))


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
@given(seed=SEEDS)
def test_offset_costs_no_digits(family, seed):
    likelihood, X = dense(family, np.random.default_rng(seed), n=50, D=3)
    laws.offset(likelihood, X)


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
@given(seed=SEEDS)
def test_marginal_is_scipys(family, seed):
    likelihood, X = dense(family, np.random.default_rng(seed), n=12, D=3)
    row = laws.row_of(likelihood, X, range(len(X)))
    terms = raw.log_marginal_terms(X, likelihood)
    # scipy factorises a matrix of condition 1 + n / c0 (or n rho / variance) < 1e4: it, not we, sets the bound.
    assert abs(likelihood.log_marginal(row) - math.fsum(terms)) <= 1e-10 * sum(map(abs, terms))


@pytest.mark.parametrize("family", FAMILIES)
def test_is_an_immutable_comparable_value(family):
    one, _ = dense(family, np.random.default_rng(1))
    same, _ = dense(family, np.random.default_rng(1))
    other, _ = dense(family, np.random.default_rng(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(ValueError, match="read-only"):
        one[-1][0] = 7.0
    with pytest.raises(AttributeError):
        one.b0 = 7.0


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
