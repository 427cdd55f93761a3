"""Paths, filters and scores of HDPHMM by enumeration of all paths, and paths that are drawn."""

import itertools

import numpy as np
import pytest
from scipy import stats

from mapdpm import MAPDPM, BetaBernoulli, Categorical, DirichletMultinomial, NormalKnownVariance
from tests.marks import complete_but, ends_early
from tests.models.hdp_hmm.fits import begins_of, chain_of, follows_the_oracle, quickly

FALSE_ALARM = 1e-7  # of one comparison of a random number; there are some 100


# ---- paths, filters, scores ------------------------------------------------------------------------------------------


def test_paths_and_filters_are_those_of_the_raw_points(model, data, new):
    novel = follows_the_oracle(model, *new, *data)
    assert np.any(novel == model.n_states_)  # a far point is of a new state
    assert np.any(novel != model.n_states_)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 40.0])
def test_a_new_state_leads_on_by_the_shares(kappa, data, new):
    X, ids = data
    follows_the_oracle(quickly(X, ids, init=(X[:, 0] > 0).astype(int), kappa=kappa), *new, *data)


def test_one_point_after_the_other_is_the_filter(model, new):
    X, ids = new
    found, belief = [], None
    for i, x in enumerate(X):
        belief = model.filter_one(x, belief if i and ids[i] == ids[i - 1] else None)
        found.append(belief)
    np.testing.assert_allclose(found, model.filter_proba(X, ids), rtol=0.0, atol=1e-12)
    before = model.to_bytes()
    model.filter_one(X[0].tolist(), belief.tolist())
    assert model.to_bytes() == before


@pytest.mark.parametrize("D", complete_but([1], [1, 2]))
def test_densities_of_all_sequences_sum_to_one(D):
    rng = np.random.default_rng(1)
    X = (rng.random((40, D)) < np.repeat([[0.1], [0.9]], 20, axis=0)).astype(int)
    init = np.repeat([0, 1], 20)
    fitted = quickly(X, likelihood=BetaBernoulli(0.5, 0.5), backend="python", init=init, max_sweeps=1)
    assert fitted.n_states_ == 2
    points = np.array(list(itertools.product([0, 1], repeat=3 * D))).reshape(-1, 3, D)
    total = sum(np.exp(fitted.score(each)) for each in points)
    assert total == pytest.approx(1.0, rel=1e-12)


def test_scores_of_sequences_add_up(model, new):
    X, ids = new
    alone = [model.score(X[a:b]) for a, b in itertools.pairwise(begins_of(ids))]
    assert model.score(X, ids) == pytest.approx(sum(alone), rel=1e-12)
    assert model.score(X, sequences=ids) == model.score(X, None, ids) == model.score(X, ids)
    assert model.score(X) != pytest.approx(model.score(X, ids), rel=1e-6)


def test_time_is_worth_something():
    """Two states that overlap, but last: the path errs less than points without their order."""
    rng = np.random.default_rng(3)
    z = np.arange(600) // 30 % 2
    X = rng.normal(2.0 * z, 1.0)[:, None]
    likelihood = NormalKnownVariance(1.0, 9.0, 1.0)
    fitted = quickly(X, likelihood=likelihood, init=z)
    pooled = MAPDPM(likelihood=likelihood, init=z, moves=()).fit(X)
    right = [max(np.mean(m.labels_ == z), np.mean(m.labels_ != z)) for m in (fitted, pooled)]
    # one point alone is right in Phi(1) = 84 % at most, to 5 standard errors 0.92; the path errs at the borders
    assert right[0] > 0.95 > right[1]


# ---- paths that are drawn --------------------------------------------------------------------------------------------


def few_points():
    """A model of few points and large concentrations: means are not well known, and new states are frequent."""
    rng = np.random.default_rng(2)
    X, ids = rng.normal(0.0, 3.0, (12, 2)), np.repeat([0, 1], [7, 5])
    fitted = quickly(X, ids, alpha=4.0, gamma=4.0, kappa=1.0, init=np.arange(12) // 3, max_sweeps=1)
    return fitted, X, ids


def test_the_same_seed_draws_the_same_path(model):
    one, two, other = (model.sample_path(50, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.states, two.states)
    np.testing.assert_array_equal(one.points, two.points)
    assert np.any(one.points != other.points)
    states, points = model.sample_path(50, np.random.default_rng(1))
    np.testing.assert_array_equal(states, one.states)
    assert (states.shape, points.shape) == ((50,), (50, 2))
    assert model.sample_path(50).points.shape == (50, 2)
    assert np.isfinite(model.score(points))


@ends_early
def test_states_of_a_path_follow_the_transitions():
    """Binomial tests of the first state and of each transition; frequencies near those of the stationary law."""
    fitted, _, ids = few_points()
    start, steps = chain_of(fitted, ids)
    firsts = np.bincount([fitted.sample_path(1, seed).states[0] for seed in range(1000)], minlength=len(start))
    for n, p in zip(firsts.tolist(), start, strict=True):
        assert stats.binomtest(n, 1000, p).pvalue > FALSE_ALARM
    states = fitted.sample_path(20_000, 0).states
    counts = np.zeros(steps.shape, dtype=int)
    np.add.at(counts, (states[:-1], states[1:]), 1)
    for (v, k), n in np.ndenumerate(counts):
        assert stats.binomtest(int(n), int(counts[v].sum()), steps[v, k]).pvalue > FALSE_ALARM
    # the variance of a mean over a chain, by its fundamental matrix Z: 2 <f, Z f> - <f, f>
    values, vectors = np.linalg.eig(steps.T)
    stationary = np.real(vectors[:, np.argmax(values.real)])
    stationary /= stationary.sum()
    Z = np.linalg.inv(np.eye(len(start)) - steps + stationary)
    for k, share in enumerate(stationary):
        f = (np.arange(len(start)) == k) - share
        error = np.sqrt(stationary @ (f * (2.0 * Z @ f - f)) / len(states))
        assert abs(np.mean(states == k) - share) < 6 * error  # 2e-9 for a normal


@ends_early
def test_points_of_a_path_have_the_density_of_their_state():
    """A state has one mean a path, drawn from its posterior, or of a new state from the prior: exact laws of both.

    The mean of n points of a state is normal with variance v + 1 / n, v that of the posterior; n variances are chi^2.
    """
    fitted, X, _ = few_points()
    scores, squares, freedom, new = [], 0.0, 0, 0
    for seed in range(300):
        states, points = fitted.sample_path(30, seed)
        for k in np.unique(states).tolist():
            own, past = points[states == k], X[fitted.labels_ == k]
            v = 1.0 / (1.0 / 9.0 + len(past))
            scores += ((own.mean(axis=0) - v * past.sum(axis=0)) / np.sqrt(v + 1.0 / len(own))).tolist()
            squares += ((own - own.mean(axis=0)) ** 2).sum()
            freedom += 2 * (len(own) - 1)
            new += k == fitted.n_states_
    assert new > 100
    assert stats.kstest(scores, stats.norm.cdf).pvalue > FALSE_ALARM
    tail = stats.chi2(freedom).cdf(squares)
    assert FALSE_ALARM < tail < 1.0 - FALSE_ALARM


def test_points_of_symbols_are_symbols():
    symbols = np.array([0, 1, 2, 1] * 10)
    fitted = quickly(symbols, likelihood=Categorical(np.full(3, 0.5)), backend="python")
    states, points = fitted.sample_path(30, 0)
    assert points.shape == states.shape == (30,)
    assert points.dtype == np.int64
    assert set(points.tolist()) <= {0, 1, 2}
    assert np.isfinite(fitted.score(points))


def test_a_family_that_cannot_draw_points_is_refused():
    counts = np.array([[3, 0], [2, 1], [0, 4]])
    fitted = quickly(counts, likelihood=DirichletMultinomial(0.5), backend="python")
    with pytest.raises(ValueError, match="DirichletMultinomial has no draw_points, so no point can be drawn"):
        fitted.sample_path(3)
