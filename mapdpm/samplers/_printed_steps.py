"""The step of ``SubClusterSplits`` with sub-clusters, as Chang2013 prints it."""

from __future__ import annotations

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import RngVerbs
from mapdpm.samplers import _sub_clusters as kernels
from mapdpm.samplers._neighbours import group_with_neighbours
from mapdpm.samplers._parallel_sampler import ParallelSampler
from mapdpm.samplers._restricted_sweep import Candidates, draw_open
from mapdpm.samplers.chain import CLUSTER, POINT, Chain
from mapdpm.samplers.sampler import Info


class PrintedSteps(ParallelSampler):
    """Restricted sweeps, and sub-clusters along which clusters are split. A subclass says how."""

    super_clusters: bool
    deferred: bool

    _draw_open = staticmethod(compiled_if_possible(draw_open))
    _group_with_neighbours = staticmethod(compiled_if_possible(group_with_neighbours))
    _toss_empty = staticmethod(compiled_if_possible(kernels.toss_empty))
    _draw_sub_clusters = staticmethod(compiled_if_possible(kernels.draw_sub_clusters))
    _join_sides = staticmethod(compiled_if_possible(kernels.join_sides))
    _note_burn_in = staticmethod(compiled_if_possible(kernels.note_burn_in))
    _split_and_merge = staticmethod(compiled_if_possible(kernels.split_and_merge))

    def grouped(self, chain: Chain, candidates: Candidates, rng: RngVerbs) -> Candidates:
        """The candidates in super-clusters, if the sampler has them."""
        return self._group_with_neighbours(chain.likelihood, candidates, rng) if self.super_clusters else candidates

    def carry_sub_clusters(self, chain: Chain) -> None:
        """Give a chain sub-clusters: all points on one side, for which coins are tossed."""
        chain.carry("sides", np.zeros(chain.n_points, dtype=np.int8), (POINT,), kept=False)
        chain.carry("splittable", np.zeros(chain.state.capacity, dtype=np.int8), (CLUSTER,), kept=False)
        chain.carry("last", np.full(chain.state.capacity, -np.inf), (CLUSTER,), blank=-np.inf, kept=False)

    def printed_step(self, chain: Chain, rng: RngVerbs) -> Info:
        """A sweep of all points, which may empty a cluster, one of their sides, then splits and merges."""
        likelihood, prior = chain.likelihood, chain.prior
        state = chain.reserve(chain.n_clusters)  # each may be split
        sides, n_slots, a = chain.aux["sides"], 2 * state.capacity, 0.5 * prior.alpha
        self._toss_empty(state.labels, state.capacity, sides, rng)
        clusters = self.grouped(chain, self._draw_open(likelihood, prior, state, state.counts, rng), rng)
        sums = self.summed(chain, 2 * state.labels + sides, n_slots)
        halves = self._draw_sub_clusters(likelihood, a, state, *sums, rng)

        free = np.ones(chain.n_points, dtype=np.int8)
        moved = self.redraw(chain, state.labels, free, clusters, rng).moved
        labels = 2 * state.labels + sides
        _, log_densities, sums = self.redraw(chain, labels, free, halves, rng)
        sides[:] = labels & 1

        self._join_sides(likelihood, state, *sums)
        sub = kernels.SubClusters(sides, sums.rows, chain.aux["splittable"], chain.aux["last"])
        self._note_burn_in(state, sub, log_densities, self.deferred)
        proposed, accepted = self._split_and_merge(chain.model, state, sub, a, rng)
        return Info(chain.n_clusters, moved, int(proposed), int(accepted))
