"""Samplers that seat points at tables: what the franchise and direct assignment with tables share."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors import DirichletProcess
from mapdpm.protocol import Labels, RngVerbs
from mapdpm.samplers._whole_tables import OfTables, tables_of
from mapdpm.samplers.chain import POINT, Adapted
from mapdpm.samplers.collapsed_gibbs import CollapsedGibbs
from mapdpm.samplers.grouped_sampler import GroupedChain, GroupedSampler
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.samplers.sequential_split_merge import SequentialSplitMerge
from mapdpm.validation import in_order_of_appearance

SEATS = "tables"
"""The array of the table of each point; tables are numbered over all groups, in order of first appearance."""

_PROPOSALS = 5
"""Proposals to split or merge dishes in a step. Their number must not depend on the partition: that is a bias."""


class SeatedSampler(GroupedSampler):
    """A sampler that may move whole tables, and whole dishes, among clusters.

    ``seats`` are the tables of points, then those of these tables in the nodes above, up to the first level.
    """

    samplers: tuple[Sampler, ...] = ()
    """Samplers of one partition that redraw the dishes of the tables of the first level."""

    _tables_of = staticmethod(compiled_if_possible(tables_of))

    def redraw_dishes_by(self, split_merge: bool) -> None:
        """Let steps redraw dishes by Gibbs sampling, and by splits and merges if ``split_merge``."""
        self.samplers = (CollapsedGibbs(),)
        if split_merge:
            self.samplers += (SequentialSplitMerge(n_proposals=_PROPOSALS),)

    def carry_seats(self, chain: GroupedChain) -> None:
        """Carry the seats of points: one table for each cluster of a group."""
        cells = chain.tree.of_points * chain.state.capacity + chain.state.labels
        chain.carry(SEATS, in_order_of_appearance(cells), (POINT,))

    def redraw_dishes(self, chain: GroupedChain, seats: list[Labels], rng: RngVerbs) -> Info:
        """Redraw the dishes of the tables of the first level, given all seats.

        With all shares integrated out, these dishes are a partition of the tables under a Dirichlet process with gamma.
        Its points are whole tables. Labels, counts and rows are made anew: O(N D), and the samplers of dishes.
        """
        of_points = seats[0]
        for above in seats[1:]:
            of_points = above[of_points]
        _, at = np.unique(of_points, return_index=True)
        dishes = in_order_of_appearance(chain.state.labels[at])
        points = self._tables_of(chain.likelihood, chain.data, of_points, len(at))
        prior, family = DirichletProcess(float(chain.prior.gamma)), OfTables(chain.likelihood)
        kind: Any = self.samplers[0].chain_type
        tables = kind(family, prior, points, dishes, Adapted(float(chain.n_clusters)))
        infos = [sampler.move(tables, rng) for sampler in self.samplers]
        drawn = tables.state.labels[of_points]
        moved = int(np.count_nonzero(drawn != dishes[of_points]))
        chain.become(in_order_of_appearance(drawn))
        proposed, accepted = sum(info.proposed for info in infos), sum(info.accepted for info in infos)
        return Info(chain.n_clusters, moved, proposed, accepted)

    def count_tables(self, chain: GroupedChain, seats: list[Labels]) -> None:
        """Set the numbers of tables to those of ``seats``, and the tables of points if they are carried."""
        nodes, dishes = chain.tree.n_inner + chain.tree.of_points, chain.state.labels
        chain.tables[:] = 0
        for tables in seats:
            _, at = np.unique(tables, return_index=True)
            nodes, dishes = nodes[at], dishes[at]
            np.add.at(chain.tables, (nodes - 1, dishes), 1)
            nodes = chain.tree.parents[nodes]
        if SEATS in chain.aux:
            chain.aux[SEATS][:] = in_order_of_appearance(seats[0])
