"""DP-means: the published algorithm, its objective, and that moves only lower it."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm import DPMeans
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.partition_priors import ClusterPenalty
from mapdpm.search.dp_means import Limits, dp_means, farthest_first
from mapdpm.testing import laws
from tests.marks import complete_but, ends_early
from tests.oracle import search as oracle

SEEDS = st.integers(0, 2**32 - 1)


def problem(rng):
    D, K, N = int(rng.integers(1, 5)), int(rng.integers(1, 8)), int(rng.integers(1, 70))
    X = rng.normal(0.0, 4.0, (K, D))[rng.integers(0, K, N)] + rng.normal(size=(N, D))
    if rng.random() < 0.3:
        X = np.round(X)
    weights = rng.uniform(0.2, 3.0, N) if rng.random() < 0.3 else None
    return X, float(rng.choice([0.5, 4.0, 30.0, 1e3])), weights, int(rng.integers(1, 9)) if rng.random() < 0.3 else None


@given(SEEDS)
def test_passes_are_those_of_the_paper(seed):
    """Labels to the letter: the naive twin goes point by point. Rounded data has ties, so there objectives only."""
    rng = np.random.default_rng(seed)
    X, lam, weights, cap = problem(rng)
    passes = dp_means(X, weights, lam, cap, Limits(1000))
    labels, objective = oracle.dp_means(X, lam, cap, weights)
    assert passes.converged
    assert np.all(np.diff(passes.objectives) <= 0.0)
    if np.any(np.round(X) != X):
        np.testing.assert_array_equal(passes.labels, labels)
    assert passes.objectives[-1] == pytest.approx(oracle.dp_means_objective(X, passes.labels, lam, weights), rel=1e-10)
    assert passes.objectives[-1] == pytest.approx(objective, rel=1e-10) or np.all(np.round(X) == X)


@pytest.mark.complete
@given(SEEDS)
def test_moves_end_no_higher_than_the_paper(seed):
    rng = np.random.default_rng(seed)
    X, lam, weights, cap = problem(rng)
    X = X + 100.0
    cap = None if cap is None else min(cap, len(X))
    _, paper = oracle.dp_means(X, lam, cap, weights)
    for moves, n_restarts in (((), 1), (("merge", "split"), 1), (("merge", "split", "permutation"), 2)):
        model = DPMeans(lam, n_clusters=cap, moves=moves, n_restarts=n_restarts).fit(X, sample_weight=weights)
        # rounded data has ties, and who rounds otherwise goes another way
        assert model.objective_ <= paper * (1.0 + 1e-12) or np.all(np.round(X) == X)
        assert model.objective_ == pytest.approx(oracle.dp_means_objective(X, model.labels_, lam, weights), rel=1e-9)
        assert model.objective_ == model.history_[-1]
        assert np.all(np.diff(model.history_) <= 0.0)
        assert cap is None or model.n_clusters_ <= cap
        assert model.converged_
        assert model.lam_ == lam


@pytest.mark.complete
def test_small_problems_are_solved():
    """Against all partitions of 7 points."""
    solved = 0
    for seed in range(60):
        rng = np.random.default_rng([1, seed])
        X, lam = rng.normal(0.0, 2.0, (7, 2)), rng.uniform(0.5, 8.0)
        best = oracle.best_dp_means(X, lam)
        model = DPMeans(lam, n_restarts=5).fit(X)
        assert model.objective_ >= best * (1.0 - 1e-12)
        solved += model.objective_ <= best * (1.0 + 1e-9)
    assert solved >= 59


def test_farthest_first_is_that_of_kulis_and_jordan():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3))
    chosen, expected = [X.mean(axis=0)], []
    for _ in range(10):
        nearest = [min(((x - t) ** 2).sum() for t in chosen) for x in X]
        expected.append(max(nearest))
        chosen.append(X[int(np.argmax(nearest))])
    assert [farthest_first(X, np.ones(50), k) for k in range(1, 11)] == pytest.approx(expected)
    assert DPMeans(n_clusters=4).fit(X).lam_ == pytest.approx(expected[3])


def test_n_clusters_finds_separate_groups():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 5, 300)
    X = 20.0 * np.eye(5)[truth] + rng.normal(size=(300, 5))
    for model in (DPMeans(n_clusters=5), DPMeans(n_clusters=5, moves=()), DPMeans(lam=150.0), DPMeans()):
        labels = model.fit_predict(X)
        assert model.n_clusters_ == 5
        assert len(set(zip(labels, truth, strict=True))) == 5
        np.testing.assert_array_equal(model.predict(X), labels)
        for k in range(5):
            np.testing.assert_allclose(model.cluster_centers_[k], X[labels == k].mean(axis=0))
        assert model.cluster_sizes_.tolist() == np.bincount(labels).tolist()


def test_an_integer_weight_is_repetition():
    rng = np.random.default_rng(4)
    X, w = rng.normal(0.0, 3.0, (40, 2)), rng.integers(1, 4, 40)
    weighted = DPMeans(20.0, moves=()).fit(X, sample_weight=w)
    assert weighted.objective_ == pytest.approx(
        oracle.dp_means_objective(np.repeat(X, w, axis=0), np.repeat(weighted.labels_, w), 20.0)
    )


def test_an_offset_is_free_and_data_of_any_kind_is_read():
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(0.0, 3.0, (200, 2)), 3)
    near, far = DPMeans(30.0).fit(X), DPMeans(30.0).fit(X + 2.0**27)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)  # what 2^27 leaves of the data
    single = DPMeans(30.0).fit(X.astype(np.float32))
    assert single.objective_ == pytest.approx(near.objective_, rel=1e-4)
    apart = np.array(
        [[1e-3], [1.1e-3], [5e-3], [5.1e-3], *[[1e6]] * 5], dtype=np.float32
    )  # an anchor at 1e6 rounds them
    assert DPMeans(lam=1e-7).fit(apart).labels_.tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 2]
    assert DPMeans(n_clusters=2).fit(np.float32([[3e38], [-3e38], [2e38], [-2.9e38]])).n_clusters_ == 2
    assert DPMeans().fit([[1, 2], [1, 2], [1, 2]]).n_clusters_ == 1
    assert DPMeans(n_clusters=3).fit([[1, 2], [1, 2], [1, 2]]).objective_ >= 0.0
    assert DPMeans().fit([[5.0]]).labels_.tolist() == [0]


@pytest.mark.parametrize("first", complete_but([0], [0, 10]))
@pytest.mark.parametrize("backend", complete_but(["python"], ["numba", "python"]))
def test_backends_agree(backend, first):
    for seed in range(first, first + 10):
        X, lam, _, cap = problem(np.random.default_rng([6, seed]))
        X = X[:40]
        cap = None if cap is None else min(cap, len(X))
        fits = [DPMeans(lam, n_clusters=cap, backend=name, n_restarts=2).fit(X) for name in ("c", backend)]
        np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
        assert fits[0].n_sweeps_ == fits[1].n_sweeps_


def test_the_family_obeys_the_laws():
    rng = np.random.default_rng(7)
    X = rng.normal(0.0, 3.0, (9, 2))
    laws.check_likelihood(SquaredDistance([1.0, 1.0]), X, 9)
    with pytest.raises(AssertionError):
        laws.check_partition_prior(ClusterPenalty(1.0), 4)  # not a distribution over partitions


@ends_early
def test_callback_time_limit_and_copies():
    X = np.random.default_rng(8).normal(0.0, 3.0, (300, 2))
    seen = []
    model = DPMeans(30.0, callback=seen.append, n_restarts=2).fit(X)
    assert {p.restart for p in seen} == {0, 1}
    assert min(-p.log_joint for p in seen) == pytest.approx(model.objective_)
    hurried = DPMeans(30.0, time_limit=1e-9, n_restarts=50).fit(X)
    assert not hurried.converged_
    seen.clear()
    plain = DPMeans(30.0, moves=(), n_restarts=3, callback=seen.append).fit(X)
    assert {(p.restart, p.move) for p in seen} == {(0, "pass"), (1, "pass"), (2, "pass")}
    assert min(-p.log_joint for p in seen) == pytest.approx(plain.objective_)
    assert plain.objective_ <= DPMeans(30.0, moves=()).fit(X).objective_
    stopped = DPMeans(30.0, moves=(), callback=lambda _: np.True_).fit(X)
    assert stopped.n_sweeps_ == 1
    assert not stopped.converged_
    assert DPMeans(30.0, callback=lambda _: True, n_restarts=3).fit(X).n_sweeps_ == 1
    assert not DPMeans(1e-3, moves=(), time_limit=1e-9).fit(X).converged_
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))


@ends_early
def test_passes_and_sweeps_stop_at_the_limit_where_nothing_separates_clusters():
    model = DPMeans(lam=5.0, max_sweeps=20).fit(np.random.default_rng(0).normal(size=(20_000, 2)))
    assert (model.n_sweeps_, model.converged_) == (40, False)


def test_a_constant_column_changes_nothing():
    X = np.random.default_rng(0).choice([0.0, 9.0], (60, 1)) + np.random.default_rng(1).normal(size=(60, 2))
    model, wider = DPMeans().fit(X), DPMeans().fit(np.insert(X, 1, 7.0, axis=1))
    assert wider.labels_.tolist() == model.labels_.tolist()
    assert wider.objective_ == pytest.approx(model.objective_)
    assert np.all(wider.cluster_centers_[:, 1] == 7.0)


def test_a_column_that_decides_distances_alone_is_named():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 300.0, 1.0]
    said = "has .e[+]04 times the variance of all others together, .* divide columns by their standard deviations"
    with pytest.warns(UserWarning, match=f"column 1 {said}"):
        DPMeans(lam=1e7).fit(X)
    with pytest.warns(UserWarning, match=f"column 'salary' {said}"):
        DPMeans(lam=1e7).fit(pandas.DataFrame(X, columns=["age", "salary", "height"]))
    X[0, 0] = 1e9  # a point that does not take part
    DPMeans(lam=1e7).fit(X * [1.0, 0.1, 1.0], sample_weight=np.arange(200) > 0)
    DPMeans(lam=1e7).fit(X[1:] * [0.0, 1.0, 0.0])  # one column varies
