"""Mergers of clusters that are hard to tell apart: directly estimated misclassification (Hennig 2010, DEMP)."""

from __future__ import annotations

import numpy as np

from mapdpm.likelihoods._normal_overlap import has_closed_form, log_misclassified
from mapdpm.merging.overlap_of_draws import log_misclassified_draws
from mapdpm.merging.tree import MergeTree, tree_of
from mapdpm.protocol import Labels, Matrix
from mapdpm.state import Mixture

_NEVER = -1e300  # the logarithm of a probability of 0; a height must be finite


def tree_by_overlap(mixture: Mixture, log_shares: Matrix | None, clusters: Labels | None) -> MergeTree:
    """Merge the two groups of which one is most often taken for the other, again and again.

    ``log_shares`` are the logarithms of the posterior probabilities of clusters for some points, (N, K): the
    probability that a point of A is taken for one of B is the share of A, of all points, at which B is the most
    probable group. O(N K^2). None: by statistics alone. The probability for pairs of clusters is then a tail of a
    quadratic form for normal families, a share of drawn points for others, and those of groups are sums over their
    clusters, at most 1. O(K^2 D + K^3).
    """
    overlaps = _Pairwise(mixture) if log_shares is None else _AtPoints(log_shares)
    pairs, losses = [], []
    for _ in range(len(mixture.counts) - 1):
        both = overlaps.matrix()
        np.fill_diagonal(both, -np.inf)
        both = np.maximum(both, both.T)
        kept, gone = sorted(divmod(int(np.argmax(both)), len(both)))
        pairs.append((overlaps.slots[kept], overlaps.slots[gone]))
        losses.append(0.0 - float(max(both[kept, gone], _NEVER)))
        overlaps.merge(kept, gone)
        del overlaps.slots[gone]
    return tree_of(pairs, losses, clusters)


class _AtPoints:
    """Groups by their posterior probabilities at points."""

    def __init__(self, log_shares: Matrix) -> None:
        self._shares = log_shares.copy()
        self.slots = list(range(log_shares.shape[1]))

    def matrix(self) -> Matrix:
        """The log probability that a point of the group of a row is taken for one of that of a column."""
        taken = np.full((self._shares.shape[1],) * 2, -np.inf)
        best = self._shares.argmax(axis=1)
        for group in np.unique(best):
            taken[:, group] = np.logaddexp.reduce(self._shares[best == group], axis=0)
        return taken - np.logaddexp.reduce(self._shares, axis=0)[:, None]

    def merge(self, kept: int, gone: int) -> None:
        self._shares[:, kept] = np.logaddexp(self._shares[:, kept], self._shares[:, gone])
        self._shares = np.delete(self._shares, gone, axis=1)


class _Pairwise:
    """Groups by the overlap of their clusters, two at a time."""

    def __init__(self, mixture: Mixture) -> None:
        rows = mixture.state.rows[:-1]
        self._weights = np.log(rows[:, 0])
        if has_closed_form(mixture.likelihood):
            logs = log_misclassified(mixture.likelihood, rows)
        else:
            logs = log_misclassified_draws(mixture)
        self._taken = self._weights[:, None] + logs
        self.slots = list(range(len(self._weights)))

    def matrix(self) -> Matrix:
        """The log probability that a point of the group of a row is taken for one of that of a column."""
        return np.minimum(self._taken - self._weights[:, None], 0.0)

    def merge(self, kept: int, gone: int) -> None:
        self._weights[kept] = np.logaddexp(self._weights[kept], self._weights[gone])
        self._taken[kept] = np.logaddexp(self._taken[kept], self._taken[gone])
        self._taken[:, kept] = np.logaddexp(self._taken[:, kept], self._taken[:, gone])
        self._weights = np.delete(self._weights, gone)
        self._taken = np.delete(np.delete(self._taken, gone, axis=0), gone, axis=1)
