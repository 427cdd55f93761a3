"""Samplers without conjugacy: exact transition matrices over labels and parameters of few values; planted faults."""

import itertools

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.diagnostics import effective_sample_size
from mapdpm.likelihoods._template_nonconjugate import LaplaceData
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.samplers import (
    CollapsedGibbs,
    GammaPrior,
    Hybrid,
    Info,
    NonconjugateGibbs,
    NonconjugateSplitMerge,
    NonconjugateSubClusterSplits,
    _launch_given_parameters,
    _map_reduce,
    nonconjugate_gibbs,
    nonconjugate_split_merge,
    sample,
)
from mapdpm.samplers._with_parameters import PARAMETERS, Counted
from mapdpm.testing import kernels
from mapdpm.testing.enumeration import canonical, partitions
from mapdpm.testing.kernels import StateSpace
from mapdpm.testing.quadrature import QuadratureRng
from tests.marks import complete_but
from tests.nonconjugate import VALUES, FewMeans
from tests.samplers.same_draws import assert_resumes, assert_threads_agree

ALPHA = 0.8
X = np.array([[-1.6], [1.9], [2.2], [-0.4]])
MODELS = {"DP": {}, "PY": {"discount": 0.3}, "finite": {"n_components": 3}}


class Splits(NonconjugateSubClusterSplits):
    """The launched splits and merges alone."""

    def move(self, chain, rng):
        return Info(chain.n_clusters, accepted=self.propose_whole(chain, rng))


class LonePoints(NonconjugateSubClusterSplits):
    """Points that leave, or join, alone."""

    def move(self, chain, rng):
        done, moved = self._lone_points(chain.model, chain.reserve(), 1, chain.parameters, rng)
        assert done == 1
        return Info(chain.n_clusters, moved)


SAMPLERS = {
    "launched": Splits,
    "lone points": LonePoints,
    "Gibbs": NonconjugateGibbs,
    "split-merge": lambda *a, **m: NonconjugateSplitMerge(*a, n_scans=0, **m),
    "split-merge, one scan": lambda *a, **m: NonconjugateSplitMerge(*a, n_scans=1, **m),
}


def space_of(n, most):
    states = [
        (z, theta)
        for z in partitions(n)
        if max(z) < most
        for theta in itertools.product(range(len(VALUES)), repeat=max(z) + 1)
    ]

    def enter(chain, state):
        chain.become(np.array(state[0]))
        chain.aux[PARAMETERS][: len(state[1]), 0] = [VALUES[v] for v in state[1]]

    def key(chain):
        z = canonical(chain.state.labels)
        _, first = np.unique(z, return_index=True)
        theta = chain.aux[PARAMETERS][chain.state.labels[first], 0]
        return z, tuple(VALUES.index(v) for v in theta)

    return StateSpace(states, enter, key)


def posterior(prior, family, states):
    """p(z, theta | x), from the definition."""
    logs = []
    for z, theta in states:
        sizes = np.bincount(z).astype(float)
        total = prior.log_partition(sizes) + sum(family.log_prior(np.array([VALUES[v]])) for v in theta)
        total += sum(family.log_likelihood(np.array([VALUES[theta[k]]]), X, i) for i, k in enumerate(z))
        logs.append(total)
    pi = np.exp(np.array(logs) - max(logs))
    return pi / pi.sum()


def lag(kind, n=3, **model):
    """max |pi P - pi|, and P."""
    family = FewMeans()
    sampler = kind(ALPHA, likelihood=family, **model)
    space = space_of(n, model.get("n_components", n))
    P = kernels.matrix_of(sampler, Counted(family), X[:n], space)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    pi = posterior(sampler.target.prior, family, space.states)
    return np.abs(pi @ P - pi).max(), P


@pytest.mark.parametrize("model", complete_but(["DP"], MODELS))
@pytest.mark.parametrize("name", complete_but(set(SAMPLERS) - {"Gibbs"}, SAMPLERS))
def test_labels_and_parameters_keep_the_posterior(name, model):
    found, P = lag(SAMPLERS[name], **MODELS[model])
    assert found < 1e-14
    assert np.trace(P) < len(P) - 1  # it moves


@pytest.mark.complete
def test_the_gibbs_sampler_reaches_all_states():
    _, P = lag(NonconjugateGibbs)
    assert (np.linalg.matrix_power(P, 6) > 0).all()


class Sweep(NonconjugateSubClusterSplits):
    """Parameters, and the labels of points that are not held."""

    def move(self, chain, rng):
        return Info(chain.n_clusters, self.sweep(chain, rng))


@pytest.mark.complete
def test_sweeps_keep_the_posterior():
    """Two weights by quadrature: the error of 4 nodes is that of tests/samplers/test_sub_cluster_splits.py."""
    family, space = FewMeans(), space_of(3, 3)
    sampler = Sweep(ALPHA, likelihood=family)
    P = kernels.matrix_of(sampler, Counted(family), X[:3], space, rng=QuadratureRng(4))
    pi = posterior(sampler.target.prior, family, space.states)
    assert np.abs(pi @ P - pi).max() < 5e-4
    assert np.trace(P) < len(P) - 1


# ---- planted faults --------------------------------------------------------------------------------------------------


def without_the_opposite(monkeypatch):
    monkeypatch.setattr(_launch_given_parameters, "log_half_sum", lambda first, second: first - np.log(2.0))


def without_the_choice_of_clusters(monkeypatch):
    monkeypatch.setattr(_launch_given_parameters, "log", lambda x: 0.0)


def with_a_wrong_density(monkeypatch):
    monkeypatch.setattr(FewMeans, "log_proposal", lambda self, parameters, data, points: np.log(0.5))


def with_lone_points_of_all(monkeypatch):
    monkeypatch.setattr(nonconjugate_gibbs, "count_lone", lambda state: 0)


def without_the_last_scan(monkeypatch):
    sound = nonconjugate_split_merge.scan
    monkeypatch.setattr(nonconjugate_split_merge, "scan", lambda *arguments: 0.0 * sound(*arguments))


FAULTS = {
    "launched: one order of sides": (Splits, without_the_opposite),
    "launched: the choice of clusters": (Splits, without_the_choice_of_clusters),
    "launched: density of proposals": (Splits, with_a_wrong_density),
    "lone points: their number": (LonePoints, with_lone_points_of_all),
    "Gibbs: density of proposals": (NonconjugateGibbs, with_a_wrong_density),
    "split-merge: density of proposals": (SAMPLERS["split-merge"], with_a_wrong_density),
    "split-merge: probability of the last scan": (SAMPLERS["split-merge"], without_the_last_scan),
}


@pytest.mark.complete
@pytest.mark.parametrize("fault", complete_but(list(FAULTS)[:3], FAULTS))
def test_faults_show(fault, monkeypatch):
    kind, plant = FAULTS[fault]
    plant(monkeypatch)
    assert lag(kind)[0] > 1e-3


# ---- compiled, on more points ----------------------------------------------------------------------------------------


def laplace_data(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    return np.array([-15.0, 0.0, 12.0])[z][:, None] + rng.laplace(size=(n, 1)), z


@pytest.mark.complete
@pytest.mark.parametrize("kind", [NonconjugateGibbs, NonconjugateSubClusterSplits])
@pytest.mark.parametrize("init", ["single", "sequential"])
def test_clear_clusters_are_found(kind, init):
    X, z = laplace_data(300)
    sampler = kind(0.5, likelihood=LaplaceData()) + NonconjugateSplitMerge(0.5, likelihood=LaplaceData())
    trace = sample(X, sampler, draws=20, burn_in=60, init=init, random_state=0)
    assert adjusted_mutual_info(trace.best, z) > 0.95  # of points in the tails, 12 scales away, some are elsewhere
    centres = trace.extra["parameters"][0][-1].ravel()[: trace.n_clusters[0, -1]]
    for centre in (-15.0, 0.0, 12.0):
        assert np.abs(centres - centre).min() < 1.0  # ten standard errors of a centre of 100 points


@pytest.mark.complete
def test_draws_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 32)
    X, _ = laplace_data(200)
    model = {"likelihood": LaplaceData(), "alpha_prior": GammaPrior(1, 1)}
    assert_threads_agree(lambda n_jobs: NonconjugateSubClusterSplits(n_jobs=n_jobs, **model), X, 1, init="single")


@pytest.mark.complete
def test_resumed_chains_are_those_that_never_stopped():
    X, _ = laplace_data(60)
    model = {"likelihood": LaplaceData()}
    parts = [each(0.5, **model) for each in (NonconjugateGibbs, NonconjugateSplitMerge, NonconjugateSubClusterSplits)]
    assert_resumes(Hybrid(parts, counts=(1, 2, 1)), X)


@pytest.mark.complete
def test_posterior_means_agree():
    """Of two samplers that share only the opening of clusters: 6 points, each of 4,000 draws, K within 6 errors."""
    X = np.array([[-2.0], [-1.2], [0.1], [0.4], [2.5], [3.1]])
    means, errors = [], []
    for kind in (NonconjugateGibbs, NonconjugateSubClusterSplits):
        trace = sample(X, kind(1.0, likelihood=LaplaceData()), draws=4000, burn_in=100, random_state=1)
        means.append(trace.n_clusters.mean())
        errors.append(trace.n_clusters.std() / np.sqrt(effective_sample_size(trace.n_clusters)))
    assert abs(means[0] - means[1]) < 6.0 * np.hypot(*errors)


def test_a_family_without_a_verb_is_refused():
    with pytest.raises(
        ValueError, match=r"with the verbs n_parameters, log_prior, .*: add log_prior, propose, log_proposal"
    ):
        sample(X, NonconjugateGibbs(1.0, likelihood=NormalGamma(0.0, 1.0, 1.0, 1.0)), draws=1)
    with pytest.raises(ValueError, match="must be an instance with the verbs"):
        sample(X, NonconjugateGibbs(1.0, likelihood=LaplaceData), draws=1)
    with pytest.raises(ValueError, match="likelihood must be one with its prior"):
        sample(X, CollapsedGibbs(1.0, likelihood=LaplaceData()), draws=1)


def test_a_hybrid_with_a_collapsed_sampler_is_refused():
    with pytest.raises(ValueError, match="must carry the same state beside the labels"):
        CollapsedGibbs(1.0, likelihood=LaplaceData()) + NonconjugateGibbs(1.0, likelihood=LaplaceData())
