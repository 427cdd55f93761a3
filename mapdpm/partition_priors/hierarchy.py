"""The concentrations of a hierarchical Dirichlet process over a tree of groups (Teh2004 sections 4 and 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.partition_priors.franchise import franchise
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.special import log_rising


class Hierarchy(NamedTuple):
    """One alpha for each level of groups, coarse to fine, and gamma of the root.

    Each group has a Dirichlet process around the shares of its parent; the shares of the root are those of a Dirichlet
    process with concentration gamma.
    """

    alphas: tuple[float, ...]
    """One number stands for all levels until the groups are known."""
    gamma: float

    def of_levels(self, n_levels: int) -> Hierarchy:
        """The same with an alpha for each of ``n_levels``; ValueError where it has another number of them."""
        if len(self.alphas) == 1:
            return self._replace(alphas=self.alphas * n_levels)
        if len(self.alphas) != n_levels:
            msg = f"alpha must be a number, or one for each level of groups: {n_levels}, got {len(self.alphas)}"
            raise ValueError(msg)
        return self


def hierarchy(alpha: Any, gamma: Any) -> Hierarchy:
    """The process with these concentrations, checked; ``alpha`` is a number, or one a level."""
    several = isinstance(alpha, Sequence) or np.ndim(alpha) == 1
    alphas = list(alpha) if several and not isinstance(alpha, str) else [alpha]
    if not alphas:
        msg = "alpha must be a number, or one for each level of groups, got none"
        raise ValueError(msg)
    checked = [franchise(each, gamma) for each in alphas]
    return Hierarchy(tuple(each.alpha for each in checked), checked[0].gamma)


def log_density_of_shares(parents: Labels, guests: Labels, weights: Matrix, alphas: Vector, gamma: float) -> float:
    """log p(z, beta), in nats: of a partition, and of the log ratios of shares to the rest in each inner node.

    A node has a share for each cluster below it, and one for all others together (maths (78)). Nodes are those of
    ``data.group_tree``. O(nodes x K).

    Parameters
    ----------
    parents : array of shape (nodes,)
        The parent of each node; the inner nodes come first.
    guests : array of shape (groups, slots)
        The points of each group in each slot.
    weights : array of shape (inner nodes, slots + 1)
        The alpha of the children of each inner node times its shares; the last is that of all new clusters.
    alphas : array of shape (inner nodes,)
        The alpha of the children of each inner node.
    gamma : float
        The concentration of the root.
    """
    n_inner, capacity = weights.shape[0], guests.shape[1]
    served = np.zeros((n_inner, capacity), dtype=np.int64)
    total = 0.0
    for j in range(guests.shape[0]):
        up, n = parents[n_inner + j], 0
        for k in range(capacity):
            if guests[j, k] > 0:
                served[up, k] = 1
                n += guests[j, k]
                total += log_rising(weights[up, k], float(guests[j, k]))
        total -= log_rising(alphas[up], float(n))
    for u in range(n_inner - 1, 0, -1):
        up = parents[u]
        total += lgamma(alphas[up])
        shape, rest = weights[up, -1], weights[u, -1]
        for k in range(capacity):
            if served[u, k] > 0:
                served[up, k] = 1
                total += log_term(weights[up, k], weights[u, k] / alphas[u])
            else:
                shape += weights[up, k]
                rest += weights[u, k]
        total += log_term(shape, rest / alphas[u])
    return total + log(gamma) * served[0].sum() + gamma * log(weights[0, -1] / alphas[0])


@jitable
def log_term(shape: float, share: float) -> float:
    """The factor of one share in the density of log ratios under a Dirichlet distribution."""
    return shape * log(share) - lgamma(shape)
