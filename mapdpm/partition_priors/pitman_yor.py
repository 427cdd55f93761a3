"""The Pitman-Yor process: cluster sizes with power-law tails; a discount of 0 is the Dirichlet process."""

from __future__ import annotations

from math import log
from typing import NamedTuple

from mapdpm.protocol import Vector
from mapdpm.special import digamma_of, log_rising


class PitmanYor(NamedTuple):
    """p(z) = prod_{j<K} (alpha + j d) Gamma(alpha) / Gamma(alpha + N) prod_k Gamma(N_k - d) / Gamma(1 - d); maths (2).

    The discount d is in [0, 1), and alpha > -d.

    Examples
    --------
    >>> import numpy as np
    >>> apart = PitmanYor(1.0, 0.5).log_partition(np.array([1.0, 1.0]))
    >>> print(f"{np.exp(apart):.3f}")  # (alpha + d) / (alpha + 1)
    0.750
    """

    alpha: float
    discount: float

    def given_other_clusters(self, k: int) -> PitmanYor:
        return self._replace(alpha=self.alpha + k * self.discount)

    @property
    def unit(self) -> float:
        """A nat."""
        return 1.0

    def of_sample(self, share: float) -> PitmanYor:  # noqa: ARG002  (the cost of a cluster needs it)
        return self

    def log_existing(self, n: float, w: float) -> float:
        return log(n - self.discount) if w == 1.0 else log_rising(n - self.discount, w)

    def log_new(self, k: int, w: float) -> float:
        # The first cluster of all is certain: its weight alpha cancels, and alpha may be negative.
        opening = log(self.alpha + k * self.discount) if k > 0 else 0.0
        return opening if w == 1.0 else opening + log_rising(1.0 - self.discount, w - 1.0)

    def slope(self, n: float) -> float:
        return digamma_of(n - self.discount)

    def log_normaliser(self, total: float, w: float) -> float:
        return -log_rising(self.alpha + total, w) if total > 0.0 else -log_rising(self.alpha + 1.0, w - 1.0)

    def log_partition(self, sizes: Vector) -> float:
        total, result = 0.0, 0.0
        for k in range(sizes.shape[0]):
            if k > 0:
                result += log(self.alpha + k * self.discount)
            result += log_rising(1.0 - self.discount, sizes[k] - 1.0)
            total += sizes[k]
        return result - log_rising(self.alpha + 1.0, total - 1.0)
