"""The unchanged collapsed Gibbs sweep leaves the exact posterior invariant; broken ones do not."""

import math

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm import state as states
from mapdpm.objective import candidate_scores
from mapdpm.partition_priors import DirichletProcess, PitmanYor
from mapdpm.rng import seeded
from mapdpm.samplers.collapsed_gibbs import CollapsedGibbs, gibbs_sweep
from mapdpm.testing import exact, laws
from tests.families import FAMILIES, as_array, example
from tests.faults import AlphaDropped, CountOffByOne
from tests.oracle import raw

N = 4
PROCESSES = [DirichletProcess(0.7), PitmanYor(0.7, 0.3)]


def log_joint(likelihood, prior, data, z):
    """From the marginals of raw rows; test_likelihoods ties those to scipy."""
    groups = [[i for i in range(N) if z[i] == k] for k in range(max(z) + 1)]
    sizes = np.array([float(len(group)) for group in groups])
    marginals = [likelihood.log_marginal(laws.row_of(likelihood, data, group)) for group in groups]
    return prior.log_partition(sizes) + math.fsum(marginals)


def gibbs_matrix(likelihood, prior, data):
    """P of one sweep, un-jitted."""

    def step(z, rng):
        state = states.empty(likelihood, N, N + 1)
        state.labels[:] = z
        states.statistics(likelihood, data, None, state)
        gibbs_sweep(likelihood, prior, data, None, state, np.empty(N + 1), rng)
        states.check(likelihood, data, None, state)
        return state.labels

    return exact.transition_matrix(step, N)


def broken_by(P, pi):
    return np.abs(pi @ P - pi).max()


@pytest.mark.parametrize("prior", PROCESSES, ids=["DP", "PY"])
@pytest.mark.parametrize("family", FAMILIES)
def test_posterior_is_invariant(family, prior):
    likelihood, data = example(family, np.random.default_rng(5), n=N)
    P = gibbs_matrix(likelihood, prior, data)
    pi = exact.posterior(lambda z: log_joint(likelihood, prior, data, z), N)
    second = sorted(np.abs(np.linalg.eigvals(P)))[-2]
    print(f"{family.__name__}, {prior}: |pi P - pi| = {broken_by(P, pi):.1e}, second eigenvalue {second:.3f}")
    assert broken_by(P, pi) < 1e-12
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(np.linalg.matrix_power(P, len(P)) > 0)  # irreducible: a kernel that never moves keeps pi too
    assert second < 1.0 - 1e-6


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance, *raw.PREDICTIVES])
@pytest.mark.parametrize("prior", PROCESSES, ids=["DP", "PY"])
def test_posterior_is_scipys(family, prior):
    likelihood, X = example(family, np.random.default_rng(5), n=N)
    ours = exact.posterior(lambda z: log_joint(likelihood, prior, X, z), N)
    discount = getattr(prior, "discount", 0.0)
    theirs = exact.posterior(lambda z: raw.log_joint(as_array(X), z, likelihood, prior.alpha, discount), N)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


class PointLeftIn(NormalGamma):
    __slots__ = ()

    def remove(self, row, data, i, w):
        return True


@pytest.mark.parametrize("fault", [AlphaDropped, CountOffByOne, PointLeftIn])
def test_faults_show(fault):
    likelihood, data = example(NormalGamma, np.random.default_rng(5), n=N)
    prior = DirichletProcess(0.7)
    pi = exact.posterior(lambda z: log_joint(likelihood, prior, data, z), N)
    if fault is PointLeftIn:
        sound = exact.transition_matrix(lambda z, rng: _plain_sweep(likelihood, prior, data, z, rng), N)
        assert broken_by(sound, pi) < 1e-12
        P = exact.transition_matrix(lambda z, rng: _plain_sweep(PointLeftIn(*likelihood), prior, data, z, rng), N)
    else:
        P = gibbs_matrix(likelihood, fault(0.7), data)
    assert broken_by(P, pi) > 1e-3  # nine orders above what is accepted


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


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_sweep_is_the_plain_one(family):
    likelihood, data = example(family, np.random.default_rng(8), n=N)
    sampler = CollapsedGibbs(0.7, likelihood=likelihood, discount=0.2)
    plain, compiled = (states.empty(likelihood, N, N + 1) for _ in range(2))
    for state in (plain, compiled):
        state.labels[:] = 0
        states.statistics(likelihood, data, None, state)
    one, two = seeded(3), seeded(3)
    for _ in range(20):
        gibbs_sweep(likelihood, sampler.prior, data, None, plain, np.empty(N + 1), one)
        info = sampler.step(data, compiled, two)
        np.testing.assert_array_equal(plain.labels, compiled.labels)
        assert info.n_clusters == plain.n_clusters
