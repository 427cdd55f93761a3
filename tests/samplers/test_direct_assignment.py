"""Direct assignment: exact matrices over labels and tables, in groups and trees; planted faults; concentrations."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.rng import seeded
from mapdpm.samplers import DirectAssignment, GammaPrior, Given, _restaurants, grouped_sampler, sample, sharing_sampler
from mapdpm.samplers import direct_assignment as module
from mapdpm.testing.quadrature import QuadratureRng
from tests.families import FAMILIES, KINDS_OF_ROWS, example
from tests.marks import complete_but, slow_but
from tests.oracle import franchise as oracle
from tests.samplers.grouped_states import lag_of_tables, states_with_tables
from tests.samplers.same_draws import assert_compiled_is_plain, assert_resumes

ALPHAS, GAMMA = (1.5, 0.9), 2.2
TREES = {"sections of one document": [[0, 0], [1, 0]], "documents of one section": [[0, 0], [0, 1]]}

FAULT = 1e-3
"""The size of a planted fault; the error of quadrature is far below it, and falls with the nodes."""


def points(family, n):
    """Near points by default: probabilities are then smooth in the shares, and two nodes of quadrature do."""
    if family is None:
        return NormalKnownVariance(0.0, 2.0, 1.0).for_data(np.zeros((1, 1))), np.array([[-0.6], [0.9], [0.4]])[:n]
    return example(family, np.random.default_rng(8), n=n, D=1)


def lag_of(groups, family=None, n_nodes=2, **options):
    sampler = DirectAssignment(ALPHAS[: np.ndim(groups)], GAMMA, **options)
    for part in sampler.samplers[1:]:
        part.n_proposals = 1
    return lag_of_tables(sampler, *points(family, len(groups)), groups, rng=QuadratureRng(n_nodes))[0]


# ---- the state space -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [[0, 0, 1, 1, 1], *TREES.values(), [[0, 0], [0, 1], [0, 1], [1, 0]]])
def test_the_oracle_is_a_distribution(groups):
    tree = DirectAssignment(ALPHAS[: np.ndim(groups)]).check_given(Given(groups=np.array(groups)), len(groups)).groups
    found = states_with_tables(groups, tree, ALPHAS[: tree.n_levels], GAMMA)
    assert math.fsum(math.exp(joint) for _, joint in found) == pytest.approx(1.0, abs=1e-12)
    if tree.n_levels == 1:
        exact = oracle.by_franchises(groups, ALPHAS[0], GAMMA)
        for z, p in exact.items():
            assert math.fsum(math.exp(joint) for (labels, _), joint in found if labels == z) == pytest.approx(
                p, abs=1e-12
            )


@pytest.mark.parametrize("groups", [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]])
def test_shares_give_the_conditional_of_a_label(groups):
    """p(z_i = k | others) is (n_jk + alpha E[beta_k | others]) / (alpha + n_j): the weight that step 2 draws by."""
    exact, i, n = oracle.by_franchises(groups, ALPHAS[0], GAMMA), len(groups) - 1, groups[:-1].count(groups[-1])
    tree = DirectAssignment().check_given(Given(groups=np.array(groups[:-1])), i).groups
    found = states_with_tables(groups[:-1], tree, ALPHAS[:1], GAMMA)
    for others in {z for (z, _), _ in found}:
        K = max(others) + 1
        weights = [(math.exp(joint), np.array(m).reshape(-1, K).sum(axis=0)) for (z, m), joint in found if z == others]
        shares = sum(p * np.append(m, GAMMA) / (m.sum() + GAMMA) for p, m in weights) / sum(p for p, _ in weights)
        own = [sum(z == k and g == groups[-1] for z, g in zip(others, groups[:-1], strict=True)) for k in range(K)]
        expected = (np.append(own, 0) + ALPHAS[0] * shares) / (ALPHAS[0] + n)
        joints = np.array([exact[(*others, k)] for k in range(K + 1)])
        np.testing.assert_allclose(joints / joints.sum(), expected, atol=1e-12)


# ---- exact matrices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [[0, 1], [0, 0]])
def test_two_points(groups):
    assert lag_of(groups, n_nodes=4) < 1e-10


@pytest.mark.complete
@pytest.mark.parametrize("family", slow_but(KINDS_OF_ROWS, FAMILIES))
@pytest.mark.parametrize("groups", [[0, 1], [0, 0]])
def test_two_points_of_every_family(groups, family):
    assert lag_of(groups, family, n_nodes=10) < FAULT / 10


@pytest.mark.complete
def test_a_group_of_one_and_one_of_two():
    assert lag_of([0, 1, 1], n_nodes=3) < 1e-4


@pytest.mark.parametrize("groups", complete_but(list(TREES.values())[1:], TREES.values()), ids=TREES)
def test_trees(groups):
    assert lag_of(groups) < FAULT / 4


@pytest.mark.slow
@pytest.mark.parametrize("i", [0, 2])
def test_a_tree_of_two_sections(i, monkeypatch):
    """One label at a time: sections with two documents and with one. With two nodes the error is 9e-4."""
    right = grouped_sampler.GroupedChain.restaurants
    monkeypatch.setattr(
        grouped_sampler.GroupedChain, "restaurants", lambda chain: right(chain)._replace(points=np.array([i]))
    )
    assert lag_of([[0, 0], [0, 1], [1, 0]], n_nodes=3) < FAULT / 4


@pytest.mark.parametrize("groups", [[0, 0], *(pytest.param(g, marks=pytest.mark.slow) for g in TREES.values())])
def test_moves_of_tables(groups):
    assert lag_of(groups, to_tables=True) < FAULT / 4


def test_splits_and_merges():
    assert lag_of([0, 0], split_merge=True) < FAULT / 4


# ---- planted faults --------------------------------------------------------------------------------------------------


def bernoulli_from_one(restaurants, tables, rng):
    """The first guest of a cell opens a table only by chance."""
    for v in range(1, len(restaurants.parents)):
        for k, n in enumerate(restaurants.guests[v - 1]):
            a = restaurants.weights[0, k]
            tables[v - 1, k] = max(sum(rng.chance(a / (a + i)) for i in range(1, n + 1)), min(n, 1))


def beta_not_split(right, restaurants, j, k, rng):
    """A new cluster takes its share, and the rest stays whole."""
    rest = restaurants.weights[:, -1].copy()
    right(restaurants, j, k, rng)
    restaurants.weights[:, -1] = rest


def not_seen_on_the_path(right, restaurants, j, k, rng):
    """Inner nodes on the path to the point split as all others: without the + 1."""
    for u in range(len(restaurants.weights)):
        seen, rest = (1.0, GAMMA) if u == 0 else restaurants.weights[restaurants.parents[u]][[k, -1]]
        part, others = _restaurants.parts(rng.log_odds(seen, rest))
        restaurants.weights[u, k] = restaurants.weights[u, -1] * math.exp(part)
        restaurants.weights[u, -1] *= math.exp(others)


@pytest.mark.complete
@pytest.mark.parametrize(
    ("groups", "fault"), [([0, 0, 1], beta_not_split), (TREES["documents of one section"], not_seen_on_the_path)]
)
def test_faults_of_new_clusters_show(groups, fault, monkeypatch):
    monkeypatch.setattr(module, "open_slot", functools.partial(fault, module.open_slot))
    assert lag_of(groups) > FAULT


def test_faults_of_tables_show(monkeypatch):
    monkeypatch.setattr(DirectAssignment, "_draw_tables", staticmethod(bernoulli_from_one))
    assert lag_of([0, 0], n_nodes=3) > FAULT


@pytest.mark.complete
@pytest.mark.parametrize("field", ["concentrations", "root_concentration"])
def test_a_concentration_dropped_shows(field, monkeypatch):
    right = grouped_sampler.GroupedChain.restaurants

    def dropped(chain):
        found = right(chain)
        return found._replace(**{field: getattr(found, field) * 0.0 + 1.0})

    monkeypatch.setattr(grouped_sampler.GroupedChain, "restaurants", dropped)
    assert lag_of([0, 0, 1]) > FAULT


# ---- concentrations --------------------------------------------------------------------------------------------------


def tables_of(alpha, sizes, generator):
    """The number of tables of groups of ``sizes``, by the Chinese restaurant process."""
    return sum(int((generator.random(n) < alpha / (alpha + np.arange(n))).sum()) for n in sizes)


def drawn_after_a_step(prior, sizes, step, replicates=4000):
    generator, rng, found = np.random.default_rng(0), seeded(1), []
    for _ in range(replicates):
        alpha = max(generator.gamma(prior.shape) / prior.rate, 1e-300)
        found.append(
            math.log(step(alpha, np.array(sizes, dtype=float), tables_of(alpha, sizes, generator), prior, rng))
        )
    return np.array(found)


def p_value(prior, logs):
    """The p-value of a Kolmogorov-Smirnov test for logs of draws from ``prior``."""
    return stats.kstest(logs, lambda t: stats.gamma.cdf(np.exp(t), prior.shape, scale=1.0 / prior.rate)).pvalue


@pytest.mark.parametrize("prior", [GammaPrior(2.0, 1.0), GammaPrior(0.1, 0.1), GammaPrior(5.0, 0.1)])
def test_alpha_of_groups_keeps_its_distribution(prior):
    """Joint draws of alpha and tables, then a step: alpha still has its prior. A false alarm has odds of 1e-5."""
    assert p_value(prior, drawn_after_a_step(prior, [3, 7, 1, 12], sharing_sampler.draw_alpha_of_groups)) > 1e-5


def test_faults_of_alpha_show():
    def one_less(alpha, sizes, n_tables, prior, rng):
        return sharing_sampler.draw_alpha_of_groups(alpha, sizes, n_tables - 1, prior, rng)

    prior = GammaPrior(2.0, 1.0)
    assert p_value(prior, drawn_after_a_step(prior, [3, 7, 1, 12], one_less)) < 1e-8


def test_tiny_shapes_stay_above_zero():
    """A shape of .1 with groups of one point: the posterior is the prior, and 2,000 draws go down to exp(-80)."""
    prior = GammaPrior(0.1, 0.1)
    logs = drawn_after_a_step(prior, [1, 1], sharing_sampler.draw_alpha_of_groups, 2000)
    assert np.all(np.isfinite(logs))
    assert logs.min() < -50.0
    assert p_value(prior, logs) > 1e-5


# ---- chains ----------------------------------------------------------------------------------------------------------


def many(n=120):
    rng = np.random.default_rng(0)
    return 4.0 * rng.integers(0, 3, (n, 2)) + rng.normal(size=(n, 2)), rng.integers(0, 6, n)


@pytest.mark.complete
@pytest.mark.parametrize("to_tables", [False, True])
def test_compiled_and_plain_draw_the_same(to_tables):
    X, groups = many(60)
    likelihood = NormalGamma(4.0, 0.01, 2.0, 1.0).for_data(X)
    sampler = DirectAssignment(1.0, to_tables=to_tables, likelihood=likelihood, alpha_prior=GammaPrior(1, 1))
    assert_compiled_is_plain(sampler, X, likelihood, rtol=1e-12, groups=np.c_[groups // 2, groups])


@pytest.mark.parametrize("levels", [1, 2])
def test_the_trace(levels):
    X, groups = many()
    tree = groups if levels == 1 else np.c_[groups // 2, groups]
    sampler = DirectAssignment(
        likelihood=NormalGamma(4.0, 0.01, 2.0, 1.0), alpha_prior=GammaPrior(1, 1), gamma_prior=GammaPrior(1, 0.1)
    )
    trace = sample(X, sampler, groups=tree, draws=6, chains=2)
    K, n_groups = trace.n_clusters.max(), 6 if levels == 1 else 9
    assert trace.extra["m"].shape == (2, 6, n_groups, K)
    assert trace.extra["beta"].shape == ((2, 6, K + 1) if levels == 1 else (2, 6, 4, K + 1))
    np.testing.assert_allclose(np.nansum(trace.extra["beta"], axis=-1), 1.0, rtol=1e-12)
    assert trace.alpha.shape == ((2, 6) if levels == 1 else (2, 6, 2))
    assert trace.gamma.shape == (2, 6)
    assert np.ptp(trace.alpha) > 0.0 < np.ptp(trace.gamma)
    leaves = trace.extra["m"][0, 0][-6:, : trace.n_clusters[0, 0]]
    order = list(dict.fromkeys(groups.tolist()))
    counts = np.array(
        [[np.sum((groups == g) & (trace.partitions[0, 0] == k)) for k in range(leaves.shape[1])] for g in order]
    )
    assert np.all((leaves <= counts) & ((leaves > 0) == (counts > 0)))


@pytest.mark.parametrize("levels", [1, 2])
def test_resumed_chains_are_those_that_never_stopped(levels, tmp_path):
    X, groups = many()
    groups = groups if levels == 1 else np.c_[groups // 2, groups]
    sampler = DirectAssignment(alpha_prior=GammaPrior(1, 1), gamma_prior=GammaPrior(1, 0.1))
    assert_resumes(sampler, X, groups=groups, chains=2)
    trace = sample(X, sampler, groups=groups, draws=3)
    trace.save(tmp_path / "trace.npz")
    again = type(trace).load(tmp_path / "trace.npz")
    assert again.dims == trace.dims
    one, two = (sample(X, sampler, groups=groups, draws=2, resume=each) for each in (trace, again))
    np.testing.assert_array_equal(one.log_joint, two.log_joint)


@pytest.mark.parametrize(
    ("message", "model", "groups"),
    [
        ("needs groups=", {}, None),
        ("alpha must be > 0", {"alpha": 0.0}, [0, 1]),
        ("gamma must be > 0", {"gamma": -1.0}, [0, 1]),
        ("alpha must be a number, or one for each level of groups: 1, got 2", {"alpha": [1, 2]}, [0, 1]),
        ("alpha_prior must be one, or one for each level", {"alpha_prior": [GammaPrior()] * 2}, [0, 1]),
        ("alpha_prior must be a GammaPrior", {"alpha_prior": 1.0}, [0, 1]),
        ("gamma_prior must be a GammaPrior of rate > 0", {"gamma_prior": GammaPrior(1, 0)}, [0, 1]),
        ("groups must have one label a point", {}, [0, 1, 2]),
        (r"groups\[1\] is None", {}, [0, None]),
    ],
)
def test_bad_input(message, model, groups):
    with pytest.raises(ValueError, match=message):
        sample(np.zeros((2, 1)), DirectAssignment(**model), groups=groups, draws=1)
