"""The prior of the warm-up is revisited: it narrows where a stream is stuck in one cluster."""

from functools import partial

import numpy as np
import pytest

from mapdpm import NormalGamma, OnlineHDPHMM, OnlineMAPDPM, metrics
from tests.drifting_squares import squares


def kinds(model):
    return [event.kind for event in model.events]


@pytest.mark.parametrize("gap", [1.0, 2.0])
def test_moving_squares(gap):
    """Squares that move are found by default settings, on average; revisiting the prior must not spoil that."""
    found = []
    for seed in range(10):
        X, classes = squares(10_000, np.random.default_rng(seed), gap=gap)
        found.append(metrics.adjusted_mutual_info(classes[200:], OnlineMAPDPM().learn_many(X)[200:]))
    assert np.mean(found) > 0.9


def blurred(n, rng):
    """Four squares that sway by six sides during the warm-up, so that it takes them for one cluster; then they rest."""
    classes = rng.integers(0, 4, n)
    points = rng.uniform(size=(n, 2)) + 2.0 * np.column_stack([classes % 2, classes // 2])
    t = np.arange(200)
    points[:200] += 3.0 * np.column_stack([np.sin(t / 11), np.cos(t / 7)])
    return points, classes


@pytest.mark.parametrize("half_life", [60.0, 200.0, None])
@pytest.mark.parametrize("seed", range(3))
def test_it_leaves_the_one_cluster_of_the_warmup(seed, half_life):
    """The prior is as wide as the blur: without a narrower one, a half-life leaves one cluster for good."""
    X, classes = blurred(6000, np.random.default_rng(seed))
    model = OnlineMAPDPM(half_life=half_life).partial_fit(X[:200])
    assert model.n_clusters == 1
    before = model.likelihood_
    ids = model.learn_many(X[200:])
    assert np.all(model.likelihood_.b0 < before.b0 / 4)
    assert model.n_clusters == 4
    assert metrics.adjusted_mutual_info(classes[1000:], ids[800:]) > 0.6


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("D", [1, 2, 5])
def test_one_normal_cluster_stays_as_it_is(D, dtype):
    """Nothing is gained, so nothing changes, however long the stream."""
    X = 1e3 + np.random.default_rng(D).normal(size=(20_000, D))
    model = OnlineMAPDPM(dtype=dtype).partial_fit(X[:200])
    prior = model.likelihood_
    model.partial_fit(X[200:])
    assert model.n_clusters == 1
    assert "prior revisited" not in kinds(model)
    assert repr(model.likelihood_) == repr(prior)


def test_a_small_gain_changes_nothing():
    """A tenth of a nat for each number is asked, here 40 nats: c0 = .01 would gain 14."""
    rng = np.random.default_rng(0)
    X = 10.0 * rng.integers(0, 4, (200, 1)) + rng.normal(size=(200, 2))
    model = OnlineMAPDPM().partial_fit(X)
    assert model.n_clusters == 4
    assert model.likelihood_.c0 == pytest.approx(10 / 200)
    assert "prior revisited" not in kinds(model)


def test_a_prior_that_was_given_stays():
    X, _ = squares(3000, np.random.default_rng(0))
    prior = NormalGamma(X.mean(axis=0), 0.1, 4.0, 8.0)
    model = OnlineMAPDPM(likelihood=prior).partial_fit(X)
    assert "prior revisited" not in kinds(model)
    np.testing.assert_allclose(model.likelihood_.b0, 8.0)


def test_far_clusters_lower_c0_and_are_not_taken_for_wide_ones():
    """The spread of means is part of the prior: 100 deviations apart, c0 falls to a fifth, and an event says so."""
    rng = np.random.default_rng(0)
    X = 100.0 * rng.integers(0, 5, (200, 1)) + rng.normal(size=(200, 2))
    model = OnlineMAPDPM().partial_fit(X)
    assert model.likelihood_.c0 == pytest.approx(0.2 * 10 / 200)
    assert kinds(model)[-1] == "prior revisited"
    assert model.events[-1].id == -1


@pytest.mark.parametrize(
    "settings", [{}, {"half_life": 100.0}, {"dtype": "float32"}, {"missing": "skip"}, {"window": 50}]
)
def test_files_go_on_with_the_same_bits(settings):
    """Units are powers of two of the prior, so moments change with them: a file must hold both as they are."""
    X, _ = squares(4000, np.random.default_rng(1), gap=1.0)
    X = 1e-3 * X
    whole = OnlineMAPDPM(**settings).partial_fit(X)
    part = OnlineMAPDPM(**settings)
    for chunk in np.split(X, [150, 200, 201, 399, 400, 1000, 2001]):
        part.partial_fit(chunk)
        part = OnlineMAPDPM.from_bytes(part.to_bytes())
    assert part.to_bytes() == whole.to_bytes()


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("place", ["alone", "beside", "far away"])
@pytest.mark.parametrize("make", [OnlineMAPDPM, partial(OnlineMAPDPM, half_life=100.0), OnlineHDPHMM])
def test_a_file_is_read_in_any_unit(dtype, place, make):
    """What a learner writes, a reader takes, and goes on to the same bits; or the learner refuses the points."""
    rng = np.random.default_rng(1)
    x, other = rng.normal(size=400), rng.normal(size=400)
    n_learned = 0
    for exponent in range(-310, 301, 10):
        half = 10.0 ** (exponent / 2)  # 1e-310 itself has few digits
        column = x * half * half
        X = column[:, None] if place == "alone" else np.column_stack([other, column + (place == "far away")])
        model = make(8, warmup=100, dtype=dtype)
        try:
            model.learn_many(X[:300])
        except ValueError:
            continue
        again = type(model).from_bytes(model.to_bytes())
        model.learn_many(X[300:])
        again.learn_many(X[300:])
        assert model.to_bytes() == again.to_bytes()
        n_learned += 1
    assert n_learned > 10
