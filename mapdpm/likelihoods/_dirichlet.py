"""A Dirichlet prior on shares of categories: what the families of words have in common."""

from __future__ import annotations

from math import exp, log

from mapdpm.jit import jitable
from mapdpm.protocol import RngVerbs, Vector
from mapdpm.special import digamma_of, log_rising


@jitable
def sum_of(beta: Vector) -> float:
    """The sum of the prior counts."""
    total = 0.0
    for v in range(beta.shape[0]):
        total += beta[v]
    return total


@jitable
def log_marginal_of_counts(beta: Vector, counts: Vector) -> float:
    """sum_v log of beta_v to the rising power n_v; only words that are there count."""
    total = 0.0
    for v in range(beta.shape[0]):
        if counts[v] > 0.0:
            total += log_rising(beta[v], counts[v])
    return total


@jitable
def log_merge_of_counts(beta: Vector, counts: Vector, others: Vector) -> float:
    """The gain of ``log_marginal_of_counts`` if two counts become one; only words that both have count."""
    total = 0.0
    for v in range(beta.shape[0]):
        if counts[v] > 0.0 and others[v] > 0.0:
            total += log_rising(beta[v] + counts[v], others[v]) - log_rising(beta[v], others[v])
    return total


@jitable
def draw_log_shares(beta: Vector, counts: Vector, log_shares: Vector, rng: RngVerbs) -> None:
    """Fill ``log_shares`` with the logarithm of a draw from Dirichlet(beta + counts)."""
    V = beta.shape[0]
    for v in range(V):
        log_shares[v] = rng.log_gamma(beta[v] + counts[v])
    top, total = log_shares[0], 0.0
    for v in range(1, V):
        top = max(top, log_shares[v])
    for v in range(V):
        total += exp(log_shares[v] - top)
    top += log(total)
    for v in range(V):
        log_shares[v] -= top


@jitable
def expected_log_shares(beta: Vector, counts: Vector, total: float, log_shares: Vector) -> None:
    """Fill ``log_shares`` with the means of log theta under Dirichlet(beta + counts), whose sum is ``total``."""
    of_total = digamma_of(total)
    for v in range(beta.shape[0]):
        log_shares[v] = digamma_of(beta[v] + counts[v]) - of_total


@jitable
def divergence_of_shares(log_shares: Vector, others: Vector) -> float:
    """sum_v (p_v - q_v) log (p_v / q_v)."""
    total = 0.0
    for v in range(log_shares.shape[0]):
        total += (exp(log_shares[v]) - exp(others[v])) * (log_shares[v] - others[v])
    return total
