"""Which of two models predicts better: the mean difference of densities, and its standard error."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from sklearn.mixture import GaussianMixture

from mapdpm import MAPDPM, NormalGamma, compare


def of(rng, n):
    return rng.normal(size=(n, 2)) @ [[1.0, 0.9], [0.0, 0.3]] + 6.0 * rng.integers(0, 2, n)[:, None]


def test_it_is_the_mean_of_differences_with_the_error_of_scipy():
    rng = np.random.default_rng(0)
    X, held_out = of(rng, 400), of(rng, 300)
    a, b = MAPDPM().fit(X), GaussianMixture(2, random_state=0).fit(X)
    differences = a.score_samples(held_out) - b.score_samples(held_out)
    found = compare(a, b, held_out)
    assert found.difference == pytest.approx(differences.mean(), rel=1e-12)
    assert found.standard_error == pytest.approx(stats.sem(differences), rel=1e-12)
    assert found.n_points == 300
    assert compare(b, a, held_out).difference == pytest.approx(-found.difference, rel=1e-12)
    assert str(found) == f"{found.difference:+.4f} nats a point, standard error {found.standard_error:.4f}, 300 points"


def test_weights_are_relative_and_those_of_0_do_not_count():
    rng = np.random.default_rng(1)
    X, held_out = of(rng, 300), of(rng, 200)
    a, b = MAPDPM().fit(X), MAPDPM(likelihood=None).fit(X)
    weights = rng.integers(0, 3, 200).astype(float)
    found, again = (compare(a, b, held_out, w) for w in (weights, 5.0 * weights))
    assert found.difference == pytest.approx(again.difference, rel=1e-12)
    assert found.standard_error == pytest.approx(again.standard_error, rel=1e-12)
    assert found.n_points == np.count_nonzero(weights)
    part = compare(a, b, held_out[:90], np.ones(90))
    ones = np.where(np.arange(200) < 90, 1.0, 0.0)
    assert compare(a, b, held_out, ones) == pytest.approx(part, rel=1e-12)


def test_chance_is_within_its_error():
    """Two models of two halves of the same data: the difference is within three errors."""
    rng = np.random.default_rng(2)
    a, b = (MAPDPM().fit(of(rng, 500)) for _ in range(2))
    found = compare(a, b, of(rng, 2000))
    assert abs(found.difference) < 0.05
    true, worse = MAPDPM().fit(of(rng, 500)), MAPDPM(likelihood=NormalGamma(0.0, 1.0, 1.0, 1e3)).fit(of(rng, 500))
    better = compare(true, worse, of(rng, 500))
    assert better.difference > 5.0 * better.standard_error


def test_faults_are_named():
    X = of(np.random.default_rng(3), 50)
    model = MAPDPM().fit(X)
    with pytest.raises(ValueError, match="at least two points to compare models, got 1"):
        compare(model, model, X[:1])
    infinite = SimpleNamespace(score_samples=lambda X: np.where(np.arange(len(X)) == 1, -np.inf, 0.0))
    with pytest.raises(ValueError, match=r"scores must be finite .* row 1 "):
        compare(infinite, model, X[:3])


def test_weights_of_clusters_are_their_shares():
    rng = np.random.default_rng(4)
    X, w = of(rng, 300), rng.uniform(0.5, 2.0, 300)
    model = MAPDPM(likelihood=NormalGamma.empirical(X)).fit(X, sample_weight=w)
    expected = np.bincount(model.labels_, w) / w.sum()
    np.testing.assert_allclose(model.weights_, expected, rtol=1e-12)
    again = MAPDPM.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.weights_, model.weights_)
