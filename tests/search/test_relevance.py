"""The columns that carry clusters: the pair (z, R) of largest J, by enumeration; tables with columns of noise."""

import functools
import itertools
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import MAPDPM, Mixed, NormalGamma
from mapdpm.data.standard import _along_longest
from mapdpm.files.errors import ModelFileError
from mapdpm.likelihoods._as_given import parameters_of
from mapdpm.search.relevance import _Found, _Search
from mapdpm.search.units import Units, best_set
from mapdpm.testing.exact import partitions
from tests.marks import complete_but
from tests.oracle import raw

QUICK, ALL = 12, 300


def three(rng, n=600, noise=6):
    """Three sources 6 sd apart in the first column, beside columns of noise."""
    z = rng.integers(0, 3, n)
    return np.column_stack([6.0 * z + rng.normal(size=n), rng.normal(size=(n, noise))]), z


class Joint:
    """J(z, R) by its definition, from the raw points; each set of points is a cluster once."""

    def __init__(self, X, prior):
        n_columns = X.shape[1]
        self.terms = functools.cache(lambda own: np.array(raw.log_marginal_terms(X[list(own)], prior)))
        self.together = self.terms(tuple(range(len(X))))
        self.sets = [np.array(each) for each in itertools.product((False, True), repeat=n_columns)]
        self.prices = [math.log((n_columns + 1) * math.comb(n_columns, each.sum())) for each in self.sets]

    def __call__(self, z):
        """J with each set of columns."""
        parted = sum(self.terms(tuple(np.flatnonzero(np.equal(z, k)))) for k in set(z))
        prior = math.fsum(raw.log_partition(z, 1.0))
        gains = [np.where(each, parted, self.together).sum() for each in self.sets]
        return prior + np.array(gains) - self.prices


@pytest.mark.parametrize(
    "seeds",
    [range(QUICK), pytest.param(range(QUICK, ALL), marks=pytest.mark.complete)],
)
def test_the_best_pair_is_that_of_all_pairs(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, n_columns = int(rng.integers(2, 7)), int(rng.integers(1, 5))
        X = rng.normal(size=(n, n_columns)) * rng.choice([0.5, 2.0, 5.0], n_columns)
        prior = NormalGamma(np.zeros(n_columns), 0.1, 1.0, np.ones(n_columns))
        joint = Joint(X, prior)
        best = max(joint(z).max() for z in partitions(n))
        model = MAPDPM(likelihood=prior, relevance="search").fit(X)
        at = next(i for i, each in enumerate(joint.sets) if np.array_equal(each, model.relevant_))
        own = joint(tuple(model.labels_.tolist()))[at]
        assert own == pytest.approx(best, abs=1e-9)
        # less log p(all columns), so that it is the plain log joint where all columns are relevant
        assert model.log_joint_ - math.log(n_columns + 1) == pytest.approx(own, abs=1e-9)


def test_the_best_set_pays_its_price():
    """Of 30 columns one may gain 3 nats by chance, which is less than log 30; with 29 others it is relevant."""
    assert not best_set(np.array([3.0, *[-1.0] * 29])).any()
    assert best_set(np.array([5.0, *[-1.0] * 29])).tolist() == [True, *[False] * 29]
    assert best_set(np.array([3.0, *[50.0] * 29])).all()


SIZES = [(6, 120, 120), (12, 150, 150), (40, 240, 36), (60, 40, 40)]


@pytest.mark.parametrize(("n", "D", "n_apart"), complete_but({SIZES[0], SIZES[3]}, SIZES, several=True))
def test_noise_of_many_columns_is_one_cluster(n, D, n_apart):
    """A fitted prior knows the mean and the variance of each column, so a cluster for each point would cost nothing.

    It does not hide groups, which differ in some columns.
    """
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, D)) * np.exp(rng.normal(size=D)) + 5.0
    model = MAPDPM().fit(X)
    assert (model.n_clusters_, model.relevant_.any()) == (1, False)
    X[: n // 2, :n_apart] += 3.0 * X.std(axis=0)[:n_apart]
    model.fit(X)
    assert model.n_clusters_ == 2
    assert model.relevant_[:n_apart].mean() > (0.9 if n > 6 else 0.2)
    assert model.relevant_[n_apart:].sum() <= 0.1 * (D - n_apart)
    assert adjusted_mutual_info_score(np.arange(n) < n // 2, model.labels_) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "D"), [(20, 4), (4, 20)])
def test_points_along_their_longest_direction(n, D):
    X = np.random.default_rng(n).normal(size=(n, D)) * np.arange(1.0, D + 1.0)
    X -= X.mean(axis=0)
    order = np.argsort(_along_longest(X))
    wanted = np.argsort(X @ np.linalg.svd(X)[2][0]).tolist()
    assert order.tolist() in (wanted, wanted[::-1])


@pytest.mark.parametrize("n", [3, 50, 2000])
@pytest.mark.parametrize("missing", ["error", "skip"])
def test_a_prior_that_is_certain_has_the_likelihood_of_the_best_normal(n, missing):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3)) * [1e-6, 1.0, 1e6] + [0.0, 5.0, 1e8]
    X[0, 1] = np.nan if missing == "skip" else 5.0
    units = Units(NormalGamma, [np.array([d]) for d in range(3)], X, None, missing)
    m = (~np.isnan(X)).sum(axis=0)
    best = -0.5 * m * (np.log(2.0 * np.pi * np.nanvar(X, axis=0)) + 1.0)
    np.testing.assert_allclose(units.certain, best, atol=2e-5 * n, rtol=0)
    assert (units.certain > units.together).all()
    assert (units.certain - units.together < np.log1p(n)).all()  # the bound of _has_clusters


@pytest.mark.parametrize("noise", [6, 25])
def test_columns_of_noise_change_nothing(noise):
    X, z = three(np.random.default_rng(noise), noise=noise)
    alone, model = MAPDPM().fit(X[:, :1]), MAPDPM().fit(X)
    if noise == 25:  # what they would do
        assert MAPDPM(relevance="all").fit(X).n_clusters_ < 3
    assert model.labels_.tolist() == alone.labels_.tolist()
    assert model.relevant_.tolist() == [True, *[False] * noise]
    assert model.relevance_[0] > 300.0
    assert np.all(model.relevance_[1:] < 0.5)
    assert np.all(np.diff(model.history_) >= 0.0)
    np.testing.assert_allclose(model.means_, [X[model.labels_ == k].mean(axis=0) for k in range(3)], atol=1e-9)
    np.testing.assert_allclose(model.variances_, [X[model.labels_ == k].var(axis=0) for k in range(3)], atol=1e-9)
    assert adjusted_mutual_info_score(z, model.predict(X)) > 0.95


@pytest.mark.parametrize("seed", complete_but(range(3), range(6)))
def test_a_few_columns_that_gain_nothing_are_not_relevant(seed):
    """Beside few others p(R) alone would keep them: a flag and a spiked column that say nothing of clusters."""
    rng = np.random.default_rng(seed)
    z = rng.integers(3, size=300)
    flag, rain = rng.random(300) < 0.3, np.maximum(rng.normal(size=300), 0.0)
    X = np.stack([rng.normal(6.0 * z).round(1), rng.normal(5.0 * z), flag, rain], axis=1)
    model = MAPDPM().fit(X)
    assert model.relevant_.tolist() == [True, True, False, False]
    assert model.n_clusters_ == 3
    assert model.relevance_[:2].min() > 100.0


@pytest.mark.parametrize(("gain_without", "is_left_out"), [(9.0, False), (11.0, True)])
def test_a_weak_column_is_left_out_where_others_gain_more_than_it(gain_without, is_left_out):
    """Three columns gain 200 nats and one 10, less than a tenth; without it J is higher by more, or by less."""
    search = _Search.__new__(_Search)
    search.columns, search.sample = [np.array([d]) for d in range(4)], SimpleNamespace(n_points=100)
    search.of_sample = SimpleNamespace(expired=lambda: False)
    gains = np.array([200.0, 200.0, 10.0, 200.0])
    search.units = SimpleNamespace(gains=lambda _: gains, gains_alone=lambda: np.zeros(4))
    weak = (True, True, False, True)
    joints = {(True,) * 4: 0.0, weak: gain_without}
    search.at = lambda relevant: _Found(relevant, joints[tuple(relevant.tolist())], np.arange(2), None)
    assert search._best().relevant.tolist() == list(weak if is_left_out else (True,) * 4)


def test_relevant_columns_may_all_have_a_given_prior():
    X, z = three(np.random.default_rng(1), noise=2)
    parts = Mixed({0: NormalGamma(6.0, 0.1, 1.0, 1.0), (1, 2): NormalGamma})
    for weights in (None, np.random.default_rng(2).integers(1, 4, len(X))):
        model = MAPDPM(likelihood=parts).fit(X, sample_weight=weights)
        assert model.relevant_.tolist() == [True, False, False]
        assert adjusted_mutual_info_score(z, model.labels_) > 0.95


def test_noise_alone_has_no_relevant_column():
    """A false alarm in one draw of some hundreds; these six are the first."""
    for seed in range(6):
        model = MAPDPM().fit(np.random.default_rng(seed).normal(size=(200, 5)))
        assert model.n_clusters_ == 1
        assert not model.relevant_.any()
        assert model.predict([[0.0] * 5, [0.0, 0.0, 99.0, 0.0, 0.0]], novelty=True).tolist() == [0, -1]


def test_rare_clusters_that_the_sample_misses_are_found():
    """The sample of 1,024 points has none of the few that are far from all others, in columns of noise or in all."""
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(30_000, 4))
        X[:5, :2] += 9.0
        X[5:8, 2] -= 14.0
        assert sorted(MAPDPM().fit(X).cluster_sizes_.tolist()) == [3, 5, 29_992]
        X[:, :2] = X[:, :2] @ [[1.0, 0.95], [0.0, 0.3]] + 8.0 * (np.arange(30_000) % 2)[:, None] * [1.0, -1.0]
        full = MAPDPM().fit(X)
        assert "nu0" in parameters_of(full.likelihood_)
        assert not set(full.labels_[5:8]) & set(full.labels_[8:])


def test_scores_are_densities_of_all_columns():
    X, _ = three(np.random.default_rng(3), noise=1)
    model = MAPDPM().fit(X)
    assert model.relevant_.tolist() == [True, False]
    axes = np.linspace(-12.0, 24.0, 361), np.linspace(-12.0, 12.0, 241)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
    assert np.exp(model.score_samples(grid)).sum() * cell == pytest.approx(1.0, abs=1e-4)
    assert model.score_samples([[6.0, 0.0]]) > model.score_samples([[6.0, 5.0]])  # the background counts


def test_constant_columns_change_nothing_and_a_new_value_is_novel():
    X, _ = three(np.random.default_rng(4), noise=1)
    with_constants = np.column_stack([X, np.full(len(X), 3.7), np.zeros(len(X))])
    plain, model = MAPDPM().fit(X), MAPDPM().fit(with_constants)
    assert model.labels_.tolist() == plain.labels_.tolist()
    assert model.relevant_.tolist() == [True, False, False, False]
    assert model.log_joint_ == pytest.approx(plain.log_joint_)
    new = with_constants[:2].copy()
    new[1, 2] = 3.8
    same, other = model.score_samples(new), plain.score_samples(X[:2])
    np.testing.assert_allclose(same - other, [0.0, -math.log(len(X) + 2)], atol=1e-9)
    assert model.predict(new, novelty=True).tolist() == [model.labels_[0], -1]
    assert model.predict_proba(new)[1].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert model.predict(new)[1] == model.labels_[1]
    assert MAPDPM().fit(np.ones((9, 2))).n_clusters_ == 1  # no column varies


def test_files_and_pickles_know_the_columns():
    X, _ = three(np.random.default_rng(5), n=150, noise=2)
    model = MAPDPM().fit(np.column_stack([X, np.ones(150)]))
    Y = np.column_stack([X[:9], np.ones(9)])
    for other in (MAPDPM.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert other.likelihood_ == model.likelihood_
        assert np.array_equal(other.score_samples(Y), model.score_samples(Y))
        for name in ("relevant_", "relevance_", "means_", "variances_", "labels_"):
            assert np.array_equal(getattr(other, name), getattr(model, name)), name
    forged = model.to_bytes().replace(b'"columns": [0]', b'"columns": [1]')
    with pytest.raises(ModelFileError):
        MAPDPM.from_bytes(forged)


def test_nothing_is_left_out_unasked_under_a_given_prior():
    X, _ = three(np.random.default_rng(6))
    prior = NormalGamma(np.zeros(7), 0.1, 1.0, np.ones(7))
    assert MAPDPM(likelihood=prior).fit(X).relevant_.all()
    assert MAPDPM(likelihood=None).fit(X).relevant_.all()
    found = MAPDPM(likelihood=prior, relevance="search").fit(X)
    assert found.relevant_.tolist() == [True, *[False] * 6]
    assert found.likelihood_ == prior
    with pytest.raises(ValueError, match="relevance"):
        MAPDPM(relevance="none").fit(X)
