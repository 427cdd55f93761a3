"""What sets clusters apart: densities of columns against the verbs, divergences against quadrature by scipy."""

import numpy as np
import pytest
from scipy import integrate, stats

from families import FAMILIES, example
from mapdpm import (
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    GammaPoisson,
    Mixed,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from mapdpm.data.table import Table
from mapdpm.data.tokens import Tokens
from mapdpm.likelihoods._contrasts import Counts, Numbers, Shares, nats_by_column, predictives, presences
from mapdpm.likelihoods._skipping import in_kernels
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.likelihoods.spiked import Spiked

INDEPENDENT = (NormalGamma, NormalKnownVariance, GammaPoisson, BetaBernoulli)


def rows_of(likelihood, data, members):
    rows = np.zeros((len(members), likelihood.size()))
    for row, points in zip(rows, members, strict=True):
        likelihood.init(row)
        for i in points:
            likelihood.add(row, data, i, 1.0)
        likelihood.prepare(row)
    return rows


def log_densities(columns, x):
    """The sum over columns, one entry a cluster."""
    return sum(column.log_densities(np.array([value]))[:, 0] for column, value in zip(columns, x, strict=True))


@pytest.mark.parametrize("missing", ["error", "skip"])
@pytest.mark.parametrize("family", INDEPENDENT)
def test_columns_multiply_to_the_predictive_density(family, missing):
    generator = np.random.default_rng(0)
    prior, data = example(family, generator, 12, 3)
    kernels = in_kernels(prior.for_data(data), missing)
    rows = rows_of(kernels, data, [[0, 1, 2, 3, 4], [5, 6], []])
    columns = predictives(kernels, rows, 3)
    for i in range(7, 12):
        expected = [kernels.log_predictive(row, data, i) for row in rows]
        np.testing.assert_allclose(log_densities(columns, data[i]), expected, rtol=1e-9)


def test_a_column_of_full_covariances_is_the_marginal():
    generator = np.random.default_rng(1)
    prior, data = example(NormalInverseWishart, generator, 12, 3)
    members = [[0, 1, 2, 3, 4], [5, 6, 7]]
    columns = predictives(prior, rows_of(prior, data, members), 3)
    for d, column in enumerate(columns):
        alone, own = prior.restricted([d]), np.ascontiguousarray(data[:, d : d + 1])
        expected = [alone.log_predictive(row, own, 9) for row in rows_of(alone, own, members)]
        np.testing.assert_allclose(column.log_densities(data[9, d : d + 1])[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("family", [Categorical, DirichletMultinomial])
def test_words_have_the_predictive_probability(family):
    generator = np.random.default_rng(2)
    prior, data = example(family, generator, 12, 4)
    prior = prior.for_data(data)
    rows = rows_of(prior, data, [[0, 1, 2, 3, 4], [5, 6]])
    (column,) = predictives(prior, rows, 4)
    one = Tokens(np.arange(4), 4) if family is Categorical else prior.read(np.eye(4))
    expected = [[prior.log_predictive(row, one, v) for v in range(4)] for row in rows]
    np.testing.assert_allclose(column.log_densities(np.arange(4.0)), expected, rtol=1e-12)


def test_every_family_of_the_package_has_densities():
    generator = np.random.default_rng(3)
    for family in FAMILIES:
        prior, data = example(family, generator, 8, 2)
        prior = prior.for_data(data)
        columns = predictives(prior, rows_of(prior, data, [[0, 1], [2]]), 2)
        assert (None in columns) == (family is GammaExponential), family


def by_quadrature(own, others, weights, low, high):
    """E[log p - log q] under p, the definition."""
    total = sum(weights)

    def integrand(x):
        logs = [np.log(w / total) + other.logpdf(x) for w, other in zip(weights, others, strict=True)]
        return own.pdf(x) * (own.logpdf(x) - np.logaddexp.reduce(logs))

    return integrate.quad(integrand, low, high, limit=500, epsabs=1e-10)[0]


@pytest.mark.parametrize("freedom", [3.0, 40.0, np.inf])
def test_numbers_diverge_as_by_quadrature(freedom):
    column = Numbers(np.full(3, freedom), np.array([0.0, 1.5, 6.0]), np.array([1.0, 0.7, 2.0]))
    weights = np.array([10.0, 30.0, 5.0])
    found = nats_by_column([column], np.ones((3, 1)), weights, [0, 1, 2])[:, 0]
    made = [
        stats.norm(m, s) if np.isinf(freedom) else stats.t(freedom, m, s)
        for m, s in zip(column.centre, column.scale, strict=True)
    ]
    limits = (-30.0, 30.0) if np.isinf(freedom) else (-np.inf, np.inf)
    for k in range(3):
        rest = [j for j in range(3) if j != k]
        expected = by_quadrature(made[k], [made[j] for j in rest], weights[rest], *limits)
        assert found[k] == pytest.approx(expected, rel=1e-6)


def test_shares_diverge_as_by_their_definition():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    weights = np.array([2.0, 1.0, 1.0])
    found = nats_by_column([Shares(p, p)], np.ones((3, 1)), weights, [0])
    assert found[0, 0] == pytest.approx(stats.entropy(p[0], (p[1] + p[2]) / 2.0), rel=1e-12)


@pytest.mark.parametrize("events", [3.0, 2e6])
def test_counts_diverge_as_by_their_sum(events):
    shape, rate = np.array([events, 2.0 * events, 5.0]), np.array([2.0, 3.0, 10.0])
    column = Counts(shape, rate, shape / rate)
    weights = np.array([1.0, 2.0, 3.0])
    found = nats_by_column([column], np.ones((3, 1)), weights, [0])[0, 0]
    made = [stats.nbinom(a, b / (b + 1.0)) for a, b in zip(shape, rate, strict=True)]
    x = np.arange(0, 200) if events < 10 else np.arange(990_000, 1_010_000)
    log_q = np.logaddexp(made[1].logpmf(x) + np.log(0.4), made[2].logpmf(x) + np.log(0.6))
    assert found == pytest.approx(np.sum(made[0].pmf(x) * (made[0].logpmf(x) - log_q)), rel=1e-4)


def test_a_spike_and_its_numbers_diverge_as_one_column():
    """A value is the spike with probability s, else a t: the divergence of the two together, by their definition."""
    generator = np.random.default_rng(4)
    x = np.where(generator.random(60) < np.repeat([0.5, 0.8, 0.2], 20), 0.0, generator.normal(5.0, 1.0, 60))
    x += np.where(x == 0.0, 0.0, np.repeat([0.0, 3.0, -2.0], 20))
    mixed = Mixed({0: Spiked(0.0, NormalGamma(5.0, 0.1, 2.0, 2.0), BetaBernoulli(1.0, 1.0))}).bound_to(x[:, None])
    table = mixed.read_table(x[:, None], missing=False)
    kernels = mixed.for_data(table).in_kernels("error")
    rows = rows_of(kernels, Table(table.array, table.n_levels), [range(20), range(20, 40), range(40, 60)])
    columns = predictives(kernels, rows, 2)
    weights = np.array([20.0, 30.0, 10.0])
    found = nats_by_column(columns, presences(kernels, columns, 3), weights, [0]).sum()
    spike, numbers = columns[0].probabilities[:, 1], columns[1]
    made = [stats.t(*each) for each in zip(numbers.freedom, numbers.centre, numbers.scale, strict=True)]

    def part(x):
        p, q, other = ((1.0 - spike[k]) * made[k].pdf(x) for k in range(3))
        return p * np.log(p / (0.75 * q + 0.25 * other))

    expected = spike[0] * np.log(spike[0] / (0.75 * spike[1] + 0.25 * spike[2]))
    expected += integrate.quad(part, -40.0, 50.0, limit=500)[0]
    assert found == pytest.approx(expected, rel=1e-6)


def test_one_cluster_is_apart_from_nothing():
    column = Numbers(np.ones(1), np.zeros(1), np.ones(1))
    assert np.isnan(nats_by_column([column, None], np.ones((1, 2)), np.ones(1), [0])).all()


def test_a_cluster_like_the_others_is_not_apart():
    column = Numbers(np.full(2, 9.0), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(nats_by_column([column], np.ones((2, 1)), np.ones(2), [0, 1]), 0.0, atol=1e-12)
