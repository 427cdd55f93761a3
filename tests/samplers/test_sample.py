"""Samplers over many draws: against enumeration, and exact draws of alpha."""

import functools
import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.diagnostics import autocorrelation_time
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior
from mapdpm.rng import seeded
from mapdpm.samplers import (
    Chain,
    CollapsedGibbs,
    GammaPrior,
    InverseGammaPrior,
    PermutationAugmented,
    SequentialSplitMerge,
    SplitMerge,
    UncollapsedGibbs,
    sample,
)
from mapdpm.samplers.integrated_alpha import LEAST_SHAPE, IntegratedAlpha
from mapdpm.testing import exact, kernels
from tests.marks import complete_but

FALSE_ALARM = 1e-5
PRIOR = NormalGamma(0.0, 0.3, 1.5, 1.0)
SAMPLERS = {
    "gibbs": CollapsedGibbs,
    "uncollapsed gibbs": UncollapsedGibbs,
    "split-merge": lambda **m: SplitMerge(n_proposals=2, **m),
    "sequential split-merge": lambda **m: SequentialSplitMerge(n_proposals=2, **m),
    "table": lambda **m: PermutationAugmented(method="table", **m),
    "beta": lambda **m: PermutationAugmented(method="beta", **m),
    "beam": PermutationAugmented,
    "markov beam": lambda **m: PermutationAugmented(permutations="markov", burn_in="projections", **m),
    "hybrid": lambda **m: CollapsedGibbs(**m) + SequentialSplitMerge(**m) + PermutationAugmented(**m),
}


def blobs(n, seed=0, K=3):
    rng = np.random.default_rng([9, seed])
    return rng.normal(0.0, 4.0, (K, 2))[rng.integers(0, K, n)] + rng.normal(size=(n, 2))


def slowest_time(trace):
    """The longest autocorrelation time of what is looked at."""
    looked_at = (trace.log_joint, trace.n_clusters, trace.largest_share)
    return max(autocorrelation_time(values) for values in looked_at)


def compared_with_enumeration(sampler, likelihood, data, n, draws):
    """p of a chi-square over all partitions: draws so far apart that they are nearly independent, cells pooled."""
    start = np.zeros(n, dtype=int)
    pilot = sample(data, sampler, draws=2000, burn_in=50, init=start, random_state=1)
    thin = int(np.ceil(3.0 * slowest_time(pilot)))
    trace = sample(data, sampler, draws=draws, thin=thin, burn_in=50, init=start, random_state=2)
    every = exact.partitions(n)
    seen = dict.fromkeys(every, 0)
    for z in trace.partitions[0]:
        seen[exact.canonical(z)] += 1
    pi = kernels.posterior_of(sampler.target.prior, likelihood, data, n)
    expected, observed = draws * pi, np.array([seen[z] for z in every])
    rare = expected < 5.0  # of these there is one cell
    expected = np.append(expected[~rare], max(expected[rare].sum(), 1e-300))
    observed = np.append(observed[~rare], observed[rare].sum())
    if expected[-1] < 5.0:
        smallest = np.argmin(expected[:-1])
        expected[smallest] += expected[-1]
        observed[smallest] += observed[-1]
        expected, observed = expected[:-1], observed[:-1]
    p = stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue
    print(f"thin {thin}, {len(expected)} cells, p = {p:.2g}")
    return p


# the transition matrices of the others are exact
MARKS = dict.fromkeys(("gibbs", "uncollapsed gibbs"), pytest.mark.complete)


@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, pytest.mark.slow)) for n in SAMPLERS])
def test_frequencies_are_those_of_enumeration(name):
    X = blobs(6)
    sampler = SAMPLERS[name](alpha=0.8, discount=0.1, likelihood=PRIOR)
    assert compared_with_enumeration(sampler, PRIOR.for_data(X), X, 6, 1500) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_frequencies_of_eight_points(name):
    X = blobs(8)
    sampler = SAMPLERS[name](alpha=0.8, discount=0.1, likelihood=PRIOR)
    assert compared_with_enumeration(sampler, PRIOR.for_data(X), X, 8, 10_000) > FALSE_ALARM


@pytest.mark.complete
def test_frequencies_notice_a_wrong_prior():
    X = blobs(6)
    sampler = CollapsedGibbs(0.8, likelihood=PRIOR)
    right = sampler.target.prior
    sampler.target = sampler.target._replace(prior=partition_prior(1.2))
    wrong = compared_with_enumeration(sampler, PRIOR.for_data(X), X, 6, 1500)
    assert wrong > FALSE_ALARM  # it is right for what it says

    class Other(CollapsedGibbs):
        def move(self, chain, rng):
            chain.prior = partition_prior(1.2)
            return super().move(chain, rng)

    other = Other(0.8, likelihood=PRIOR)
    assert other.target.prior == right
    assert compared_with_enumeration(other, PRIOR.for_data(X), X, 6, 1500) < FALSE_ALARM


@pytest.mark.complete
def test_beams_remember_clusters_of_many_features():
    """Whose first points are less likely alone than in another cluster, by more than epsilon: a climb stays."""
    rng = np.random.default_rng(6)
    labels = np.arange(1000) % 10
    X = rng.normal(0.0, np.sqrt(2.0), (10, 80))[labels] + rng.normal(size=(1000, 80))
    likelihood = NormalKnownVariance(0.0, 100.0, 1.0).for_data(X)
    lost = []
    for n_recent in (0, PermutationAugmented._n_recent):
        climber = PermutationAugmented(likelihood=likelihood, permutations="projections")
        climber._n_recent = n_recent
        chain = Chain(likelihood, climber.target.prior, X, labels)
        before, source = chain.log_joint(), seeded(0)
        for _ in range(5):
            climber.step(chain, source)
        lost.append(before - chain.log_joint())
    assert lost[0] > 100.0  # or the test tests nothing
    assert lost[1] < 1.0


def log_density_of_log(posterior, t):
    return posterior.log_density([np.exp(t)])[0] + t


@pytest.mark.parametrize("prior", [GammaPrior(LEAST_SHAPE, 0.1), InverseGammaPrior(LEAST_SHAPE, 0.5)])
def test_alpha_of_the_widest_priors_is_integrated_out(prior):
    """Compared with scipy's quadrature, in pieces between the steps of the integrand."""
    N = 30
    integrated = IntegratedAlpha(prior)
    found = integrated.log_of_k(N)
    ends = [-350.0, -200.0, -50.0, *np.linspace(-20.0, 20.0, 9), 50.0, 200.0, 350.0]
    for K in (1, 2, 30):
        log_density = functools.partial(log_density_of_log, ConcentrationPosterior(N, K, prior))
        top = max(map(log_density, np.linspace(-20.0, 20.0, 401)))
        pieces = [
            quad(lambda t, f=log_density, top=top: np.exp(f(t) - top), *piece, epsabs=0.0, epsrel=1e-11, limit=200)[0]
            for piece in itertools.pairwise(ends)
        ]
        assert found[K] == pytest.approx(np.log(sum(pieces)) + top - gammaln(K + 1.0), abs=1e-8)
        assert integrated.draw(N, K, seeded(0)) > 0.0


PRIORS_OF_ALPHA = [GammaPrior(1.0, 1.0), GammaPrior(3.0, 0.2), InverseGammaPrior()]


@pytest.mark.parametrize(
    ("N", "K"), complete_but([(1, 1), (30, 7)], [(1, 1), (30, 1), (30, 7), (30, 30)], several=True)
)
@pytest.mark.parametrize("prior", complete_but(PRIORS_OF_ALPHA[1:], PRIORS_OF_ALPHA))
def test_exact_draws_of_alpha(prior, N, K):
    rng = seeded(np.random.default_rng([11, N, K]))
    if isinstance(prior, InverseGammaPrior) and N == K:
        prior = InverseGammaPrior(2.0, 1.0)
    draws = np.array([IntegratedAlpha(prior).draw(N, K, rng) for _ in range(1000)])
    t = np.linspace(-14.0, 14.0, 40001)
    density = ConcentrationPosterior(N, K, prior).log_density(np.exp(t[::20])) + t[::20]
    density = np.exp(np.interp(t, t[::20], density) - density.max())
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(np.log(draws), lambda u: np.interp(u, t, cdf)).pvalue > FALSE_ALARM
