"""Super-clusters of Lovell et al.: exact transition matrices, planted faults, threads, resumed chains."""

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm import state as states
from mapdpm.rng import seeded
from mapdpm.samplers import Chain, CollapsedGibbs, GammaPrior, Hybrid, SuperClusters, super_clusters
from mapdpm.samplers.chain import Adapted
from mapdpm.testing import kernels
from tests.families import FAMILIES, example
from tests.marks import complete_but
from tests.samplers.same_draws import assert_resumes, assert_threads_agree

ALPHA = 0.7
MODELS = {"DP": {}, "finite": {"n_components": 3}}


def points(family=NormalGamma, n=4):
    return example(family, np.random.default_rng(5), n=n)


def sampler_of(model, J=2):
    return SuperClusters(ALPHA, n_super_clusters=J, **MODELS[model])


def lag(sampler, likelihood, data, n):
    """max |pi P - pi|, and P."""
    P = kernels.matrix_of(sampler, likelihood, data, n)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    pi = kernels.posterior_of(sampler.target.prior, likelihood, data, n)
    return np.abs(pi @ P - pi).max(), P[np.ix_(pi > 0.0, pi > 0.0)]


@pytest.mark.parametrize("model", complete_but(["finite"], MODELS))
@pytest.mark.parametrize("family", complete_but([NormalGamma], FAMILIES))
def test_posterior_is_invariant(family, model):
    off, P = lag(sampler_of(model), *points(family), 4)
    assert off < 1e-12
    assert np.all(np.linalg.matrix_power(P, len(P)) > 0)
    assert sorted(np.abs(np.linalg.eigvals(P)))[-2] < 1.0 - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("J", [2, 3])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("family", FAMILIES)
def test_posterior_of_five_points_is_invariant(family, model, J):
    assert lag(sampler_of(model, J), *points(family, 5), 5)[0] < 1e-12


def with_all_of_alpha(prior, n_clusters, rng):
    return [prior] * len(n_clusters)


def without_empty_components(prior, n_clusters, rng):
    return [prior._replace(alpha=prior.alpha * m / prior.n_components, n_components=int(m)) for m in n_clusters]


@pytest.mark.complete
@pytest.mark.parametrize(
    ("model", "fault"),
    [pytest.param("DP", with_all_of_alpha, marks=pytest.mark.complete), ("finite", without_empty_components)],
)
def test_faults_show(model, fault, monkeypatch):
    monkeypatch.setattr(super_clusters, "prior_of_each", fault)
    assert lag(sampler_of(model), *points(), 4)[0] > 1e-3


def test_draws_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = 4.0 * rng.integers(0, 3, (200, 2)) + rng.normal(size=(200, 2))
    prior = NormalGamma(4.0, 0.01, 2.0, 1.0)
    model = {"likelihood": prior, "alpha_prior": GammaPrior(1, 1)}
    assert_threads_agree(lambda n_jobs: SuperClusters(n_jobs=n_jobs, **model), X, 3)


@pytest.mark.parametrize("model", MODELS)
def test_resumed_chains_are_those_that_never_stopped(model):
    X = np.random.default_rng(1).normal(0.0, 3.0, (60, 2))
    m = MODELS[model]
    assert_resumes(Hybrid([CollapsedGibbs(1.0, **m), SuperClusters(1.0, **m)], counts=(1, 3)), X, init="single")


@pytest.mark.parametrize("family", complete_but([NormalGamma], FAMILIES))
def test_the_state_is_whole(family):
    likelihood, data = example(family, np.random.default_rng(6), n=30)
    sampler = SuperClusters(ALPHA, n_super_clusters=3)
    chain = Chain(likelihood, sampler.target.prior, data, np.arange(30) % 5, Adapted(3.0))
    for seed in range(3):
        assert sampler.step(chain, seeded(seed)).n_clusters == chain.n_clusters
        states.check(likelihood, data, None, chain.state)


@pytest.mark.parametrize(("name", "value"), [("discount", 0.3), ("n_super_clusters", 0), ("n_jobs", 0)])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=name):
        SuperClusters(1.0, **{name: value})
