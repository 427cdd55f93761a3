"""Clusters that drift over time slices, slowly: dense Gaussians of scipy, in data units."""

import math

import numpy as np
from scipy import integrate, stats

from tests.oracle import sticks


def gamma(family, times):
    """Porteous2006 (12), of one feature of variance 1."""
    apart = np.abs(np.subtract.outer(times, times))
    return np.exp(-family.rate * apart**family.power) + family.nugget * np.eye(len(times))


def log_marginal(family, X, times):
    """log p of the points of one cluster, means integrated out, covariances known to be psi0."""
    D = X.shape[1]
    covariance = np.kron(gamma(family, times), np.diag(family.variance))
    covariance += np.kron(np.eye(len(X)), family.psi0)
    same = np.equal.outer(times, times) & ~np.eye(len(X), dtype=bool)  # the nugget is of a slice, not of a point
    covariance += np.kron(same * family.nugget, np.diag(family.variance))
    return stats.multivariate_normal.logpdf(X.ravel(), np.tile(family.m0, len(X)), covariance) if D else 0.0


def log_posterior(family, X, times, a, b, states):
    """log p(x, Z) of labels of points in slices, means integrated out, covariances known."""
    found = []
    for state in states:
        z, total = np.array(state), 0.0
        for t in np.unique(times):
            total += sticks.log_probability(z[times == t], a, b)
        for k in np.unique(z):
            total += log_marginal(family, X[z == k], times[z == k])
        found.append(total)
    return np.array(found)


def posterior_of_path(family, x, t, times):
    """Mean (T, D) and covariance (T D, T D) of the means of a cluster whose one point is ``x`` at ``times[t]``."""
    prior = np.kron(gamma(family, times), np.diag(family.variance))
    D = len(x)
    here = slice(t * D, (t + 1) * D)
    gain = prior[:, here] @ np.linalg.inv(prior[here, here] + family.psi0)
    mean = np.tile(family.m0, len(times)) + gain @ (x - family.m0)
    return mean.reshape(len(times), D), prior - gain @ prior[here, :]


def log_density_of_new(family, x, prior_variance=1.0):
    """log p(x) of a new cluster with an unknown covariance, by adaptive quadrature over the Student's mixture."""
    scale = np.sqrt(family.variance)
    psi = family.psi0 / np.outer(scale, scale)
    D = len(x)
    f = family.nu0 - D + 1.0
    values, axes = np.linalg.eigh(psi)
    y = axes.T @ ((x - family.m0) / scale)

    def density(log_w):
        variances = prior_variance + values / (f * math.exp(log_w))
        logs = -0.5 * (D * math.log(2.0 * math.pi) + np.log(variances).sum() + (y * y / variances).sum())
        return math.exp(logs + stats.gamma.logpdf(math.exp(log_w), f / 2, scale=2 / f) + log_w)

    value, _ = integrate.quad(density, -60.0, 8.0, epsabs=0.0, epsrel=1e-12, limit=400)
    return math.log(value) - np.log(scale).sum()


def log_joint(family, X, times, z, labels, a_b, means, covariances):
    """log p(x, Z, parameters) less the highest prior density of parameters, in data units.

    ``z`` are clusters 0..K-1, ``labels`` explicit ones; means (K, T, D) and covariances (K, T, D, D) over the slices.
    """
    every, D = np.unique(times), X.shape[1]
    total = sum(sticks.log_probability(labels[times == t], *a_b) for t in every)
    for i, x in enumerate(X):
        t = int(np.searchsorted(every, times[i]))
        total += stats.multivariate_normal.logpdf(x, means[z[i], t], covariances[z[i], t])
    prior = np.kron(gamma(family, every), np.diag(family.variance))
    highest = family.psi0 / (family.nu0 + D + 1)
    for k in range(len(means)):
        away = (means[k] - family.m0).ravel()
        total -= 0.5 * away @ np.linalg.solve(prior, away)
        for t in range(len(every)):
            total += stats.invwishart.logpdf(covariances[k, t], family.nu0, family.psi0)
            total -= stats.invwishart.logpdf(highest, family.nu0, family.psi0)
    return total


def log_marginal_of_slice(family, x):
    """log p of points of one slice and feature, by quadrature over the mean; the variance integrated out."""
    n, shape, rate = len(x), family.nu0 / 2, family.psi0[0, 0] / 2

    def density(mean):
        squares = ((x - mean) ** 2).sum() / 2
        log_given = shape * math.log(rate) + math.lgamma(shape + n / 2) - math.lgamma(shape)
        log_given -= (shape + n / 2) * math.log(rate + squares) + n / 2 * math.log(2 * math.pi)
        return math.exp(log_given + stats.norm.logpdf(mean, family.m0[0], math.sqrt(family.variance[0])))

    value, _ = integrate.quad(density, -20.0, 20.0, points=[x.mean()], limit=400, epsabs=0.0)
    return math.log(value)
