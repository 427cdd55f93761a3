"""Parameters drawn from a cluster's posterior are distributed as scipy says, and predict what the family says."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from mapdpm import (
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from mapdpm.jit import compiled, compiled_if_possible
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.rng import seeded
from mapdpm.testing import laws
from tests.families import FAMILIES, as_array, example
from tests.marks import complete_but

N = 8
DRAWS = 4000
FALSE_ALARM = 1e-6  # of one test here; there are some 60


def drawn(likelihood, row, rng, n=DRAWS):
    """``n`` draws of all parameters."""
    found = np.full((n, likelihood.n_parameters()), np.nan)
    for parameters in found:
        likelihood.draw(row, parameters, rng)
    return found


@pytest.mark.parametrize("n_points", complete_but([1], [1, N - 1]))
@pytest.mark.parametrize("family", FAMILIES)
def test_densities_average_to_the_predictive(family, n_points):
    likelihood, data = example(family, np.random.default_rng(21), n=N, D=2)
    laws.draws_average_to_predictive(likelihood, data, range(n_points), N - 1, seeded(1))


def covariance(parameters, D):
    """The mean and the covariance matrix in a draw of a Normal-inverse-Wishart."""
    W = np.zeros((D, D))
    W[np.tril_indices(D)] = parameters[1 + D :]
    return parameters[1 : 1 + D], np.linalg.inv(W.T @ W)


DENSITIES = {
    NormalGamma: lambda p, x, _: stats.norm(p[1:4], (2 * p[4:]) ** -0.5).logpdf(x).sum(),
    NormalKnownVariance: lambda p, x, f: stats.norm(p[1:4], np.sqrt(f.variance)).logpdf(x).sum(),
    NormalInverseWishart: lambda p, x, _: stats.multivariate_normal(*covariance(p, 3)).logpdf(x),
    Categorical: lambda p, x, _: x @ p,
    DirichletMultinomial: lambda p, x, _: x @ p,
    GammaPoisson: lambda p, x, _: stats.poisson(np.exp(p[1:])).logpmf(x).sum(),
    BetaBernoulli: lambda p, x, _: stats.bernoulli(np.exp(p[:3])).logpmf(x).sum(),
    GammaExponential: lambda p, x, _: stats.expon(scale=1 / p[1:]).logpdf(x).sum(),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_log_likelihood_is_scipys(family):
    likelihood, data = example(family, np.random.default_rng(22), n=N)
    X, row = as_array(data), laws.row_of(likelihood, data, range(N - 1))
    for parameters in drawn(likelihood, row, seeded(2), 50):
        for i in range(N):
            said = likelihood.log_likelihood(parameters, data, i)
            expected = DENSITIES[family](parameters, X[i], likelihood)
            # scipy factorises the covariance anew, of a condition below 1e6
            assert said == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("family", [family for family in FAMILIES if hasattr(family, "log_likelihoods")])
@pytest.mark.parametrize("D", [1, 3, 4, 9])
def test_a_tile_has_the_bits_of_its_points(family, D):
    likelihood, data = example(family, np.random.default_rng(25), n=N, D=D)
    row, values = laws.row_of(likelihood, data, range(N - 1)), np.empty(N)
    for parameters in drawn(likelihood, row, seeded(7), 5):
        likelihood.log_likelihoods(parameters, np.ascontiguousarray(data.T), values)
        assert values.tolist() == [likelihood.log_likelihood(parameters, data, i) for i in range(N)]


def normals_apart(first, second):
    """KL one way and the other of two normal distributions, each a pair of mean and covariance matrix."""
    (m, S), (n, T) = first, second
    either = np.linalg.inv(S) + np.linalg.inv(T)
    traces = np.trace(np.linalg.solve(S, T)) + np.trace(np.linalg.solve(T, S))
    return 0.5 * (traces - 2 * len(m) + (m - n) @ either @ (m - n))


def tables_apart(first, second):
    """The same of two frozen distributions of scipy, with features that are independent, by sums over numbers."""
    x = np.arange(1000)[:, None]
    p, q = first.logpmf(x), second.logpmf(x)
    apart = np.where(np.isfinite(p) & np.isfinite(q), p - np.where(np.isfinite(q), q, 0.0), 0.0)
    return ((np.exp(p) - np.exp(q)) * apart).sum()


def rates_apart(first, second):
    """The same of exponential distributions, by integration."""

    def density(x, p, q):
        return (p.pdf(x) - q.pdf(x)) * (p.logpdf(x) - q.logpdf(x))

    def one(s, t):
        farthest = 60 * max(s, t)
        points = np.geomspace(min(s, t) * 1e-3, farthest, 30)[:-1]
        p, q = stats.expon(scale=s), stats.expon(scale=t)
        return integrate.quad(density, 0, farthest, (p, q), points=points, limit=400)[0]

    return sum(one(s, t) for s, t in zip(first, second, strict=True))


def words_apart(p, q, _):
    return tables_apart(*(stats.rv_discrete(values=(range(3), np.exp(v) / np.exp(v).sum())) for v in (p, q)))


DIVERGENCES = {
    NormalGamma: lambda p, q, _: normals_apart(*((v[1:4], np.diag(0.5 / v[4:])) for v in (p, q))),
    NormalKnownVariance: lambda p, q, f: normals_apart(*((v[1:4], np.diag(f.variance)) for v in (p, q))),
    NormalInverseWishart: lambda p, q, _: normals_apart(covariance(p, 3), covariance(q, 3)),
    Categorical: words_apart,
    DirichletMultinomial: words_apart,
    GammaPoisson: lambda p, q, _: tables_apart(stats.poisson(np.exp(p[1:])), stats.poisson(np.exp(q[1:]))),
    BetaBernoulli: lambda p, q, _: tables_apart(stats.bernoulli(np.exp(p[:3])), stats.bernoulli(np.exp(q[:3]))),
    GammaExponential: lambda p, q, _: rates_apart(1 / p[1:], 1 / q[1:]),
}


@pytest.mark.parametrize("family", complete_but(set(FAMILIES) - {GammaExponential, NormalInverseWishart}, FAMILIES))
def test_divergence_is_that_of_the_densities(family):
    likelihood, data = example(family, np.random.default_rng(23), n=N)
    row, verb = laws.row_of(likelihood, data, range(N - 1)), compiled_if_possible(divergence_of)
    draws = drawn(likelihood, row, seeded(3), 12)
    for p, q in zip(draws[::2], draws[1::2], strict=True):
        said = likelihood.divergence(p, q)
        assert said == pytest.approx(DIVERGENCES[family](p, q, likelihood), rel=1e-7)  # of integrals and sums
        assert said == pytest.approx(likelihood.divergence(q, p), rel=1e-12)
        assert said == pytest.approx(verb(likelihood, p, q), rel=1e-12)
        assert likelihood.divergence(p, p) == pytest.approx(0.0, abs=1e-12)


def divergence_of(likelihood, parameters, other):
    return likelihood.divergence(parameters, other)


def marginals(likelihood, X):
    """Pairs of (what to look at of draws, its law given the points X)."""
    n, D = X.shape
    total = X.sum(axis=0)
    mean = total / max(n, 1)
    squares = ((X - mean) ** 2).sum(axis=0)
    a = np.array([0.3, -1.0, 2.0])
    kind = type(likelihood)
    if kind is NormalGamma:
        m0, c0, a0, b0, _ = likelihood
        c, shape, centre = c0 + n, a0 + n / 2, (c0 * m0 + n * mean) / (c0 + n)
        rate = b0 + 0.5 * (squares + c0 * n / c * (mean - m0) ** 2)
        for d in range(D):
            yield lambda p, d=d: 2 * p[:, 1 + D + d], stats.gamma(shape, scale=1 / rate[d])
            yield lambda p, d=d: p[:, 1 + d], stats.t(2 * shape, centre[d], math.sqrt(rate[d] / (shape * c)))
            yield (
                lambda p, d=d: (p[:, 1 + d] - centre[d]) * np.sqrt(2 * p[:, 1 + D + d] * c),
                stats.norm(),
            )
    elif kind is NormalKnownVariance:
        m0, rho, sigma, _ = likelihood
        v = 1 / (1 / rho + n / sigma)
        yield lambda p: p[:, 1 : 1 + D] @ a, stats.norm((v * (m0 / rho + total / sigma)) @ a, math.sqrt(v @ a**2))
    elif kind is NormalInverseWishart:
        m0, c0, nu0, psi0, _ = likelihood
        c, nu, centre = c0 + n, nu0 + n, (c0 * m0 + total) / (c0 + n)
        psi = psi0 + (X - mean).T @ (X - mean) + c0 * n / c * np.outer(mean - m0, mean - m0)
        freedom, width = nu - D + 1, a @ psi @ a
        yield (
            lambda p: np.array([a @ covariance(each, D)[1] @ a for each in p]),
            stats.invgamma(freedom / 2, scale=width / 2),
        )
        yield lambda p: p[:, 1 : 1 + D] @ a, stats.t(freedom, centre @ a, math.sqrt(width / (c * freedom)))
        inverse = 1 / (a @ np.linalg.inv(psi) @ a)  # a' Sigma^-1 a has all degrees of freedom
        yield (
            lambda p: np.array([a @ np.linalg.inv(covariance(each, D)[1]) @ a for each in p]),
            stats.gamma(nu / 2, scale=2 / inverse),
        )
    elif kind in (Categorical, DirichletMultinomial):
        shape = likelihood.beta + total
        for v in range(D):
            yield lambda p, v=v: np.exp(p[:, v]), stats.beta(shape[v], shape.sum() - shape[v])
    elif kind is BetaBernoulli:
        for d in range(D):
            law = stats.beta(likelihood.a0[d] + total[d], likelihood.b0[d] + n - total[d])
            yield lambda p, d=d: np.exp(p[:, d]), law
            yield lambda p, d=d: -np.expm1(p[:, D + d]), law
    else:
        counts = likelihood.a0 + (total if kind is GammaPoisson else n)
        rates = likelihood.b0 + (n if kind is GammaPoisson else total)
        for d in range(D):
            yield (
                lambda p, d=d: np.exp(p[:, 1 + d]) if kind is GammaPoisson else p[:, 1 + d],
                stats.gamma(np.broadcast_to(counts, D)[d], scale=1 / np.ravel(rates)[d]),
            )


@pytest.mark.parametrize("n_points", [0, 1, N])
@pytest.mark.parametrize("family", FAMILIES)
def test_draws_have_the_marginals_of_the_posterior(family, n_points):
    likelihood, data = example(family, np.random.default_rng(23), n=N)
    row = laws.row_of(likelihood, data, range(n_points))
    found = drawn(likelihood, row, seeded(3))
    for look, law in marginals(likelihood, as_array(data)[:n_points]):
        assert stats.kstest(look(found), law.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [1e-3, 0.1, 1.0, 30.0])
def test_logarithms_of_gamma_draws_reach_below_the_smallest_float(shape):
    rng = seeded(4)
    found = np.array([rng.log_gamma(shape) for _ in range(DRAWS)])
    assert np.all(np.isfinite(found))
    assert stats.kstest(found, stats.loggamma(shape).cdf).pvalue > FALSE_ALARM
    assert (found.min() < math.log(5e-324)) == (shape == 1e-3)


def test_shares_of_tiny_priors_are_shares():
    likelihood = DirichletMultinomial(np.full(5, 1e-100))
    row = laws.row_of(likelihood, None, ())
    for parameters in drawn(likelihood, row, seeded(5), 100):
        assert np.all(np.isfinite(parameters))
        assert np.exp(parameters).sum() == pytest.approx(1.0, rel=1e-12)


def _density_of_a_draw(likelihood, row, parameters, data, i, rng):
    likelihood.draw(row, parameters, rng)
    return likelihood.log_likelihood(parameters, data, i)


@pytest.mark.complete
@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_draws_are_the_plain_ones(family):
    likelihood, data = example(family, np.random.default_rng(24), n=N)
    row = laws.row_of(likelihood, data, range(N - 1))
    parameters = np.empty((2, likelihood.n_parameters()))
    kernels = _density_of_a_draw, compiled(_density_of_a_draw)
    said = [kernel(likelihood, row, p, data, N - 1, seeded(6)) for kernel, p in zip(kernels, parameters, strict=True)]
    np.testing.assert_allclose(*parameters, rtol=1e-12)
    assert said[0] == pytest.approx(said[1], rel=1e-12)


# ---- points ----------------------------------------------------------------------------------------------------------

POINTS = 3000
ENTROPIES = {
    NormalGamma: lambda p, _: stats.norm(p[1:4], (2 * p[4:]) ** -0.5).entropy().sum(),
    NormalKnownVariance: lambda p, f: stats.norm(p[1:4], np.sqrt(f.variance)).entropy().sum(),
    NormalInverseWishart: lambda p, _: stats.multivariate_normal(*covariance(p, 3)).entropy(),
    Categorical: lambda p, _: stats.entropy(np.exp(p)),
    GammaPoisson: lambda p, _: stats.poisson(np.exp(p[1:])).entropy().sum(),
    BetaBernoulli: lambda p, _: stats.bernoulli(np.exp(p[:3])).entropy().sum(),
    GammaExponential: lambda p, _: stats.expon(scale=1.0 / p[1:]).entropy().sum(),
}


def log_densities(likelihood, parameters, points):
    """Of each point, as ``draw_points`` returned it."""
    data = likelihood.read(points) if isinstance(likelihood, Categorical) else points
    return np.array([likelihood.log_likelihood(parameters, data, i) for i in range(len(points))])


def points_have_the_density(likelihood, p, q, generator):
    """Means of logarithms of densities are those of scipy, and those that ``divergence`` says, to 5 standard errors.

    Either may be wrong by chance in 1 of 2 million tests. The entropy notices a variance where the divergence is blind:
    that of two normals of the same variance depends on means alone.
    """
    entropy = next((found for family, found in ENTROPIES.items() if isinstance(likelihood, family)), None)
    said, error = 0.0, 0.0
    for own, other in ((p, q), (q, p)):
        points = likelihood.draw_points(own, POINTS, generator)
        ours = log_densities(likelihood, own, points)
        ratios = ours - log_densities(likelihood, other, points)
        said += ratios.mean()
        error += ratios.var() / POINTS
        lag = 0.0 if entropy is None else ours.mean() + entropy(own, likelihood)
        assert abs(lag) < 5 * ours.std() / math.sqrt(POINTS), "the entropy is off"
    assert abs(said - likelihood.divergence(p, q)) < 5 * math.sqrt(error), "the divergence is off"


def with_two_draws(family, seed=23):
    likelihood, data = example(family, np.random.default_rng(seed), n=N)
    return likelihood, *drawn(likelihood, laws.row_of(likelihood, data, range(N - 1)), seeded(3), 2)


@pytest.mark.parametrize("family", [family for family in FAMILIES if hasattr(family, "draw_points")])
def test_points_have_the_density(family):
    likelihood, p, q = with_two_draws(family)
    points = likelihood.draw_points(p, 7, np.random.default_rng(0))
    assert points.shape == ((7,) if family is Categorical else (7, 3))
    assert points.dtype == (np.int64 if family is Categorical else np.float64)
    assert likelihood.draw_points(p, 0, np.random.default_rng(0)).shape == (0, *points.shape[1:])
    np.testing.assert_array_equal(points, likelihood.draw_points(p, 7, np.random.default_rng(0)))
    points_have_the_density(likelihood, p, q, np.random.default_rng(1))


def faulty(family, change):
    """``family``, whose points are what ``change`` makes of right ones."""

    class Faulty(family):
        __slots__ = ()

        def draw_points(self, parameters, n, rng):
            return change(super().draw_points(parameters, n, rng))

    return Faulty


def shrunk(points):
    """Points of about half the variance."""
    centre = points.mean(axis=0)
    return centre + math.sqrt(0.5) * (points - centre)


@pytest.mark.parametrize(
    ("family", "change"),
    [
        (NormalGamma, shrunk),
        (NormalKnownVariance, shrunk),
        (NormalInverseWishart, shrunk),
        (Categorical, lambda points: (points + 1) % 3),
        (GammaPoisson, lambda points: 2 * (points // 2)),
        (BetaBernoulli, lambda points: 1.0 - points),
    ],
)
def test_points_of_another_density_are_noticed(family, change):
    likelihood, p, q = with_two_draws(family)
    with pytest.raises(AssertionError, match="is off"):
        points_have_the_density(faulty(family, change)(*likelihood), p, q, np.random.default_rng(1))


# ---- the law notices -------------------------------------------------------------------------------------------------


class DrawsFromThePrior(NormalGamma):
    __slots__ = ()

    def draw(self, row, parameters, rng):
        empty = np.empty_like(row)
        self.init(empty)
        super().draw(empty, parameters, rng)


class ForgetsAConstant(NormalInverseWishart):
    __slots__ = ()

    def log_likelihood(self, parameters, data, i):
        return super().log_likelihood(parameters, data, i) + 0.2


@pytest.mark.complete
@pytest.mark.parametrize("broken", [DrawsFromThePrior, ForgetsAConstant])
def test_the_law_notices(broken):
    likelihood, data = example(broken.__base__, np.random.default_rng(21), n=N)
    laws.draws_average_to_predictive(likelihood, data, range(N - 1), N - 1, seeded(1))
    with pytest.raises(AssertionError, match="standard errors"):
        laws.draws_average_to_predictive(broken(*likelihood), data, range(N - 1), N - 1, seeded(1))
