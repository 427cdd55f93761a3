"""OnlineMAPDPM.merged: many learners into one."""

import contextlib
import hashlib
import itertools
import signal
import threading
import time
import zlib

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalKnownVariance, OnlineHDP, OnlineMAPDPM
from mapdpm.files.errors import ModelFileError
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.stream import summaries
from mapdpm.stream.c_learner import Learner
from oracle import pooling as slow
from stream_points import blobs, flow

PRIOR = NormalGamma([0.0, 0.0], 0.05, 1.0, [1.0, 1.0])


def test_merged_in_any_order_and_again():
    X, y = blobs(8000, seed=11, D=3, K=6)
    parts = [OnlineMAPDPM(12, dtype="float32" if i % 2 else "float64").partial_fit(X[i::8]) for i in range(8)]
    pooled = OnlineMAPDPM.merged(parts)
    order = np.random.default_rng(0).permutation(8)
    assert OnlineMAPDPM.merged([parts[i].to_bytes() for i in order]).to_bytes() == pooled.to_bytes()
    assert OnlineMAPDPM.merged([pooled]).to_bytes() == pooled.to_bytes()
    assert OnlineMAPDPM.merged([pooled]).n_clusters == 6
    assert pooled.weights.sum() == len(X)
    assert adjusted_mutual_info(y, pooled.predict(X)) > 0.98
    np.testing.assert_allclose(np.average(pooled.means, axis=0, weights=pooled.weights), X.mean(axis=0), atol=1e-5)


@pytest.mark.parametrize(("most", "scale"), [(60, 30.0), (20, 30.0), (60, 4.0), (60, 8.0), (4, 100.0), (12, 300.0)])
def test_merged_takes_the_best_pair_each_time(most, scale):
    """Against a search over all pairs before every merge."""
    rng = np.random.default_rng(most)
    parts = [OnlineMAPDPM(30, likelihood=PRIOR) for _ in range(5)]
    for part in parts:
        centres = rng.normal(0, scale, (12, 2))
        part.learn_many(np.repeat(centres, 6, axis=0) + rng.normal(size=(72, 2)))
    found = [part.clusters() for part in parts]
    each = [zip(f.weights, f.means, f.variances, strict=True) for f in found]
    clusters = [(n, mean, n * variance) for n, mean, variance in itertools.chain(*each)]
    wanted = slow.best_first(clusters, parts[0], most)
    assert len(wanted) < len(clusters)
    pooled = OnlineMAPDPM.merged(parts, max_clusters=most)
    assert sorted(pooled.weights) == pytest.approx(sorted(n for n, _, _ in wanted))
    means = [mean for _, mean, _ in wanted]
    np.testing.assert_allclose(np.sort(pooled.means, axis=0), np.sort(means, axis=0), rtol=1e-9)


@pytest.mark.parametrize(
    ("most", "n_centres", "n_parts"),
    [(8, 12, 40), *(pytest.param(*each, marks=pytest.mark.complete) for each in ((70, 90, 30), (4, 90, 30)))],
)
def test_many_clusters_are_merged_in_parts(most, n_centres, n_parts):
    """Against the slow way, in any order."""
    rng = np.random.default_rng(most)
    centres = rng.normal(0, 30.0, (n_centres, 2))
    parts = [OnlineMAPDPM(30, likelihood=PRIOR) for _ in range(n_parts)]
    for part in parts:
        own = centres[rng.integers(0, n_centres, 12)] + rng.normal(size=(12, 2))
        part.learn_many(np.repeat(own, 6, axis=0) + rng.normal(size=(72, 2)))
    found = [part.clusters() for part in parts]
    each = [zip(f.weights, f.means, f.variances, strict=True) for f in found]
    clusters = [(n, mean, n * variance) for n, mean, variance in itertools.chain(*each)]
    assert len(clusters) > slow.MOST_AT_ONCE
    wanted = slow.merged_in_parts(clusters, parts[0], most)
    pooled = OnlineMAPDPM.merged(parts, max_clusters=most)
    assert sorted(pooled.weights) == pytest.approx(sorted(n for n, _, _ in wanted))
    means = [mean for _, mean, _ in wanted]
    np.testing.assert_allclose(np.sort(pooled.means, axis=0), np.sort(means, axis=0), rtol=1e-9)
    assert OnlineMAPDPM.merged(parts[::-1], max_clusters=most).to_bytes() == pooled.to_bytes()
    assert OnlineMAPDPM.merged([pooled]).to_bytes() == pooled.to_bytes()


def many_clusters(n, D=2, **options):
    """A learner of ``n`` clusters, far from each other."""
    prior = NormalKnownVariance(np.zeros(D), np.full(D, 1e6), np.ones(D))
    X = np.random.default_rng(n).uniform(-1e6, 1e6, (n, D))
    return OnlineMAPDPM(n, likelihood=prior, surprise=False, **options).partial_fit(X)


def test_a_message_of_too_many_clusters_is_refused(monkeypatch):
    large = many_clusters(40)
    assert OnlineMAPDPM.merged([large.summary()]).n_clusters == 40
    monkeypatch.setattr(summaries, "MOST_CLUSTERS", 40)
    message = large.summary()
    monkeypatch.setattr(summaries, "MOST_CLUSTERS", 39)
    with pytest.raises(ModelFileError, match="the summary has 40 clusters, but at most 39 are read"):
        OnlineMAPDPM.merged([message])
    with pytest.raises(ModelFileError, match="the summary has 40 clusters, but at most 39 are read"):
        OnlineHDP(with_base=True).set_base(message)
    with pytest.raises(ValueError, match=r"at most 39 clusters, got 40; .*max_clusters=39"):
        large.summary()
    assert OnlineMAPDPM.merged([large]).n_clusters == 40


def test_the_largest_message_takes_less_than_a_second():
    """A sender who writes the clusters of a message may choose any."""
    message = many_clusters(summaries.MOST_CLUSTERS, 1, dtype="float32").summary()
    for read in (
        lambda: OnlineMAPDPM.merged([message]),
        lambda: OnlineMAPDPM.merged([message], max_clusters=16),
        lambda: OnlineHDP(with_base=True).set_base(message),
    ):
        began = time.process_time()
        read()
        assert time.process_time() - began < 1.0


def test_merged_ends_at_ctrl_c(monkeypatch):
    """The search for merges takes minutes for many thousands of clusters, and works on a copy."""
    model, ended = OnlineMAPDPM(4, likelihood=PRIOR).partial_fit(flow(100)), threading.Event()

    def in_c(*_):
        try:
            hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000)  # a second or so of C, which no signal ends
        finally:
            ended.set()

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "reduce", in_c)
        with alarm(0.1), pytest.raises(KeyboardInterrupt):
            OnlineMAPDPM.merged([model])
        assert not ended.is_set()
    assert ended.wait(60.0)
    assert OnlineMAPDPM.merged([model]).n_clusters == model.n_clusters


@contextlib.contextmanager
def alarm(seconds):
    """A KeyboardInterrupt after ``seconds``."""

    def ring(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_merged_names_its_prior():
    a = OnlineMAPDPM(4, likelihood=PRIOR).partial_fit(flow(100))
    wide = NormalGamma([0.0, 0.0], 0.01, 1.0, [9.0, 9.0])
    assert OnlineMAPDPM.merged([a], likelihood=wide).likelihood_ == wide
    assert OnlineMAPDPM.merged([a], max_clusters=2).n_clusters <= 2
    with pytest.raises(ValueError, match="at least one state, got none"):
        OnlineMAPDPM.merged([])
    with pytest.raises(ValueError, match="same features, got states of 1, 2 features"):
        OnlineMAPDPM.merged([a, OnlineMAPDPM(likelihood=NormalGamma(0.0, 1.0, 1.0, 1.0), n_features=1)])


def test_clusters_that_have_decayed_to_nothing():
    """A file in which the clock is far ahead of all points: learning would have let the clusters age out."""
    model = OnlineMAPDPM(8, likelihood=PRIOR, half_life=100.0, surprise=False)
    model.learn_many([[20.0 * k, 0.0] for k in range(6)], t=range(6))
    data = bytearray(model.to_bytes())
    assert data[144:152] == (5_000_000).to_bytes(8, "little")
    data[144:152] = (10**15).to_bytes(8, "little")
    data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
    assert OnlineMAPDPM.from_bytes(bytes(data)).weights.tolist() == [0.0] * model.n_clusters
    assert OnlineMAPDPM.merged([bytes(data)]).n_clusters == 0
    assert OnlineMAPDPM.merged([bytes(data), model]).n_clusters == model.n_clusters
