"""Samplers over many draws: against enumeration, against each other, and by ranks where a draw is continuous."""

import functools
import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.diagnostics import autocorrelation_time
from mapdpm.partition_priors import finite_prior, partition_prior
from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior
from mapdpm.rng import seeded
from mapdpm.samplers import (
    BetaPrior,
    Chain,
    CollapsedGibbs,
    GammaPrior,
    InverseGammaPrior,
    PermutationAugmented,
    SequentialSplitMerge,
    SplitMerge,
    UncollapsedGibbs,
    concentration,
    sample,
)
from mapdpm.samplers.chain import Adapted
from mapdpm.samplers.integrated import LEAST_SHAPE, IntegratedAlpha
from mapdpm.testing import exact, kernels

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
    pi = kernels.posterior_of(sampler.model.prior, likelihood, data, n)
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


QUICK = {"gibbs", "uncollapsed gibbs"}  # the others are tested to the last digit, by their transition matrices


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SAMPLERS])
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


def test_frequencies_notice_a_wrong_prior():
    X = blobs(6)
    sampler = CollapsedGibbs(0.8, likelihood=PRIOR)
    right = sampler.model.prior
    sampler.model = sampler.model._replace(prior=partition_prior(1.2))
    wrong = compared_with_enumeration(sampler, PRIOR.for_data(X), X, 6, 1500)
    assert wrong > FALSE_ALARM  # it is right for what it says

    class Other(CollapsedGibbs):
        def move(self, chain, rng):
            chain.prior = partition_prior(1.2)
            return super().move(chain, rng)

    other = Other(0.8, likelihood=PRIOR)
    assert other.model.prior == right
    assert compared_with_enumeration(other, PRIOR.for_data(X), X, 6, 1500) < FALSE_ALARM


def test_beams_remember_clusters_of_many_features():
    """Whose first points are less likely alone than in another cluster, by more than epsilon: a climb stays."""
    rng = np.random.default_rng(6)
    labels = np.arange(1000) % 10
    X = rng.normal(0.0, np.sqrt(2.0), (10, 80))[labels] + rng.normal(size=(1000, 80))
    likelihood = NormalKnownVariance(0.0, 100.0, 1.0).for_data(X)
    lost = []
    for young in (0, PermutationAugmented._young):
        climber = PermutationAugmented(likelihood=likelihood, permutations="projections")
        climber._young = young
        chain = Chain(likelihood, climber.model.prior, X, labels)
        before, source = chain.log_joint(), seeded(0)
        for _ in range(5):
            climber.step(chain, source)
        lost.append(before - chain.log_joint())
    assert lost[0] > 100.0  # or the test tests nothing
    assert lost[1] < 1.0


def joint_draw(generator, rng, n, model):
    """alpha, a discount, a partition and points, from the model itself; what is looked at of them."""
    alpha = generator.gamma(model["alpha_prior"].shape) / model["alpha_prior"].rate
    discount = generator.beta(2.0, 3.0) if "discount_prior" in model else 0.0
    prior = partition_prior(alpha, discount)
    if "n_components" in model:
        prior = finite_prior(alpha, model["n_components"])
    labels = np.zeros(n, dtype=np.int64)
    for i in range(1, n):  # the sequential draw of the prior, by its own weights
        sizes = np.bincount(labels[:i])
        logw = np.array([*(prior.log_existing(float(size), 1.0) for size in sizes), prior.log_new(len(sizes), 1.0)])
        labels[i] = rng.categorical(logw)
    likelihood = PRIOR.for_data(np.zeros((1, 2)))
    row, parameters = np.empty(likelihood.size()), np.empty((labels.max() + 1, likelihood.n_parameters()))
    likelihood.init(row)
    for each in parameters:
        likelihood.draw(row, each, rng)
    X = parameters[labels, :2] + generator.normal(size=(n, 2)) * np.exp(-0.5 * parameters[labels, 2:])
    return prior, labels, X


def after(sampler, model, steps, replicates, n=5):
    """alpha, discount, K and the size of the first point's cluster after ``steps`` from draws of the joint."""
    generator = np.random.default_rng([10, steps])
    rng = seeded(generator)
    found = []
    for _ in range(replicates):
        prior, labels, X = joint_draw(generator, rng, n, model)
        chain = Chain(PRIOR.for_data(X), prior, X, labels, Adapted(2.0))
        for _ in range(steps):
            sampler.step(chain, rng)
        z = chain.state.labels
        discount = chain.prior.discount
        found.append((chain.prior.alpha, discount, chain.n_clusters, np.count_nonzero(z == z[0])))
    return np.array(found).T


def distinguished(sampler, model, replicates=1500, steps=4):
    """The least p, times their number, that a step changes the law of what is looked at (Geweke 2004).

    Draws of the joint of model and points, with and without steps of the sampler, are of one law if and only if the
    sampler keeps the posterior; by Kolmogorov and Smirnov, which ties make conservative.
    """
    fresh, moved = after(sampler, model, 0, replicates), after(sampler, model, steps, replicates)
    ps = [stats.ks_2samp(one, two).pvalue for one, two in zip(fresh, moved, strict=True)]
    return min(ps) * len(ps)


JOINT = {"alpha_prior": GammaPrior(2.0, 1.5)}
CONTINUOUS = {
    "auxiliary": CollapsedGibbs(likelihood=PRIOR, **JOINT),
    "slice": CollapsedGibbs(likelihood=PRIOR, alpha_update="slice", **JOINT),
    "integrated": PermutationAugmented(method="table", integrate_alpha=True, likelihood=PRIOR, **JOINT),
    "uncollapsed": UncollapsedGibbs(likelihood=PRIOR, **JOINT),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "integrated" else ()) for n in CONTINUOUS]
)
def test_continuous_draws_keep_the_joint(name):
    assert distinguished(CONTINUOUS[name], JOINT) > FALSE_ALARM


def test_discounts_keep_the_joint():
    model = JOINT | {"discount_prior": BetaPrior(2.0, 3.0)}
    sampler = CollapsedGibbs(discount=0.2, likelihood=PRIOR, **model)
    assert distinguished(sampler, model) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("kind", [CollapsedGibbs, UncollapsedGibbs])
def test_finite_mixtures_keep_the_joint(kind):
    model = JOINT | {"n_components": 3}
    assert distinguished(kind(likelihood=PRIOR, **model), model, 4000) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("name", ["integrated in a hybrid", "finite", "discount"])
def test_hybrids_keep_the_joint(name):
    if name == "integrated in a hybrid":
        model = JOINT
        options = {"method": "table", "permutations": "markov", "integrate_alpha": True}
        sampler = CollapsedGibbs(likelihood=PRIOR, **JOINT) + PermutationAugmented(likelihood=PRIOR, **options, **JOINT)
    else:
        more = {"n_components": 3} if name == "finite" else {"discount_prior": BetaPrior(2.0, 3.0)}
        model = JOINT | more
        m = {"likelihood": PRIOR, **model} | ({} if name == "finite" else {"discount": 0.3})
        sampler = PermutationAugmented(method="beta", **m) + SequentialSplitMerge(**m) + SplitMerge(**m)
    assert distinguished(sampler, model, 3000) > FALSE_ALARM


def log_density_of_log(posterior, t):
    return posterior.log_density([np.exp(t)])[0] + t


@pytest.mark.parametrize("prior", [GammaPrior(LEAST_SHAPE, 0.1), InverseGammaPrior(LEAST_SHAPE, 0.5)])
def test_alpha_of_the_widest_priors_is_integrated_out(prior):
    """By scipy's quadrature, in pieces that hold the steps of the integrand."""
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


@pytest.mark.parametrize("fault", ["a cluster too many", "no Jacobian", "parameters of the prior"])
def test_rank_tests_notice(fault, monkeypatch):
    sampler = CONTINUOUS["auxiliary"]
    if fault == "a cluster too many":
        sound = concentration.by_auxiliary
        monkeypatch.setattr(concentration, "by_auxiliary", lambda a, N, K, p, rng: sound(a, N, K + 1, p, rng))
    elif fault == "no Jacobian":
        sampler = CONTINUOUS["slice"]
        sliced = concentration.sliced
        monkeypatch.setattr(concentration, "sliced", lambda f, t, rng: sliced(lambda u: f(u) - u, t, rng))
    else:
        sampler = kernels.uncompiled(CONTINUOUS["uncollapsed"])

        def of_the_prior(likelihood, state, parameters, rng):
            blank = np.empty(likelihood.size())
            likelihood.init(blank)
            for each in parameters:
                likelihood.draw(blank, each, rng)

        sampler._draw = of_the_prior
    assert distinguished(sampler, JOINT, 800) < FALSE_ALARM


@pytest.mark.parametrize(("N", "K"), [(1, 1), (30, 1), (30, 7), (30, 30)])
@pytest.mark.parametrize("prior", [GammaPrior(1.0, 1.0), GammaPrior(3.0, 0.2), InverseGammaPrior()])
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
