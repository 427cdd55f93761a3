"""The log joint from the definition, by scipy, on raw data: no statistics, no updates, no closed forms of ours.

A cluster of normal data with its mean (and precision) integrated out is one multivariate normal (or Student t) vector
a feature: covariance variance I + prior_variance 11', or scale b0 / a0 (I + 11' / c0) with 2 a0 degrees of freedom.
Other families are chains of scipy's predictives, each from all points before. Laws are asked as functions: scipy takes
longer to make one with its parameters.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from scipy import special, stats

from mapdpm import BetaBernoulli, Categorical, DirichletMultinomial, GammaPoisson, NormalGamma, NormalInverseWishart


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
    if type(likelihood) in PREDICTIVES:
        return [term for i in range(len(x)) for term in log_predictive_terms(x[:i], x[i], likelihood)]
    n = len(x)
    ones = np.ones((n, n))
    terms = []
    for d in range(x.shape[1]):
        if isinstance(likelihood, NormalGamma):
            scale = likelihood.b0[d] / likelihood.a0 * (np.eye(n) + ones / likelihood.c0)
            term = stats.multivariate_t.logpdf(x[:, d], np.full(n, likelihood.m0[d]), scale, df=2 * likelihood.a0)
        else:
            scale = likelihood.variance[d] * np.eye(n) + likelihood.prior_variance[d] * ones
            term = stats.multivariate_normal.logpdf(x[:, d], np.full(n, likelihood.m0[d]), scale)
        terms.append(float(term))
    return terms


def log_predictive_terms(past, x, likelihood):
    """The log density of the point x (D,), given the points of its cluster, past (n, D): terms of any number."""
    return np.ravel(PREDICTIVES[type(likelihood)](past, x, likelihood)).tolist()


def _student(past, x, likelihood):
    n, D = len(past), len(x)
    c, nu = likelihood.c0 + n, likelihood.nu0 + n
    both = past - likelihood.m0
    mean = both.sum(axis=0) / c
    psi = likelihood.psi0 + both.T @ both - c * np.outer(mean, mean)
    freedom = nu - D + 1
    return stats.multivariate_t.logpdf(x, likelihood.m0 + mean, psi * (c + 1) / (c * freedom), df=freedom)


def _polya(past, x, likelihood):
    """Scipy's is the probability of the counts: less the logarithm of how many sequences have them."""
    n = x.sum()
    orders = special.gammaln(n + 1) - special.gammaln(x + 1).sum()
    counts = stats.dirichlet_multinomial.logpmf(x.astype(int), likelihood.beta + past.sum(axis=0), int(n))
    return [counts, -orders]


def _negative_binomial(past, x, likelihood):
    a, b = likelihood.a0 + past.sum(axis=0), likelihood.b0 + len(past)
    return stats.nbinom.logpmf(x, a, b / (b + 1))


def _beta_bernoulli(past, x, likelihood):
    ones = past.sum(axis=0)
    return stats.betabinom.logpmf(x, 1, likelihood.a0 + ones, likelihood.b0 + len(past) - ones)


PREDICTIVES = {
    NormalInverseWishart: _student,
    Categorical: _polya,
    DirichletMultinomial: _polya,
    GammaPoisson: _negative_binomial,
    BetaBernoulli: _beta_bernoulli,
}


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
    """The textbook formula of the Dirichlet process and Normal-Gamma log joint on raw, possibly weighted, data.

    A value that is rounded to a step q counts as all of its cell: its squared distances have the mean of the cell more.
    """
    w = np.ones(len(X)) if weights is None else weights
    g = special.gammaln
    terms = [g(alpha), -g(alpha + w.sum())]
    m0, c0, a0, b0, q = likelihood
    for k in np.unique(labels):
        x, v = X[labels == k], w[labels == k]
        n = v.sum()
        mean = v @ x / n
        squares = v @ ((x - mean) ** 2 + q**2 / 12)
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


def exact_log_factorial(x):
    """Log Gamma(x + 1) in 60 digits, by Stirling's series from 1e4 on; the term left out is below 1e-39."""
    shift, z = Decimal(1), Decimal(x) + 1
    while z < 10_000:
        shift, z = shift * z, z + 1
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
    series = 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5) - 1 / (1680 * z**7)
    return (z - Decimal("0.5")) * z.ln() - z + (2 * pi).ln() / 2 + series - shift.ln()
