"""The probability that a point of one normal cluster is taken for one of another."""

import numpy as np
import pytest
from scipy import stats

from mapdpm import MAPDPM, DirichletMultinomial, NormalGamma, NormalInverseWishart, NormalKnownVariance
from mapdpm.likelihoods._normal_overlap import log_misclassified, log_tail
from tests.marks import complete_but, ends_early

FULL_OR_DIAGONAL = (NormalGamma, NormalKnownVariance, NormalInverseWishart)


def form_of(mean, deviation, shift):
    """c, a, b of ln F_2 / F_1 + shift in one feature, for F_1 standard normal and F_2 of this mean and deviation."""
    r = 1.0 / deviation
    apart = -mean * r
    return np.array([np.log(r) - 0.5 * apart**2 + shift]), np.array([[0.5 * (1.0 - r * r)]]), np.array([[-apart * r]])


def tail_of_one_feature(c, a, b):
    """P(c + a z^2 + b z > 0) from the roots of the parabola."""
    if a == 0.0:
        return stats.norm.cdf(c / abs(b))
    root = b * b - 4.0 * a * c
    if root <= 0.0:
        return float(a > 0.0)
    one, two = np.sort((-b + np.array([-1.0, 1.0]) * np.sqrt(root)) / (2.0 * a))
    between = stats.norm.cdf(two) - stats.norm.cdf(one)
    return 1.0 - between if a > 0.0 else between


@pytest.mark.parametrize("mean", [0.1, 0.5, 2.0, 6.0])
@pytest.mark.parametrize("deviation", [0.5, 0.8, 1.0, 1.5])
@pytest.mark.parametrize("shift", [-2.0, 0.0, 1.0])
def test_tails_of_one_feature(mean, deviation, shift):
    """Against normal tails between roots. One squared normal is the worst case of the saddlepoint: a third at most."""
    c, a, b = form_of(mean, deviation, shift)
    exact = tail_of_one_feature(c[0], a[0, 0], b[0, 0])
    assert np.exp(log_tail(c, a, b))[0] == pytest.approx(exact, rel=0.34, abs=1e-12)


def test_equal_covariances_have_a_closed_form():
    """Phi(-distance / 2) of clusters of equal weight, however far apart."""
    distance = np.array([0.1, 1.0, 5.0, 20.0, 60.0, 1e4])
    c, b = -0.5 * distance**2, distance[:, None]
    np.testing.assert_allclose(log_tail(c, np.zeros((6, 1)), b), stats.norm.logsf(distance / 2.0), rtol=1e-6)


def test_tails_of_several_features():
    """Against a million draws: within a quarter of the tail, and five standard errors of the count."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(10**6, 4))
    for _ in range(20):
        ratio, apart = np.exp(0.5 * rng.normal(size=4)), rng.normal(size=4)
        c = np.log(ratio).sum() - 0.5 * (apart**2).sum()
        a, b = 0.5 * (1.0 - ratio**2), -apart * ratio
        drawn = np.mean(c + z**2 @ a + z @ b > 0.0)
        found = np.exp(log_tail(np.array([c]), a[None], b[None]))[0]
        assert abs(found - drawn) <= 0.25 * drawn + 5.0 * np.sqrt(drawn / 10**6)


def test_a_narrow_cluster_far_away_is_never_taken():
    """The logarithm of the ratio of densities has a largest value, and that is negative."""
    assert log_tail(*form_of(3.0, 0.5, -60.0))[0] == -np.inf


def test_equal_clusters_are_a_constant():
    """The larger is always taken for the other's, and of two as large, half."""
    none = np.zeros((3, 2))
    assert np.exp(log_tail(np.array([0.0, 1.0, -1.0]), none, none)).tolist() == [0.5, 1.0, 0.0]


@ends_early
@pytest.mark.parametrize("family", complete_but([NormalGamma, NormalInverseWishart], list(FULL_OR_DIAGONAL)))
def test_clusters_of_a_model(family):
    """Against points drawn from the clusters, and their scores by scipy; diagonal and full matrices."""
    rng = np.random.default_rng(3)
    X = np.concatenate(
        [rng.normal(size=(80, 2)) @ rng.normal(size=(2, 2)) + centre for centre in ([0, 0], [4, 1], [1, 5])]
    )
    model = MAPDPM(likelihood=family.empirical(X), init=np.repeat([0, 1, 2], 80), moves=(), max_sweeps=1)
    model.fit(X)
    mixture = model._mixture
    chances, n = np.exp(log_misclassified(mixture.likelihood, mixture.state.rows[:-1])), 20_000
    K = len(mixture.counts)
    parameters = np.empty((K, mixture.likelihood.n_parameters()))
    for row, own in zip(mixture.state.rows[:-1], parameters, strict=True):
        mixture.likelihood.tangent(row, own)
    drawn = [mixture.likelihood.draw_points(own, n, rng) for own in parameters]
    normals = [stats.multivariate_normal(points.mean(axis=0), np.cov(points.T)) for points in drawn]
    for i in range(K):
        for j in range(K):
            if i != j:
                ratio = np.log(mixture.counts[j] / mixture.counts[i])
                ratio += normals[j].logpdf(drawn[i]) - normals[i].logpdf(drawn[i])
                taken = np.mean(ratio > 0.0)
                assert abs(chances[i, j] - taken) <= 0.25 * taken + 6.0 * np.sqrt((taken + 1e-3) / n)


def test_other_families_need_points():
    X = np.repeat([[9, 0, 0], [0, 0, 9]], 10, axis=0)
    model = MAPDPM(likelihood=DirichletMultinomial(0.1)).fit(X)
    with pytest.raises(ValueError, match="the overlap of clusters of DirichletMultinomial needs points: give X"):
        model.merge_tree("overlap")
    assert model.merge_tree("overlap", X=X).n_clusters == 2
