"""Mergers of clusters that are hard to tell apart: directly estimated misclassification (Hennig 2010, DEMP)."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mapdpm.likelihoods._normal_overlap import has_closed_form, log_misclassified
from mapdpm.merging.overlap_of_draws import log_misclassified_draws
from mapdpm.merging.tree import MergeTree, tree_of
from mapdpm.names import CRITERIA
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.state import Mixture

_NEVER = -1e300  # the logarithm of a probability of 0; a height must be finite


class Merger(NamedTuple):
    """The group in slot ``gone`` joins that in slot ``kept``, at a height in nats."""

    kept: int
    gone: int
    height: float


def tree_by_overlap(mixture: Mixture, log_shares: Matrix | None, clusters: Labels | None) -> MergeTree:
    """Merge the two groups of which one is most often taken for the other, again and again.

    ``log_shares`` are the logarithms of the posterior probabilities of clusters for some points, (N, K): the
    probability that a point of A is taken for one of B is the share of A, of all points, at which B is the most
    probable group. O(N K + K^3). None: by statistics alone. The probability for pairs of clusters is then a tail of a
    quadratic form for normal families, a share of drawn points for others, and those of groups are sums over their
    clusters, at most 1. O(K^2 D + K^3).
    """
    overlaps = _by_statistics(mixture) if log_shares is None else OverlapsAtPoints(log_shares)
    mergers = list(overlaps.mergers())
    pairs = [(each.kept, each.gone) for each in mergers]
    return tree_of(pairs, [each.height for each in mergers], clusters, CRITERIA[1])


class _Overlaps(abc.ABC):
    """Groups, and how often a point of each is taken for one of another; a merged group keeps the lower slot."""

    def __init__(self, log_taken: Matrix, log_weights: Vector) -> None:
        self._taken, self._weights = log_taken, log_weights
        self._gone = np.zeros(len(log_weights), dtype=bool)
        self.log_overlaps = np.full_like(log_taken, -np.inf)
        """The log probability that of two groups a point of one is taken for one of the other: the larger of both."""
        for slot in range(len(log_weights)):
            self._refresh(slot)

    def mergers(self) -> Iterator[Merger]:
        """Merge the two groups of the largest overlap, again and again."""
        for _ in range(len(self._weights) - 1):
            kept, gone = sorted(divmod(int(np.argmax(self.log_overlaps)), len(self._weights)))
            yield Merger(kept, gone, 0.0 - float(self.log_overlaps[kept, gone]))
            self._gone[gone] = True
            for slot in (*self._merge(kept, gone), gone):
                self._refresh(slot)

    @abc.abstractmethod
    def _merge(self, kept: int, gone: int) -> list[int]:
        """Merge two groups; returns the slots whose overlaps have changed."""

    def _join(self, kept: int, gone: int) -> None:
        self._weights[kept] = np.logaddexp(self._weights[kept], self._weights[gone])
        self._taken[kept] = np.logaddexp(self._taken[kept], self._taken[gone])
        self._taken[:, kept] = np.logaddexp(self._taken[:, kept], self._taken[:, gone])

    def _refresh(self, slot: int) -> None:
        for_others = np.minimum(self._taken[slot] - self._weights[slot], 0.0)
        for_it = np.minimum(self._taken[:, slot] - self._weights, 0.0)
        both = np.maximum(np.maximum(for_others, for_it), _NEVER)
        both[self._gone | (np.arange(len(both)) == slot) | self._gone[slot]] = -np.inf
        self.log_overlaps[slot] = self.log_overlaps[:, slot] = both


class OverlapsAtPoints(_Overlaps):
    """Groups by their posterior probabilities at points."""

    def __init__(self, log_shares: Matrix) -> None:
        self._shares = log_shares.copy()
        self.best = log_shares.argmax(axis=1)
        """The most probable group at each point."""
        self._highest = log_shares.max(axis=1)
        taken = np.full((log_shares.shape[1],) * 2, -np.inf)
        for slot in np.unique(self.best):
            taken[:, slot] = self._shares_at(slot)
        super().__init__(taken, np.logaddexp.reduce(log_shares, axis=0))

    def _shares_at(self, slot: int) -> Vector:
        """The log sum of the shares of each group, of points at which that of ``slot`` is the most probable."""
        return np.asarray(np.logaddexp.reduce(self._shares[self.best == slot], axis=0))

    def _merge(self, kept: int, gone: int) -> list[int]:
        both = np.logaddexp(self._shares[:, kept], self._shares[:, gone])
        self._shares[:, kept], self._shares[:, gone] = both, -np.inf
        won = (both > self._highest) | ((both == self._highest) & (kept < self.best))
        taken_over = np.setdiff1d(self.best[won], [kept, gone]).tolist()
        won |= self.best == gone
        self.best[won], self._highest[won] = kept, both[won]
        self._join(kept, gone)
        for slot in (kept, *taken_over) if taken_over else ():
            self._taken[:, slot] = self._shares_at(slot)
        return [kept, *taken_over]


class _Pairwise(_Overlaps):
    """Groups by the overlap of their clusters, two at a time."""

    def _merge(self, kept: int, gone: int) -> list[int]:
        self._join(kept, gone)
        return [kept]


def _by_statistics(mixture: Mixture) -> _Pairwise:
    rows = mixture.state.rows[:-1]
    log_weights = np.log(rows[:, 0])
    if has_closed_form(mixture.likelihood):
        logs = log_misclassified(mixture.likelihood, rows)
    else:
        logs = log_misclassified_draws(mixture)
    return _Pairwise(log_weights[:, None] + logs, log_weights)
