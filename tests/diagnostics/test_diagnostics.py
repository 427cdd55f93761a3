"""Diagnostics of chains: against the printed formulas, ArviZ, and chains whose autocorrelation time is known."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.diagnostics import (
    autocorrelation,
    autocorrelation_time,
    effective_sample_size,
    geweke_z,
    r_hat,
    raftery_lewis,
)
from tests.oracle import chains as oracle

# Sums of some 100 terms of order 1 here and there, divided by variances of that order; a normal quantile to 1e-15.
CLOSE = 1e-10

# A standard normal is beyond it, to either side, once in 10^5.
RARELY = 4.417


def ar1(rng, phi, chains, draws):
    """Chains at equilibrium, of variance 1 and autocorrelation phi^t: their time is (1 + phi) / (1 - phi)."""
    x = rng.normal(size=(draws, chains))
    for t in range(1, draws):
        x[t] = phi * x[t - 1] + math.sqrt(1 - phi * phi) * x[t]
    return x.T


@st.composite
def some_chains(draw, least=1):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    draws = draw(st.integers(4, 13) | st.integers(4, 60))  # of short ones the sum over lags often ends with the lags
    x = ar1(rng, draw(st.sampled_from([-0.9, 0.0, 0.5, 0.95])), draw(st.integers(least, 4)), draws)
    # Some are whole numbers, as numbers of clusters are: many are equal. Never all of them.
    return np.append(np.round(x[:, :-1]), np.linspace(0.4, 1.4, len(x))[:, None], axis=1) if draw(st.booleans()) else x


@given(some_chains())
def test_agrees_with_the_printed_formulas(x):
    for method in ("bulk", "mean"):
        expected = oracle.effective_sample_size(x.tolist(), method)
        assert effective_sample_size(x, method) == pytest.approx(expected, rel=CLOSE)
    assert autocorrelation_time(x) == pytest.approx(oracle.autocorrelation_time(oracle.halves(x.tolist())), rel=CLOSE)
    assert r_hat(x) == pytest.approx(oracle.r_hat(x.tolist()), rel=CLOSE)


@given(some_chains())
def test_autocorrelation_by_definition(x):
    for chain, rho in zip(x, autocorrelation(x), strict=True):
        by_definition = [oracle.autocovariance(chain, t) for t in range(len(chain))]
        assert rho == pytest.approx(np.array(by_definition) / by_definition[0], abs=CLOSE)


@given(some_chains(least=2))
def test_agrees_with_arviz(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its move to another version
        arviz = pytest.importorskip("arviz")
        for method in ("bulk", "mean"):
            assert effective_sample_size(x, method) == pytest.approx(arviz.ess(x, method=method), rel=CLOSE)
        assert r_hat(x) == pytest.approx(arviz.rhat(x), rel=CLOSE)


@pytest.mark.parametrize(("phi", "W"), [(-0.5, 20), (0.0, 20), (0.5, 40), (0.9, 200)])
def test_autocorrelation_time_of_ar1(phi, W):
    # Where W lags are summed, the relative standard error is at most sqrt(2 (2 W + 1) / S) (Sokal 1997 (3.19); for phi
    # < 0 by the largest term of the spectrum, 1 / tau). Geyer's sum ends where noise of sqrt(tau / S) hides phi^t: at
    # t = 44 for 0.9, so that W is generous, and leaves room for the bias of the end.
    S, tau = 200_000, (1 + phi) / (1 - phi)
    x = ar1(np.random.default_rng(), phi, 4, S // 4)
    off = RARELY * math.sqrt(2 * (2 * W + 1) / S) * max(1.0, 1 / tau)
    assert autocorrelation_time(x) == pytest.approx(tau, rel=off)
    assert effective_sample_size(x) == pytest.approx(S / tau, rel=off / (1 - off))


@pytest.mark.complete
def test_geweke_z_is_standard_normal_at_equilibrium():
    x = ar1(np.random.default_rng(), 0.5, 400, 20_000)
    z = geweke_z(x)
    # By symmetry z is 0 on average. Its variance is 1 but for the estimated error: S(0) of the 2,000 early draws is
    # known to 14 % (as above, W = 10), so 1 / S(0) is 2 % too large on average; of 400 normals the variance, to 7 %.
    assert abs(z.mean()) < RARELY * z.std() / math.sqrt(400)
    assert abs(z.var() - 1.0) < RARELY * math.sqrt(2 / 400) + 0.02


@given(some_chains(), st.sampled_from([(0.1, 0.5), (0.3, 0.3), (0.5, 0.5)]))
def test_geweke_z_by_definition(x, shares):
    x = np.concatenate([x] * 10, axis=1) + np.random.default_rng(0).normal(size=(len(x), 10 * x.shape[1]))
    assert geweke_z(x, *shares) == pytest.approx([oracle.geweke_z(chain, *shares) for chain in x], rel=CLOSE, abs=CLOSE)


def test_r_hat_sees_location_scale_and_drift():
    x = np.random.default_rng().normal(size=(4, 1000))
    # sqrt(1 + (chi2_7 - 7) / (7 n)) for 8 halves of n = 500: chi2_7 is above 36.0 once in 10^5; and so for the folded.
    assert r_hat(x) < math.sqrt(1 + 2 * (36.0 - 7) / 7 / 500)
    away = np.array([[0.0], [0.0], [0.0], [1.0]])
    assert r_hat(x + away) > 1.05
    assert r_hat(x * (1 + 2 * away)) > 1.05
    assert r_hat(x + np.linspace(-1.0, 1.0, 1000)) > 1.05


def test_raftery_lewis_as_published():
    # Raftery and Lewis (1992), the manuals of coda and of SAS: 3,746 draws for the defaults.
    assert raftery_lewis(np.random.default_rng(1).normal(size=3746)).n_min == 3746
    with pytest.raises(ValueError, match=r"at least 3746 draws .* got 3745"):
        raftery_lewis(np.zeros(3745))


def test_raftery_lewis_by_hand():
    # 00010111 again and again has all triples equally often: first order, and a = b = 1/2. So nothing is to be
    # forgotten, and at the median as many draws are needed as there would be of independent ones.
    x = np.array([*[0, 0, 0, 1, 0, 1, 1, 1] * 1000, 0])
    found = raftery_lewis(x, q=0.5, r=0.0125)
    assert found == (1, 0, 6147, 6147, 1.0)  # 1.95996^2 / 4 / 0.0125^2 = 6146.3
    # Each value twice: the second order is seen until every other draw is left out.
    doubled = raftery_lewis(np.repeat(x, 2), q=0.5, r=0.0125)
    assert (doubled.thin, doubled.n_total, doubled.dependence_factor) == (2, 2 * 6147, 2.0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.6, 0.95]), st.sampled_from([0.025, 0.3, 0.5]), st.booleans())
def test_raftery_lewis_step_by_step(seed, phi, q, whole):
    x = ar1(np.random.default_rng(seed), phi, 1, 1500)[0]
    x = np.round(4 * x) if whole else x
    expected = oracle.raftery_lewis(x, q, r=0.03, s=0.95, eps=0.001)
    found = raftery_lewis(x, q, r=0.03)
    assert found[:4] == expected[:4]
    assert found[4] == pytest.approx(expected[4], rel=CLOSE)


def test_a_slow_chain_depends():
    rng = np.random.default_rng()
    assert raftery_lewis(ar1(rng, 0.99, 1, 20_000)[0], r=0.01).dependence_factor > 5.0


def test_chains_that_never_move():
    x = np.full((2, 100), 0.1)
    for function in (effective_sample_size, autocorrelation_time, r_hat):
        assert math.isnan(function(x))
    assert np.isnan(autocorrelation(x)).all()
    assert np.isnan(geweke_z(x)).all()
    found = raftery_lewis(x[0], r=0.1)
    assert found.n_min == 10
    assert np.isnan([found.thin, found.burn_in, found.n_total, found.dependence_factor]).all()
    assert r_hat(x * [[1.0], [3.0]]) == math.inf
    # A single step: the halves are constant, the early window below the late one.
    step = np.repeat([0.1, 0.3], 50)
    assert r_hat(step) == math.inf
    assert geweke_z(step) == -math.inf
    assert math.isnan(raftery_lewis(step, q=0.3, r=0.1).n_total)


def test_a_chain_that_alternates_never_forgets_where_it_is():
    assert raftery_lewis(np.arange(200) % 2, q=0.4, r=0.1).n_total == math.inf


def test_few_draws_and_odd_ones():
    x = np.random.default_rng(0).normal(size=(2, 5))
    assert r_hat(x[:, :4]) > 0
    assert effective_sample_size(x[:, :4]) > 0
    assert effective_sample_size(x) == effective_sample_size(x[:, [0, 1, 3, 4]])
    assert effective_sample_size(x[0]) == effective_sample_size(x[:1])


@pytest.mark.parametrize(
    "function", [autocorrelation, autocorrelation_time, effective_sample_size, geweke_z, r_hat, raftery_lewis]
)
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0, 3.0], r"at least 4 draws along its last axis, got shape \(3,\); take more"),
        (7.0, r"at least 4 draws .* got shape \(\)"),
        ([0.0, 1.0, math.nan, 1.0], r"finite, got nan at \[2\] \(1 such in all\)"),
        ([0.0, -math.inf, 2.0, 1.0], r"finite, got -inf at \[1\]"),
        (["a", "b", "c", "d"], "array of numbers"),
    ],
)
def test_bad_draws(function, x, message):
    with pytest.raises(ValueError, match=message):
        function(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: effective_sample_size(x, "tail"), '"bulk" or "mean", got \'tail\''),
        (lambda x: r_hat(x[None]), r"shape \(chains, draws\).* got shape \(1, 2, 50\)"),
        (lambda x: geweke_z(x, 0.6, 0.5), "at most 1 together, got 0.6 and 0.5"),
        (lambda x: geweke_z(x, 0.05), "at least 4 draws each, got 2 and 25 of 50"),
        (raftery_lewis, r"one chain, shape \(draws,\), got shape \(2, 50\)"),
        (lambda x: raftery_lewis(x[0], q=1.0), "q must be > 0 and < 1, got 1.0"),
        (lambda x: raftery_lewis(x[0], eps=0.5), "eps must be > 0 and < 0.5, got 0.5"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(0).normal(size=(2, 50)))
