"""Chains whose clusters have common shares, and tables that these have opened: the parts of groups and of sequences."""

from __future__ import annotations

from typing import cast

from mapdpm.protocol import Labels, Model
from mapdpm.samplers.chain import Chain

TABLES = "m"
"""The array of numbers of tables; its last axis has one entry a slot."""
SHARES, REST = "beta", "beta_new"
"""The arrays of shares, and of the share of clusters that nobody has."""

NEW = "cluster_or_new"
"""The name of an axis of clusters and last a new one."""


class SharingChain(Chain):
    """A chain whose kernels take the partition prior in arrays of their own; ``aux["m"]`` has numbers of tables."""

    __slots__ = ()

    @property
    def model(self) -> Model:
        """The argument of kernels; their prior is in arrays of their own."""
        return Model(self.likelihood, None, self.data)

    @property
    def tables(self) -> Labels:
        """The number of tables, edited in place; its last axis has one entry a slot."""
        return cast("Labels", self.aux[TABLES])
