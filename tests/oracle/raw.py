"""The log joint from the definition, by scipy, on raw data: no statistics, no updates, no closed forms of ours.

A cluster of normal data with its mean (and precision) integrated out is one multivariate normal (or Student t) vector
a feature: covariance variance I + prior_variance 11', or scale b0 / a0 (I + 11' / c0) with 2 a0 degrees of freedom.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from mapdpm import NormalGamma


def log_partition(labels, alpha, discount=0.0):
    """log p(z) by the sequential definition of the process, point after point: its terms."""
    sizes, terms = {}, []
    for i, k in enumerate(labels):
        weight = sizes[k] - discount if k in sizes else alpha + discount * len(sizes)
        terms.append(0.0 if i == 0 else math.log(weight) - math.log(i + alpha))
        sizes[k] = sizes.get(k, 0) + 1
    return terms


def log_marginal_terms(x, likelihood):
    """The log density of the points x (n, D) as one cluster: a term a feature."""
    n = len(x)
    ones = np.ones((n, n))
    terms = []
    for d in range(x.shape[1]):
        if isinstance(likelihood, NormalGamma):
            scale = likelihood.b0[d] / likelihood.a0 * (np.eye(n) + ones / likelihood.c0)
            law = stats.multivariate_t(np.full(n, likelihood.m0[d]), scale, df=2 * likelihood.a0)
        else:
            scale = likelihood.variance[d] * np.eye(n) + likelihood.prior_variance[d] * ones
            law = stats.multivariate_normal(np.full(n, likelihood.m0[d]), scale)
        terms.append(float(law.logpdf(x[:, d])))
    return terms


def log_joint_terms(X, labels, likelihood, alpha, discount=0.0):
    """All terms of log p(x, z)."""
    terms = log_partition(labels, alpha, discount)
    for k in np.unique(labels):
        terms += log_marginal_terms(X[labels == k], likelihood)
    return terms


def log_joint(X, labels, likelihood, alpha, discount=0.0):
    """log p(x, z)."""
    return math.fsum(log_joint_terms(X, np.asarray(labels), likelihood, alpha, discount))


def formula_terms(X, labels, likelihood, alpha, weights=None):
    """The textbook formula of the Dirichlet process and Normal-Gamma log joint on raw, possibly weighted, data."""
    w = np.ones(len(X)) if weights is None else weights
    g = special.gammaln
    terms = [g(alpha), -g(alpha + w.sum())]
    m0, c0, a0, b0 = likelihood
    for k in np.unique(labels):
        x, v = X[labels == k], w[labels == k]
        n = v.sum()
        mean = v @ x / n
        squares = v @ (x - mean) ** 2
        b = b0 + squares / 2 + c0 * n * (mean - m0) ** 2 / (2 * (c0 + n))
        terms += [math.log(alpha), g(n)]
        for d in range(X.shape[1]):
            terms += [g(a0 + n / 2), -g(a0), a0 * math.log(b0[d]), -(a0 + n / 2) * math.log(b[d])]
            terms += [0.5 * math.log(c0 / (c0 + n)), -n / 2 * math.log(2 * math.pi)]
    return terms


def log_density(X, labels, likelihood, alpha, x, discount=0.0):
    """log p(x | X, z), a mixture over all clusters and a new one: quotients of joints (Raykov2014 (17))."""
    labels = np.asarray(labels)
    together = np.vstack([X, x[None]])
    k = labels.max() + 1
    base = log_joint(X, labels, likelihood, alpha, discount)
    options = [log_joint(together, np.append(labels, j), likelihood, alpha, discount) for j in range(k + 1)]
    return np.array(options) - base
