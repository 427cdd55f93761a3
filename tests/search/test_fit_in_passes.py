"""Fits of many points are made in passes: modes as good as those of sweeps, by any number of threads."""

import itertools
import pickle

import numpy as np
import pytest

from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    ConvergenceWarning,
    DirichletMultinomial,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    select_alpha,
)
from mapdpm.search import chunks, climb_in_passes, fit, fit_in_passes, runs
from mapdpm.search.moves import split_in_passes
from tests.marks import complete_but, ends_early

N = 2000


@pytest.fixture
def small_passes(monkeypatch):
    """Passes for fits of thousands of points: all sizes are a hundredth."""
    monkeypatch.setattr(fit, "MANY", 1000)
    monkeypatch.setattr(runs, "_MANY", 100)
    monkeypatch.setattr(fit_in_passes, "SAMPLE", 500)
    monkeypatch.setattr(chunks, "PART", 300)
    monkeypatch.setattr(climb_in_passes, "BETWEEN", 300)
    monkeypatch.setattr(climb_in_passes, "_FEWEST_BETWEEN", 5)
    monkeypatch.setattr(split_in_passes, "_PICKED", 400)


def blobs(seed=0, n=N, D=2, K=6, spread=6.0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0.0, spread, (K, D))
    z = rng.choice(K, n, p=rng.dirichlet(np.full(K, 3.0)))
    return centres[z] + rng.normal(size=(n, D)) * rng.uniform(0.5, 1.5, (K, D))[z], z


def by_sweeps(model, X, monkeypatch, **how):
    with monkeypatch.context() as patch:
        patch.setattr(fit, "MANY", 10**9)
        return model.fit(X, **how)


def is_mode(model, X, monkeypatch, **how):
    """Whether sweeps move nothing, and give the same joint, under the prior that was found."""
    given = {"init": np.maximum(model.labels_, 0), "moves": (), "likelihood": model.likelihood_}
    alone = MAPDPM(**{**model.get_params(deep=False), **given})
    again = by_sweeps(alone, X, monkeypatch, **how)
    assert again.n_sweeps_ == 1
    np.testing.assert_allclose(again.log_joint_, model.log_joint_, rtol=1e-11)  # sums of thousands of terms
    return np.array_equal(again.labels_, model.labels_)


def bits_of(model):
    """All that a fit has found, to the last bit."""
    return [array.tobytes() for array in (model.labels_, model.history_, model.means_, model.variances_)]


def counts_of_words(seed=0):
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(8, 0.3), 4)
    X = np.array([rng.multinomial(20, words[k]) for k in rng.integers(0, 4, N)])
    return X, DirichletMultinomial.empirical(X)


def bits(seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.beta(0.3, 0.3, (4, 8))
    X = (rng.random((N, 8)) < shares[rng.integers(0, 4, N)]).astype(float)
    return X, BetaBernoulli.empirical(X)


SETTINGS = {
    "default": {},
    "pitman-yor": {"discount": 0.4},
    "concentrated": {"alpha": 1e3},
    "capped": {"max_clusters": 4},
    "known-variance": {"likelihood": NormalKnownVariance(0.0, 30.0, 1.0)},
    "full-covariance": {"likelihood": NormalInverseWishart(0.0, 0.01, 4.0, 1.0)},
    "narrow": {"likelihood": NormalGamma(0.0, 0.01, 1.0, 0.5), "n_restarts": 2},
}


@pytest.mark.parametrize("name", complete_but(list(SETTINGS)[:4], SETTINGS))
@pytest.mark.usefixtures("small_passes")
def test_a_mode_as_good_as_that_of_sweeps(name, monkeypatch):
    X, _ = blobs()
    settings = {"likelihood": None} | SETTINGS[name]
    model = MAPDPM(**settings).fit(X)
    swept = by_sweeps(MAPDPM(**settings), X, monkeypatch)
    assert model.converged_
    assert is_mode(model, X, monkeypatch)
    assert model.log_joint_ > swept.log_joint_ - 1.0
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    assert np.all(np.diff(model.history_) >= 0.0)
    assert np.all(np.diff(np.unique(model.labels_, return_index=True)[1]) > 0)  # in order of first appearance


@pytest.mark.complete
@pytest.mark.parametrize("make", [counts_of_words, bits])
@pytest.mark.usefixtures("small_passes")
def test_counts_too(make, monkeypatch):
    X, prior = make()
    model = MAPDPM(likelihood=prior).fit(X)
    swept = by_sweeps(MAPDPM(likelihood=prior), X, monkeypatch)
    assert is_mode(model, X, monkeypatch)
    assert model.log_joint_ > swept.log_joint_ - 1.0


@pytest.mark.usefixtures("small_passes")
def test_weights_and_absent_points(monkeypatch):
    X, _ = blobs(1, n=1500)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 1500)
    model = MAPDPM().fit(X, sample_weight=weights)
    swept = by_sweeps(MAPDPM(), X, monkeypatch, sample_weight=weights)
    assert is_mode(model, X, monkeypatch, sample_weight=weights / weights.mean())
    assert model.log_joint_ > swept.log_joint_ - 1.0
    weights[::4] = 0.0
    absent = MAPDPM().fit(X, sample_weight=weights)
    assert np.all(absent.labels_[::4] == -1)
    kept = MAPDPM().fit(X[weights > 0.0], sample_weight=weights[weights > 0.0])
    np.testing.assert_array_equal(absent.labels_[weights > 0.0], kept.labels_)


@pytest.mark.usefixtures("small_passes")
def test_the_same_bits_by_any_number_of_threads():
    X, _ = blobs(3)
    one, two, three = (MAPDPM(n_jobs=n_jobs).fit(X) for n_jobs in (None, 2, 3))
    for other in (two, three):
        assert bits_of(one) == bits_of(other)


@pytest.mark.usefixtures("small_passes")
def test_labels_do_not_depend_on_the_parts_but_for_rounding(monkeypatch):
    """The sample and the halves are chosen by numbers of points. So parts change the last digits of sums only."""
    X, _ = blobs(4)
    whole = MAPDPM().fit(X)
    monkeypatch.setattr(chunks, "PART", 117)
    parts = MAPDPM().fit(X)
    np.testing.assert_array_equal(whole.labels_, parts.labels_)
    np.testing.assert_allclose(parts.means_, whole.means_, rtol=1e-12, atol=1e-12)  # means of 2000 numbers
    np.testing.assert_allclose(parts.log_joint_, whole.log_joint_, rtol=1e-12)


@pytest.mark.usefixtures("small_passes")
def test_order_of_points_and_float32_and_files(tmp_path):
    """Clusters far apart have one mode under a narrow prior: it is found in all orders of the points."""
    X, z = blobs(5, spread=40.0)
    narrow, order = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 1.0, 0.5)), np.argsort(z, kind="stable")
    joint = narrow.fit(X).log_joint_
    np.testing.assert_allclose(narrow.fit(X[order]).log_joint_, joint, rtol=1e-12)
    model = MAPDPM().fit(X)
    single = MAPDPM().fit(X.astype(np.float32))
    assert np.mean(single.labels_ == model.labels_) > 0.999  # but for points between clusters
    np.save(tmp_path / "points.npy", X)
    mapped = MAPDPM().fit(np.load(tmp_path / "points.npy", mmap_mode="r"))
    assert bits_of(mapped) == bits_of(model)


@pytest.mark.usefixtures("small_passes")
def test_an_offset_costs_nothing():
    X, _ = blobs(6)
    X = np.round(X * 1024) / 1024  # so that the offset loses no digit of it
    near, far = MAPDPM().fit(X), MAPDPM().fit(X + 2.0**27)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_allclose(near.log_joint_, far.log_joint_, rtol=1e-9)


@pytest.mark.usefixtures("small_passes")
def test_clusters_that_a_sample_misses_are_found():
    rng = np.random.default_rng(7)
    X, _ = blobs(7, n=5000, D=5)
    far = rng.normal(0.0, 20.0, (5, 1, 5)) + 0.3 * rng.normal(size=(5, 8, 5))
    model = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 1.0, 0.5)).fit(np.vstack([X, far.reshape(-1, 5)]))
    for k in range(5):
        labels = model.labels_[5000 + 8 * k : 5008 + 8 * k]
        assert len(set(labels)) == 1
        assert model.cluster_sizes_[labels[0]] == 8


@pytest.mark.usefixtures("small_passes")
@ends_early
def test_limits_end_a_fit_that_says_so():
    X, _ = blobs(8, spread=1.0)
    with pytest.warns(ConvergenceWarning, match="max_sweeps") as caught:
        short = MAPDPM(max_sweeps=1).fit(X)
    assert isinstance(pickle.loads(pickle.dumps(caught[0].message)), ConvergenceWarning)
    assert not short.converged_
    np.testing.assert_array_equal(np.bincount(short.labels_), short.cluster_sizes_)
    seen = []
    stopped = MAPDPM(callback=lambda progress: seen.append(progress) or len(seen) == 2).fit(X)
    assert len(seen) == 2
    assert not stopped.converged_
    assert {progress.move for progress in seen} <= {"pass", "merge", "split"}
    assert not MAPDPM(time_limit=1e-9).fit(X).converged_


@pytest.mark.usefixtures("small_passes")
@pytest.mark.parametrize("cap", complete_but([2], [None, 2]))
def test_the_next_fit_of_a_path_starts_warm(cap):
    """It changes no label of the fit before, and keeps to the cap."""
    X, _ = blobs(9)
    for method in ("map", "nll"):
        found = select_alpha(X, [1.0, 1e3], method=method, max_clusters=cap)
        np.testing.assert_array_equal(np.bincount(found.model.labels_), found.model.cluster_sizes_)
        assert found.model.n_clusters_ <= (cap or N)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("small_passes")
def test_held_points_and_points_at_the_cap_do_not_crowd_out_others(seed, monkeypatch):
    """Heavy tails, with two points a part to be picked: many are held; at the cap many would open a cluster."""
    monkeypatch.setattr(climb_in_passes, "_FEWEST_BETWEEN", 2)
    monkeypatch.setattr(climb_in_passes, "BETWEEN", 2)
    X = np.random.default_rng(seed).standard_t(1.5, (1500, 2))
    for parameters in ({"alpha": 30.0}, {"max_clusters": 3}):
        model = MAPDPM(**parameters, likelihood=None, max_sweeps=1000).fit(X)
        assert model.converged_
        assert is_mode(model, X, monkeypatch)


@pytest.mark.complete
@pytest.mark.usefixtures("small_passes")
def test_labels_and_sizes_agree_where_scores_tie():
    """A weight of 1e-6 beside 1e6 leaves no difference between clusters that are twins."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.integers(0, 3, (15, 1)).astype(float), 80, axis=0)
        weights = rng.choice([1e-6, 1e6], len(X))
        model = MAPDPM().fit(X, sample_weight=weights)
        np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)


def test_sweeps_that_do_not_end_leave_time_for_moves():
    """Skewed points move for dozens of sweeps; moves come after twenty."""
    X = np.random.default_rng(0).gamma(0.7, 1.0, (3000, 3))
    moves = []
    model = MAPDPM(likelihood=None, callback=lambda progress: moves.append(progress.move) and None).fit(X)
    assert "split" in moves
    assert max(len(list(run)) for move, run in itertools.groupby(moves) if move == "sweep") == 20
    assert model.n_clusters_ > 10


@pytest.mark.slow
def test_rare_clusters_in_a_million_points():
    """40 clusters of 60 points among ten of a hundred thousand, sorted by cluster and shuffled."""
    rng = np.random.default_rng(0)
    centres, sizes = rng.normal(0.0, 5.0, (50, 10)), np.r_[np.full(10, 99_760), np.full(40, 60)]
    z = np.repeat(np.arange(50), sizes)
    X = centres[z] + np.sqrt(2.0 / rng.gamma(3.0, 1.0, (50, 10)))[z] * rng.normal(size=(len(z), 10))
    for order in (np.arange(len(z)), rng.permutation(len(z))):
        model = MAPDPM().fit(X[order])
        pairs = np.unique(np.stack([z[order], model.labels_]), axis=1)
        assert model.n_clusters_ == 50
        assert pairs.shape[1] <= 52  # a point or two may lie in another cluster
