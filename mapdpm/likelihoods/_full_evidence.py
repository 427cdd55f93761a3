"""The evidence of a Normal-inverse-Wishart prior, at many widths of the prior for the same clusters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._moments import LOG_PI
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.protocol import Matrix, Vector


class FullClusters(NamedTuple):
    """Clusters where psi0 is a factor times R R': what their evidence needs at any factor. S are sums of squares."""

    counts: Vector
    squares: Matrix
    """(K, D): the eigenvalues of R^-1 S R'^-1."""
    pulls: Matrix
    """(K, D): the squares of R^-1 (mean - m0) along their vectors."""
    constant: float
    """Of the evidence, which neither c0 nor nu0 nor the factor changes."""


def full_clusters(
    statistics: Matrix,
    made_by: NormalInverseWishart,
    base: NormalInverseWishart,
    expired: Callable[[], bool] = bool,
) -> FullClusters | None:
    """The clusters with R R' the psi0 of ``base``; O(K D^3). None where time is up before."""
    D, n = len(base.m0), np.ascontiguousarray(statistics[:, 0])
    squares = tri.products(statistics[:, 1 + D :]) - made_by.psi0
    root = np.linalg.inv(np.linalg.cholesky(base.psi0))
    turned = root @ squares @ root.T
    values = np.empty(turned.shape[:2])
    for k in range(len(turned)):
        if expired():
            return None
        values[k], turned[k] = np.linalg.eigh(turned[k])
    pulls = np.einsum("kde,kd->ke", turned, (statistics[:, 1 : 1 + D] - base.m0) @ root.T) ** 2
    log_psi0 = -2.0 * float(np.log(np.diag(root)).sum())
    constant = -0.5 * (D * LOG_PI + log_psi0) * float(n.sum())
    return FullClusters(n, np.maximum(values, 0.0), np.ascontiguousarray(pulls), constant)


def full_evidence(clusters: FullClusters, base: NormalInverseWishart) -> Callable[[NormalInverseWishart], float]:
    """sum_k log p(x_{c_k}) as a function of the prior, which is ``base`` but for c0, nu0 and a factor of psi0.

    maths (35): |f psi0 + S| is |psi0| times the product of all f + l. O(K D) for each prior.
    """
    (n, squares, pulls, constant), D = clusters, len(base.m0)
    sizes, how_often = np.unique(n, return_counts=True)

    def evidence(prior: NormalInverseWishart) -> float:
        c0, nu0, f = prior.c0, prior.nu0, float(prior.psi0[0, 0] / base.psi0[0, 0])
        grown = f + squares
        pulled = np.log1p(c0 * n / (c0 + n) * (pulls / grown).sum(axis=1))
        powers = 0.5 * nu0 * D * math.log(f) - 0.5 * (nu0 + n) * (np.log(grown).sum(axis=1) + pulled)
        shrunk = 0.5 * D * np.log(c0 / (c0 + n))
        return constant + float((powers + shrunk).sum()) + float(how_often @ _log_multigammas(sizes, nu0, D))

    return evidence


def _log_multigammas(sizes: Vector, nu0: float, D: int) -> Vector:
    """log Gamma_D((nu0 + n) / 2) - log Gamma_D(nu0 / 2) of each n, without the powers of pi, which cancel."""

    def log_multigamma(nu: float) -> float:
        return math.fsum(math.lgamma(0.5 * (nu - j)) for j in range(D))

    return np.array([log_multigamma(nu0 + n) for n in sizes.tolist()]) - log_multigamma(nu0)
