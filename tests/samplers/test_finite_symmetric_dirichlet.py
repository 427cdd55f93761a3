"""The finite symmetric Dirichlet: the posterior of a finite mixture, by quadrature and by rank tests; threads."""

import numpy as np
import pytest

from mapdpm import GammaPoisson, NormalGamma, NormalKnownVariance
from mapdpm import state as states
from mapdpm.rng import seeded
from mapdpm.samplers import (
    Chain,
    CollapsedGibbs,
    FiniteSymmetricDirichlet,
    GammaPrior,
    Hybrid,
    _map_reduce,
    finite_symmetric_dirichlet,
)
from mapdpm.samplers.chain import Adapted
from mapdpm.testing import kernels
from mapdpm.testing.quadrature import QuadratureRng
from tests.families import FAMILIES, KINDS_OF_ROWS, example
from tests.marks import complete_but, slow_but
from tests.samplers.same_draws import assert_resumes, assert_threads_agree

ALPHA = 6.0
# Draws from a narrow prior are smooth enough for few nodes: the error is 1e-3 with 4 of them, 2e-4 with 6, 5e-5 with 8.
POINTS = {
    "normal": (NormalKnownVariance(0.0, 0.5, 1.0), np.array([[-0.6], [0.9], [0.2]])),
    "gamma": (GammaPoisson(6.0, 2.0), np.array([[2.0], [4.0], [3.0]])),
}


def lag(name, n_nodes, kind=FiniteSymmetricDirichlet, n=2):
    """max |pi P - pi|."""
    family, X = POINTS[name]
    sampler, likelihood = kind(ALPHA, n_components=2), family.for_data(X)
    P = kernels.matrix_of(sampler, likelihood, X[:n], n, rng=QuadratureRng(n_nodes))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    pi = kernels.posterior_of(sampler.target.prior, likelihood, X[:n], n)
    return np.abs(pi @ P - pi).max()


@pytest.mark.parametrize(("n_nodes", "within"), complete_but([(4, 2e-3)], [(4, 2e-3), (6, 5e-4)], several=True))
@pytest.mark.parametrize("name", complete_but(["normal"], POINTS))
def test_the_posterior_is_kept(name, n_nodes, within):
    """A fault is off by 3e-3 and more: ``test_faults_show``."""
    assert lag(name, n_nodes) < within


@pytest.mark.slow
@pytest.mark.parametrize("name", POINTS)
def test_the_posterior_is_kept_closely(name):
    assert lag(name, 8, n=3) < 1e-4


def share_of_a_process(likelihood, counts, rows, share, rng):
    """alpha for each component."""
    return finite_symmetric_dirichlet.draw_components(likelihood, counts, rows, share * len(counts), rng)


def empty_ones_as_full(likelihood, counts, rows, share, rng):
    """Parameters of the first component for all."""
    return finite_symmetric_dirichlet.draw_components(likelihood, counts, rows[[0] * len(counts)], share, rng)


@pytest.mark.complete
@pytest.mark.parametrize("fault", [share_of_a_process, empty_ones_as_full])
def test_faults_show(fault):
    broken = type("Broken", (FiniteSymmetricDirichlet,), {"_draw": staticmethod(fault)})
    assert lag("normal", 4) < 2e-3
    assert lag("normal", 4, broken) > 3e-3


def grid(n):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 4, n)
    return 10.0 * np.c_[z % 2, z // 2] + rng.normal(size=(n, 2)), z


def test_draws_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 32)
    X, _ = grid(200)
    model = {"likelihood": NormalGamma(5.0, 0.01, 2.0, 1.0), "alpha_prior": GammaPrior(1, 1), "n_components": 20}
    assert_threads_agree(lambda n_jobs: FiniteSymmetricDirichlet(n_jobs=n_jobs, **model), X, 2)


def test_resumed_chains_are_those_that_never_stopped():
    X, _ = grid(60)
    parts = [CollapsedGibbs(n_components=9), FiniteSymmetricDirichlet(n_components=9)]
    assert_resumes(Hybrid(parts, counts=(1, 3)), X)


@pytest.mark.complete
@pytest.mark.parametrize("family", slow_but(KINDS_OF_ROWS, FAMILIES))
def test_compiled_steps_are_plain_ones(family):
    likelihood, data = example(family, np.random.default_rng(6), n=12)
    sampler = FiniteSymmetricDirichlet(ALPHA, n_components=6)
    plain = kernels.uncompiled(sampler)
    one, two = (Chain(likelihood, sampler.target.prior, data, np.arange(12) % 3, Adapted(3.0)) for _ in range(2))
    first, second = seeded(3), seeded(3)
    for _ in range(5):
        assert sampler.step(one, first) == plain.step(two, second)
        np.testing.assert_array_equal(one.state.labels, two.state.labels)
    states.check(likelihood, data, None, one.state)


def test_a_discount_is_refused():
    with pytest.raises(ValueError, match="discount"):
        FiniteSymmetricDirichlet(1.0, discount=0.2)


@pytest.mark.parametrize(("name", "value"), [("n_components", 0), ("n_jobs", 0)])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=name):
        FiniteSymmetricDirichlet(1.0, **{name: value})
