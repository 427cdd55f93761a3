"""Samplers with continuous draws, held to the joint of model and points: ``mapdpm.testing.rank_tests``."""

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.partition_priors import finite_prior, partition_prior
from mapdpm.samplers import (
    BetaPrior,
    Chain,
    CollapsedGibbs,
    GammaPrior,
    PermutationAugmented,
    SequentialSplitMerge,
    SplitMerge,
    SubClusterSplits,
    UncollapsedGibbs,
    concentration,
    sequential_split_merge,
)
from mapdpm.samplers.chain import Adapted
from mapdpm.testing import kernels, rank_tests
from tests.marks import complete_but

FALSE_ALARM = 1e-5
PRIOR = NormalGamma(0.0, 0.3, 1.5, 1.0)


def joint_draws(model, n=5):
    """``draw(rng)``: a chain at alpha, a discount, a partition and ``n`` points, all drawn from the model."""
    likelihood = PRIOR.for_data(np.zeros((1, 2)))
    row = np.empty(likelihood.size())
    likelihood.init(row)

    def draw(rng):
        generator = rng.generator
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
        parameters = np.empty((labels.max() + 1, likelihood.n_parameters()))
        for each in parameters:
            likelihood.draw(row, each, rng)
        X = parameters[labels, 1:3] + generator.normal(size=(n, 2)) / np.sqrt(2.0 * parameters[labels, 3:])
        return Chain(likelihood, prior, X, labels, Adapted(2.0))

    return draw


def statistics(chain):
    """alpha, the discount, K, and the size of the first point's cluster."""
    z = chain.state.labels
    return chain.prior.alpha, chain.prior.discount, chain.n_clusters, np.count_nonzero(z == z[0])


def p_value(sampler, model, replicates=1500):
    return rank_tests.two_sample(joint_draws(model), sampler.step, statistics, replicates=replicates, random_state=10)


JOINT = {"alpha_prior": GammaPrior(2.0, 1.5)}
CONTINUOUS = {
    "auxiliary": CollapsedGibbs(likelihood=PRIOR, **JOINT),
    "slice": CollapsedGibbs(likelihood=PRIOR, alpha_update="slice", **JOINT),
    "integrated": PermutationAugmented(method="table", integrate_alpha=True, likelihood=PRIOR, **JOINT),
    "uncollapsed": UncollapsedGibbs(likelihood=PRIOR, **JOINT),
    "sub-cluster splits": SubClusterSplits(likelihood=PRIOR, **JOINT),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            n,
            marks={
                "integrated": pytest.mark.slow,
                "auxiliary": pytest.mark.complete,
                "sub-cluster splits": pytest.mark.complete,
                "uncollapsed": pytest.mark.complete,
                "slice": pytest.mark.complete,
            }.get(n, ()),
        )
        for n in CONTINUOUS
    ],
)
def test_continuous_draws_keep_the_joint(name):
    assert p_value(CONTINUOUS[name], JOINT) > FALSE_ALARM


@pytest.mark.complete
def test_discounts_keep_the_joint():
    model = JOINT | {"discount_prior": BetaPrior(2.0, 3.0)}
    sampler = CollapsedGibbs(discount=0.2, likelihood=PRIOR, **model)
    assert p_value(sampler, model) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("kind", [CollapsedGibbs, UncollapsedGibbs])
def test_finite_mixtures_keep_the_joint(kind):
    model = JOINT | {"n_components": 3}
    assert p_value(kind(likelihood=PRIOR, **model), model, 4000) > FALSE_ALARM


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
    assert p_value(sampler, model, 3000) > FALSE_ALARM


@pytest.mark.complete
@pytest.mark.parametrize(
    "fault",
    complete_but(
        ["a cluster too many", "no Jacobian"], ["a cluster too many", "no Jacobian", "parameters of the prior"]
    ),
)
def test_rank_tests_notice(fault, monkeypatch):
    sampler = CONTINUOUS["auxiliary"]
    if fault == "a cluster too many":
        sound = concentration.draw_alpha_by_auxiliary
        wrong = lambda a, N, K, p, rng: sound(a, N, K + 1, p, rng)  # noqa: E731
        monkeypatch.setattr(concentration, "draw_alpha_by_auxiliary", wrong)
    elif fault == "no Jacobian":
        sampler = CONTINUOUS["slice"]
        sound = concentration.slice_sample
        monkeypatch.setattr(concentration, "slice_sample", lambda f, t, rng: sound(lambda u: f(u) - u, t, rng))
    else:
        sampler = kernels.uncompiled(CONTINUOUS["uncollapsed"])

        def of_the_prior(likelihood, state, parameters, rng):
            blank = np.empty(likelihood.size())
            likelihood.init(blank)
            for each in parameters:
                likelihood.draw(blank, each, rng)

        sampler._draw = of_the_prior
    assert p_value(sampler, JOINT, 800) < FALSE_ALARM


@pytest.mark.complete
def test_ranks_of_a_reversible_sampler():
    """Splits and merges, then alpha; in reverse alpha, then splits and merges: each of the two is reversible."""
    sampler = SequentialSplitMerge(likelihood=PRIOR, **JOINT)

    def back(chain, rng):
        chain.prior = concentration.draw_concentration(chain.prior, chain.sizes, sampler.target, rng)
        sampler.move(chain, rng)

    p = rank_tests.ranks(joint_draws(JOINT), sampler.step, ranked, back=back, replicates=2000, random_state=10)
    assert p > FALSE_ALARM


@pytest.mark.complete
def test_ranks_notice_a_proposal_ratio_left_out(monkeypatch):
    """The ranks are then far from uniform."""
    sound = sequential_split_merge.accept_split_or_merge

    def wrong(model, state, launch, log_q, rng):
        return sound(model, state, launch, 0.0, rng)

    monkeypatch.setattr(sequential_split_merge, "accept_split_or_merge", wrong)
    sampler = kernels.uncompiled(SequentialSplitMerge(likelihood=PRIOR))
    draw = joint_draws(JOINT)
    p = rank_tests.ranks(draw, sampler.move, ranked, length=8, replicates=1500, random_state=10)
    assert p < FALSE_ALARM


def ranked(chain):
    """Without the discount, which is always 0."""
    alpha, _, K, size = statistics(chain)
    return alpha, K, size
