"""Gibbs sampling of explicit labels, and moves of labels, leave the exact posterior of labels invariant."""

import math

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.partition_priors import PitmanYor, StickBreaking
from mapdpm.partition_priors.stick_breaking import mean_shares_given
from mapdpm.rng import seeded
from mapdpm.samplers import BetaPrior, CollapsedGibbs, GammaPrior, StickBreakingGibbs, Trace, _labels, sample
from mapdpm.samplers import stick_breaking_gibbs as module
from mapdpm.samplers._labels import Occupied, in_order, move_labels
from mapdpm.samplers.given import ChainData
from mapdpm.testing import exact, kernels, laws
from mapdpm.testing.enumeration import labellings
from mapdpm.validation import in_order_of_appearance
from tests.families import FAMILIES, example
from tests.oracle import sticks as oracle
from tests.samplers.same_draws import assert_compiled_is_plain

GAMMAS = np.array([1.0, 0.5, 0.25, 0.25])
STICKS = {
    "DP": (np.ones(4), np.array([1.3, 1.3, 1.3, 0.0])),
    "PY": (np.full(4, 0.6), np.array([1.4, 1.8, 2.2, 0.0])),
    "(5, 0.1)": (np.full(4, 5.0), np.array([0.1, 0.1, 0.1, 0.0])),
    "gamma": (GAMMAS, np.array([1.0, 0.5, 0.25, 0.0])),
}
"""Four sticks, of which the last takes the rest: 64 states of three points, 256 of four."""
EACH = pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])


def points(n=3, family=NormalGamma):
    return example(family, np.random.default_rng(5), n=n)


def enter(chain, z):
    """Put a chain at labels ``z``."""
    z = np.array(z)
    chain.become(in_order_of_appearance(z))
    chain.labels_of_slots[chain.state.labels] = z


def key(chain):
    return tuple(chain.labels_of_slots[chain.state.labels].tolist())


def space_of(n, n_labels=4):
    return kernels.StateSpace(labellings(n, n_labels), enter, key)


def log_marginal_of(likelihood, data):
    known = {}

    def log_marginal(members):
        at = tuple(sorted(members))
        if at not in known:
            known[at] = likelihood.log_marginal(laws.row_of(likelihood, data, list(at))) if at else 0.0
        return known[at]

    return log_marginal


def log_joints(sticks, likelihood, data, states):
    log_marginal = log_marginal_of(likelihood, data)

    def log_joint(z):
        groups = [[i for i, label in enumerate(z) if label == k] for k in set(z)]
        return oracle.log_probability(z, *sticks) + math.fsum(map(log_marginal, groups))

    return np.array([log_joint(z) for z in states])


def posterior(values):
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def sampler_of(name, moves=(), **options):
    a, b = STICKS[name]
    return StickBreakingGibbs(a=a, b=b, label_moves=moves, **({"move_rate": 1.0} | options))


def broken_by(P, pi):
    return np.abs(pi @ P - pi).max()


# ---- Gibbs --------------------------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("name", STICKS)
def test_gibbs_leaves_the_posterior_of_labels_invariant(name, n):
    likelihood, data = points(n)
    space = space_of(n)
    P = kernels.matrix_of(sampler_of(name), likelihood, data, space, compiled=n > 3)
    pi = posterior(log_joints(STICKS[name], likelihood, data, space.states))
    print(f"{name}: |pi P - pi| = {broken_by(P, pi):.1e}")
    assert broken_by(P, pi) < 1e-12
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(P > 0.0)
    np.testing.assert_allclose(
        P, oracle.gibbs(space.states, *STICKS[name], log_marginal_of(likelihood, data)), atol=1e-12
    )


@pytest.mark.complete
@pytest.mark.parametrize("family", FAMILIES)
def test_gibbs_is_exact_for_every_family(family):
    likelihood, data = points(3, family)
    space = space_of(3)
    P = kernels.matrix_of(sampler_of("PY"), likelihood, data, space)
    assert broken_by(P, posterior(log_joints(STICKS["PY"], likelihood, data, space.states))) < 1e-12


# ---- moves of labels ----------------------------------------------------------------------------------------------

PROPOSALS = {"swap": oracle.swap, "permute": oracle.permute, "next": oracle.following}


def matrix_of_move(sampler, likelihood, data):
    """The transition matrix of the moves of labels of ``sampler`` alone, each once."""
    plain, n = kernels.uncompiled(sampler), len(data)
    chain = plain.chain(ChainData(likelihood, data), "single", seeded(0))

    def step(z, rng):
        enter(chain, z)
        occupied, other = (Occupied(*np.zeros((3, n + 1), dtype=np.int64)) for _ in range(2))
        K = in_order(chain.state, chain.labels_of_slots, occupied)
        proposed, accepted = move_labels(chain.sticks, occupied, K, sampler.moves, other, rng)
        assert 0 <= accepted <= proposed
        chain.labels_of_slots[occupied.slots[:K]] = occupied.labels[:K]
        np.testing.assert_array_equal(chain.state.counts[occupied.slots[:K]], occupied.counts[:K])
        assert np.all(np.diff(occupied.labels[:K]) > 0)
        return key(chain)

    return exact.transition_matrix(step, labellings(n, 4), key=lambda reached: reached)


@EACH
@pytest.mark.parametrize("move", PROPOSALS)
@pytest.mark.parametrize("name", STICKS)
def test_moves_of_labels_are_metropolis_hastings(move, name, n):
    """The whole matrix, against proposals by loops over labels and the ratio of Beta functions."""
    likelihood, data = points(n)
    P = matrix_of_move(sampler_of(name, (move,)), likelihood, data)
    values = log_joints(STICKS[name], likelihood, data, labellings(n, 4))
    pi = posterior(values)
    Q = PROPOSALS[move](labellings(n, 4), *STICKS[name])
    print(f"{name}, {move}: |pi P - pi| = {broken_by(P, pi):.1e}")
    assert broken_by(P, pi) < 1e-12
    np.testing.assert_allclose(P, oracle.accepted(Q, values), atol=1e-12)
    np.testing.assert_allclose(pi[:, None] * P, (pi[:, None] * P).T, atol=1e-12)


def test_next_by_more_than_one():
    likelihood, data = points()
    P = matrix_of_move(sampler_of("DP", ("next",), next_step=2), likelihood, data)
    Q = oracle.following(labellings(3, 4), *STICKS["DP"], step=2)
    values = log_joints(STICKS["DP"], likelihood, data, labellings(3, 4))
    np.testing.assert_allclose(P, oracle.accepted(Q, values), atol=1e-12)


@pytest.mark.parametrize(
    ("moves", "rate"),
    [(("swap",), None), (("permute",), 0.5), pytest.param(("next", "swap"), 1.0, marks=pytest.mark.slow)],
)
def test_whole_steps_on_two_points(moves, rate):
    """With moves after each assignment."""
    likelihood, data = points(2)
    a, b = np.array([1.0, 0.6, 2.0]), np.array([0.7, 1.3, 0.0])
    space = space_of(2, 3)
    sampler = StickBreakingGibbs(a=a, b=b, label_moves=moves, move_rate=rate)
    P = kernels.matrix_of(sampler, likelihood, data, space)
    assert broken_by(P, posterior(log_joints((a, b), likelihood, data, space.states))) < 1e-12


def test_moves_mix_faster():
    likelihood, data = points()
    gibbs = kernels.matrix_of(sampler_of("DP"), likelihood, data, space_of(3))

    def second(P):
        return sorted(np.abs(np.linalg.eigvals(P)))[-2]

    for move in ("swap", "permute"):
        with_moves = gibbs @ matrix_of_move(sampler_of("DP", (move,)), likelihood, data)
        print(f"second eigenvalue: {second(gibbs):.3f}, with {move} {second(with_moves):.3f}")
        assert second(with_moves) < second(gibbs) - 0.03


# ---- faults -------------------------------------------------------------------------------------------------------


def printed_ratio(prior, labels, counts, first, end, above):
    """The paper's ratio, for the gamma family, with gamma_i the expected share times a_0 + b_0."""
    gammas = prior.mean_shares(4) * (prior.a[0] + prior.b[0])
    return sum(
        math.lgamma(gammas[k] + n) - math.lgamma(gammas[k]) for k, n in zip(labels, counts, strict=True) if k < 4
    )


@pytest.mark.parametrize(("name", "least"), [("DP", 1e-3), ("PY", 1e-3), ("gamma", None)])
def test_the_printed_ratio_is_noticed(monkeypatch, name, least):
    """It holds for the gamma family only (papers: erratum 11)."""
    monkeypatch.setattr(_labels, "log_labels", printed_ratio)
    likelihood, data = points()
    pi = posterior(log_joints(STICKS[name], likelihood, data, labellings(3, 4)))
    off = broken_by(matrix_of_move(sampler_of(name, ("swap",)), likelihood, data), pi)
    print(f"printed ratio, {name}: {off:.1e}")
    assert off < 1e-12 if least is None else off > least


def test_swaps_among_instantiated_labels_are_noticed(monkeypatch):
    """Labels drawn up to the highest occupied one: a swap can change which that is (papers: erratum 11)."""
    likelihood, data = points()
    sampler = sampler_of("DP", ("swap",))
    highest = 0

    def renormalised(prior, first, rng):
        shares = prior.mean_shares(4)[: highest + 1]
        return rng.by_weight(shares)

    plain_order = in_order

    def noting(state, labels, occupied):
        nonlocal highest
        K = plain_order(state, labels, occupied)
        highest = int(occupied.labels[K - 1])
        return K

    monkeypatch.setattr(_labels, "draw_behind", renormalised)
    monkeypatch.setattr("tests.samplers.test_stick_breaking_gibbs.in_order", noting)
    pi = posterior(log_joints(STICKS["DP"], likelihood, data, labellings(3, 4)))
    off = broken_by(matrix_of_move(sampler, likelihood, data), pi)
    print(f"among instantiated labels: {off:.1e}")
    assert off > 1e-3


FAULTS = {
    "shares of the prior": (
        "mean_shares_given",
        lambda prior, labels, counts, total, shares, gaps: mean_shares_given(
            prior, labels, np.zeros_like(counts), 0, shares, gaps
        ),
    ),
    "the first of empty labels": ("draw_in_gap", lambda prior, first, end, n, rng: first),
    "the first label behind all": ("draw_behind", lambda prior, first, rng: first),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_gibbs_are_noticed(monkeypatch, fault):
    likelihood, data = points()
    monkeypatch.setattr(_labels, *FAULTS[fault])
    P = kernels.matrix_of(sampler_of("PY"), likelihood, data, space_of(3))
    off = broken_by(P, posterior(log_joints(STICKS["PY"], likelihood, data, labellings(3, 4))))
    print(f"{fault}: {off:.1e}")
    assert off > 1e-3


# ---- chains -------------------------------------------------------------------------------------------------------


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
