"""Families that tests pass through the library: one each way data can be."""

from __future__ import annotations

import numpy as np

from mapdpm import (
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    likelihoods,
)
from mapdpm.data.counts import Counts
from mapdpm.data.tokens import Tokens
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.rng import seeded


def _normal_gamma(generator, n, D):
    m0, scale = generator.normal(size=D), generator.uniform(0.2, 3.0, D)
    return NormalGamma(m0, generator.uniform(0.05, 3.0), generator.uniform(0.5, 3.0), scale), _real(generator, n, D)


def _normal_known_variance(generator, n, D):
    m0, scale = generator.normal(size=D), generator.uniform(0.2, 3.0, D)
    return NormalKnownVariance(m0, generator.uniform(0.5, 20.0, D), scale), _real(generator, n, D)


def _normal_inverse_wishart(generator, n, D):
    root = generator.normal(size=(D, D))
    psi0 = root @ root.T + np.diag(generator.uniform(0.2, 2.0, D))
    freedom = D - 1.0 + generator.uniform(0.5, 5.0)
    prior = NormalInverseWishart(generator.normal(size=D), generator.uniform(0.05, 3.0), freedom, psi0)
    return prior, _real(generator, n, D) @ generator.normal(size=(D, D))


def _dirichlet_multinomial(generator, n, D):
    lengths = generator.integers(0, 3 * D + 1, n)
    words = generator.dirichlet(np.full(D, 0.7), n)
    X = np.array([generator.multinomial(*pair) for pair in zip(lengths, words, strict=True)])
    prior = DirichletMultinomial(generator.uniform(0.05, 2.0, D))
    return prior, prior.read(X)


def _categorical(generator, n, D):
    prior = Categorical(generator.uniform(0.05, 2.0, D))
    return prior, prior.read(generator.choice(D, n, p=generator.dirichlet(np.ones(D))))


def _gamma_poisson(generator, n, D):
    prior = GammaPoisson(generator.uniform(0.3, 3.0, D), generator.uniform(0.1, 3.0, D))
    return prior, generator.poisson(generator.gamma(1.0, 4.0, (n, D))).astype(np.float64)


def _beta_bernoulli(generator, n, D):
    prior = BetaBernoulli(generator.uniform(0.1, 3.0, D), generator.uniform(0.1, 3.0, D))
    return prior, (generator.random((n, D)) < generator.random(D)).astype(np.float64)


def _gamma_exponential(generator, n, D):
    prior = GammaExponential(generator.uniform(0.5, 3.0), generator.uniform(0.2, 3.0, D))
    return prior, np.abs(_real(generator, n, D))


def _real(generator, n, D):
    return generator.normal(0.0, 2.0, (n, D))


_MAKERS = {
    NormalGamma: _normal_gamma,
    NormalKnownVariance: _normal_known_variance,
    NormalInverseWishart: _normal_inverse_wishart,
    Categorical: _categorical,
    DirichletMultinomial: _dirichlet_multinomial,
    GammaPoisson: _gamma_poisson,
    BetaBernoulli: _beta_bernoulli,
    GammaExponential: _gamma_exponential,
}
"""Those whose points are not as their prior draws them; of others, ``drawn_by_itself``."""
FAMILIES = (*likelihoods.FAMILIES, GammaExponential)
NORMAL = (NormalGamma, NormalKnownVariance, NormalInverseWishart)
CONTINUOUS = (*NORMAL, GammaExponential)
KINDS_OF_ROWS = (NormalGamma, NormalInverseWishart, Categorical)
"""A family for each kind of row: moments, a matrix, counts of tokens."""
DISCRETE = (Categorical, DirichletMultinomial, GammaPoisson, BetaBernoulli)


def as_array(data):
    """Points of any form as a dense array, for oracles."""
    data = data.as_counts() if isinstance(data, Tokens) else data
    if not isinstance(data, Counts):
        return data
    dense = np.zeros((data.n_points, data.n_features))
    dense[data.row_numbers(), data.indices] = data.values
    return dense


def example(family, generator, n=8, D=3):
    """A family of ``D`` features with random parameters, and n points for it, in the form that its verbs read."""
    return _MAKERS[family](generator, n, D) if family in _MAKERS else drawn_by_itself(family, generator, n, D)


def drawn_by_itself(family, generator, n, D):
    """Random parameters by what they may be, and points that the family draws from its prior."""
    values = []
    for name in family._fields:
        shape = (D,) * family.axes.get(name, 0)
        values.append(generator.uniform(0.5, 3.0, shape) if name in family.positive else generator.normal(size=shape))
    likelihood, rng = family(*values), seeded(generator)
    row, parameters = np.zeros(likelihood.size()), np.empty(likelihood.n_parameters())
    likelihood.init(row)
    points = []
    for _ in range(n):
        likelihood.draw(row, parameters, rng)
        points.append(likelihood.draw_points(parameters, 1, generator))
    return likelihood, np.concatenate(points).astype(np.float64)
