"""A finite mixture with symmetric Dirichlet shares; with many components it is nearly a Dirichlet process."""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

from mapdpm.protocol import Vector
from mapdpm.special import digamma_of, log_rising


class FiniteDirichlet(NamedTuple):
    """p(z) = M! / (M - K)! Gamma(alpha) / Gamma(alpha + N) prod_k Gamma(alpha / M + N_k) / Gamma(alpha / M).

    M = ``n_components`` shares from Dirichlet(alpha / M, ..., alpha / M), which points then choose by; z says who is
    together, not which component they chose. M to infinity is the Dirichlet process.

    Examples
    --------
    >>> import numpy as np
    >>> apart = FiniteDirichlet(1.0, 2).log_partition(np.array([1.0, 1.0]))
    >>> print(f"{np.exp(apart):.3f}")  # alpha / (alpha + 1) of a process, times (M - 1) / M
    0.250
    """

    alpha: float
    n_components: int

    @property
    def discount(self) -> float:
        """0: only a Pitman-Yor process has one."""
        return 0.0

    def given_other_clusters(self, k: int) -> FiniteDirichlet:
        """The same mixture with ``k`` components taken; the weights of the others do not change."""
        left = self.n_components - k
        return FiniteDirichlet(self.alpha * left / self.n_components, left)

    @property
    def unit(self) -> float:
        """A nat."""
        return 1.0

    def of_sample(self, share: float) -> FiniteDirichlet:  # noqa: ARG002  (the cost of a cluster needs it)
        return self

    def log_existing(self, n: float, w: float) -> float:
        share = self.alpha / self.n_components
        return log(n + share) if w == 1.0 else log_rising(n + share, w)

    def log_new(self, k: int, w: float) -> float:
        if k >= self.n_components:
            return -inf
        share = self.alpha / self.n_components
        opening = log((self.n_components - k) * share)
        return opening if w == 1.0 else opening + log_rising(1.0 + share, w - 1.0)

    def slope(self, n: float) -> float:
        return digamma_of(n + self.alpha / self.n_components)

    def log_normaliser(self, total: float, w: float) -> float:
        return -log_rising(self.alpha + total, w)

    def log_partition(self, sizes: Vector) -> float:
        share, K = self.alpha / self.n_components, sizes.shape[0]
        if self.n_components < K:
            return -inf
        total, result = 0.0, log_rising(self.n_components - K + 1.0, float(K))
        for k in range(K):
            result += log(share) + log_rising(1.0 + share, sizes[k] - 1.0)
            total += sizes[k]
        return result - log_rising(self.alpha, total)
