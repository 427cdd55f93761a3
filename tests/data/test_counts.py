"""Sparse counts pass through everything that dense points pass through, and say the same."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    GammaPoisson,
    NormalInverseWishart,
    select_alpha,
)
from mapdpm.data.counts import Counts, check_counts
from mapdpm.testing.backends import agree
from mapdpm.testing.data import Case
from tests.families import FAMILIES, as_array, example
from tests.marks import complete_but, slow_but
from tests.oracle import raw

SEEDS = st.integers(0, 2**32 - 1)
MOVES = ("merge", "split", "permutation", "regroup")


def documents(seed=0, n=120, n_words=60, n_topics=4, length=40):
    """Counts, and the topic of each document."""
    rng = np.random.default_rng(seed)
    topics, z = rng.dirichlet(np.full(n_words, 0.1), n_topics), rng.integers(0, n_topics, n)
    return np.array([rng.multinomial(length, topics[k]) for k in z]), z


@given(SEEDS)
def test_rows_are_those_of_the_array(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (int(rng.integers(1, 9)), int(rng.integers(1, 7))))
    counts = check_counts(sparse.coo_array(X))
    chosen = rng.integers(0, len(X), 5)
    np.testing.assert_array_equal(as_array(counts), X)
    np.testing.assert_array_equal(as_array(counts.rows(chosen)), X[chosen])
    np.testing.assert_array_equal(as_array(counts.part(0, len(X) // 2)), X[: len(X) // 2])
    np.testing.assert_array_equal(counts.totals(), X.sum(axis=1))
    assert (counts.n_points, counts.n_features) == X.shape
    assert check_counts(counts) is counts


def test_entries_that_are_there_twice_add_up():
    twice = sparse.csr_array((np.array([1, 2, 4]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    np.testing.assert_array_equal(as_array(check_counts(twice)), [[0, 3, 0], [4, 0, 0]])
    assert not twice.has_canonical_format  # the caller's is left as it was


@given(SEEDS)
def test_vectors_of_a_part_are_those_of_the_whole(seed):
    for n_words in (20, 400):
        counts = check_counts(np.random.default_rng(seed).poisson(0.3, (9, n_words)))
        part = counts.rows(np.array([7, 2]))
        np.testing.assert_allclose(part.as_vectors(), counts.as_vectors()[[7, 2]], atol=1e-14)


def test_vectors_keep_distances():
    """With 32 signs a squared distance is off by sqrt(2 / 32) of itself, a mean of 1,000 by 0.01: five times that."""
    X = np.random.default_rng(1).poisson(0.2, (1000, 3000)) + np.eye(1000, 3000)
    near = check_counts(X).as_vectors()
    roots = np.sqrt(X / X.sum(axis=1, keepdims=True))
    ratios = ((near[1:] - near[:-1]) ** 2).sum(axis=1) / ((roots[1:] - roots[:-1]) ** 2).sum(axis=1)
    assert abs(ratios.mean() - 1.0) < 0.05


@pytest.mark.parametrize(
    "kind", complete_but([sparse.csr_matrix], [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
)
def test_sparse_and_dense_are_one(kind):
    X, z = documents()
    prior = DirichletMultinomial.empirical(X)
    dense, thin = MAPDPM(likelihood=prior).fit(X), MAPDPM(likelihood=prior, n_jobs=2).fit(kind(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    assert dense.log_joint_ == thin.log_joint_
    assert thin.n_features_in_ == X.shape[1]
    assert len(set(zip(dense.labels_.tolist(), z.tolist(), strict=True))) == thin.n_clusters_ == 4
    for verb in ("predict", "predict_proba", "score_samples", "score"):
        np.testing.assert_array_equal(getattr(dense, verb)(X), getattr(thin, verb)(kind(X)))
    np.testing.assert_allclose(thin.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    copy = pickle.loads(pickle.dumps(thin))
    np.testing.assert_array_equal(copy.score_samples(X), thin.score_samples(X))


@pytest.mark.complete
def test_scores_are_quotients_of_joints():
    X, _ = documents(2, n=12, n_words=5, n_topics=2)
    prior = DirichletMultinomial.empirical(X)
    model = MAPDPM(0.7, likelihood=prior, discount=0.2).fit(X)
    assert model.log_joint_ == pytest.approx(raw.log_joint(X, model.labels_, prior, 0.7, 0.2), rel=1e-10)
    for x in ([0, 0, 0, 0, 0], [3, 0, 1, 0, 9]):
        options = raw.log_density(X, model.labels_, prior, 0.7, np.array(x), 0.2)
        assert model.score_samples([x])[0] == pytest.approx(np.logaddexp.reduce(options), rel=1e-9)


@pytest.mark.complete
def test_weights_are_repetitions():
    X, _ = documents(3, n=30)
    prior = DirichletMultinomial.empirical(X)
    weights = np.random.default_rng(3).integers(0, 4, 30)
    heavy = MAPDPM(likelihood=prior, moves=()).fit(sparse.csr_array(X), sample_weight=weights)
    assert np.all((heavy.labels_ == -1) == (weights == 0))
    again = MAPDPM(likelihood=prior, init=np.repeat(heavy.labels_, weights), moves=(), max_sweeps=1)
    again.fit(np.repeat(X, weights, axis=0))
    assert again.history_[0] == pytest.approx(heavy.log_joint_, rel=1e-12)


@pytest.mark.complete
@pytest.mark.parametrize("family", slow_but([DirichletMultinomial, BetaBernoulli], FAMILIES))
def test_numba_and_python_agree(family):
    likelihood, data = example(family, np.random.default_rng(31), n=40)
    X = sparse.csr_array(as_array(data)) if isinstance(data, Counts) else data
    agree(Case(X, likelihood, alpha=2.0), "numba", "python")


@pytest.mark.complete
@pytest.mark.parametrize("likelihood", [DirichletMultinomial(0.2), GammaPoisson(1.0, 0.5)])
def test_every_move_takes_counts(likelihood):
    X, z = documents(4)
    model = MAPDPM(likelihood=likelihood, moves=MOVES, n_restarts=3, init="random-order").fit(X)
    assert np.all(np.diff(model.history_) >= 0.0)
    for k in range(model.n_clusters_):
        assert len(np.unique(z[model.labels_ == k])) == 1


@pytest.mark.complete
def test_covariances_are_told_apart():
    """Two clusters of one mean, crossed: no diagonal family sees them."""
    rng = np.random.default_rng(5)
    root = np.array([[3.0, 0.0], [2.9, 0.3]])
    X = np.vstack([rng.normal(size=(150, 2)) @ root.T, rng.normal(size=(150, 2)) @ root.T * [1.0, -1.0]])
    model = MAPDPM(likelihood=NormalInverseWishart(0.0, 0.05, 4.0, 0.5)).fit(X)
    majority = [np.bincount((np.arange(300) >= 150)[model.labels_ == k], minlength=2) for k in range(model.n_clusters_)]
    assert sum(max(each) for each in majority) > 240
    for k in range(model.n_clusters_):
        np.testing.assert_allclose(model.variances_[k], X[model.labels_ == k].var(axis=0), rtol=1e-9)


@pytest.mark.complete
def test_alpha_is_chosen_on_counts():
    X, _ = documents(6)
    prior = DirichletMultinomial.empirical(X)
    for method in ("cv", "nll", "map"):
        found = select_alpha(sparse.csr_array(X), [0.1, 1.0], method=method, likelihood=prior, folds=3)
        assert found.model.n_clusters_ == 4
    scaled = select_alpha(X, [{"beta_scale": 0.1}, {"beta_scale": 1e4}], likelihood=prior, method="nll")
    assert scaled.scores[0, 0] > scaled.scores[1, 0]


@pytest.mark.parametrize("family", [f for f in FAMILIES if f not in (Categorical, DirichletMultinomial)])
def test_dense_families_refuse_sparse_points(family):
    likelihood, X = example(family, np.random.default_rng(1))
    with pytest.raises(ValueError, match="X is a sparse matrix, and this likelihood needs a dense array"):
        MAPDPM(likelihood=likelihood).fit(sparse.csr_array(X))
    model = MAPDPM(likelihood=likelihood, backend="python", moves=()).fit(X)
    with pytest.raises(ValueError, match="X is a sparse matrix"):
        model.predict(sparse.csr_array(X))


def damaged():
    """Sparse matrices that load_npz takes, whose arrays do not fit together."""
    whole = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 5]])
    changes = {
        "index too large": lambda X: X.indices.__setitem__(1, 3),
        "index far too large": lambda X: X.indices.__setitem__(1, 2**31 - 1),
        "index negative": lambda X: X.indices.__setitem__(1, -1),
        "indices too short": lambda X: setattr(X, "indices", X.indices[:2]),
        "entries too short": lambda X: setattr(X, "data", X.data[:2]),
        "indptr too short": lambda X: setattr(X, "indptr", X.indptr[:2]),
        "indptr falls": lambda X: X.indptr.__setitem__(1, 9),
        "indptr negative": lambda X: X.indptr.__setitem__(0, -4),
        "indptr too far": lambda X: X.indptr.__setitem__(3, 2**31 - 1),
    }
    for kind in (sparse.csr_matrix, sparse.csc_array):
        for name, change in changes.items():
            X = kind(whole)
            change(X)
            yield pytest.param(X, id=f"{kind.__name__}, {name}")
    for name, attribute, value in (("row too large", "row", 3), ("column negative", "col", -1)):
        X = sparse.coo_matrix(whole)
        numbers = getattr(X, attribute).copy()
        numbers[2] = value
        setattr(X, attribute, numbers)
        yield pytest.param(X, id=f"coo_matrix, {name}")
    X = sparse.bsr_matrix(whole, blocksize=(3, 3))
    X.indices[0] = 7
    yield pytest.param(X, id="bsr_matrix, index too large")
    good = check_counts(whole)
    yield pytest.param(good._replace(indices=good.indices + 2), id="Counts, index too large")
    yield pytest.param(good._replace(values=good.values[:3]), id="Counts, entries too short")


@pytest.mark.parametrize("X", list(damaged()))
def test_damaged_sparse_matrices_are_refused(X):
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        check_counts(X)


def test_entries_behind_the_last_row_do_not_count():
    X = sparse.csr_matrix(np.array([[1, 0, 2], [0, 3, 0]]))
    X.data, X.indices = np.append(X.data, 7), np.append(X.indices, 2)
    assert check_counts(X).values.tolist() == [1.0, 2.0, 3.0]


def test_what_is_no_counts_is_refused():
    model = MAPDPM(likelihood=DirichletMultinomial(1.0), backend="python").fit([[1, 0], [0, 2]])
    with pytest.raises(ValueError, match="X has 3 features, but MAPDPM is expecting 2"):
        model.predict(sparse.csr_array(np.eye(3)))
    for wrong, message in (
        ([[0.5, 0]], "whole numbers from 0 to 1e9, but there is 0.5 at row 0"),
        ([[np.nan, 0]], "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score_samples(wrong)
