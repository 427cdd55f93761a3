"""What tests of HDPHMM share: quick fits, and what must hold of each by the oracle."""

import itertools

import numpy as np
import pytest

from mapdpm import HDPHMM
from tests.families import as_array
from tests.oracle import hdp_hmm as oracle
from tests.search.test_states import PRIOR

SIZES = (60, 1, 59)
NAMES = ("morning", "noon", "evening")


def begins_of(ids):
    """Where sequences begin, and last the number of points."""
    changes = [i for i in range(1, len(ids)) if ids[i] != ids[i - 1]]
    return [0, *changes, len(ids)]


def chain_of(model, ids):
    """The start and the steps of the posterior means, recounted from the labels."""
    return oracle.hidden_markov_model(model.labels_.tolist(), begins_of(ids), model.shares_, model.alpha_, model.kappa)


def quickly(X, ids=None, **parameters):
    """A fit from one state for all points, without moves: for tests of what comes after the search."""
    return HDPHMM(**{"likelihood": PRIOR, "init": np.zeros(len(X), int), "moves": (), **parameters}).fit(X, ids)


def attributes_fit_together(model, X, ids):
    start, steps = chain_of(model, ids)
    K = model.n_states_
    assert K == model.n_clusters_ == model.labels_.max() + 1
    assert model.transitions_.shape == (K, K + 1)
    np.testing.assert_allclose(model.transitions_, steps[:-1], rtol=1e-12)
    np.testing.assert_allclose(model.start_, start, rtol=1e-12)
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1.0, rtol=1e-12)
    assert model.start_.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(model.durations_, 1.0 / (1.0 - np.diag(steps)[:-1]), rtol=1e-9)
    assert model.shares_.shape == (K + 1,)
    assert model.shares_.sum() == pytest.approx(1.0, rel=1e-12)
    assert model.shares_.min() > 0.0
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    np.testing.assert_allclose(model.means_, [X[model.labels_ == k].mean(axis=0) for k in range(K)], atol=1e-12)
    np.testing.assert_allclose(model.variances_, [X[model.labels_ == k].var(axis=0) for k in range(K)], atol=1e-12)
    first = [model.labels_.tolist().index(k) for k in range(K)]
    assert first == sorted(first)
    assert model.history_[-1] == model.log_joint_
    assert np.all(np.diff(model.history_) >= 0.0)


def follows_the_oracle(model, X, ids, past, past_ids):
    """Paths, probabilities and densities of the sequences of ``X``, by enumeration of all paths."""
    start, steps = chain_of(model, past_ids)
    scores = oracle.log_predictives(as_array(X), as_array(past), model.labels_.tolist(), model.likelihood_)
    parts = [slice(a, b) for a, b in itertools.pairwise(begins_of(ids))]

    def each(found, n=None):
        return np.concatenate([found(start[:n], steps[:n, :n], scores[part, :n]) for part in parts])

    np.testing.assert_array_equal(model.predict(X, ids), each(oracle.best_path, -1))
    novel = each(oracle.best_path)
    np.testing.assert_array_equal(model.predict(X, ids, novelty=True), np.where(novel == model.n_states_, -1, novel))
    np.testing.assert_allclose(model.predict_proba(X, ids), each(oracle.smoothed), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.filter_proba(X, ids), each(oracle.filtered), rtol=1e-8, atol=1e-12)
    total = sum(oracle.log_density(start, steps, scores[part]) for part in parts)
    assert model.score(X, ids) == pytest.approx(total, rel=1e-9)
    return novel
