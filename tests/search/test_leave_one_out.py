"""The pseudo-log-likelihood, Raykov2014 (16), against scipy on raw points, each of them taken out of its cluster."""

import math

import numpy as np
import pytest
from scipy import stats

from mapdpm import MAPDPM, BetaBernoulli, GammaPoisson, NormalGamma, NormalInverseWishart, NormalKnownVariance
from mapdpm.backends import BACKENDS
from tests.marks import QUICK_BACKENDS, complete_but
from tests.missing_values import with_gaps
from tests.oracle import missing, raw

PRIOR = NormalGamma([4.0, 4.0], 0.05, 1.5, [1.0, 2.0])


def blobs(offset=0.0, seed=0, n=60):
    rng = np.random.default_rng(seed)
    return offset + rng.choice([0.0, 8.0], (n, 1)) + rng.normal(size=(n, 2))


def students(X, labels, likelihood, alpha):
    """(16) as it is printed: (1), and the Student-t densities (11) of the statistics (13)."""
    terms = raw.log_partition(labels, alpha)
    m0, c0, a0, b0, _ = likelihood
    for i, x in enumerate(X):
        others = np.delete(X, i, axis=0)[np.delete(labels, i) == labels[i]]
        n = len(others)
        mean = others.mean(axis=0) if n else np.zeros(X.shape[1])
        c, a = c0 + n, a0 + n / 2
        b = b0 + ((others - mean) ** 2).sum(axis=0) / 2 + c0 * n * (mean - m0) ** 2 / (2 * c)
        m = (c0 * m0 + n * mean) / c
        terms += stats.t.logpdf(x, 2 * a, m, np.sqrt(b * (c + 1) / (a * c))).tolist()
    return math.fsum(terms)


def by_marginals(X, labels, log_marginal, log_p):
    """log p(z), and what each point adds to the log marginal of the others of its cluster."""
    clusters = {k: np.flatnonzero(labels == k) for k in np.unique(labels)}
    whole = {k: log_marginal(points) for k, points in clusters.items()}
    rest = [log_marginal(np.setdiff1d(clusters[k], i)) if len(clusters[k]) > 1 else 0.0 for i, k in enumerate(labels)]
    return log_p + math.fsum([*(whole[k] for k in labels), *(-each for each in rest)])


@pytest.mark.parametrize("backend", complete_but(QUICK_BACKENDS, BACKENDS))
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_it_is_16_of_the_paper(backend, offset):
    X, likelihood = blobs(offset), PRIOR._replace(m0=PRIOR.m0 + offset)
    X[-1] += 300.0  # which is alone
    model = MAPDPM(2.0, likelihood=likelihood, backend=backend).fit(X)
    labels = model.labels_.copy()
    assert 1 in model.cluster_sizes_
    assert model.pseudo_log_likelihood(X) == pytest.approx(students(X, labels, likelihood, 2.0), rel=1e-9)
    assert model.pseudo_log_likelihood(X) == model.pseudo_log_likelihood(X.tolist())
    np.testing.assert_array_equal(model.labels_, labels)


def counts(X):
    return np.floor(np.abs(X))


CASES = {
    "known variance": (NormalKnownVariance(4.0, 20.0, 1.0), blobs()),
    "full covariance": (NormalInverseWishart([4.0, 4.0], 0.05, 3.0, np.eye(2)), blobs()),
    "counts": (GammaPoisson([1.0, 1.0], [0.3, 0.3]), counts(blobs())),
    "binary": (BetaBernoulli([0.5, 0.5], [0.5, 0.5]), (blobs() > 4.0).astype(float)),
}


@pytest.mark.parametrize("backend", complete_but(["python"], ["python", "auto"]))
@pytest.mark.parametrize("discount", complete_but([0.0], [0.0, 0.3]))
@pytest.mark.parametrize("name", CASES)
def test_every_family(name, discount, backend):
    likelihood, X = CASES[name]
    model = MAPDPM(2.0, likelihood=likelihood, discount=discount, backend=backend).fit(X)
    log_p = math.fsum(raw.log_partition(model.labels_, 2.0, discount))
    expected = by_marginals(
        X, model.labels_, lambda points: math.fsum(raw.log_marginal_terms(X[points], model.likelihood_)), log_p
    )
    assert model.pseudo_log_likelihood(X) == pytest.approx(expected, rel=1e-9)


def test_a_point_is_left_out_with_its_weight():
    X, likelihood = blobs(), PRIOR
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(X))
    model = MAPDPM(2.0, likelihood=likelihood).fit(X, sample_weight=weights)
    there = weights > 0.0
    x, w, labels = X[there], weights[there], model.labels_[there]

    def log_joint(points):
        return math.fsum(raw.formula_terms(x[points], labels[points], likelihood, 2.0, w[points]))

    def log_p(points):
        sizes = np.bincount(labels[points], w[points])
        sizes = sizes[sizes > 0.0]
        return math.lgamma(2.0) - math.lgamma(2.0 + sizes.sum()) + sum(math.log(2.0) + math.lgamma(n) for n in sizes)

    everyone = np.arange(len(x))
    expected = by_marginals(x, labels, lambda points: log_joint(points) - log_p(points), log_p(everyone))
    assert model.pseudo_log_likelihood(X, weights) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="X and sample_weight must be those of the fit"):
        model.pseudo_log_likelihood(X)


@pytest.mark.parametrize("backend", complete_but(["python"], ["python", "numba", "c"]))
def test_missing_values(backend):
    X = with_gaps(blobs(), 0.3, 0)
    model = MAPDPM(2.0, likelihood=PRIOR, missing="skip", backend=backend).fit(X)
    log_p = math.fsum(raw.log_partition(model.labels_, 2.0))
    expected = by_marginals(X, model.labels_, lambda points: missing.log_marginal(X[points], PRIOR), log_p)
    assert model.pseudo_log_likelihood(X) == pytest.approx(expected, rel=1e-9)


def test_other_points_are_refused():
    X = blobs()
    model = MAPDPM(2.0, likelihood=PRIOR).fit(X)
    for others in (X[::-1], X + 0.01, np.where(np.arange(60)[:, None] == 7, X + 1.0, X)):
        with pytest.raises(ValueError, match="X and sample_weight must be those of the fit"):
            model.pseudo_log_likelihood(others)
    with pytest.raises(ValueError, match="it has 59 points, the fit had 60"):
        model.pseudo_log_likelihood(X[1:])
    with pytest.raises(ValueError, match="X has 1 features"):
        model.pseudo_log_likelihood(X[:, :1])
    del model.labels_
    with pytest.raises(ValueError, match="the labels of the fit are not here"):
        model.pseudo_log_likelihood(X)


def test_float32_and_saved_models():
    X = blobs()
    model = MAPDPM(2.0, likelihood=PRIOR).fit(X.astype(np.float32))
    exact = MAPDPM(2.0, likelihood=PRIOR, init=model.labels_, moves=()).fit(X)
    assert model.pseudo_log_likelihood(X.astype(np.float32)) == pytest.approx(exact.pseudo_log_likelihood(X), rel=1e-6)
    restored = MAPDPM.from_bytes(exact.to_bytes())
    assert restored.pseudo_log_likelihood(X) == pytest.approx(exact.pseudo_log_likelihood(X), rel=1e-12)


def test_columns_without_clusters_are_those_of_one_cluster():
    rng = np.random.default_rng(2)
    X = np.column_stack([blobs()[:, :1], rng.normal(size=60), np.full(60, 3.0), rng.normal(size=60)])
    prior = NormalGamma([4.0, 0.0, 3.0, 0.0], 0.05, 1.5, 1.0)
    model = MAPDPM(2.0, likelihood=prior, relevance="search").fit(X)
    assert model.relevant_.tolist() == [True, False, False, False]
    one = np.zeros(60, dtype=int)
    others = students(X[:, [1, 3]], one, NormalGamma([0.0, 0.0], 0.05, 1.5, [1.0, 1.0]), 2.0)
    others -= math.fsum(raw.log_partition(one, 2.0))
    expected = students(X[:, :1], model.labels_, NormalGamma([4.0], 0.05, 1.5, [1.0]), 2.0) + others
    assert model.pseudo_log_likelihood(X) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="X and sample_weight must be those of the fit"):
        model.pseudo_log_likelihood(X * [1.0, 1.1, 1.0, 1.0])


def test_weights_under_a_fitted_prior_are_relative():
    X, weights = blobs(), np.random.default_rng(1).choice([0.0, 300.0, 600.0], 60)
    model = MAPDPM().fit(X, sample_weight=weights)
    own = weights / weights[weights > 0.0].mean()
    given = MAPDPM(likelihood=model.likelihood_, init=np.maximum(model.labels_, 0), moves=(), max_sweeps=0)
    expected = given.fit(X, sample_weight=own).pseudo_log_likelihood(X, own)
    assert model.pseudo_log_likelihood(X, weights) == pytest.approx(expected, rel=1e-9)


def test_a_rounded_column_without_clusters_is_that_of_one_cluster():
    X = np.column_stack([blobs()[:, 0], np.round(3.0 * np.sin(np.arange(60.0)))])
    prior = NormalGamma([4.0, 0.0], 0.05, 1.5, [1.0, 4.0], [0.0, 1.0])
    model = MAPDPM(likelihood=prior, relevance="search").fit(X)
    assert model.relevant_.tolist() == [True, False]
    one = np.zeros(60, dtype=int)
    rounded = MAPDPM(likelihood=NormalGamma(0.0, 0.05, 1.5, 4.0, 1.0), init=one, moves=(), max_sweeps=0).fit(X[:, 1:])
    others = rounded.pseudo_log_likelihood(X[:, 1:]) - math.fsum(raw.log_partition(one, 1.0))
    expected = students(X[:, :1], model.labels_, NormalGamma([4.0], 0.05, 1.5, [1.0]), 1.0) + others
    assert model.pseudo_log_likelihood(X) == pytest.approx(expected, rel=1e-9)
