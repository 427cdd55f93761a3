"""Missing values from the definition: the density of the values that are there, feature by feature, by scipy.

Features are independent, so the marginal of a cluster is a product over features; that of a feature is the density of
the values there are, as one vector, with parameters integrated out: by ``raw`` in closed form, or by quadrature.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate, stats

from mapdpm import BetaBernoulli, GammaPoisson, NormalGamma
from tests.oracle import raw


def one(likelihood, d):
    """The family of feature ``d``, by its public constructor."""
    return type(likelihood)(*(value[d] if np.ndim(value) else value for value in likelihood))


def log_marginal_terms(x, likelihood):
    """The log density of the values that are there in the points x (n, D) of a cluster: some terms a feature."""
    terms = []
    for d in range(x.shape[1]):
        values = x[~np.isnan(x[:, d]), d]
        terms += raw.log_marginal_terms(values[:, None], one(likelihood, d)) if len(values) else []
    return terms


def log_marginal(x, likelihood):
    return math.fsum(log_marginal_terms(x, likelihood))


def log_joint(X, labels, likelihood, alpha, discount=0.0):
    """log p(z) and the log density of the values that are there."""
    terms = raw.log_partition(labels, alpha, discount)
    for k in np.unique(labels):
        terms += log_marginal_terms(X[labels == k], likelihood)
    return math.fsum(terms)


def log_densities(new, X, labels, likelihood, alpha):
    """log p(x | X, z) of each point of ``new``, for the Dirichlet process: a sum over clusters and a new one."""
    found = []
    for x in new:
        logs = [math.log(alpha) + log_marginal(x[None], likelihood)]
        for k in np.unique(labels):
            own = X[labels == k]
            gain = log_marginal(np.vstack([own, x]), likelihood) - log_marginal(own, likelihood)
            logs.append(math.log(len(own)) + gain)
        found.append(np.logaddexp.reduce(logs) - math.log(len(X) + alpha))
    return np.array(found)


def weighted_log_marginal(x, w, likelihood):
    """That of points of NormalGamma with weights, by the formula of the textbook in each feature."""
    total = 0.0
    for d in range(x.shape[1]):
        there = ~np.isnan(x[:, d])
        if there.any():
            column, labels = x[there, d][:, None], np.zeros(there.sum(), dtype=int)
            total += math.fsum(raw.formula_terms(column, labels, one(likelihood, d), 1.0, w[there])[4:])
    return total


def by_quadrature(values, likelihood):
    """The marginal of the values of one feature, integrated over its parameters numerically."""

    def likelihood_of(law):
        return float(np.prod(law(values)))

    if isinstance(likelihood, GammaPoisson):
        prior = stats.gamma(likelihood.a0[0], scale=1.0 / likelihood.b0[0])
        return integrate.quad(lambda r: prior.pdf(r) * likelihood_of(stats.poisson(r).pmf), 0.0, np.inf, epsabs=0.0)[0]
    if isinstance(likelihood, BetaBernoulli):
        prior = stats.beta(likelihood.a0[0], likelihood.b0[0])
        return integrate.quad(lambda p: prior.pdf(p) * likelihood_of(stats.bernoulli(p).pmf), 0.0, 1.0, epsabs=0.0)[0]
    if isinstance(likelihood, NormalGamma):
        m0, c0, a0, b0 = likelihood.m0[0], likelihood.c0, likelihood.a0, likelihood.b0[0]

        def of_precision(t):
            scale = 1.0 / math.sqrt(t)
            return stats.gamma(a0, scale=1.0 / b0).pdf(t) * _over_means(values, m0, scale / math.sqrt(c0), scale)

        return integrate.quad(of_precision, 0.0, np.inf, epsabs=0.0, epsrel=1e-7)[0]
    prior, spread = math.sqrt(likelihood.prior_variance[0]), math.sqrt(likelihood.variance[0])
    return _over_means(values, likelihood.m0[0], prior, spread)


def _over_means(values, m0, prior, spread):
    """The integral over the mean of a normal, by its values at 400 places: a smooth function that ends at 0."""
    centre = np.mean(values)
    reach = 12.0 * spread / math.sqrt(len(values)) + abs(centre - m0)
    places = np.linspace(centre - reach, centre + reach, 400)
    density = stats.norm(m0, prior).pdf(places)
    for value in values:
        density = density * stats.norm(places, spread).pdf(value)
    return float(integrate.trapezoid(density, places))
