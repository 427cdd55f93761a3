"""The stand-in for a prior in DP-means: each cluster costs the same, whatever its size."""

from __future__ import annotations

from typing import NamedTuple

from mapdpm.protocol import SMALLEST, Vector


class ClusterPenalty(NamedTuple):
    """log p(z) = -lam K, up to a constant: the small-variance limit of a Dirichlet process (Raykov2014 (7)).

    Examples
    --------
    >>> import numpy as np
    >>> ClusterPenalty(2.5).log_partition(np.array([7.0, 1.0]))
    -5.0
    """

    lam: float

    @property
    def discount(self) -> float:
        """0: only a Pitman-Yor process has one."""
        return 0.0

    def given_other_clusters(self, k: int) -> ClusterPenalty:  # noqa: ARG002  (a Pitman-Yor process needs k)
        return self

    @property
    def unit(self) -> float:
        """The cost of a cluster: differences of the joint have no other scale."""
        return self.lam

    def of_sample(self, share: float) -> ClusterPenalty:
        return ClusterPenalty(self.lam * share)

    def log_existing(self, n: float, w: float) -> float:  # noqa: ARG002  (sizes count for nothing)
        return 0.0

    def log_new(self, k: int, w: float) -> float:  # noqa: ARG002  (likewise)
        return -self.lam

    def slope(self, n: float) -> float:  # noqa: ARG002  (sizes count for nothing)
        return 0.0

    def log_normaliser(self, total: float, w: float) -> float:  # noqa: ARG002  (not a distribution)
        return 0.0

    def log_partition(self, sizes: Vector) -> float:
        return -self.lam * sizes.shape[0]


NO_PRIOR = ClusterPenalty(SMALLEST)
"""Adds nothing to a score: so small a penalty is lost in rounding."""
