"""Models of groups and of states beside columns without clusters: these are found, left out, and kept in densities."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from scipy import stats

from mapdpm import HDPHMM, MAPDPM, HDPMixture, NormalGamma, load
from mapdpm.files.errors import ModelFileError

KINDS = pytest.mark.parametrize("kind", [HDPMixture, HDPHMM])
CONSTANT = 7


def machine():
    """Three states that last some ten points each, in one column of eight; six of noise, and one of a single value."""
    rng, n = np.random.default_rng(0), 180
    z = np.repeat(rng.integers(0, 3, n // 10), 10)
    X = np.column_stack([rng.normal(size=(n, 7)), np.full(n, 2.0)])
    X[:, 2] += 7.0 * z
    return X, np.repeat(np.arange(6), n // 6), z


def fitted(kind, X, groups, **parameters):
    model = kind(**{"likelihood": "auto"} | parameters)
    return model.fit(X, groups) if kind is HDPMixture else model.fit(X)


@cache
def known(kind):
    """A fit to the machine, which tests do not change."""
    X, groups, _ = machine()
    return fitted(kind, X, groups)


@KINDS
def test_columns_of_noise_change_nothing(kind, tmp_path):
    X, groups, z = machine()
    model, alone = known(kind), fitted(kind, X[:, [2]], groups)
    assert model.labels_.tolist() == alone.labels_.tolist()
    assert model.n_clusters_ == len(np.unique(z)) == 3
    assert np.flatnonzero(model.relevant_).tolist() == [2]
    assert model.relevance_[2] > 100.0
    assert np.all(np.diff(model.history_) >= 0.0)
    assert model.means_.shape == (3, 8)
    own = () if kind is HDPHMM else (groups,)
    model.save(tmp_path / "model.mdpm")
    for again in (load(tmp_path / "model.mdpm"), pickle.loads(pickle.dumps(model))):
        assert again.relevance_.tolist() == model.relevance_.tolist()
        assert again.relevance == "auto"
        assert again.score(X, *own) == model.score(X, *own)
        assert again.to_bytes() == model.to_bytes()
    again.relevance = "some"
    with pytest.raises(ValueError, match="relevance must be one of 'auto', 'all', 'search', got 'some'"):
        again.to_bytes()


@KINDS
def test_a_new_value_of_a_constant_is_new(kind):
    (X, _, _), model = machine(), known(kind)
    x = X[:20].copy()
    x[4, CONSTANT] = 3.0
    new = np.eye(20, dtype=bool)[4]
    assert np.array_equal(model.predict(x, novelty=True) == -1, new)
    assert np.array_equal(model.predict(x), model.predict(X[:20]))
    assert model.predict_proba(x)[new].tolist() == [[0.0, 0.0, 0.0, 1.0]]
    assert model.predict_proba(x)[~new, -1].max() < 0.5
    if kind is HDPHMM:
        assert model.filter_proba(x)[new].tolist() == [[0.0, 0.0, 0.0, 1.0]]
        assert model.filter_one(x[4]).tolist() == [0.0, 0.0, 0.0, 1.0]
        assert model.score(x) == pytest.approx(model.score(X[:20]) - np.log(len(X) + 2.0))
    else:
        np.testing.assert_allclose(model.score_samples(X[:20]) - model.score_samples(x), new * np.log(len(X) + 2.0))


def student(X, x, m0, c0, a0, b0):
    """The log predictive density of x after the points X of one cluster, (11) and (13) of the paper."""
    n, mean = len(X), X.mean()
    c, a = c0 + n, a0 + n / 2.0
    b = b0 + ((X - mean) ** 2).sum() / 2.0 + c0 * n * (mean - m0) ** 2 / (2.0 * c)
    return stats.t.logpdf(x, 2.0 * a, (c0 * m0 + n * mean) / c, np.sqrt(b * (c + 1.0) / (a * c)))


@KINDS
def test_densities_are_those_of_all_columns(kind):
    """So they integrate to 1: the density of the states times that of one cluster of all points."""
    X, groups, _ = machine()
    X, groups, prior = X[::2, [1, 2]], groups[::2], NormalGamma([0.0, 7.0], 0.05, 2.0, [3.0, 2.0])
    model = fitted(kind, X, groups, likelihood=prior, relevance="search")
    alone = fitted(kind, X[:, 1:], groups, likelihood=NormalGamma(7.0, 0.05, 2.0, 2.0))
    assert model.relevant_.tolist() == [False, True]
    assert model.labels_.tolist() == alone.labels_.tolist()
    x = X[::9] + 0.5
    others = student(X[:, 0], x[:, 0], 0.0, 0.05, 2.0, 3.0)
    if kind is HDPHMM:
        assert model.score(x) == pytest.approx(alone.score(x[:, 1:]) + others.sum())
    else:
        np.testing.assert_allclose(model.score_samples(x), alone.score_samples(x[:, 1:]) + others)


def test_states_that_only_the_order_shows():
    """Two states 2 sd apart are one cluster without their order: then all columns are read, and noise goes later."""
    rng = np.random.default_rng(3)
    z = np.tile(np.repeat([0, 1], 50), 2)
    X = np.column_stack([rng.normal(size=200), 2.0 * z + rng.normal(size=200)])
    assert MAPDPM().fit(X).n_clusters_ == 1
    model = HDPHMM(likelihood="auto").fit(X)
    assert model.n_states_ == 2
    assert model.relevant_.tolist() == [False, True]


def test_a_drawn_path_has_all_columns():
    X, _, _ = machine()
    drawn = known(HDPHMM).sample_path(400, 0).points
    assert np.all(drawn[:, CONSTANT] == 2.0)
    assert np.ptp(drawn[:, 2]) > 10.0
    np.testing.assert_allclose(drawn[:, [0, 1, 3]].std(axis=0), X[:, [0, 1, 3]].std(axis=0), rtol=0.3)


def test_a_damaged_file_is_refused():
    model = copy.copy(known(HDPMixture))
    model._relevance = model._relevance._replace(columns=np.array([2, 3]))
    with pytest.raises(ModelFileError, match="columns"):
        HDPMixture.from_bytes(model.to_bytes())


@pytest.mark.parametrize("likelihood", [None, NormalGamma(0.0, 0.01, 1.0, 1.0)])
def test_a_prior_of_one_number_for_all_columns(likelihood):
    X, _, _ = machine()
    assert MAPDPM(likelihood=likelihood, relevance="search").fit(X).relevant_.tolist() == [d == 2 for d in range(8)]
