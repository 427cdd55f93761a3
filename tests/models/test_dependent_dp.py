"""The estimator of clusters that drift: the best draw, climbed to a mode."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from mapdpm import ConvergenceWarning, DependentDP, DriftingNormal
from mapdpm.diagnostics import association_variance, correspondence
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.models import dependent_dp_mode
from mapdpm.models.dependent_dp_mode import climbed
from mapdpm.rng import seeded
from mapdpm.samplers import DependentDPGibbs, Given, StickBreaking, sample
from mapdpm.samplers.chain_data import ChainData
from mapdpm.search import settings
from tests.oracle import drift as oracle

STARTS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
STEPS = np.array([[0.2, 0.1], [0.0, 0.3], [0.1, -0.2]])


def drifting(T=5, n=40, seed=0):
    rng = np.random.default_rng(seed)
    times = np.repeat(np.arange(float(T)), n)
    z = rng.integers(0, 3, T * n)
    return STARTS[z] + STEPS[z] * times[:, None] + 0.4 * rng.normal(size=(T * n, 2)), times, z


pytestmark = pytest.mark.complete  # half a minute of compiling


@pytest.fixture(scope="module")
def fitted():
    X, times, _ = drifting()
    return DependentDP(random_state=1).fit(X, times)


def test_clusters_keep_their_labels(fitted):
    X, times, z = drifting()
    assert fitted.n_clusters_ == len(fitted.explicit_labels_) == fitted.labels_.max() + 1
    assert adjusted_mutual_info(z, fitted.labels_) > 0.9
    assert correspondence(X, times, fitted.labels_) > 0.9
    assert fitted.means_.shape == (fitted.n_clusters_, 5, 2)
    k = np.bincount(fitted.labels_[z == 1]).argmax()
    np.testing.assert_allclose(fitted.means_[k], STARTS[1] + STEPS[1] * fitted.times_[:, None], atol=0.5)


def test_log_joint_rises_to_that_of_the_labels(fitted):
    X, times, _ = drifting()
    assert np.all(np.diff(fitted.history_) > 0.0)
    assert fitted.log_joint_ == fitted.history_[-1] > fitted.trace_.best_log_joint
    assert fitted.converged_
    sampler = DependentDPGibbs()
    given = sampler.check_given(Given(times=times), len(X))
    chain = sampler.chain(ChainData(sampler.observe(X).likelihood, X, given), fitted.labels_, seeded(0))
    chain.labels_of_slots[chain.state.labels] = fitted.explicit_labels_[fitted.labels_]
    np.testing.assert_allclose(chain.log_joint(), fitted.log_joint_, rtol=1e-9)


def test_gains_of_merges_are_those_of_the_joint():
    """Each move, made on its own: log_joint changes by what it says. Known covariances: the oracle's change, too."""
    X, times, _ = drifting(3, 12)
    family = DriftingNormal([0.0, 0.0], 4.0, 0.1, psi0=0.3)
    sampler = DependentDPGibbs(1.0, likelihood=family)
    given = sampler.check_given(Given(times=times), len(X))
    chain = sampler.chain(ChainData(sampler.observe(X).likelihood, X, given), "random", seeded(0))
    before, labels = chain.log_joint(), chain.labels_of_slots[chain.state.labels]
    n = labels.max() + 2
    ends = np.ones(n), np.append(np.ones(n - 1), 0.0)
    found = dependent_dp_mode.moves(chain)
    assert len(found) > 10
    for move in found[:: len(found) // 10]:
        here = move.here[np.searchsorted(np.unique(times), times)]
        new = np.where((chain.state.labels == move.source) & here, chain.labels_of_slots[move.target], labels)
        exact = oracle.log_posterior(family, X, times, *ends, [new])[0]
        np.testing.assert_allclose(before + move.gain, exact, rtol=1e-10)


def test_a_climb_from_bad_labels_never_falls():
    X, times, _ = drifting(3, 20)
    sampler = DependentDPGibbs(1.0)
    given = sampler.check_given(Given(times=times), len(X))
    data = ChainData(sampler.observe(X).likelihood, X, given)
    for seed in range(3):
        chain = sampler.chain(data, "random", seeded(seed))
        history, _ = climbed(sampler, chain, 30, seeded(seed))
        assert np.all(np.diff(history) > 0.0)
        np.testing.assert_allclose(chain.log_joint(), history[-1], rtol=1e-9)
        assert np.all(np.bincount(chain.state.labels, minlength=chain.state.capacity) == chain.state.counts)


def test_predictions_of_the_points_themselves(fitted):
    X, times, _ = drifting()
    assert np.mean(fitted.predict(X, times) == fitted.labels_) > 0.98
    shares = fitted.predict_proba(X, times)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.shape == (len(X), fitted.n_clusters_ + 1)
    np.testing.assert_allclose(fitted.weights_.sum(axis=1), 1.0)
    far = fitted.score_samples([[50.0, 50.0]], [0.0])
    assert far < fitted.score_samples(X, times).min()


def test_density_sums_to_one(fitted):
    """exp(score_samples) over a wide grid, at one time; cells of 0.1 by 0.2, and tails of the new cluster cut off."""
    grid = np.stack(np.meshgrid(np.arange(-15.0, 20.0, 0.1), np.arange(-20.0, 22.0, 0.2)), axis=-1).reshape(-1, 2)
    total = np.exp(fitted.score_samples(grid, np.full(len(grid), 2.0))).sum() * 0.02
    assert abs(total - 1.0) < 0.01


def test_the_same_seed_gives_the_same_fit(fitted):
    X, times, _ = drifting()
    again = DependentDP(random_state=1).fit(X, times)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    assert again.log_joint_ == fitted.log_joint_


def test_a_long_time_limit_changes_nothing(fitted):
    X, times, _ = drifting()
    seen = []
    again = DependentDP(random_state=1, time_limit=1e6, callback=seen.append).fit(X, times)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    np.testing.assert_array_equal(again.history_, fitted.history_)
    np.testing.assert_array_equal(again.trace_.log_joint, fitted.trace_.log_joint)
    assert [(each.step, each.total) for each in seen] == [(step, 200) for step in range(1, 201)]


def test_it_ends_in_time_with_the_best_so_far(monkeypatch):
    X, times, _ = drifting()
    looks = itertools.count()
    monkeypatch.setattr(settings, "time", SimpleNamespace(monotonic=lambda: float(next(looks))))  # a second a look
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = DependentDP(random_state=1, time_limit=11).fit(X, times)
    assert 1 < model.trace_.log_joint.shape[1] < 8
    assert next(looks) < 20
    assert not model.converged_
    assert model.labels_.shape == (len(X),)
    assert model.log_joint_ >= model.trace_.best_log_joint
    with pytest.raises(ValueError, match="time_limit must be > 0 seconds"):
        DependentDP(time_limit=0.0).fit(X, times)


def test_parameters_and_refusals(fitted):
    X, times, _ = drifting(2, 10)
    model = DependentDP(sticks=StickBreaking.gamma_family(1.0, 0.7), draws=3, random_state=0)
    assert model.get_params()["draws"] == 3
    assert "gamma_family" not in repr(DependentDP(2.0))
    assert repr(DependentDP(2.0)) == "DependentDP(alpha=2.0)"
    assert model.fit(X, times).n_clusters_ >= 1
    with pytest.raises(ValueError, match=r"time 7.0 is none of the 2 times of fit"):
        model.predict(X[:1], [7.0])
    with pytest.raises(ValueError, match="times are needed"):
        model.fit(X, None)
    with pytest.raises(ValueError, match="not fitted yet"):
        DependentDP().predict(X, times)


def test_runs_that_agree_have_no_variance():
    X, times, _ = drifting(2, 10)
    traces = [sample(X, DependentDPGibbs(1.0), times=times, draws=20, random_state=seed) for seed in (0, 0, 1)]
    assert association_variance(traces[:2]).max() == 0.0
    assert association_variance(traces).max() > 0.0
    for one in (traces[:1], traces[0]):
        with pytest.raises(ValueError, match="give a list of 2 or more traces, got 1"):
            association_variance(one)
    other = sample(X[:10], DependentDPGibbs(1.0), times=times[:10], draws=2, random_state=0)
    with pytest.raises(ValueError, match="traces of 10 and 20 points"):
        association_variance([other, traces[0]])


def test_correspondence_counts_mutual_neighbours():
    X, times = [[0.0], [5.0], [0.2], [5.2], [9.0]], [0, 0, 1, 1, 1]
    assert correspondence(X, times, [1, 2, 1, 2, 3]) == 1.0
    assert correspondence(X, times, [1, 2, 2, 1, 3]) == 0.0
    assert np.isnan(correspondence(X[:2], times[:2], [0, 1]))
    with pytest.raises(ValueError, match="must have a row a point"):
        correspondence(X, times, [0])
    with pytest.raises(ValueError, match="no missing values"):
        correspondence(X, [0, 0, 1, 1, np.nan], [0] * 5)
