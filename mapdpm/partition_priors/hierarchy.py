"""The concentrations of a hierarchical Dirichlet process over a tree of groups (Teh2004 sections 4 and 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.partition_priors.franchise import franchise


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
