"""Stick-breaking priors over explicit labels, slowly: Beta functions of scipy over every stick, loops over labels."""

import itertools
import math

import numpy as np
from scipy.special import betaln


def log_probability(z, a, b):
    """log P(Z) of labels 0, 1, ... under V_i ~ Beta(a[i], b[i]); the last stick takes the rest (papers: erratum 11)."""
    counts = np.bincount(z, minlength=len(a))
    return sum(betaln(a[i] + counts[i], b[i] + counts[i + 1 :].sum()) - betaln(a[i], b[i]) for i in range(len(a) - 1))


def mean_shares(counts, a, b):
    """E[pi_i | Z], Porteous2006 (6); the last stick takes the rest."""
    shares, rest = np.zeros(len(a)), 1.0
    for i in range(len(a) - 1):
        first, second = a[i] + counts[i], b[i] + counts[i + 1 :].sum()
        shares[i] = rest * first / (first + second)
        rest *= second / (first + second)
    shares[-1] = rest
    return shares


def swap(states, a, b):
    """The proposals of "swap", as a matrix: two labels from the prior, exchanged."""
    prior = mean_shares(np.zeros(len(a)), a, b)
    moves = {}
    for i, j in itertools.product(range(len(a)), repeat=2):
        to = np.arange(len(a))
        to[[i, j]] = j, i
        moves[tuple(to)] = moves.get(tuple(to), 0.0) + prior[i] * prior[j]
    return proposals(states, moves)


def permute(states, a, b):
    """The proposals of "permute": labels up to one from the prior, permuted uniformly."""
    prior, moves = mean_shares(np.zeros(len(a)), a, b), {}
    for J, share in enumerate(prior):
        for order in itertools.permutations(range(J + 1)):
            to = (*order, *range(J + 1, len(a)))
            moves[to] = moves.get(to, 0.0) + share / math.factorial(J + 1)
    return proposals(states, moves)


def following(states, a, b, step=1):
    """The proposals of footnote 3, by label: one from the prior, exchanged with the one ``step`` above."""
    prior, moves = mean_shares(np.zeros(len(a)), a, b), {}
    for i, share in enumerate(prior):
        to = np.arange(len(a))
        if i + step < len(a):
            to[[i, i + step]] = i + step, i
        moves[tuple(to)] = moves.get(tuple(to), 0.0) + share
    return proposals(states, moves)


def proposals(states, moves):
    """Q[z, z']: the probability that relabelling ``to``, drawn by ``moves[to]``, makes z' of z."""
    index = {z: n for n, z in enumerate(states)}
    Q = np.zeros((len(states), len(states)))
    for z in states:
        for to, probability in moves.items():
            Q[index[z], index[tuple(int(to[i]) for i in z)]] += probability
    return Q


def accepted(Q, log_pi):
    """The Metropolis-Hastings matrix of symmetric proposals ``Q``."""
    P = Q * np.exp(np.minimum(log_pi[None, :] - log_pi[:, None], 0.0))
    np.fill_diagonal(P, 0.0)
    np.fill_diagonal(P, 1.0 - P.sum(axis=1))
    return P


def gibbs(states, a, b, log_marginal):
    """The matrix of a sweep over all points; ``log_marginal(points)`` is that of a cluster."""
    index, n = {z: k for k, z in enumerate(states)}, len(states[0])
    P = np.eye(len(states))
    for i in range(n):
        one = np.zeros_like(P)
        for z in states:
            rest = [k for k in range(n) if k != i]
            shares = mean_shares(np.bincount([z[k] for k in rest], minlength=len(a)), a, b)
            weights = []
            for label, share in enumerate(shares):
                members = [k for k in rest if z[k] == label]
                weights.append(share * math.exp(log_marginal([*members, i]) - log_marginal(members)))
            for label, weight in enumerate(weights):
                one[index[z], index[(*z[:i], label, *z[i + 1 :])]] += weight / sum(weights)
        P = P @ one
    return P
