"""Collapsed Gibbs sampling of one partition: Algorithm 3 of Neal (2000), Raykov2014 section 2.2."""

from __future__ import annotations

from mapdpm.backends.generic import gibbs_sweep
from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import RngVerbs
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler


class CollapsedGibbs(Sampler):
    """Gibbs sampling of the partition with cluster parameters integrated out (Neal 2000, Algorithm 3).

    p(z_i = k | rest) is N_k^{-i} p(x_i | x_{c_k}^{-i}) for a cluster and alpha p(x_i) for a new one (Raykov2014 (9),
    (10)). A step redraws every label once, in the order of the points: O(N K D).
    """

    _kernel = staticmethod(compiled_if_possible(gibbs_sweep))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """A sweep over all points."""
        start, moved = 0, 0
        while start < chain.n_points:
            state = chain.reserve()
            start, more = self._kernel(chain.model, state, start, True, rng)
            moved += int(more)
        return Info(moved=moved, n_clusters=chain.n_clusters)
