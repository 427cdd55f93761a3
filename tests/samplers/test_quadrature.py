"""Samplers with continuous draws leave the exact posterior invariant, up to the error of quadrature."""

from math import exp

import numpy as np
import pytest

from mapdpm import GammaPoisson, NormalKnownVariance
from mapdpm.protocol import RngVerbs
from mapdpm.rng import Rng
from mapdpm.samplers import UncollapsedGibbs, uncollapsed_gibbs
from mapdpm.testing import kernels
from mapdpm.testing.quadrature import QuadratureRng
from tests.marks import complete_but

# The errors are 2e-5 and 1e-5 with 8 nodes, and below 1e-6 with 16, so they are those of quadrature. A fault shows as
# 1e-3 or more.
TOLERANCE = 1e-4
CASES = {
    "normal": (NormalKnownVariance(0.0, 2.0, 1.0), np.array([[-0.6], [0.9]])),
    "gamma": (GammaPoisson(6.0, 2.0), np.array([[2.0], [4.0]])),
}


def lag(name, n_nodes, sampler):
    """max |pi P - pi|, and the largest error of a row sum."""
    family, X = CASES[name]
    likelihood = family.for_data(X)
    P = kernels.matrix_of(sampler, likelihood, X, 2, rng=QuadratureRng(n_nodes))
    pi = kernels.posterior_of(sampler.target.prior, likelihood, X, 2)
    return np.abs(pi @ P - pi).max(), np.abs(P.sum(axis=1) - 1.0).max()


@pytest.mark.parametrize("name", complete_but(["normal"], CASES))
def test_uncollapsed_gibbs_keeps_the_posterior(name):
    sampler = UncollapsedGibbs(0.7, likelihood=CASES[name][0])
    coarse, (fine, rows) = lag(name, 4, sampler)[0], lag(name, 8, sampler)
    assert fine < TOLERANCE
    assert fine < coarse / 5.0
    assert rows < 1e-12


def alpha_dropped(model, state, parameters, start, rng):
    model = model._replace(prior=model.prior._replace(alpha=1.0))
    return uncollapsed_gibbs.redraw_labels(model, state, parameters, start, rng)


def prior_drawn(likelihood, state, parameters, rng):
    """Parameters that know no points."""
    blank = np.empty(state.rows.shape[1])
    likelihood.init(blank)
    for k in np.flatnonzero(state.counts):
        likelihood.draw(blank, parameters[k], rng)


@pytest.mark.complete
@pytest.mark.parametrize("fault", [{"_redraw": alpha_dropped}, {"_draw": prior_drawn}])
@pytest.mark.parametrize("name", complete_but(["normal"], CASES))
def test_faults_are_seen(name, fault):
    sampler = UncollapsedGibbs(0.7, likelihood=CASES[name][0])
    broken = type("Broken", (UncollapsedGibbs,), {key: staticmethod(each) for key, each in fault.items()})
    assert lag(name, 6, sampler)[0] < 1e-3 < lag(name, 6, broken(0.7, likelihood=CASES[name][0]))[0]


def test_it_has_all_verbs_and_exact_moments():
    """Gauss quadrature of n nodes is exact for polynomials of degree 2 n - 1."""
    verbs = {name for name in vars(RngVerbs) if not name.startswith("_")}
    assert all(hasattr(QuadratureRng, verb) and hasattr(Rng, verb) for verb in verbs)
    rng = QuadratureRng(5)
    for power, expected in ((0, 1.0), (2, 1.0), (4, 3.0), (6, 15.0), (8, 105.0), (9, 0.0)):
        assert sum(rng.normal() ** power * rng.probability for _ in rng.paths()) == pytest.approx(expected, abs=1e-9)
    moment = 1.0
    for power in range(10):
        assert sum(rng.gamma(0.3) ** power * rng.probability for _ in rng.paths()) == pytest.approx(moment, rel=1e-10)
        moment *= 0.3 + power
    moment = 1.0
    for power in range(10):
        found = sum((1.0 + exp(-rng.log_odds(0.3, 0.8))) ** -power * rng.probability for _ in rng.paths())
        assert found == pytest.approx(moment, rel=1e-10)
        moment *= (0.3 + power) / (1.1 + power)
    with pytest.raises(NotImplementedError, match="no uniform draws"):
        rng.uniform()
