"""p(alpha | N, K): its mode against a root-finder on sums, its curve against quadrature."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize

from mapdpm.partition_priors import DirichletProcess, PitmanYor
from mapdpm.partition_priors.concentration_posterior import (
    MOST_STEPS,
    ConcentrationPosterior,
    NoInteriorModeError,
    expected_clusters,
)
from mapdpm.partition_priors.hyperpriors import GammaPrior, InverseGammaPrior
from tests.marks import complete_but

PRIORS = (
    InverseGammaPrior(),
    InverseGammaPrior(2.0, 1.0),
    GammaPrior(1.0, 1.0),
    GammaPrior(2.0, 0.1),
    GammaPrior(0.5, 0.5),
)
FLAT = GammaPrior(1.0, 0.0)
SIZES = [(1, 1), (2, 1), (2, 2), (3, 2), (10, 9), (1000, 1), (1000, 30), (1000, 999), (1000, 1000)]
LARGE = [(100_000, 1), (100_000, 50), (100_000, 5000), (100_000, 99_999), (100_000, 100_000)]


def by_sums(posterior, of):
    """The zero of the gradient by log alpha, each term of it summed exactly; by Brent's method."""
    N, K = posterior.n_points, posterior.n_clusters
    c = K + posterior.prior.exponent - (of == "alpha")
    r, s = posterior.prior.rates
    i = np.arange(1.0, N)

    def gradient(t):
        alpha = math.exp(t)
        if c <= N / 2:  # S - c, where S is near 1 at worst
            return math.fsum([1.0 - c, *(alpha / (alpha + i))]) + r * alpha - s / alpha
        return (N - c) - math.fsum(i / (alpha + i)) + r * alpha - s / alpha

    return math.exp(optimize.brentq(gradient, -60.0, 60.0, xtol=1e-14, rtol=1e-14))


@pytest.mark.parametrize(("N", "K"), SIZES + LARGE)
@pytest.mark.parametrize("of", complete_but(["log alpha"], ["alpha", "log alpha"]))
def test_mode_is_where_the_gradient_is_0_from_any_start(N, K, of):
    for prior in (*PRIORS, FLAT) if N < 10_000 else (PRIORS[0], PRIORS[2], FLAT):
        posterior = ConcentrationPosterior(N, K, prior)
        try:
            posterior.mode(of)
        except NoInteriorModeError:
            continue
        root = by_sums(posterior, of)
        for start in (1e-6, 1e-3, 1.0, 1e3, 1e6):
            t, steps = posterior._solved(posterior._exponent(of), math.log(start))
            assert math.exp(t) == pytest.approx(root, rel=1e-9)
            assert steps < MOST_STEPS  # as many are what it gives up after


def test_where_there_is_no_interior_mode_it_is_said():
    with pytest.raises(NoInteriorModeError, match=r"N=100, K=1\) has no interior mode .* largest at 0"):
        ConcentrationPosterior(100, 1, GammaPrior(1.0, 1.0)).mode()
    with pytest.raises(NoInteriorModeError, match="largest at infinity"):
        ConcentrationPosterior(100, 100, FLAT).mode(of="log alpha")
    assert ConcentrationPosterior(100, 1, GammaPrior(1.0, 1.0)).mode(of="log alpha") > 0.0
    with pytest.raises(ValueError, match="of must be 'alpha' or 'log alpha'"):
        ConcentrationPosterior(100, 2).mode(of="beta")


@pytest.mark.parametrize("prior", PRIORS)
def test_density_is_that_of_the_partition_times_the_prior(prior):
    """log p(z | alpha) + log p(alpha), without the terms that do not depend on alpha."""
    sizes = np.array([5.0, 3.0, 1.0])
    alphas = np.array([0.01, 0.3, 2.0, 50.0])
    joint = [DirichletProcess(a).log_partition(sizes) + prior.log_density(a) for a in alphas]
    differences = ConcentrationPosterior(9, 3, prior).log_density(alphas) - joint
    assert differences == pytest.approx(np.full(4, differences[0]), abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_priors_are_normalised(prior):
    whole, _ = integrate.quad(lambda t: math.exp(prior.log_density(math.exp(t)) + t), -60.0, 12.0, limit=500)
    # of an inverse-Gamma of shape 1/2, exp(-6) lies beyond exp(12)
    assert whole == pytest.approx(1.0, abs=3e-3)


def test_curve_integrates_to_1():
    posterior = ConcentrationPosterior(1000, 12)
    t = np.linspace(-8.0, 10.0, 4001)
    assert np.trapezoid(posterior.curve(np.exp(t)), t) == pytest.approx(1.0, abs=1e-6)
    assert np.exp(t[np.argmax(posterior.curve(np.exp(t)))]) == pytest.approx(posterior.mode(of="log alpha"), rel=5e-3)


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
@pytest.mark.parametrize("alpha", [1e-8, 1e-2, 1.0, 30.0, 1e6, 1e12])
def test_expected_clusters_by_sums(n, alpha):
    i = np.arange(1.0, n)
    above, below, slope = expected_clusters(alpha, n)
    # some thirty roundings of terms of one sign, each form having one
    assert above == pytest.approx(math.fsum(alpha / (alpha + i)), rel=1e-14, abs=0.0 if n > 1 else 1e-300)
    assert below == pytest.approx(math.fsum(i / (alpha + i)), rel=2e-14, abs=0.0 if n > 1 else 1e-300)
    assert slope == pytest.approx(math.fsum(alpha * i / (alpha + i) ** 2), rel=1e-6)


# ---- Pitman-Yor ------------------------------------------------------------------------------------------------------


def best_on_a_grid(N, K, prior, d, of):
    """The highest local maximum of 20,001 values of the density, from the partition prior itself; None if 0 is higher.

    To 0.004 of log alpha. A value at 0 that is infinite does not count.
    """
    t = np.linspace(-40.0, 40.0, 20_001)
    alpha = np.exp(t)
    logs = (t if of == "log alpha" else 0.0) + np.array([prior.log_density(a) for a in alpha])
    for j in range(1, K):
        logs += np.log(alpha + j * d)
    for i in range(1, N):
        logs -= np.log(alpha + i)
    inside = 1 + np.flatnonzero((logs[1:-1] > logs[:-2]) & (logs[1:-1] >= logs[2:]))
    best = max(inside, key=lambda i: logs[i], default=None)
    infinite = of == "alpha" and isinstance(prior, GammaPrior) and prior.shape < 1.0
    if best is None or (not infinite and logs[best] < logs[0] + 1e-9):  # where it is flat, rounding has maxima
        return None, logs
    return float(alpha[best]), logs


@pytest.mark.parametrize("d", complete_but([0.5], [0.05, 0.5, 0.95]))
@pytest.mark.parametrize("of", ["alpha", "log alpha"])
def test_mode_with_a_discount_is_the_highest_of_all(d, of):
    """Against the density on a fine grid."""
    for N, K in ((1, 1), (2, 2), (30, 1), (30, 5), (60, 40), (60, 60)):
        for prior in PRIORS:
            posterior = ConcentrationPosterior(N, K, prior, d)
            best, logs = best_on_a_grid(N, K, prior, d, of)
            if best is None:
                with pytest.raises(
                    NoInteriorModeError, match=rf"K={K}, d={d:g}\) has no interior mode .* largest at 0"
                ):
                    posterior.mode(of)
                continue
            assert math.log(posterior.mode(of)) == pytest.approx(math.log(best), abs=0.004)
            assert posterior.mode(of, start=1e3) == posterior.mode(of)
            at = np.exp([-3.0, 0.0, 3.0])
            found = posterior.log_density(at) + (np.log(at) if of == "log alpha" else 0.0)
            exact = logs[np.searchsorted(np.linspace(-40.0, 40.0, 20_001), [-3.0, 0.0, 3.0])]
            # Sums of up to 60 logarithms, at places of the grid that are 1e-12 off
            np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=1e-9)


def test_density_with_a_discount_is_that_of_the_process():
    sizes = np.array([9.0, 4.0, 2.0, 1.0])
    alphas = [0.01, 0.7, 3.0, 40.0]
    found = ConcentrationPosterior(16, 4, InverseGammaPrior(), 0.4).log_density(alphas)
    exact = [PitmanYor(a, 0.4).log_partition(sizes) + InverseGammaPrior().log_density(a) for a in alphas]
    np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=1e-11)  # sums of some twenty logarithms


def test_curve_with_a_discount_integrates_to_one():
    posterior = ConcentrationPosterior(300, 20, GammaPrior(1.0, 1.0), 0.5)
    t = np.linspace(-30.0, 6.0, 20_001)
    assert integrate.trapezoid(posterior.curve(np.exp(t)), t) == pytest.approx(1.0, abs=1e-6)
