"""Features that carry clusters: a stream with columns of noise is the same stream without them, and more laws."""

import numpy as np
import pytest
from scipy import stats

from mapdpm import NormalGamma, OnlineHDP, OnlineHDPHMM, OnlineMAPDPM, metrics
from mapdpm.files.errors import ModelFileError
from oracle.stream import Moments, NormalGammaModel
from tests.marks import complete_but
from tests.mutations import repaired

WARMUP = 200


def sources(rng, n, noise, far=6.0):
    """Three sources in column 1, and columns of noise of several units around it."""
    classes = rng.integers(0, 3, n)
    columns = 10.0 ** rng.integers(-6, 4, noise) * (rng.normal(size=(n, noise)) + rng.normal(0, 9, noise))
    return np.insert(columns, min(1, noise), far * classes + rng.normal(size=n), axis=1), classes


def changes(model):
    return [(event.kind, event.id) for event in model.events if "relevant" in event.kind]


# ---- laws: what is not relevant has no influence on clusters, and one density ----------------------------------------


@pytest.mark.parametrize("half_life", [None, 300.0])
@pytest.mark.parametrize("learner", [OnlineMAPDPM, OnlineHDPHMM])
def test_clusters_are_those_of_the_relevant_columns(learner, half_life):
    X, _ = sources(np.random.default_rng(0), 1500, 4)
    X = np.insert(X, 0, 2.0 * X[:, 1] + np.random.default_rng(1).normal(size=len(X)), axis=1)
    ours = learner(8, half_life=half_life)
    alone = learner(8, half_life=half_life, relevance="all")
    ids = ours.learn_many(X)
    kept = np.flatnonzero(ours.relevant_)
    assert kept.tolist() == [0, 2]
    assert changes(ours) == []
    np.testing.assert_array_equal(ids, alone.learn_many(X[:, kept]))
    np.testing.assert_array_equal(ours.means[:, kept], alone.means)


def test_density_is_that_of_the_clusters_times_those_of_all_points():
    """A Student t of n - 1 degrees of freedom a column, by scipy, about the mean and the variance of all points."""
    X, _ = sources(np.random.default_rng(1), 1000, 3)
    ours, alone = OnlineMAPDPM(8).partial_fit(X), OnlineMAPDPM(8, relevance="all").partial_fit(X[:, [1]])
    n, rest = len(X), np.flatnonzero(~ours.relevant_)
    assert rest.tolist() == [0, 2, 3]
    scale = X.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n)
    apart = stats.t.logpdf(X[:50], n - 1, X.mean(axis=0), scale)[:, rest].sum(axis=1)
    np.testing.assert_allclose(ours.score_samples(X[:50]), alone.score_samples(X[:50, [1]]) + apart, rtol=1e-9)


def test_missing_values_have_no_density():
    X, _ = sources(np.random.default_rng(2), 1200, 2)
    ours = OnlineMAPDPM(8, missing="skip").partial_fit(X)
    assert ours.relevant_.tolist() == [False, True, False]
    x = X[0]
    blank = np.where([False, False, True], np.nan, x)
    lost = ours.score_one(x) - ours.score_one(blank)
    n, scale = len(X), X[:, 2].std(ddof=1) * np.sqrt(1 + 1 / len(X))
    assert lost == pytest.approx(stats.t.logpdf(x[2], n - 1, X[:, 2].mean(), scale), rel=1e-9)


def test_a_column_with_few_values_disturbs_nothing():
    """Nothing is known of it, and the others are judged: also where the warm-up is one cluster."""
    X, _ = sources(np.random.default_rng(2), 1200, 2)
    few = np.where(np.arange(1200) % 50 == 0, 1.0 + np.arange(1200) % 7, np.nan)
    model = OnlineMAPDPM(8, missing="skip").partial_fit(np.c_[X, few][:200])
    alone = OnlineMAPDPM(8, missing="skip").partial_fit(X[:200])
    assert model.relevant_[:3].tolist() == alone.relevant_.tolist() == [False, True, False]
    assert np.isnan(model.relevance_[3])
    np.testing.assert_array_equal(model.weights, alone.weights)
    noise = np.c_[X[:, ::2], few][:200]
    one = OnlineMAPDPM(8, missing="skip").partial_fit(noise)
    assert (one.n_clusters, one.relevant_.all()) == (1, True)
    cells = [0.0, 0.0, 4 / 3 / 12]  # the few values are whole numbers
    wanted = np.nanvar(noise, axis=0, ddof=1) + cells
    np.testing.assert_allclose(one.likelihood_.b0 / one.likelihood_.a0, wanted, rtol=1e-9)


@pytest.mark.parametrize("half_life", [None, 500.0])
def test_gains_are_those_of_the_statistics(half_life):
    """The evidence of the clusters in each column, by scipy, less that of one normal cluster of the same points."""
    X, _ = sources(np.random.default_rng(3), 900, 3)
    model = OnlineMAPDPM(8, half_life=half_life).partial_fit(X)
    found, prior = model.clusters(), model.likelihood_
    for d in range(X.shape[1]):
        oracle = NormalGammaModel((prior.m0[[d]], prior.c0, prior.a0, prior.b0[[d]]))
        clusters = []
        for n, mean, variance in zip(found.weights, found.means[:, d], found.variances[:, d], strict=True):
            moments = Moments(1)
            moments.n, moments.mean, moments.M2 = n, np.array([mean]), np.array([n * variance])
            clusters.append(moments)
        whole = clusters[0]
        for other in clusters[1:]:
            whole = whole.union(other)
        variance = float(whole.M2[0] / whole.n)
        one = -whole.n / 2 * (1 + np.log(2 * np.pi * variance))
        together = sum(oracle.log_marginal(each) for each in clusters)
        assert model.relevance_[d] == pytest.approx(together - one, abs=1e-6)


@pytest.mark.parametrize("learner", [OnlineMAPDPM, OnlineHDPHMM])
def test_nothing_changes_where_all_columns_are_relevant(learner):
    X, _ = sources(np.random.default_rng(4), 1000, 0)
    X = np.c_[X, 3.0 - X + np.random.default_rng(5).normal(size=X.shape)]
    ours, all_columns = learner(8), learner(8, relevance="all")
    np.testing.assert_array_equal(ours.learn_many_scored(X), all_columns.learn_many_scored(X))
    assert ours.relevant_.all()


# ---- what is found ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("noise", complete_but([9], [1, 4, 9, 30]))
def test_noise_hides_no_clusters(noise, dtype):
    for seed in range(4):
        X, classes = sources(np.random.default_rng(seed), 2000, noise)
        model = OnlineMAPDPM(dtype=dtype)
        ids = model.learn_many(X)
        assert np.flatnonzero(model.relevant_).tolist() == [1], seed
        assert metrics.adjusted_mutual_info(classes[WARMUP:], ids[WARMUP:]) > 0.95, seed
        assert model.relevance_[1] > 100.0 > model.relevance_[0]


def test_noise_alone_is_one_cluster_in_which_all_columns_stay():
    for seed in range(5):
        model = OnlineMAPDPM().partial_fit(np.random.default_rng(seed).normal(size=(1000, 5)))
        assert (model.n_clusters, model.relevant_.all()) == (1, True), seed


def test_rounded_values_keep_all_columns():
    """A stream knows no steps, so a value that repeats would be a cluster without a width but for the other columns."""
    X, _ = sources(np.random.default_rng(13), 4000, 3)
    X[:, 1] = X[:, 1].round()
    model = OnlineMAPDPM().partial_fit(X)
    assert model.relevant_.all()


def test_groups_share_their_relevant_columns():
    X, classes = sources(np.random.default_rng(6), 2000, 6)
    model = OnlineHDP()
    ids = model.learn_many(X, ["kitchen", "hall"] * 1000)
    assert np.flatnonzero(model.relevant_).tolist() == [1]
    assert metrics.adjusted_mutual_info(classes[WARMUP:], ids[WARMUP:]) > 0.95


def test_a_column_becomes_relevant_where_its_values_move():
    """A new level in a column of noise is a new regime: the column is relevant within ten points, and clusters part."""
    agreement = []
    for seed in range(6):
        X, classes = sources(np.random.default_rng(seed), 4000, 4)
        X[2000:, 3] += 8.0 * X[:, 3].std()
        model = OnlineMAPDPM()
        ids = model.learn_many(X)
        events = [event for event in model.events if event.kind == "relevant" and event.id == 3]
        assert events[-1].when <= 2010, seed
        assert model.relevant_[[1, 3]].all(), seed
        regimes = classes + 3 * (np.arange(4000) >= 2000)
        agreement.append(metrics.adjusted_mutual_info(regimes[2500:], ids[2500:]))
    assert np.mean(agreement) > 0.9


def test_a_column_that_carries_no_clusters_any_more_is_left_out():
    rng = np.random.default_rng(7)
    X, _ = sources(rng, 6000, 2)
    X[:1500, 2] = 6.0 * rng.integers(0, 3, 1500) + rng.normal(size=1500)
    X[1500:, 2] = rng.normal(6.0, 5.0, 4500)
    model = OnlineMAPDPM(half_life=300).partial_fit(X)
    assert ("irrelevant", 2) in changes(model)
    assert model.relevant_.tolist() == [False, True, False]


def test_a_constant_column_joins_when_it_comes_alive():
    rng = np.random.default_rng(8)
    X, _ = sources(rng, 4000, 1)
    X[:, 0] = np.where(np.arange(4000) < 2000, 5.0, 5.0 + 4.0 * (np.arange(4000) % 2) + 0.1 * rng.normal(size=4000))
    model = OnlineMAPDPM().partial_fit(X[:1000])
    assert model.relevant_.tolist() == [False, True]
    model.partial_fit(X[1000:])
    assert model.relevant_.tolist() == [True, True]
    assert model.variances[:, 0].max() < 1.0  # no cluster has both levels, whose variance is 4


def test_an_unusual_value_in_a_column_of_noise_is_surprising():
    X, _ = sources(np.random.default_rng(9), 4000, 3)
    model = OnlineMAPDPM()
    found = model.learn_many_assessed(X)
    assert not model.relevant_[2]
    surprise = found.surprise[500:]
    for level in (0.1, 0.01):  # within four standard errors
        assert abs(np.mean(surprise <= level) - level) < 4 * np.sqrt(level * (1 - level) / len(surprise))
    x = X[0].copy()
    x[2] = X[:, 2].mean() + 9.0 * X[:, 2].std()
    alert = model.assess_one(x)
    assert alert.surprise < 1e-5
    assert int(np.argmax(alert.contributions)) == 2
    n = len(X)
    below = stats.t.logpdf(0.0, n - 1) - stats.t.logpdf(9.0 * np.sqrt((n - 1) / (n + 1)), n - 1)
    assert alert.contributions[2] == pytest.approx(below, rel=1e-9)


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("at", [150, 700])
def test_a_learner_from_its_file_goes_on_with_the_same_bits(at, dtype):
    X, _ = sources(np.random.default_rng(10), 1500, 3)
    X[1000:, 2] += 9.0 * X[:, 2].std()
    model = OnlineMAPDPM(half_life=400, dtype=dtype).partial_fit(X[:at])
    again = OnlineMAPDPM.from_bytes(model.to_bytes())
    assert again.relevance == "auto"
    np.testing.assert_array_equal(again.learn_many(X[at:]), model.learn_many(X[at:]))
    assert again.to_bytes() == model.to_bytes()
    assert ("relevant", 2) in changes(again)


def test_a_prior_that_is_given_leaves_nothing_out():
    X, _ = sources(np.random.default_rng(11), 400, 2)
    model = OnlineMAPDPM(likelihood=NormalGamma(X.mean(axis=0), 0.1, 1.0, 1.0)).partial_fit(X)
    assert model.relevant_.all()
    assert model.relevance_ is None


def test_a_file_in_which_no_column_is_relevant_is_refused():
    X, _ = sources(np.random.default_rng(12), 400, 2)
    model = OnlineMAPDPM(surprise=False).partial_fit(X)
    data = bytearray(model.to_bytes())
    words = (1 << 31).to_bytes(4, "little"), (0).to_bytes(4, "little")
    place = data.rindex(words[0] + words[1] + words[0])
    data[place : place + 12] = 3 * words[0]
    with pytest.raises(ModelFileError, match="damaged"):
        OnlineMAPDPM.from_bytes(repaired(bytes(data)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tiny", [6e-39, 0.0])
def test_one_column_is_relevant_at_least_also_where_none_varies(dtype, tiny):
    """Equal points are two clusters by a large alpha alone; a learner in which no column was relevant divided by 0."""
    X = np.zeros((60, 2))
    X[1] = tiny, tiny / 60
    model = OnlineMAPDPM(2, alpha=7520.0, warmup=31, dtype=dtype, resolution=0.0, when_full="merge").partial_fit(X)
    assert model.relevant_.any()
    assert model.n_seen == 60
