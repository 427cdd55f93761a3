"""Chains of explicit labels: their partitions, alpha and discounts, traces, starts, and what is refused."""

import math

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.partition_priors import PitmanYor, StickBreaking
from mapdpm.samplers import BetaPrior, CollapsedGibbs, GammaPrior, StickBreakingGibbs, Trace, sample
from mapdpm.samplers import stick_breaking_gibbs as module
from mapdpm.testing import kernels
from mapdpm.validation import in_order_of_appearance
from tests.samplers.labelled_states import (
    STICKS,
    log_joints,
    log_marginal_of,
    points,
    sampler_of,
)
from tests.samplers.same_draws import assert_compiled_is_plain


@pytest.mark.complete
def test_compiled_and_plain_draw_the_same():
    X = np.random.default_rng(6).normal(0.0, 3.0, (40, 2))
    for options in ({"alpha": 1.0}, {"alpha": 0.5, "discount": 0.4}, {"a": 5.0, "b": 0.1}):
        likelihood = NormalGamma(0.0, 0.5, 1.5, 1.0).for_data(X)
        assert_compiled_is_plain(StickBreakingGibbs(move_rate=0.5, **options), X, likelihood)


def test_labels_reach_the_trace_and_chains_go_on(tmp_path):
    X = np.random.default_rng(6).normal(0.0, 3.0, (30, 2))
    sampler = StickBreakingGibbs(0.7, discount=0.3, likelihood=NormalGamma(0.0, 0.5, 1.5, 1.0))
    whole = sample(X, sampler, draws=9, burn_in=2, chains=2, random_state=4)
    trace = sample(X, sampler, draws=6, burn_in=2, chains=2, random_state=4)
    trace.save(tmp_path / "draws.npz")
    resumed = sample(X, sampler, draws=3, resume=Trace.load(tmp_path / "draws.npz"))
    for name, array in whole.to_dict().items():
        np.testing.assert_array_equal(resumed.to_dict()[name], array, name)
    assert whole.dims == {"labels": ("point",)}
    names, z = whole.extra["labels"].reshape(-1, 30), whole.partitions.reshape(-1, 30)
    np.testing.assert_array_equal([in_order_of_appearance(labels) for labels in names], z)
    assert np.any(names != z)
    np.testing.assert_array_equal(in_order_of_appearance(whole.best_variables["labels"]), whole.best)


def test_log_joint_is_that_of_labels():
    likelihood, data = points()
    for name, sticks in STICKS.items():
        trace = sample(data, sampler_of(name, ("swap",), likelihood=likelihood), draws=20, random_state=1)
        values = log_joints(sticks, likelihood, data, [tuple(z) for z in trace.extra["labels"][0].tolist()])
        np.testing.assert_allclose(trace.log_joint[0], values, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_partitions_are_those_of_collapsed_gibbs(discount):
    """The labels are summed out by a long run, whose effective number of draws gives the bound."""
    N = 4
    likelihood, data = points(N)
    pi = kernels.posterior_of(CollapsedGibbs(0.7, discount=discount).target.prior, likelihood, data, N)
    trace = sample(
        data, StickBreakingGibbs(0.7, discount=discount, likelihood=likelihood), draws=40_000, chains=2, random_state=2
    )
    index = {z: k for k, z in enumerate(kernels.of_partitions(N).states)}
    seen = np.array([index[tuple(z)] for z in trace.partitions.reshape(-1, N).tolist()]).reshape(2, -1)
    for k, share in enumerate(pi):
        hits = (seen == k).reshape(-1, 400).mean(axis=1)  # means of runs of 400 draws
        assert abs(hits.mean() - share) < 5.0 * hits.std(ddof=1) / math.sqrt(len(hits)) + 1e-4


@pytest.mark.slow
def test_alpha_given_labels():
    """With a prior on alpha, its draws have the posterior over alpha and partitions (the labels summed out)."""
    likelihood, data = points(4)
    hyper = {"alpha_prior": GammaPrior(2.0, 1.0), "likelihood": likelihood}
    traces = [
        sample(data, sampler, draws=40_000, burn_in=100, random_state=3)
        for sampler in (StickBreakingGibbs(1.0, **hyper), CollapsedGibbs(1.0, **hyper))
    ]
    for value in (lambda t: np.log(t.alpha[0]), lambda t: t.n_clusters[0].astype(float)):
        means = [value(trace).reshape(-1, 400).mean(axis=1) for trace in traces]
        errors = [m.std(ddof=1) / math.sqrt(len(m)) for m in means]
        assert abs(means[0].mean() - means[1].mean()) < 5.0 * math.hypot(*errors)


@pytest.mark.complete
def test_a_high_discount_keeps_few_slots():
    X = np.random.default_rng(6).normal(0.0, 3.0, (60, 1))
    trace = sample(X, StickBreakingGibbs(2.0, discount=0.7), draws=100, random_state=0)
    assert trace.extra["labels"].max() > 1000
    assert np.all(np.isfinite(trace.log_joint))


def test_a_start_that_sticks_allow():
    """Two sticks for three clusters: the start has two, and labels that are given may be no more."""
    X = np.array([0.0] * 10 + [100.0] * 10 + [-100.0] * 10)[:, None] + np.tile(np.linspace(-0.5, 0.5, 10), 3)[:, None]
    sampler = StickBreakingGibbs(a=[1.0, 1.0], b=[1.0, 0.0], likelihood=NormalGamma(0.0, 1e-4, 2.0, 0.2))
    trace = sample(X, sampler, draws=20, random_state=0)
    assert trace.extra["labels"].max() == 1
    assert np.all(np.isfinite(trace.log_joint))
    with pytest.raises(ValueError, match="init has 3 clusters"):
        sample(X, sampler, draws=1, init=np.repeat([0, 1, 2], 10))
    many = np.random.default_rng(0).normal(size=(1200, 1))
    decaying = StickBreakingGibbs(sticks=StickBreaking.gamma_family(1.0, 0.5))
    with pytest.raises(ValueError, match="init='singletons' makes 1200 clusters"):
        sample(many, decaying, draws=1, init="singletons")


def test_hybrids_of_one_model():
    X = np.random.default_rng(0).normal(size=(20, 1))
    moves = StickBreakingGibbs(a=[1.0, 2.0], b=[2.0, 1.0]) + StickBreakingGibbs(a=[1, 2], b=[2, 1], label_moves=())
    assert sample(X, moves, draws=3, random_state=0).log_joint.shape == (1, 3)
    with pytest.raises(ValueError, match="hybrid"):
        StickBreakingGibbs(a=1.0, b=2.0) + CollapsedGibbs(1.0)


@pytest.mark.slow
def test_a_discount_that_is_drawn_ends_where_labels_do():
    """Beta(6, 1) has much mass near 1: draws of d and K are those of enumeration on the range that is allowed."""
    likelihood, data = points(4)
    hyper = {"discount_prior": BetaPrior(6.0, 1.0), "likelihood": likelihood}
    trace = sample(data, StickBreakingGibbs(1.0, discount=0.3, **hyper), draws=40_000, burn_in=200, random_state=3)
    grid = np.linspace(0.0005, 0.9995, 1000)
    allowed = [d for d in grid if module.StickBreaking(np.array([1 - d]), np.array([1 + d]), d).is_representable()]
    log_marginal, weights, sizes = log_marginal_of(likelihood, data), [], []
    for z in kernels.of_partitions(4).states:
        groups = [[i for i, k in enumerate(z) if k == label] for label in range(max(z) + 1)]
        marginal = math.fsum(log_marginal(group) for group in groups)
        counts = np.array([float(len(group)) for group in groups])
        weights.append([marginal + PitmanYor(1.0, d).log_partition(counts) + 5.0 * math.log(d) for d in allowed])
        sizes.append(len(groups))
    shares = np.exp(np.array(weights) - np.max(weights))
    shares /= shares.sum()
    for values, mean in (
        (trace.discount[0], shares.sum(axis=0) @ allowed),
        (trace.n_clusters[0], shares.sum(axis=1) @ sizes),
    ):
        means = values.reshape(-1, 400).mean(axis=1)
        assert abs(means.mean() - mean) < 5.0 * means.std(ddof=1) / math.sqrt(len(means)) + 1e-3


def test_refusals():
    for options, message in (
        ({"alpha": 1.0, "a": 1.0, "b": 1.0}, "three ways to say the same"),
        ({"a": 1.0}, "a and b go together"),
        (
            {"a": 1.0, "b": 1.0, "alpha_prior": GammaPrior(1, 1)},
            "alpha_prior and discount_prior are for sticks by alpha",
        ),
        ({"sticks": 3}, "sticks must be a StickBreaking"),
        ({"sticks": StickBreaking.of(1.0, 1.0), "a": 1.0}, "three ways"),
        ({"label_moves": "swap"}, "label_moves must be a sequence of 'swap', 'permute', 'next'"),
        ({"label_moves": ("shift",)}, "label_moves must be"),
        ({"move_rate": 0.0}, r"move_rate must be None or in \(0, 1\]"),
        ({"discount": 0.95}, "labels beyond 2"),
    ):
        with pytest.raises(ValueError, match=message):
            StickBreakingGibbs(**options)


def test_equal_priors_have_equal_descriptions():
    assert StickBreakingGibbs(a=[5.0, 1.0], b=0.1).describe() == StickBreakingGibbs(a=[5, 1], b=[0.1]).describe()
    assert StickBreakingGibbs(a=5.0, b=0.1).describe() != StickBreakingGibbs(a=5.0, b=0.2).describe()
    assert module.sticks_of(StickBreakingGibbs(0.5).target.prior).b.tolist() == [0.5]
