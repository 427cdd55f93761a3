"""The Dirichlet process, as a distribution over partitions (the Chinese restaurant process)."""

from __future__ import annotations

from math import lgamma, log
from typing import NamedTuple

from mapdpm.jit import jitable
from mapdpm.protocol import Vector
from mapdpm.special import digamma_of, log_rising


class DirichletProcess(NamedTuple):
    """p(z) = Gamma(alpha) / Gamma(alpha + N) alpha^K prod_k Gamma(N_k)  (Raykov2014 (1); maths (1)).

    Examples
    --------
    >>> import numpy as np
    >>> together = DirichletProcess(1.0).log_partition(np.array([2.0]))
    >>> print(f"{np.exp(together):.3f}")  # 1 / (1 + alpha)
    0.500
    """

    alpha: float
    light: bool = False
    """Whether weights are relative, and may be small: then the factor of a cluster of weight n < 1 is n, not Gamma(n).

    Gamma(n) is about 1 / n for a small n, so light points would each be a cluster.
    """

    def __repr__(self) -> str:
        return f"DirichletProcess(alpha={self.alpha!r}{', light=True' * self.light})"

    @property
    def discount(self) -> float:
        """0: only a Pitman-Yor process has one."""
        return 0.0

    def given_other_clusters(self, k: int) -> DirichletProcess:  # noqa: ARG002  (a Pitman-Yor process needs k)
        return self

    @property
    def unit(self) -> float:
        """A nat."""
        return 1.0

    def of_sample(self, share: float) -> DirichletProcess:  # noqa: ARG002  (the cost of a cluster needs it)
        return self

    def log_existing(self, n: float, w: float) -> float:
        if self.light and n < 1.0:
            return _log_gamma(n + w) - _log_gamma(n)
        return log(n) if w == 1.0 else log_rising(n, w)

    def log_new(self, k: int, w: float) -> float:  # noqa: ARG002  (a Pitman-Yor process needs k)
        if w == 1.0:
            return log(self.alpha)
        return log(self.alpha) + (_log_gamma(w) if self.light else lgamma(w))

    def slope(self, n: float) -> float:
        return 1.0 / n if self.light and n < 1.0 else digamma_of(n)

    def log_normaliser(self, total: float, w: float) -> float:
        return -log_rising(self.alpha + total, w)

    def log_partition(self, sizes: Vector) -> float:
        total, result = 0.0, 0.0
        for k in range(sizes.shape[0]):
            result += log(self.alpha) + (_log_gamma(sizes[k]) if self.light else lgamma(sizes[k]))
            total += sizes[k]
        return result - log_rising(self.alpha, total)


@jitable
def _log_gamma(n: float) -> float:
    """log Gamma of a weight; below 1 the logarithm of the weight."""
    return lgamma(n) if n >= 1.0 else log(n)
