"""The mathematics of clusters that drift, against dense Gaussians and quadrature of scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from mapdpm.likelihoods import _drift
from mapdpm.likelihoods._drift_marginal import joined, log_marginal_of_path
from mapdpm.likelihoods.drifting_normal import DriftingNormal, nodes
from mapdpm.rng import seeded
from tests.drifting import FULL, TIMES
from tests.oracle import drift as oracle


class ScriptedRng:
    """Normal draws by a list, and the first outcome of any choice."""

    def __init__(self, normals):
        self.normals = list(normals)

    def normal(self):
        return self.normals.pop(0)

    def categorical(self, logw):
        return 0


def law_of(draw, n):
    """The mean and covariance of what ``draw(rng)`` makes of ``n`` normal draws, of which it is an affine function."""
    mean = draw(ScriptedRng(np.zeros(n)))
    columns = np.array([draw(ScriptedRng(row)) - mean for row in np.eye(n)])
    return mean, columns.T @ columns


@pytest.mark.parametrize("x", [[0.5, -1.2], [0.3, -1.0], [4.0, 3.0]])
def test_density_of_a_new_cluster(x):
    x = np.array(x)
    drift = FULL.over(TIMES)
    scores = np.empty(len(drift.weights))
    _drift.log_nodes(drift, 1, FULL.standardised(x), scores)
    value = np.logaddexp.reduce(scores) - np.log(drift.units).sum()
    np.testing.assert_allclose(value, oracle.log_density_of_new(FULL, x, 1.1), rtol=1e-11)


@pytest.mark.parametrize(("nu0", "D"), [(2.0, 2), (3.0, 2), (40.0, 3), (1e4, 1), (202.0, 200)])
def test_nodes_have_the_moments_of_gamma(nu0, D):
    """Of Gamma(f / 2, rate 1 / 2): the mean is f, the variance 2 f."""
    v, logs = nodes(nu0, D)
    f, weights = nu0 - D + 1.0, np.exp(logs)
    np.testing.assert_allclose([weights.sum(), weights @ v, weights @ (v - f) ** 2], [1.0, f, 2.0 * f], rtol=1e-9)


@pytest.mark.parametrize(("nu0", "D", "away"), [(4.0, 2, 1e4), (100.0, 1, 100.0), (100.0, 1, 1e4), (102.0, 100, 3.0)])
def test_nodes_serve_far_points_and_many_features(nu0, D, away):
    """With means that are known the mixture is a Student t."""
    f = nu0 - D + 1.0
    v, logs = nodes(nu0, D)
    value = np.logaddexp.reduce(logs - 0.5 * D * np.log(2.0 * np.pi / v) - 0.5 * v * D * away**2)
    exact = stats.multivariate_t.logpdf(np.full(D, away), np.zeros(D), np.eye(D) / f, f)
    np.testing.assert_allclose(value, exact, rtol=1e-10)


@pytest.mark.parametrize("t", [0, 1, 2])
def test_parameters_given_one_point(t):
    """Covariances known: the means of all slices are normal, and an affine function of the draws."""
    family = FULL._replace(nu0=0.0)
    drift, x = family.over(TIMES), np.array([1.1, 0.4])

    def draw(rng):
        parameters = np.zeros((3, drift.n_parameters()))
        _drift.draw_given_point(drift, t, family.standardised(x), parameters, rng)
        assert not rng.normals
        return (family.m0 + drift.units * parameters[:, 1:3]).ravel()

    mean, covariance = law_of(draw, 6)
    expected, spread = oracle.posterior_of_path(family, x, t, TIMES)
    np.testing.assert_allclose(mean, expected.ravel(), atol=1e-12)
    np.testing.assert_allclose(covariance, spread, atol=1e-12)


def test_means_given_points_and_covariances():
    """Against the posterior of a dense Gaussian, where slice 1 has no points."""
    rng = np.random.default_rng(0)
    drift = FULL.over(TIMES)
    counts = np.array([3, 0, 2])
    sums = rng.normal(size=(3, 2)) * (counts > 0)[:, None]
    parameters = np.zeros((3, drift.n_parameters()))
    precisions = []
    for t in range(3):
        root = np.tril(rng.normal(size=(2, 2)))
        parameters[t, 3:] = root[np.tril_indices(2)]
        precisions.append(root.T @ root)

    def draw(rng):
        own = parameters.copy()
        _drift.draw_means(drift, counts, sums, False, own, rng)
        return own[:, 1:3].ravel()

    mean, covariance = law_of(draw, 6)
    expected = np.kron(np.linalg.inv(oracle.gamma(FULL, TIMES)), np.eye(2))
    weighted = np.zeros(6)
    for t, (n, precision) in enumerate(zip(counts, precisions, strict=True)):
        expected[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] += n * precision
        weighted[2 * t : 2 * t + 2] = precision @ sums[t]
    np.testing.assert_allclose(covariance, np.linalg.inv(expected), atol=1e-12)
    np.testing.assert_allclose(mean, np.linalg.solve(expected, weighted), atol=1e-12)
    at_mode = parameters.copy()
    _drift.draw_means(drift, counts, sums, True, at_mode, ScriptedRng([]))
    np.testing.assert_allclose(at_mode[:, 1:3].ravel(), mean, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("nu0", [2.0, 6.0])
def test_log_marginal_by_laplace(n, nu0):
    """One slice and feature, against adaptive quadrature over the mean: Laplace's method misses 0.25 nats at most."""
    family = DriftingNormal(m0=0.3, variance=2.0, rate=0.4, nu0=nu0, psi0=0.5)
    x = np.random.default_rng(n).normal(1.0, 0.5, n)
    y = family.standardised(x[:, None])
    scatter = ((y - y.mean(axis=0)) ** 2).sum(axis=0)[None]
    value = log_marginal_of_path(family.over(np.zeros(1)), np.array([n]), y.sum(axis=0)[None], scatter)
    exact = oracle.log_marginal_of_slice(family, x)
    print(f"{n} points, nu0 {nu0}: off by {value - n * math.log(2.0) / 2 - exact:.3f}")
    assert abs(value - n * math.log(2.0) / 2 - exact) < min(0.25, 1.0 / n)


@pytest.mark.parametrize("x", [[0.0], [2.0], [3.0], [5.0], [5.0, 5.1]])
def test_log_marginal_of_two_modes(x):
    """Where points and prior disagree each has a mode. With nu0 = 1/2 the error is a nat at worst, between both."""
    family = DriftingNormal(m0=0.0, variance=1.0, rate=0.4, nu0=0.5, psi0=0.001)
    x = np.array(x)
    scatter = np.array([[((x - x.mean()) ** 2).sum()]])
    value = log_marginal_of_path(family.over(np.zeros(1)), np.array([len(x)]), np.array([[x.sum()]]), scatter)
    exact = oracle.log_marginal_of_slice(family, x)
    print(f"{x}: off by {value - exact:.2f}")
    assert abs(value - exact) < 1.25


def test_moments_are_those_of_the_density():
    """Parameters, and what is shown of them: means and covariances in data units."""
    drift, X = FULL.over(TIMES), np.random.default_rng(1).normal(size=(6, 2))
    parameters, at = np.zeros((2, 3, drift.n_parameters())), np.array([0, 1, 2, 2, 1, 0])
    for each in parameters:
        _drift.draw_prior(drift, each, seeded(2))
    found = np.empty((6, 2))
    _drift.log_densities(drift, FULL.standardised(X), at, parameters, found)
    means, covariances = drift.moments(parameters)
    for i, k in np.ndindex(6, 2):
        exact = stats.multivariate_normal.logpdf(X[i], means[k, at[i]], covariances[k, at[i]])
        np.testing.assert_allclose(found[i, k] - np.log(drift.units).sum(), exact, rtol=1e-10)


def test_scatters_of_two_clusters_together():
    X, split = np.random.default_rng(3).normal(size=(9, 2)), 4

    def sums(points):
        away = points - points.mean(axis=0)
        return np.array([len(points)]), points.sum(axis=0)[None], (away.T @ away)[np.tril_indices(2)][None]

    for one, whole in zip(joined(sums(X[:split]), sums(X[split:])), sums(X), strict=True):
        np.testing.assert_allclose(one, whole, rtol=1e-12)
