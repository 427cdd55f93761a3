"""Every reference sampler, unchanged, leaves the exact posterior invariant; broken ones do not."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm import state as states
from mapdpm.objective import candidate_scores
from mapdpm.partition_priors import DirichletProcess, PitmanYor
from mapdpm.rng import seeded
from mapdpm.samplers import (
    Chain,
    CollapsedGibbs,
    GammaPrior,
    Hybrid,
    Info,
    LaunchedSplitMerge,
    PermutationAugmented,
    RandomSplitMerge,
    SequentialSplitMerge,
    SplitMerge,
    _orders,
    launched_split_merge,
    permutation_augmented,
    random_split_merge,
    sequential_split_merge,
)
from mapdpm.samplers.chain import Adapted
from mapdpm.testing import exact, kernels
from tests.families import FAMILIES, KINDS_OF_ROWS, example
from tests.faults import AlphaDropped, CountOffByOne, FirstOpeningAlways
from tests.marks import complete_but, slow_but
from tests.oracle import raw

N = 4
ALPHA = 0.7
MODELS = {"DP": {}, "PY": {"discount": 0.3}, "finite": {"n_components": 3}}


class BriefBeam(PermutationAugmented):
    """Whose beam may forget a start at once: four points are too few for any other to forget."""

    _n_recent = 0


REVERSIBLE = {
    "split-merge, no scans": lambda **m: SplitMerge(ALPHA, n_scans=0, **m),
    "split-merge, a scan": lambda **m: SplitMerge(ALPHA, n_scans=1, **m),
    "sequential split-merge": lambda **m: SequentialSplitMerge(ALPHA, **m),
    "random split-merge": lambda **m: RandomSplitMerge(ALPHA, splits=0.3, **m),
    "launched split-merge": lambda **m: LaunchedSplitMerge(ALPHA, **m),
    "uniform, table": lambda **m: PermutationAugmented(ALPHA, method="table", **m),
    "uniform, beta": lambda **m: PermutationAugmented(ALPHA, method="beta", **m),
    "uniform, given beta": lambda **m: PermutationAugmented(ALPHA, method="beta", beta=1.3, **m),
    "uniform, beam": lambda **m: BriefBeam(ALPHA, epsilon=0.02, **m),
    "markov, table": lambda **m: PermutationAugmented(ALPHA, method="table", permutations="markov", **m),
    "markov, beta": lambda **m: PermutationAugmented(ALPHA, method="beta", permutations="markov", **m),
    "markov, beam": lambda **m: BriefBeam(ALPHA, permutations="markov", epsilon=0.02, **m),
}
KERNELS = {
    "gibbs": lambda **m: CollapsedGibbs(ALPHA, **m),
    **REVERSIBLE,
}
FEW_PATHS = (
    *("gibbs", "split-merge, no scans", "sequential split-merge"),
    *("random split-merge", "launched split-merge"),
)


def points(family=NormalGamma, n=N):
    return example(family, np.random.default_rng(5), n=n)


def holds(P, pi, name):
    """P keeps pi, and forgets where it started."""
    possible = np.ix_(pi > 0.0, pi > 0.0)  # a finite mixture has partitions that are not
    second = sorted(np.abs(np.linalg.eigvals(P[possible])))[-2]
    print(f"{name}: |pi P - pi| = {broken_by(P, pi):.1e}, second eigenvalue {second:.3f}")
    assert broken_by(P, pi) < 1e-12
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    # Irreducible: a kernel that never moves keeps pi too.
    assert np.all(np.linalg.matrix_power(P[possible], len(P)) > 0)
    assert second < 1.0 - 1e-6


def broken_by(P, pi):
    return np.abs(pi @ P - pi).max()


def posterior_is_invariant(kernel, model, **options):
    likelihood, data = points()
    sampler = KERNELS[kernel](**MODELS[model])
    P = kernels.matrix_of(sampler, likelihood, data, N, **options)
    pi = kernels.posterior_of(sampler.target.prior, likelihood, data, N)
    holds(P, pi, f"{kernel}, {model}")
    if kernel in REVERSIBLE:
        np.testing.assert_allclose(pi[:, None] * P, (pi[:, None] * P).T, atol=1e-12)


@pytest.mark.complete
@pytest.mark.compiled
@pytest.mark.parametrize("kernel", slow_but(["gibbs", "launched split-merge"], KERNELS))
def test_posterior_is_invariant_under_compiled_kernels(kernel):
    posterior_is_invariant(kernel, "PY", compiled=True)


def when_to_run(kernel, model):
    """In plain Python: those of few paths always, as what is compiled is enumerated too (decision 78)."""
    if kernel in FEW_PATHS:
        return () if model == "DP" and kernel != "launched split-merge" else pytest.mark.complete
    return pytest.mark.slow if model == "finite" else pytest.mark.complete


@pytest.mark.parametrize(
    ("kernel", "model"),
    [pytest.param(kernel, model, marks=when_to_run(kernel, model)) for kernel in KERNELS for model in MODELS],
)
def test_posterior_is_invariant(kernel, model):
    posterior_is_invariant(kernel, model)


@pytest.mark.parametrize("model", ["DP", pytest.param("PY", marks=pytest.mark.slow)])
@pytest.mark.complete
@pytest.mark.parametrize("family", slow_but(KINDS_OF_ROWS, FAMILIES))
def test_posterior_is_invariant_for_every_family(family, model):
    likelihood, data = points(family)
    for name in FEW_PATHS:
        sampler = KERNELS[name](**MODELS[model])
        P = kernels.matrix_of(sampler, likelihood, data, N)
        holds(P, kernels.posterior_of(sampler.target.prior, likelihood, data, N), f"{family.__name__}, {name}, {model}")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["DP", "PY"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kernel", [name for name in KERNELS if name not in FEW_PATHS])
def test_posterior_is_invariant_for_every_kernel_and_family(kernel, family, model):
    likelihood, data = points(family)
    sampler = KERNELS[kernel](**MODELS[model])
    P = kernels.matrix_of(sampler, likelihood, data, N)
    pi = kernels.posterior_of(sampler.target.prior, likelihood, data, N)
    assert broken_by(P, pi) < 1e-12
    if kernel.endswith("beam"):  # alone it may never leave what it forgets: improbable partitions of these points
        P @= kernels.matrix_of(KERNELS["gibbs"](**MODELS[model]), likelihood, data, N)
    holds(P, pi, f"{family.__name__}, {kernel}, {model}")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["DP", "finite"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kernel", ["random split-merge", "launched split-merge"])
def test_posterior_of_five_points_is_invariant(kernel, family, model):
    likelihood, data = points(family, n=5)
    sampler = KERNELS[kernel](**MODELS[model])
    P = kernels.matrix_of(sampler, likelihood, data, 5)
    pi = kernels.posterior_of(sampler.target.prior, likelihood, data, 5)
    holds(P, pi, f"{family.__name__}, {kernel}, {model}, 52 partitions")


@pytest.mark.parametrize("model", ["DP", "PY"])
def test_hybrids_on_three_points(model):
    likelihood, data = points(n=3)
    m = MODELS[model]
    gibbs, pairs = (KERNELS[name](**m) for name in ("gibbs", "sequential split-merge"))
    hybrid = gibbs + pairs if model == "DP" else Hybrid((pairs,), counts=(2,))
    P = kernels.matrix_of(hybrid, likelihood, data, 3)
    holds(P, kernels.posterior_of(hybrid.target.prior, likelihood, data, 3), f"{hybrid.counts}, {model}")


@pytest.mark.complete
@pytest.mark.parametrize("model", ["DP", "PY"])
def test_hybrids_of_three(model):
    """Whose matrix is the product of those of the parts, which run one after the other."""
    likelihood, data = points()
    names = ("gibbs", "sequential split-merge", "uniform, beam")
    parts = [KERNELS[name](**MODELS[model]) for name in names]
    P = np.linalg.multi_dot([kernels.matrix_of(part, likelihood, data, N) for part in parts])
    pi = kernels.posterior_of(parts[0].target.prior, likelihood, data, N)
    holds(P, pi, f"gibbs + pairs + beam, {model}")
    seen = []
    for name, part in zip(names, parts, strict=True):
        part.step = lambda *_, name=name: seen.append(name) or Info(1)
    Hybrid(parts, counts=(1, 2, 1)).move(None, None)
    assert seen == [names[0], names[1], names[1], names[2]]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["DP", "PY"])
def test_hybrids(model):
    """As unchanged on four points: a path for each of either part's, after each of the other's."""
    likelihood, data = points()
    pairs = KERNELS["sequential split-merge"](**MODELS[model])
    for name in ("split-merge, no scans", "gibbs", "uniform, beta"):
        hybrid = KERNELS[name](**MODELS[model]) + pairs
        P = kernels.matrix_of(hybrid, likelihood, data, N)
        holds(P, kernels.posterior_of(hybrid.target.prior, likelihood, data, N), f"{name} + pairs, {model}")


INTEGRATED = {
    "table": {"method": "table"},
    "beta": {"method": "beta"},
    "given beta": {"method": "beta", "beta": 1.3},
    "beam": {"epsilon": 0.02},
    "markov, beam": {"epsilon": 0.02, "permutations": "markov"},
}
ALPHA_PRIOR = GammaPrior(1.5, 0.8)


def integrated(alpha=ALPHA, **options):
    return BriefBeam(alpha, alpha_prior=ALPHA_PRIOR, integrate_alpha=True, **options)


@pytest.fixture(scope="module")
def posterior_without_alpha():
    """The partition's own posterior, alpha integrated out by scipy's quadrature."""

    def weight(K):  # of a partition of K clusters, but for its sizes
        def density(t):
            alpha = math.exp(t)
            log_p = K * t + gammaln(alpha) - gammaln(alpha + N) + ALPHA_PRIOR.log_density(alpha) + t
            return math.exp(log_p)

        return quad(density, -40.0, 6.0, epsabs=0.0, epsrel=1e-13, limit=200, points=[-5.0, 0.0, 3.0])[0]

    weights = {K: weight(K) for K in range(1, N + 1)}
    pi = kernels.posterior_of(DirichletProcess(1.0), *points(), N)
    pi *= [weights[max(z) + 1] for z in exact.partitions(N)]
    return pi / pi.sum()


@pytest.mark.complete
@pytest.mark.parametrize("name", INTEGRATED)
def test_alpha_integrated_out(name, posterior_without_alpha):
    P = kernels.matrix_of(integrated(**INTEGRATED[name]), *points(), N)
    holds(P, posterior_without_alpha, f"alpha integrated out, {name}")


@pytest.mark.complete
@pytest.mark.parametrize("name", complete_but(["beta"], ["table", "beta", "given beta"]))
def test_a_step_that_integrates_alpha_does_not_see_it(name):
    """alpha tells of the partition that it was drawn for: a kernel chosen by it would leave nothing invariant."""
    P, Q = (kernels.matrix_of(integrated(alpha, **INTEGRATED[name]), *points(), N) for alpha in (0.1, 5.0))
    np.testing.assert_array_equal(P, Q)


@pytest.mark.complete
@pytest.mark.parametrize("fault", complete_but(["present alpha"], ["present alpha", "K! omitted"]))
def test_faults_of_integrated_alpha_show(fault, posterior_without_alpha):
    sampler = integrated(method="beta")
    if fault == "present alpha":
        wrong = permutation_augmented.log_of_numbers(DirichletProcess(ALPHA), N)
    else:
        wrong = sampler.integrated.log_of_k(N) + gammaln(np.arange(N + 1) + 1.0)
    sampler.integrated.log_of_k = lambda _: wrong
    P = kernels.matrix_of(sampler, *points(), N)
    assert broken_by(P, posterior_without_alpha) > 1e-3


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
@pytest.mark.parametrize("prior", [DirichletProcess(ALPHA), PitmanYor(ALPHA, 0.3)], ids=["DP", "PY"])
def test_posterior_is_scipys(family, prior):
    likelihood, X = points(family)
    ours = kernels.posterior_of(prior, likelihood, X, N)
    theirs = exact.posterior(lambda z: raw.log_joint(X, z, likelihood, prior.alpha, prior.discount), N)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


class PointLeftIn(NormalGamma):
    __slots__ = ()

    def remove(self, row, data, i, w):
        return True


def with_prior(sampler, prior):
    """``sampler``, of a process that is not quite one."""
    sampler.target = sampler.target._replace(prior=prior)
    return sampler


def without_the_proposal_ratio(monkeypatch):
    sound = sequential_split_merge.accept_split_or_merge

    def accept_split_or_merge(model, state, launch, log_q, rng):
        return sound(model, state, launch, 0.0, rng)

    monkeypatch.setattr(sequential_split_merge, "accept_split_or_merge", accept_split_or_merge)
    return SequentialSplitMerge(ALPHA)


def without_the_probability_of_orders(monkeypatch):
    monkeypatch.setitem(permutation_augmented.PERMUTATIONS, "uniform", _orders.IGNORED)
    sound = permutation_augmented.log_of_numbers
    factorials = np.cumsum(np.log(np.maximum(np.arange(N + 1), 1)))
    wrong = staticmethod(lambda prior, n: sound(prior, n) + factorials)
    monkeypatch.setattr(PermutationAugmented, "_log_of_numbers", wrong)
    return PermutationAugmented(ALPHA, method="table")


def without_cancelling_beta(monkeypatch):
    sampler = PermutationAugmented(ALPHA, method="beta")

    likelihood, data = points()
    chain = kernels.PlainChain(likelihood, sampler.target.prior, data, np.zeros(N, dtype=int), Adapted(2.0))
    log_ratio = sampler._per_cluster(chain, sampler._log_of_numbers(chain.prior, N))
    always = staticmethod(lambda *_: log_ratio * np.arange(N + 1.0))  # accepts whatever q' proposes
    monkeypatch.setattr(PermutationAugmented, "_log_of_numbers", always)
    return sampler


def without_normalising(monkeypatch):
    def side_scores(likelihood, prior, data, sides, i):
        return tuple(prior.log_existing(side[0], 1.0) + likelihood.log_predictive(side, data, i) for side in sides)

    monkeypatch.setattr(sequential_split_merge, "side_scores", side_scores)
    return SequentialSplitMerge(ALPHA)


def without_the_normaliser_of_sides(monkeypatch):
    sound = random_split_merge.log_dirichlet_multinomial

    def unnormalised(n, m, a):
        return sound(n, m, a) - gammaln(2 * a) + gammaln(2 * a + n + m)

    monkeypatch.setattr(random_split_merge, "log_dirichlet_multinomial", unnormalised)
    return RandomSplitMerge(ALPHA)


def with_one_cluster_less_among_the_choices(monkeypatch):
    sound = random_split_merge.decide

    def decide(model, state, chosen, sides, log_q, rng):
        K = np.count_nonzero(state.counts)  # the splits of these points are all accepted, right or wrong
        more = math.log((K - 1) / K) if chosen.first != chosen.second else 0.0
        return sound(model, state, chosen, sides, log_q + more, rng)

    monkeypatch.setattr(random_split_merge, "decide", decide)
    return RandomSplitMerge(ALPHA)


def with_both_orders_of_sides_counted(monkeypatch):
    monkeypatch.setattr(launched_split_merge, "log_half_sum", np.logaddexp)
    return LaunchedSplitMerge(ALPHA)


def without_the_present_sides(monkeypatch):
    sound = LaunchedSplitMerge._divide_anew.kernel

    def divide_anew(model, state, chosen, sides, log_q, rng):
        return sound(model, state, chosen, sides, 0.0 * log_q, rng)

    broken = LaunchedSplitMerge(ALPHA)
    monkeypatch.setattr(LaunchedSplitMerge, "_divide_anew", staticmethod(divide_anew))
    return broken


def with_a_launch_that_knows_the_labels(monkeypatch):
    sound = LaunchedSplitMerge._launched

    def launched(sampler, likelihood, data, points):
        return sound(sampler, likelihood, data, points[: max(1, len(points) - 1)] if seen[-1] else points)

    def choose(state, rng):
        chosen = sound_choose(state, rng)
        seen.append(chosen.first == chosen.second)
        return chosen

    seen, sound_choose = [], LaunchedSplitMerge._choose.kernel
    broken = LaunchedSplitMerge(ALPHA)
    monkeypatch.setattr(LaunchedSplitMerge, "_launched", launched)
    monkeypatch.setattr(LaunchedSplitMerge, "_choose", staticmethod(choose))
    return broken


FAULTS = {
    "alpha dropped": lambda _: with_prior(CollapsedGibbs(ALPHA), AlphaDropped(ALPHA)),
    "count off by one": lambda _: with_prior(CollapsedGibbs(ALPHA), CountOffByOne(ALPHA)),
    "new-cluster prior": lambda _: with_prior(CollapsedGibbs(ALPHA, discount=0.3), FirstOpeningAlways(ALPHA, 0.3)),
    "proposal ratio omitted": without_the_proposal_ratio,
    "p(order | C) omitted": without_the_probability_of_orders,
    "beta not cancelled": without_cancelling_beta,
    "wrong normaliser": without_normalising,
    "sides not normalised": without_the_normaliser_of_sides,
    "K - 1 for K": with_one_cluster_less_among_the_choices,
    "both orders counted": with_both_orders_of_sides_counted,
    "present sides omitted": without_the_present_sides,
    "launch knows labels": with_a_launch_that_knows_the_labels,
}


SEEN_FIRST = ("alpha dropped", "proposal ratio omitted", "p(order | C) omitted")


@pytest.mark.complete
@pytest.mark.parametrize("fault", complete_but(SEEN_FIRST, FAULTS))
def test_faults_show(fault, monkeypatch):
    likelihood, data = points()
    sampler = FAULTS[fault](monkeypatch)
    sound = PitmanYor(ALPHA, 0.3) if fault == "new-cluster prior" else DirichletProcess(ALPHA)
    P = kernels.matrix_of(sampler, likelihood, data, N)
    assert broken_by(P, kernels.posterior_of(sound, likelihood, data, N)) > 1e-3  # nine orders above what is accepted


@pytest.mark.complete
def test_a_point_left_in_shows():
    likelihood, data = points()
    prior = DirichletProcess(ALPHA)
    pi = kernels.posterior_of(prior, likelihood, data, N)
    sound = exact.transition_matrix(lambda z, rng: _plain_sweep(likelihood, prior, data, z, rng), N)
    assert broken_by(sound, pi) < 1e-12
    P = exact.transition_matrix(lambda z, rng: _plain_sweep(PointLeftIn(*likelihood), prior, data, z, rng), N)
    assert broken_by(P, pi) > 1e-3


def _plain_sweep(likelihood, prior, data, z, rng):
    """A sweep that makes all rows anew for each point, so that a row that keeps a point harms that point only."""
    state = states.empty(likelihood, N, N + 1)
    state.labels[:] = z
    for i in range(N):
        states.statistics(likelihood, data, None, state)
        rest = state.labels.copy()
        k = states.unassign(likelihood, data, None, state, i)
        scores = np.empty(N + 1)
        candidate_scores(likelihood, prior, data, None, state, i, scores)
        state.labels[:] = rest
        state.labels[i] = rng.categorical(scores)
        assert k == rest[i]
    return state.labels


@pytest.mark.compiled
@pytest.mark.parametrize("kernel", complete_but(["gibbs"], KERNELS))
def test_compiled_kernels_draw_as_plain_ones(kernel):
    """With the prior of most other tests, so that they share what is compiled; the walks above have Pitman-Yor."""
    likelihood, data = points(n=12)
    sampler = KERNELS[kernel]()
    plain = kernels.uncompiled(sampler)
    one, two = (Chain(likelihood, sampler.target.prior, data, np.zeros(12, dtype=int), Adapted(3.0)) for _ in range(2))
    first, second = seeded(3), seeded(3)
    for _ in range(10):
        infos = sampler.step(one, first), plain.step(two, second)
        np.testing.assert_array_equal(one.state.labels, two.state.labels)
        assert infos[0] == infos[1]
    states.check(likelihood, data, None, one.state)
