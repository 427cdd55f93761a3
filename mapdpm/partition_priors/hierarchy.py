"""The hierarchical Dirichlet process over a tree of groups: a distribution over clusters that groups share (Teh2004).

Groups may be in sections, sections in a corpus: each node of the tree draws its shares of the clusters around those of
its parent. With one level of groups the root is the only node above them. Only the table of counts n_jk matters: points
of group j in cluster k.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.partition_priors.franchise import Cells, Level, Mode, first_guess, integral, mode_of
from mapdpm.protocol import SMALLEST, Labels, Matrix, Vector
from mapdpm.special import log_rising
from mapdpm.validation import check_positive

LARGEST_CONCENTRATION = 1e30
"""alpha and gamma are between its inverse and this: products of alpha and shares are then above SMALLEST."""

_MOST_ROUNDS = 200
_NEAR = 1e-9
"""Rounds over the levels end where log shares change by less."""


class Solution(NamedTuple):
    """The common shares of the clusters of a table, and its log probability."""

    shares: Matrix
    """(inner nodes, K + 1): beta_k, and last beta_u, the share of all clusters that nobody has; rows sum to 1."""
    log_partition: float
    """log p(z), in nats."""


class Hierarchy(NamedTuple):
    r"""p(z) of a hierarchical Dirichlet process: its tables and shares are integrated out (Teh2004 (24)-(28)).

    Each group has a Dirichlet process around the shares of its parent, with the alpha of its level; so has each inner
    node below the root. The shares of the root are those of a Dirichlet process with concentration gamma. With one
    level, p(z) = gamma^K / prod_j alpha^(n_j) I, where I is the integral of beta_u^(gamma - 1) prod_k g_k(beta_k) /
    beta_k over shares that sum to 1, g_k(b) = prod_j (alpha b)^(n_jk) and a^(n) = a (a + 1) ... (a + n - 1). It is
    found to some 0.005 nats, and to 0.02 for a single cell (maths (53) to (57)). In a tree each inner node is a
    group of its parent, whose points are tables (maths (79) to (82)); p(z) is then found to 0.03 nats.

    Examples
    --------
    >>> import numpy as np
    >>> prior = Hierarchy(alphas=(1.0,), gamma=1.0)
    >>> apart = prior.log_partition(np.array([[1, 0], [0, 1]]))  # exactly log 1/2
    >>> print(f"{np.exp(apart):.3f}")
    0.500
    """

    alphas: tuple[float, ...]
    """One alpha for each level of groups, coarse to fine. One number stands for all levels until groups are known."""
    gamma: float

    @property
    def numbers(self) -> tuple[float, ...]:
        """All alphas, and gamma."""
        return (*self.alphas, self.gamma)

    def of_levels(self, n_levels: int) -> Hierarchy:
        """The same with an alpha for each of ``n_levels``; ValueError where it has another number of them."""
        if len(self.alphas) == 1:
            return self._replace(alphas=self.alphas * n_levels)
        if len(self.alphas) != n_levels:
            msg = f"alpha must be a number, or one for each level of groups: {n_levels}, got {len(self.alphas)}"
            raise ValueError(msg)
        return self

    def of_children(self, parents: Labels, n_inner: int) -> Vector:
        """(inner nodes,): the alpha of the children of each; ``parents`` are those of ``data.group_tree``."""
        return np.array([self.alphas[depth] for depth in _depths(parents[:n_inner])])

    def log_partition(self, table: Labels, parents: Labels | None = None) -> float:
        """log p(z) of a table of counts (groups, K), in nats; each group and each cluster must have a point."""
        return self.solve(table, parents).log_partition

    def solve(self, table: Labels, parents: Labels | None = None) -> Solution:
        """The shares at their mode given ``table`` (groups, K), and log p(z); O(cells of different counts) a round.

        ``parents`` has the parent of each node: inner nodes come first, level by level, then the groups. None: the
        root is the parent of all groups.
        """
        tree = _tree_of(table, parents, self)
        modes = _modes(tree, self)
        sizes, repeats = np.unique(table.sum(axis=1), return_counts=True)
        groups = sum(count * log_rising(self.alphas[-1], float(n)) for n, count in zip(sizes, repeats, strict=True))
        shares = _all_shares(tree, modes, self)
        constant = table.shape[1] * log(self.gamma) - groups
        return Solution(shares, float(constant + _log_integral(tree, modes, shares, self)))


def hierarchy(alpha: Any, gamma: Any) -> Hierarchy:
    """The process with these concentrations, checked; ``alpha`` is a number, or one a level."""
    several = isinstance(alpha, Sequence) or np.ndim(alpha) == 1
    alphas = list(alpha) if several and not isinstance(alpha, str) else [alpha]
    if not alphas:
        msg = "alpha must be a number, or one for each level of groups, got none"
        raise ValueError(msg)
    return Hierarchy(tuple(_checked("alpha", each) for each in alphas), _checked("gamma", gamma))


def _checked(name: str, given: Any) -> float:
    """A concentration; ValueError where it is out of its range."""
    value = check_positive(name, given)
    if not 1.0 / LARGEST_CONCENTRATION <= value <= LARGEST_CONCENTRATION:
        msg = f"{name} must be between {1.0 / LARGEST_CONCENTRATION:.0e} and {LARGEST_CONCENTRATION:.0e}, got {value}"
        raise ValueError(msg)
    return value


class _Dishes(NamedTuple):
    """A level of inner nodes with the clusters that are below them."""

    level: Level
    first: int
    """The number of the first node of the level in the tree."""
    n_nodes: int
    clusters: Labels
    """(dishes,)"""
    above: Labels
    """(dishes,): the dish of the parent; of the root, none."""


def _depths(parents: Labels) -> Labels:
    """The level of each inner node; 0 of the root."""
    depths = np.zeros(len(parents), dtype=np.int64)
    for node in range(1, len(parents)):
        depths[node] = depths[parents[node]] + 1
    return depths


def _tree_of(table: Labels, parents: Labels | None, prior: Hierarchy) -> list[_Dishes]:
    """The levels of inner nodes, the root first."""
    n_groups, n_clusters = table.shape
    up = np.zeros(n_groups, dtype=np.int64) if parents is None else parents[len(parents) - n_groups :]
    inner = np.full(1, -1) if parents is None else parents[: len(parents) - n_groups]
    firsts = np.searchsorted(_depths(inner), np.arange(len(prior.alphas) + 1))
    rows, clusters = np.nonzero(table)
    counts: Labels = table[rows, clusters]
    nodes = up[rows]  # of each cell, in the tree
    found: list[_Dishes] = []
    for depth in range(len(prior.alphas) - 1, -1, -1):
        first, n_nodes = int(firsts[depth]), int(firsts[depth + 1] - firsts[depth])
        keys, dishes = np.unique((nodes - first) * n_clusters + clusters, return_inverse=True)
        if found:
            found[-1] = found[-1]._replace(above=dishes)
            cells = Cells(dishes, np.ones(len(dishes)), np.ones(len(dishes)))
        else:
            base = int(counts.max()) + 1
            kinds, repeats = np.unique(dishes * base + counts, return_counts=True)
            cells = Cells(kinds // base, (kinds % base).astype(np.float64), repeats.astype(np.float64))
        own = keys // n_clusters
        concentration = prior.alphas[depth - 1] if depth > 0 else prior.gamma
        level = Level(prior.alphas[depth], concentration, own, cells)
        clusters = keys % n_clusters
        found.append(_Dishes(level, first, n_nodes, clusters, np.zeros(0, dtype=np.int64)))
        nodes = inner[first + own]
    return found[::-1]


def _modes(tree: list[_Dishes], prior: Hierarchy) -> list[Mode]:
    """The shares of all levels at their mode, the root first: each level in turn, given those above and below.

    A level gives its expected tables to the level above, and its shares to the level below.
    """
    modes: list[Mode] = []
    for depth, dishes in enumerate(tree):  # a start: each cell has a table
        modes.append(first_guess(dishes.level, _bases(tree, modes, depth, prior)))
    for _ in range(_MOST_ROUNDS):
        change = 0.0
        for depth in range(len(tree) - 1, -1, -1):
            bases, level = _bases(tree, modes, depth, prior), tree[depth].level
            if depth + 1 < len(tree):
                level = level._replace(cells=level.cells._replace(counts=modes[depth + 1].tables))
            before = modes[depth]
            modes[depth] = mode_of(level, bases, before)
            change = max(change, float(np.abs(modes[depth].log_shares - before.log_shares).max()))
        if len(tree) == 1 or change < _NEAR:
            break
    return modes


def _bases(tree: list[_Dishes], modes: list[Mode], depth: int, prior: Hierarchy) -> Vector:
    """(dishes,): alpha times the share of each dish of a level in the node above; 0 at the root."""
    if depth == 0:
        return np.zeros(len(tree[0].clusters))
    return np.maximum(prior.alphas[depth - 1] * modes[depth - 1].shares[tree[depth].above], SMALLEST)


def _all_shares(tree: list[_Dishes], modes: list[Mode], prior: Hierarchy) -> Matrix:
    """(inner nodes, K + 1): the shares of all clusters in all nodes, and last those of clusters that nobody has."""
    first = tree[-1].first + tree[-1].n_nodes
    shares = np.zeros((first, len(tree[0].clusters) + 1))
    for depth, (dishes, mode) in enumerate(zip(tree, modes, strict=True)):
        own = slice(dishes.first, dishes.first + dishes.n_nodes)
        if depth == 0:
            shares[0, -1] = prior.gamma
        else:
            shares[own] = prior.alphas[depth - 1] * shares[_parents_of(tree, depth)]
        shares[own] /= mode.totals[:, None]
        shares[dishes.first + dishes.level.nodes, dishes.clusters] = mode.shares
    return shares / shares.sum(axis=1, keepdims=True)


def _parents_of(tree: list[_Dishes], depth: int) -> Labels:
    """(nodes of the level,): the parent of each, in the tree. Each node has a dish, which its parent has, too."""
    dishes, above = tree[depth], tree[depth - 1]
    parents = np.zeros(dishes.n_nodes, dtype=np.int64)
    parents[dishes.level.nodes] = above.first + above.level.nodes[dishes.above]
    return parents


def _log_integral(tree: list[_Dishes], modes: list[Mode], shares: Matrix, prior: Hierarchy) -> float:
    """The log of the integral over all shares; a level below gives its tables to the one above, as counts of cells."""
    total, tables = 0.0, None
    for depth in range(len(tree) - 1, -1, -1):
        level, dishes, bases = tree[depth].level, tree[depth], _bases(tree, modes, depth, prior)
        if tables is not None:
            at = modes[depth].shares[level.cells.dishes]
            level = level._replace(cells=level.cells._replace(counts=tables.means, tables=tables, at=at))
        if depth == 0:
            rests = np.array([prior.gamma])
        else:
            others = prior.alphas[depth - 1] * shares[_parents_of(tree, depth)]
            others[level.nodes, dishes.clusters] = 0.0
            rests = others.sum(axis=1)
        value, tables = integral(level, bases, rests, modes[depth])
        total += value
    return total


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
