"""Rounded values of one feature from the definition: the mass of their cells, with the parameters integrated out.

The integral over mu and tau of the prior times prod_i (1 / q) integral of N(u | mu, 1 / tau) over the cell of x_i,
[x_i - q/2, x_i + q/2], by the trapezoidal rule. Its error falls exponentially where a smooth function vanishes at both
ends: a step of 0.6 deviations of a normal leaves 1e-23 of it, and one of 0.2 in log tau as little of a Gamma density.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from mapdpm import NormalGamma

_MARGIN = 9.0  # deviations
_PER_DEVIATION, _OF_LOG_TAU = 0.6, 0.2
_THIN = 1e-5  # of a deviation: the mean over a cell is the density at its middle, up to 1e-11


def log_marginal(x, likelihood):
    """The log density of cells of width ``resolution`` about the points x (n,) of one cluster, a mass over q each."""
    q = float(likelihood.resolution[0])
    if not isinstance(likelihood, NormalGamma):
        return _over_means(x, q, float(likelihood.m0[0]), float(likelihood.prior_variance[0]), precision(likelihood))
    a, b = likelihood.a0, float(likelihood.b0[0])
    lowest = -40.0 / (a + 0.5 * len(x))  # below it the integrand is less than e^-40 of what it is at 1
    logs = np.arange(min(lowest, lowest - math.log(b)), math.log(80.0 / b), _OF_LOG_TAU)
    gamma = a * math.log(b) - math.lgamma(a) + a * logs - b * np.exp(logs)  # the prior of log tau
    given = [_over_means(x, q, float(likelihood.m0[0]), 1.0 / (likelihood.c0 * t), t) for t in np.exp(logs).tolist()]
    return float(special.logsumexp(gamma + given)) + math.log(_OF_LOG_TAU)


def precision(likelihood):
    """A typical precision under the prior."""
    if isinstance(likelihood, NormalGamma):
        return likelihood.a0 / float(likelihood.b0[0])
    return 1.0 / float(likelihood.variance[0])


def expected_squares(x, likelihood):
    """sum_i E[tau^2 (x_i - mu)^2] given the exact points x, by the posterior in a textbook."""
    n, m0 = len(x), float(likelihood.m0[0])
    if not isinstance(likelihood, NormalGamma):
        tau, rho = precision(likelihood), float(likelihood.prior_variance[0])
        v = 1.0 / (1.0 / rho + n * tau)
        return tau**2 * (((x - v * (m0 / rho + tau * x.sum())) ** 2).sum() + n * v)
    c, a = likelihood.c0 + n, likelihood.a0 + n / 2
    m = (likelihood.c0 * m0 + x.sum()) / c
    b = float(likelihood.b0[0]) + 0.5 * ((x**2).sum() + likelihood.c0 * m0**2 - c * m**2)
    return a * (a + 1) / b**2 * ((x - m) ** 2).sum() + n * a / (b * c)


def log_mean_over_cells(X, likelihood, n_nodes=8):
    """The log of the mean of the density of full covariances over the cells of X (n, D), by nodes in each of n D sides.

    For cells up to some deviations: the density of points is smooth, so 8 nodes leave less than 1e-9 of it.
    """
    places, weights = np.polynomial.legendre.leggauss(n_nodes)
    n, D = X.shape
    grid = np.stack(np.meshgrid(*[places] * (n * D), indexing="ij"), axis=-1).reshape(-1, n, D)
    shares = np.stack(np.meshgrid(*[0.5 * weights] * (n * D), indexing="ij"), axis=-1).reshape(-1, n * D).prod(axis=1)
    logs = log_full_marginals(X + 0.5 * likelihood.resolution * grid, likelihood)
    return float(special.logsumexp(logs, b=shares))


def log_full_marginals(points, likelihood, added=0.0):
    """The textbook's log marginal of many clusters (m, n, D), each with ``added`` squares on the diagonal."""
    m0, c0, nu0, psi0, _ = likelihood
    _, n, D = points.shape
    mean = points.mean(axis=1)
    centred, pull = points - mean[:, None], mean - m0
    psi = psi0 + centred.swapaxes(1, 2) @ centred + c0 * n / (c0 + n) * pull[:, :, None] * pull[:, None, :]
    psi += added * np.eye(D)
    total = special.multigammaln((nu0 + n) / 2, D) - special.multigammaln(nu0 / 2, D)
    total += nu0 / 2 * np.linalg.slogdet(psi0)[1] + D / 2 * math.log(c0 / (c0 + n)) - n * D / 2 * math.log(math.pi)
    return total - (nu0 + n) / 2 * np.linalg.slogdet(psi)[1]


def _over_means(x, q, m0, variance, tau):
    """The log of the integral over mu ~ N(m0, variance)."""
    narrow = 1.0 / math.sqrt(1.0 / variance + len(x) * tau)
    margin = _MARGIN * min(math.sqrt(variance), 1.0 / math.sqrt(tau))
    low, high = min(m0, x.min() - q) - margin, max(m0, x.max() + q) + margin
    mu, step = np.linspace(low, high, 2 + int((high - low) / (_PER_DEVIATION * narrow)), retstep=True)
    logs = _log_normal(mu, m0, 1.0 / variance) + _log_cells(x[:, None], q, mu, tau).sum(axis=0)
    return float(special.logsumexp(logs)) + math.log(step)


def _log_normal(x, mu, tau):
    return 0.5 * (math.log(tau / (2.0 * math.pi)) - tau * (x - mu) ** 2)


def _log_cells(x, q, mu, tau):
    """The log of the mean of N(u | mu, 1 / tau) over the cell about x."""
    root = math.sqrt(tau)
    if q * root < _THIN:
        return _log_normal(x, mu, tau)
    middle = -np.abs(x - mu) * root  # in the left tail, where no digits are lost
    low, high = special.log_ndtr(middle - 0.5 * q * root), special.log_ndtr(middle + 0.5 * q * root)
    return high + np.log(-np.expm1(low - high)) - math.log(q)
