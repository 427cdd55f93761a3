"""The printed variant: its parts against raw formulas, its bias, bits; and super-clusters of neighbours, exactly."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm import state as states
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.partition_priors import DirichletProcess
from mapdpm.protocol import Model
from mapdpm.rng import seeded
from mapdpm.samplers import CollapsedGibbs, GammaPrior, Hybrid, SubClusterSplits, _map_reduce, sample
from mapdpm.samplers import _sub_clusters as sub_clusters
from mapdpm.samplers._neighbours import connected, group_with_neighbours
from mapdpm.samplers._restricted_sweep import Candidates, Points, choose_labels
from mapdpm.samplers.chain import Adapted
from mapdpm.samplers.chain_data import ChainData
from mapdpm.testing import exact, kernels, laws
from mapdpm.testing.enumeration import partitions
from tests.families import FAMILIES, KINDS_OF_ROWS, example
from tests.marks import complete_but, slow_but
from tests.samplers.same_draws import assert_resumes, assert_threads_agree

PRIOR = NormalGamma(0.0, 0.01, 2.0, 1.0)


def clusters(n, seed=3):
    """``n`` points of ten clusters of unit variance, whose centres are 20 apart, typically."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 10, n)
    return 20.0 * rng.normal(size=(10, 2))[z] + rng.normal(size=(n, 2)), z


def printed(**options):
    return SubClusterSplits(1.0, variant="printed", **options)


# ---- parts of a printed step -----------------------------------------------------------------------------------------


def chain_of(sampler, likelihood, data, labels):
    chain = sampler.chain(ChainData(likelihood, data), np.asarray(labels), seeded(0))
    chain.adapted = Adapted(3.0)
    return chain


@pytest.mark.complete
@pytest.mark.parametrize("family", slow_but(KINDS_OF_ROWS, FAMILIES))
def test_compiled_steps_are_plain_ones(family):
    likelihood, data = example(family, np.random.default_rng(6), n=12)
    sampler = printed(deferred=False, super_clusters=True)
    plain = kernels.uncompiled(sampler)
    one, two = (chain_of(sampler, likelihood, data, np.arange(12) % 5) for _ in range(2))
    first, second = seeded(3), seeded(3)
    for _ in range(5):
        assert sampler.step(one, first) == plain.step(two, second)
        for name in one.aux:
            np.testing.assert_array_equal(one.aux[name], two.aux[name])
        np.testing.assert_array_equal(one.state.labels, two.state.labels)
        states.check(likelihood, data, None, one.state)


@pytest.mark.complete
def test_the_state_is_whole_in_chunks(monkeypatch):
    """Rows are those of the labels, whatever was moved, emptied, split and merged."""
    monkeypatch.setattr(_map_reduce, "CHUNK", 32)
    X, z = clusters(300)
    sampler = printed(deferred=False)
    chain, rng = chain_of(sampler, PRIOR.for_data(X), X, z % 4), seeded(1)
    accepted = 0
    for _ in range(40):
        accepted += sampler.step(chain, rng).accepted
        states.check(chain.likelihood, X, None, chain.state)
    assert accepted > 5


def log_dirichlet_multinomial(sizes, a):
    """In full: the probability of given labels."""
    whole = gammaln(a * len(sizes)) - gammaln(a * len(sizes) + sum(sizes))
    return whole + sum(gammaln(a + n) - gammaln(a) for n in sizes)


def test_ratios_of_random_moves_are_those_of_the_authors():
    """R - log DM + log 100, without sum_s [lnG(N_s) - lnG(N_s + a)] and without the choice of a cluster."""
    alpha, a = 1.4, 0.7
    likelihood, X = example(NormalGamma, np.random.default_rng(2), n=9)
    groups = [[0, 1, 2, 3], [4, 5, 6, 7, 8]]
    rows = np.array([laws.row_of(likelihood, X, group) for group in groups])
    marginals = [likelihood.log_marginal(row) for row in rows]
    together = likelihood.log_marginal(laws.row_of(likelihood, X, range(9)))
    joint = np.log(alpha) + gammaln(4) + gammaln(5) - gammaln(9) + sum(marginals) - together
    lacking = gammaln(4) - gammaln(4 + a) + gammaln(5) - gammaln(5 + a)
    expected = joint - log_dirichlet_multinomial([4, 5], a) + np.log(100) - lacking
    said = sub_clusters.log_random_ratio(likelihood, DirichletProcess(alpha), rows, 3, a)
    assert said == pytest.approx(expected, abs=1e-10)


def sub_of(n_slots, n_points):
    sides = np.zeros(n_points, dtype=np.int8)
    return sub_clusters.SubClusters(
        sides, np.zeros((2 * n_slots, 1)), sides[:n_slots].copy(), np.full(n_slots, -np.inf)
    )


def test_sub_clusters_burn_in_when_their_density_does_not_rise():
    state = states.ClusterState(np.array([0, 0, 1, 1]), np.array([2, 2, 0]), np.zeros((3, 1)))
    sub = sub_of(3, 4)
    for log_densities, expected in (([-3, -1, -2, -2, 0, 0], [0, 0, 0]), ([-2, -1, -2, -3, 0, 0], [0, 1, 0])):
        sub_clusters.note_burn_in(state, sub, np.array(log_densities, dtype=float), True)
        assert sub.splittable.tolist() == expected
    assert sub.last.tolist() == [-1.5, -2.5, -np.inf]
    sub_clusters.note_burn_in(state, sub, np.array([9.0, 9.0, 9.0, 9.0, 0.0, 0.0]), True)
    assert sub.splittable.tolist() == [0, 1, 0]  # it stays
    sub_clusters.forget(sub, 1)
    sub_clusters.note_burn_in(state, sub, np.full(6, 99.0), False)
    assert sub.splittable.tolist() == [1, 1, 0]  # approximate: at once


def test_sides_of_one_kind_are_tossed_anew():
    labels = np.repeat([0, 1, 2], 400)
    sides = np.r_[np.zeros(400), np.ones(400), np.arange(400) % 2].astype(np.int8)
    before = sides.copy()
    sub_clusters.toss_empty(labels, 3, sides, seeded(0))
    np.testing.assert_array_equal(sides[800:], before[800:])
    for tossed in (sides[:400], sides[400:800]):
        assert 100 < tossed.sum() < 300  # 10 standard deviations


# ---- whole printed steps ---------------------------------------------------------------------------------------------


@pytest.mark.complete
@pytest.mark.parametrize("deferred", [True, False])
def test_clear_clusters_are_found(deferred):
    """Three clusters 30 standard deviations apart, from ten random ones: they are merged, then split."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 600)
    X = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 60.0]])[z] + rng.normal(size=(600, 2))
    sampler, init = printed(likelihood=PRIOR, deferred=deferred), rng.integers(0, 10, 600)
    trace = sample(X, sampler, draws=1, burn_in=200, init=init, random_state=0, keep=())
    assert adjusted_mutual_info(trace.best, z) > 0.99


def far_from_the_posterior(**options):
    """Total variation of the number of clusters of six points, over 2,000 draws."""
    X = np.array([[-0.3], [-0.2], [0.0], [0.1], [0.2], [0.4]])
    family = NormalKnownVariance(0.0, 4.0, 0.25).for_data(X)
    pi = kernels.posterior_of(DirichletProcess(3.0), family, X, 6)
    wanted = np.bincount([max(z) for z in partitions(6)], pi, 6)
    trace = sample(X, SubClusterSplits(3.0, likelihood=family, **options), draws=2000, random_state=0)
    return 0.5 * np.abs(np.bincount(trace.n_clusters.ravel() - 1, minlength=6) / 2000 - wanted).sum()


@pytest.mark.complete
def test_the_printed_variant_is_biased_and_the_exact_one_is_not():
    """200 independent draws have an error of 0.5 sqrt(6 / 200) = 0.09 at most, on average. The bias is 0.60."""
    assert far_from_the_posterior() < 0.1
    assert far_from_the_posterior(variant="printed") > 0.4


@pytest.mark.complete
@pytest.mark.parametrize("super_clusters", [False, True])
def test_draws_do_not_depend_on_threads(super_clusters, monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 32)
    X, z = clusters(500)
    model = {"likelihood": PRIOR, "alpha_prior": GammaPrior(1, 1), "super_clusters": super_clusters}
    assert_threads_agree(lambda n_jobs: printed(n_jobs=n_jobs, **model), X, 2, init=z, keep=("sides", "last"))


@pytest.mark.complete
@pytest.mark.parametrize("first", [0, 1])
def test_resumed_chains_are_those_that_never_stopped(first, monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 32)
    X, _ = clusters(200)
    parts = [printed(deferred=False), CollapsedGibbs(1.0)]
    sampler = Hybrid([parts[first], parts[1 - first]], counts=(1, 3))
    assert_resumes(sampler, X, keep=("partitions", "sides", "splittable", "last"))


@pytest.mark.parametrize("model", [{"discount": 0.2}, {"n_components": 4}])
def test_only_a_dirichlet_process_is_printed(model):
    with pytest.raises(ValueError, match="is for a Dirichlet process; leave discount and n_components out"):
        printed(**model)


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="variant must be one of 'exact', 'printed', got 'fast'"):
        SubClusterSplits(1.0, variant="fast")


def test_a_family_without_divergence_has_no_super_clusters():
    class Plain(NormalGamma):
        __slots__ = ()

        @property
        def divergence(self):
            raise AttributeError

    family = Plain(0.0, 1.0, 1.0, 1.0)
    SubClusterSplits(1.0).check_family(family)
    with pytest.raises(ValueError, match="need the verb divergence, which Plain does not have"):
        SubClusterSplits(1.0, super_clusters=True).check_family(family)


# ---- super-clusters of neighbours ------------------------------------------------------------------------------------


def four_candidates(family):
    """Clusters of known variance 1, with means of 0, 0.4, 1.2 and 1.6 and unequal weights."""
    parameters = np.empty((4, family.n_parameters()))
    family.draw(laws.row_of(family, np.zeros((1, 1)), [0]), parameters[0], seeded(0))
    parameters[:] = parameters[0]
    parameters[:, 1] = 0.0, 0.4, 1.2, 1.6
    return Candidates(np.arange(4), np.log([1.0, 2.0, 1.5, 1.0]), parameters, np.array([0, 4]), np.zeros(4, dtype=int))


def by_parameters(family, candidates, labels, rng):
    return group_with_neighbours(family, candidates, rng)


def matrix_given_parameters(X, group=by_parameters):
    """The transition matrix of all labels given weights and parameters, and max |pi P - pi|."""
    family = NormalKnownVariance(0.0, 1.0, 1.0).for_data(X)
    candidates, n = four_candidates(family), len(X)
    space = list(itertools.product(range(4), repeat=n))

    def step(state, rng):
        labels = np.array(state)
        groups = group(family, candidates, labels, rng)
        points = Points(0, labels, np.ones(n, dtype=np.int8))
        choose_labels(Model(family, None, X), points, groups, np.zeros(4), None, rng)
        return tuple(labels.tolist())

    P = exact.transition_matrix(step, space, key=lambda reached: reached)
    logw = [
        sum(candidates.log_weights[k] + family.log_likelihood(candidates.parameters[k], X, i) for i, k in enumerate(z))
        for z in space
    ]
    pi = np.exp(logw) / np.exp(logw).sum()
    return P, np.abs(pi @ P - pi).max()


@pytest.mark.parametrize("n", complete_but([1], [1, 2]))
def test_neighbours_keep_the_labels_given_parameters(n):
    P, lag = matrix_given_parameters(np.array([[0.3], [1.1]])[:n])
    assert lag < 1e-14
    assert P.min() > 0.0  # all clusters can be reached, in time
    assert P.min() < 0.1 * P.max()


def test_neighbours_that_look_at_labels_show():
    """Parameters drawn again after the labels, as a cluster that the point pulls to itself."""

    def pulled(family, candidates, labels, rng):
        parameters = candidates.parameters.copy()
        parameters[labels[0], 1] += 0.5
        groups = group_with_neighbours(family, candidates._replace(parameters=parameters), rng)
        return groups._replace(parameters=candidates.parameters[groups.slots])

    assert matrix_given_parameters(np.array([[0.3]]), pulled)[1] > 1e-3


def test_components_are_those_of_the_graph():
    rng = np.random.default_rng(0)
    for _ in range(200):
        K = int(rng.integers(2, 9))
        neighbours = (np.arange(K) + rng.integers(1, K, K)) % K
        joined = np.eye(K, dtype=bool)
        joined[np.arange(K), neighbours] = True
        joined |= joined.T
        for _ in range(K):
            joined = joined @ joined
        of = connected(neighbours)
        np.testing.assert_array_equal(of[:, None] == of[None], joined)
        assert of[0] == 0
        assert set(of) == set(range(of.max() + 1))
        if K <= 3:
            assert of.max() == 0
