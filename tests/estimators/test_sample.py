"""What users of mixtures ask: points that one draws, of the density that it scores; weights, threads, masks."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mapdpm import MAPDPM, GammaPoisson, NormalGamma, NormalInverseWishart, NormalKnownVariance, columns

N = 3000


def blobs(seed=0, n=150):
    rng = np.random.default_rng(seed)
    z = rng.integers(3, size=n)
    return np.stack([1e3 + 6.0 * z + rng.normal(size=n), 6.0 * (z == 1) + rng.normal(size=n)], axis=1)


@pytest.mark.parametrize(
    "likelihood", ["auto", None, NormalGamma(1e3, 0.01, 2.0, 2.0), NormalKnownVariance(1e3, 100.0, 1.0)]
)
def test_points_of_one_column_have_the_distribution_that_is_scored(likelihood):
    X = blobs()[:, :1]
    model = MAPDPM(alpha=5.0, likelihood=likelihood).fit(X)
    points, labels = model.sample(N, random_state=0)
    grid = np.concatenate(
        [1e3 - np.geomspace(1e6, 20.0, 4000), np.linspace(980.0, 1040.0, 20001), 1e3 + np.geomspace(41.0, 1e6, 4000)]
    )
    mass = np.exp(model.score_samples(grid[:, None]))
    below = np.concatenate([[0.0], np.cumsum(0.5 * (mass[1:] + mass[:-1]) * np.diff(grid))])
    assert below[-1] == pytest.approx(1.0, abs=1e-2)
    assert stats.kstest(points[:, 0], lambda x: np.interp(x, grid, below)).pvalue > 1e-4
    shares = model.predict_proba(points).mean(axis=0)
    counts = np.bincount(np.where(labels < 0, model.n_clusters_, labels), minlength=model.n_clusters_ + 1) / N
    np.testing.assert_allclose(counts, shares, atol=5.0 / np.sqrt(N))


@pytest.mark.parametrize("likelihood", ["auto", NormalInverseWishart])
def test_points_are_as_likely_as_those_of_the_data(likelihood):
    """The mean score of draws is minus the entropy: that of other draws, and near that of points not fitted."""
    model = MAPDPM(likelihood=likelihood).fit(blobs())
    one, two = (model.score_samples(model.sample(N, random_state=seed)[0]) for seed in (1, 2))
    assert stats.ks_2samp(one, two).pvalue > 1e-4
    assert one.mean() == pytest.approx(model.score(blobs(5, N)), abs=0.3)


def test_all_columns_are_drawn_whatever_they_are():
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=300)
    frame = pd.DataFrame(
        {
            "heat": rng.normal(8.0 * z).round(1),
            "rain": np.maximum(rng.normal(3.0 * z - 1.0), 0.0),
            "noise": rng.normal(size=300),
            "fixed": np.full(300, 3.7),
            "mode": np.array(["eco", "max"])[z],
        }
    )
    model = MAPDPM().fit(frame)
    assert model.relevant_.tolist() == [True, True, False, False, True]
    points, labels = model.sample(500, random_state=0)
    drawn = pd.DataFrame(points, columns=frame.columns).astype(dict.fromkeys(frame.columns[:4], float))
    assert set(labels) <= {-1, *range(model.n_clusters_)}
    assert set(drawn["mode"]) <= {"eco", "max"}
    assert (drawn["fixed"] == 3.7).all()
    assert drawn["noise"].std() == pytest.approx(1.0, abs=0.2)
    assert (drawn["rain"] == 0.0).mean() == pytest.approx((frame["rain"] == 0.0).mean(), abs=0.1)
    assert np.isfinite(model.score_samples(drawn[labels >= 0])).all()


def test_counts_and_arguments():
    X = np.random.default_rng(0).poisson([3.0, 50.0], (100, 2)).astype(float)
    model = MAPDPM(likelihood=GammaPoisson).fit(X)
    points, _ = model.sample(50, random_state=1)
    assert np.array_equal(points, np.rint(points))
    assert model.sample()[0].shape == (1, 2)
    np.testing.assert_array_equal(model.sample(5, random_state=3)[0], model.sample(5, random_state=3)[0])
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


def test_a_thread_for_each_processor():
    X = blobs()
    model = MAPDPM(n_jobs=-1, n_restarts=2, random_state=0).fit(X)
    assert model.labels_.tolist() == MAPDPM(n_restarts=2, random_state=0).fit(X).labels_.tolist()
    assert model.score(X) == MAPDPM(n_restarts=2, random_state=0).fit(X).score(X)
    with pytest.raises(ValueError, match="n_jobs must be an integer >= 1"):
        MAPDPM(n_jobs=-2).fit(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_masked_entries_are_missing_values(dtype):
    X = blobs().round().astype(dtype)
    hidden = np.random.default_rng(2).random(X.shape) < 0.1
    hidden[:, 0] &= ~hidden[:, 1]
    masked, blank = np.ma.masked_array(X, hidden), np.where(hidden, np.nan, X)
    model, other = (MAPDPM(missing="skip").fit(points) for points in (masked, blank))
    assert model.labels_.tolist() == other.labels_.tolist()
    np.testing.assert_allclose(model.score_samples(masked), other.score_samples(blank), rtol=1e-5)
    assert columns(masked)[0].share_missing == pytest.approx(hidden[:, 0].mean())
    with pytest.raises(ValueError, match="masked entries; remove or impute such points, or give missing='skip'"):
        MAPDPM().fit(masked)


def test_weights_of_scores():
    X, w = blobs(), np.random.default_rng(1).exponential(size=150)
    model = MAPDPM().fit(X)
    assert model.score(X, sample_weight=w) == pytest.approx(np.average(model.score_samples(X), weights=w))
    assert model.score(X, sample_weight=np.full(150, 7.0)) == pytest.approx(model.score(X))
