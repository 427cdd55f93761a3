"""Repeated rows and weights: a fitted prior is one of clusters, not of copies."""

import itertools
import math

import numpy as np
import pytest
from sklearn import datasets
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import MAPDPM, NormalGamma
from mapdpm.data.copies import without_copies
from mapdpm.partition_priors import DirichletProcess
from mapdpm.search.observed import relative
from tests.marks import complete_but


def three(seed, n=300):
    rng = np.random.default_rng(seed)
    z = np.arange(n) % 3
    return np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])[z] + rng.normal(size=(n, 2)), z, rng


def n_kept(X):
    kept = without_copies(X)
    return len(X) if kept is None else len(kept)


def test_copies_are_told_from_rows_that_meet_by_chance():
    X, _, rng = three(0)
    assert n_kept(np.repeat(X, 3, axis=0)) == 300
    assert n_kept(np.repeat(X[:, :1], 3, axis=0)) == 300
    assert n_kept(np.repeat(X.round(2), 3, axis=0)) == 300
    assert without_copies(np.vstack([X, np.nan * X, np.nan * X, X[:9]])) is not None
    many = X[rng.integers(0, 300, 3000)] + rng.normal(size=(3000, 2))
    for step, width in itertools.product((0.5, 1.0, 2.0), (1, 2)):
        whole = np.rint(many[:, :width] / step)
        assert len(np.unique(whole, axis=0)) < 0.7 * len(whole)
        assert n_kept(whole) == len(whole)
    assert n_kept(np.maximum(rng.normal(size=(500, 3)) - 0.5, 0.0)) == 500  # rain: rows of zeros
    assert n_kept((rng.random((300, 5)) < 0.2) * 1.0) == 300


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_wine])
def test_a_bootstrap_is_known_as_one(load):
    X = load().data
    drawn = X[np.random.default_rng(1).integers(0, len(X), len(X))]
    assert n_kept(drawn) == len(np.unique(drawn, axis=0))
    assert n_kept(X) == len(X)


def test_a_bootstrap_is_known_beside_rows_that_meet():
    """Marks from 1 to 10: those of the healthy meet by chance, in a few rows; those of the others differ."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        ill = rng.random(600) < 0.35
        X = np.where(ill[:, None], rng.integers(1, 11, (600, 7)), 1.0 + rng.binomial(1, 0.15, (600, 7)))
        drawn = X[rng.integers(0, 600, 600)]
        assert n_kept(X) == 600
        assert len(np.unique(drawn, axis=0)) <= n_kept(drawn) < 450
    for width, spread in ((4, 1.0), (8, 0.6), (20, 0.3)):
        whole = np.rint(rng.normal(5.0 * rng.integers(3, size=(500, 1)), spread, (500, width)))
        assert n_kept(whole) == 500


def wide(seed, n, width=60):
    """Three clusters in two columns, and noise."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    return np.column_stack([8.0 * z + rng.normal(size=n), 8.0 * z + rng.normal(size=n), rng.normal(size=(n, width))]), z


@pytest.mark.parametrize("n", [15, 30])
@pytest.mark.parametrize("step", complete_but([0.1], [0.0, 0.1]))
def test_a_few_copies_in_many_columns_are_no_clusters(n, step):
    """One row of 15, or three of 30: the density of copies grows with the number of columns."""
    X, z = wide(1, n)
    X = np.rint(X / step) if step else X
    n_copied = n // 10
    model = MAPDPM().fit(np.vstack([X, X[:n_copied]]))
    assert model.labels_[n:].tolist() == model.labels_[:n_copied].tolist()
    assert model.n_clusters_ <= 5
    assert adjusted_mutual_info_score(np.r_[z, z[:n_copied]], model.labels_) > 0.8


def test_copies_with_values_missing_in_each_are_known():
    X, _ = wide(2, 200)
    copied = np.vstack([X, X[:20], X[:3]])
    gaps = np.random.default_rng(0).random(copied.shape) < 0.05
    assert n_kept(np.where(gaps, np.nan, copied)) == 200
    assert n_kept(np.where(gaps[:200], np.nan, X)) == 200
    in_turn = np.arange(62) % 2 == (np.arange(223) >= 200)[:, None]  # the 20 have nothing in common with their rows
    assert n_kept(np.where(in_turn, np.nan, copied)) == 220


@pytest.mark.parametrize(
    "column",
    [
        lambda rng, shape: rng.normal(size=shape).astype(np.float32),
        lambda rng, shape: np.log1p(rng.poisson(40.0, shape)),
        lambda rng, shape: np.maximum(rng.normal(size=shape), 0.0),
        lambda rng, shape: np.sqrt(2.0) * rng.integers(0, 3, shape),
    ],
    ids=["float32", "logarithms of counts", "clipped", "levels"],
)
def test_rows_without_copies_have_none(column):
    rng = np.random.default_rng(3)
    for n, width in ((30, 8), (300, 8), (1000, 12)):
        X = column(rng, (n, width))
        assert n_kept(X) >= 0.99 * n
        assert n_kept(np.where(rng.random(X.shape) < 0.03, np.nan, X)) >= 0.99 * n


def test_rows_that_stand_there_three_times_are_no_clusters():
    X, z, _ = three(2)
    model = MAPDPM().fit(np.repeat(X, 3, axis=0))
    assert model.n_clusters_ <= 4
    assert adjusted_mutual_info_score(np.repeat(z, 3), model.labels_) > 0.95


@pytest.mark.parametrize("name", complete_but(["three"], ["iris", "three"]))
def test_a_bootstrap_has_about_as_many_clusters(name):
    """At most 1.5 times as many in nearly all; where copies make clusters, in iris most have twice as many."""
    X = datasets.load_iris().data if name == "iris" else three(5)[0]
    rng = np.random.default_rng(0)
    K = MAPDPM().fit(X).n_clusters_
    found = []
    for _ in range(12):
        drawn = rng.integers(0, len(X), len(X))
        model = MAPDPM().fit(X[drawn])
        found.append(model.n_clusters_)
        assert len({*zip(drawn.tolist(), model.labels_.tolist(), strict=True)}) == len(set(drawn.tolist()))
    assert sum(n <= 1.5 * K for n in found) >= 9


def test_all_points_count_though_clusters_are_those_of_rows():
    X, _, rng = three(6)
    drawn = X[rng.integers(0, 300, 900)]
    model = MAPDPM().fit(drawn)
    assert model.cluster_sizes_.tolist() == np.bincount(model.labels_).tolist()
    still = MAPDPM(likelihood=model.likelihood_, init=model.labels_, moves=(), max_sweeps=0).fit(drawn)
    assert model.log_joint_ == model.history_[-1] == still.log_joint_
    assert np.all(np.diff(model.history_) >= 0.0)
    assert MAPDPM.from_bytes(model.to_bytes()).labels_.tolist() == model.labels_.tolist()
    weights = rng.integers(0, 4, 900)
    weighted = MAPDPM().fit(drawn, sample_weight=weights)
    assert (weighted.labels_ >= 0).tolist() == (weights > 0).tolist()
    assert weighted.n_clusters_ == model.n_clusters_ == 3


@pytest.mark.parametrize("times", [8, 12])
def test_rows_that_are_there_more_than_ten_times_are_states(times):
    """Then copies count, and the fit is one of all points; else J would be higher with clusters of copies."""
    X = datasets.load_iris().data
    points = np.repeat(X, times, axis=0)
    model = MAPDPM().fit(points)
    of_points = MAPDPM(likelihood=model.likelihood_).fit(points).log_joint_
    if times > 10:
        assert model.log_joint_ > of_points - 1e-6
    else:
        assert model.log_joint_ < of_points - 1.0
        assert model.n_clusters_ == MAPDPM().fit(X).n_clusters_


WEIGHTS = {
    "3": lambda rng: np.full(300, 3.0),
    "1 to 5": lambda rng: rng.integers(1, 6, 300),
    "exponential": lambda rng: rng.exponential(size=300),
    "survey": lambda rng: rng.gamma(2.0, 250.0, 300),
}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_change_no_number_of_clusters(weights):
    X, z, rng = three(3)
    given = WEIGHTS[weights](rng)
    model = MAPDPM().fit(X, sample_weight=given)
    assert 3 <= model.n_clusters_ <= 6
    assert adjusted_mutual_info_score(z, model.labels_) > 0.95
    scaled = MAPDPM().fit(X, sample_weight=given * 7.0)
    assert scaled.labels_.tolist() == model.labels_.tolist()
    assert scaled.log_joint_ == pytest.approx(model.log_joint_)


@pytest.mark.parametrize("weights", complete_but(["exponential"], WEIGHTS))
def test_weights_count_alike_in_plain_python(weights):
    X, _, rng = three(3)
    X, given = X[:24], WEIGHTS[weights](rng)[:24]
    python = MAPDPM(backend="python").fit(X, sample_weight=given)
    assert python.log_joint_ == pytest.approx(MAPDPM().fit(X, sample_weight=given).log_joint_)


def test_light_weights_are_a_law_of_partitions():
    """The weights of steps add up to log p(z), whatever the order: Gamma(n), and n below 1."""
    prior, weights = DirichletProcess(2.0, light=True), np.array([0.3, 0.2, 1.7, 0.1])
    whole = prior.log_partition(np.array([0.6, 1.7]))
    for order in itertools.permutations(range(4)):
        sizes, total, found = {}, 0.0, 0.0
        for i in order:
            k, w = int(i == 2), weights[i]
            found += prior.log_existing(sizes[k], w) if k in sizes else prior.log_new(len(sizes), w)
            found += prior.log_normaliser(total, w)
            sizes[k], total = sizes.get(k, 0.0) + w, total + w
        assert found == pytest.approx(whole)
    assert whole == pytest.approx(
        2 * math.log(2.0) + math.log(0.6) + math.lgamma(1.7) - math.lgamma(4.3) + math.lgamma(2)
    )
    assert prior.log_partition(np.array([3.0, 1.0])) == DirichletProcess(2.0).log_partition(np.array([3.0, 1.0]))


def test_a_given_prior_counts_weights_as_copies():
    X, _, rng = three(4, 60)
    prior, weights = NormalGamma(np.zeros(2), 0.1, 1.0, np.ones(2)), rng.integers(1, 4, 60)
    start = {"init": np.arange(60) % 3, "moves": (), "max_sweeps": 0}
    copies = {**start, "init": np.repeat(np.arange(60) % 3, weights)}
    twice = MAPDPM(likelihood=prior, **copies).fit(np.repeat(X, weights, axis=0))
    assert MAPDPM(likelihood=prior, **start).fit(X, sample_weight=weights).log_joint_ == pytest.approx(twice.log_joint_)
    assert relative(DirichletProcess(1.0), np.full(3, 5.0)) == (DirichletProcess(1.0), None)
