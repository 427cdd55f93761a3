"""A fit goes on as a stream: its clusters are those of the points, and densities those of textbook formulas."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm, t

from mapdpm import MAPDPM, DPMeans, GammaPoisson, NormalGamma, NormalInverseWishart, NormalKnownVariance, OnlineMAPDPM
from mapdpm.files.c_export import as_stream

OFFSET = 1e6  # far from 0: the anchor of the fit is the median, that of the stream the prior mean


def points(n=900, missing=False):
    rng = np.random.default_rng(3)
    X = OFFSET + rng.normal(size=(n, 2)) * [1.0, 3.0] + np.array([[0, 0], [30, 0], [0, 60]])[rng.integers(0, 3, n)]
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
    return X


PRIORS = {
    "normal-gamma": NormalGamma(m0=OFFSET + 10.0, c0=0.05, a0=1.5, b0=(2.0, 9.0)),
    "known-variance": NormalKnownVariance(OFFSET + 10.0, 900.0, (1.0, 9.0)),
}


def log_densities(X, labels, x, prior, alpha):
    """log (sum_k n_k p_k(x) + alpha p_0(x)) / (n + alpha) by the textbook, from the points of each cluster."""
    terms = []
    for k in [*range(labels.max() + 1), None]:
        own = X[labels == k] if k is not None else X[:0]
        total = np.full(len(x), np.log(len(own) if k is not None else alpha))
        for d in range(X.shape[1]):
            y = own[~np.isnan(own[:, d]), d] - OFFSET
            n, mean = len(y), y.mean() if len(y) else 0.0
            squares, m0 = ((y - mean) ** 2).sum(), prior.m0[0] - OFFSET
            if isinstance(prior, NormalGamma):
                c0, a0, b0 = float(np.ravel(prior.c0)[0]), float(np.ravel(prior.a0)[0]), prior.b0[d]
                c, a = c0 + n, a0 + n / 2
                b = b0 + squares / 2 + c0 * n * (mean - m0) ** 2 / (2 * c)
                own_density = t(2 * a, (c0 * m0 + n * mean) / c, np.sqrt(b * (c + 1) / (a * c)))
            else:
                within, between = prior[2][d], prior[1][0]
                precision = 1 / between + n / within
                own_density = norm((m0 / between + n * mean / within) / precision, np.sqrt(within + 1 / precision))
            there = ~np.isnan(x[:, d])
            total[there] += own_density.logpdf(x[there, d] - OFFSET)
        terms.append(total)
    return logsumexp(terms, axis=0) - np.log(len(X) + alpha)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("missing", [False, True])
def test_the_clusters_and_densities_are_those_of_the_points(prior, missing):
    X = points(missing=missing)
    model = MAPDPM(0.7, likelihood=prior, missing="skip" if missing else "error").fit(X)
    stream = OnlineMAPDPM.from_model(model)
    labels = model.labels_
    assert stream.ids.tolist() == list(range(model.n_clusters_)) == [0, 1, 2]
    assert (stream.n_seen, stream.alpha, stream.max_clusters, stream.missing) == (len(X), 0.7, 16, model.missing)
    assert stream.weights.tolist() == np.bincount(labels).tolist()
    for k in range(3):
        own = X[labels == k]
        np.testing.assert_allclose(stream.means[k], np.nanmean(own, axis=0), rtol=1e-14)
        np.testing.assert_allclose(stream.variances[k], np.nanvar(own - OFFSET, axis=0), rtol=1e-10)
    x = np.vstack([X[:50], OFFSET + np.array([[500.0, -900.0], [15.0, 30.0]])])
    np.testing.assert_allclose(stream.score_samples(x), model.score_samples(x), atol=1e-10)
    np.testing.assert_allclose(stream.score_samples(x), log_densities(X, labels, x, prior, 0.7), atol=1e-8)
    np.testing.assert_array_equal(stream.predict(X), model.predict(X))
    assert type(stream.likelihood_) is type(prior)
    assert OnlineMAPDPM.from_bytes(stream.to_bytes()).to_bytes() == stream.to_bytes()


def test_it_learns_on_and_forgets_the_fit():
    X = points()
    stream = OnlineMAPDPM.from_model(MAPDPM(likelihood=PRIORS["normal-gamma"]).fit(X), half_life=100)
    stream.learn_many(X[:100])
    assert stream.weights.sum() == pytest.approx(450.0 + sum(0.5 ** (i / 100) for i in range(100)))
    assert stream.n_seen == 1000
    assert stream.n_clusters == 3


def test_in_time_the_fit_counts_as_of_the_first_point():
    X = points()
    model = MAPDPM(likelihood=PRIORS["normal-gamma"]).fit(X)
    stream = OnlineMAPDPM.from_model(model, half_life=10.0)
    stream.learn_one(X[0], t=1e9)
    assert stream.weights.sum() == pytest.approx(901.0)
    stream.learn_one(X[0], t=1e9 + 10.0)
    assert stream.weights.sum() == pytest.approx(451.5)


@pytest.mark.parametrize("t", [None, 1e9])
def test_the_first_point_after_the_fit_is_assessed_as_it_is_learned(t):
    X = points()
    stream = OnlineMAPDPM.from_model(MAPDPM(likelihood=PRIORS["normal-gamma"]).fit(X), half_life=10.0)
    before = stream.assess_one(X[0], t)
    np.testing.assert_array_equal(before[:4], stream.learn_assessed(X[0], t)[:4])


def test_no_cluster_of_the_fit_is_idle():
    """Where a slot must become free, the lighter cluster goes; the first one does not count as unseen for long."""
    X = np.concatenate([np.zeros(12), np.full(10, 200.0)])[:, None]
    model = MAPDPM(likelihood=NormalKnownVariance(100.0, 1e6, 1.0)).fit(X)
    stream = OnlineMAPDPM.from_model(model, max_clusters=2, when_full="evict")
    stream.learn_one([1e9])
    assert [event.id for event in stream.events if event.kind == "evicted"] == [1]


def test_weights_of_points_names_and_single_precision():
    pandas = pytest.importorskip("pandas")
    X = points() - OFFSET
    frame = pandas.DataFrame(X, columns=["height", "width"])
    prior = NormalGamma(m0=10.0, c0=0.05, a0=1.5, b0=4.0)
    weights = np.where(np.arange(len(X)) % 2, 0.5, 1.5)
    model = MAPDPM(likelihood=prior).fit(frame, sample_weight=weights)
    stream = OnlineMAPDPM.from_model(model)
    np.testing.assert_allclose(stream.weights, [weights[model.labels_ == k].sum() for k in range(model.n_clusters_)])
    assert stream.feature_names_in_.tolist() == ["height", "width"]
    single = OnlineMAPDPM.from_model(model, dtype="float32", max_clusters=3)
    np.testing.assert_allclose(single.score_samples(frame), model.score_samples(frame), atol=1e-3)
    assert (single.max_clusters, single.n_clusters) == (3, 3)


def test_refusals():
    X = points()
    model = MAPDPM(likelihood=PRIORS["normal-gamma"]).fit(X)
    with pytest.raises(ValueError, match="max_clusters must be at least 3, the clusters of the model, got 2"):
        OnlineMAPDPM.from_model(model, max_clusters=2)
    merged = OnlineMAPDPM.merged([OnlineMAPDPM.from_model(model)], max_clusters=2)
    assert merged.weights.sum() == len(X)
    with pytest.raises(ValueError, match=r"the model has discount=0\.2; fit it with discount=0"):
        OnlineMAPDPM.from_model(MAPDPM(discount=0.2, likelihood=PRIORS["normal-gamma"]).fit(X))
    with pytest.raises(ValueError, match="a model of GammaPoisson cannot go on as a stream; NormalGamma and Normal"):
        OnlineMAPDPM.from_model(MAPDPM(likelihood=GammaPoisson(1.0, 1.0)).fit(np.ones((9, 1))))
    with pytest.raises(ValueError, match="a model of NormalInverseWishart cannot go on as a stream"):
        OnlineMAPDPM.from_model(MAPDPM(likelihood=NormalInverseWishart).fit(X))
    with pytest.raises(ValueError, match="model must be a fitted MAPDPM, got an object of type DPMeans"):
        OnlineMAPDPM.from_model(DPMeans(lam=100.0).fit(X))
    noisy = np.column_stack([X, np.ones(len(X))])
    partial = MAPDPM(likelihood=NormalGamma.empirical(noisy), relevance="search").fit(noisy)
    refused = r"streams learn all columns, and this model reads 2 of 3: fit it on these columns \(0, 1\), or with rel"
    for refuses in (OnlineMAPDPM.from_model, as_stream):
        with pytest.raises(ValueError, match=refused):
            refuses(partial)
    with pytest.raises(ValueError, match="not fitted"):
        OnlineMAPDPM.from_model(MAPDPM())
    with pytest.raises(ValueError, match="not fitted"):
        as_stream(MAPDPM())
