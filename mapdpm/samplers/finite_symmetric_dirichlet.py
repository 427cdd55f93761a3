"""Gibbs sampling of a finite mixture with drawn weights and parameters, in parallel: Ishwaran and Zarepour (2002)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, RngVerbs
from mapdpm.samplers._parallel_sampler import ParallelSampler
from mapdpm.samplers._restricted_sweep import Candidates
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState, compacted


def draw_components(
    likelihood: LikelihoodVerbs, counts: Labels, rows: Matrix, share: float, rng: RngVerbs
) -> Candidates:
    """Draw weights Dir(counts + share), but for their sum, and parameters of all components, from their rows."""
    M = counts.shape[0]
    log_weights, parameters = np.empty(M), np.empty((M, likelihood.n_parameters()))
    for c in range(M):
        log_weights[c] = rng.log_gamma(counts[c] + share)
        likelihood.draw(rows[c], parameters[c], rng)
    return Candidates(np.arange(M), log_weights, parameters, np.array([0, M]), np.zeros(M, dtype=np.int64))


class FiniteSymmetricDirichlet(ParallelSampler):
    """Gibbs sampling of a mixture of M components with symmetric Dirichlet weights: FSD in Chang2013.

    The shares are Dir(alpha / M, ..., alpha / M) (Ishwaran and Zarepour 2002): nearly a Dirichlet process if M is
    large. The posterior is exactly that of ``CollapsedGibbs(alpha, n_components=M)``. A step draws weights and
    parameters of all components, those of empty ones from the prior, and then every label: O(N M D), in chunks and
    threads. It finds new clusters seldom: the parameters of an empty component rarely fit a point.

    Parameters
    ----------
    n_components : int >= 1
        M.
    n_jobs : int or None
        The number of threads; None is 1. Draws do not depend on it.
    **model
        The parameters of ``Sampler``, without a discount. The likelihood needs ``draw`` and ``log_likelihood``.

    Examples
    --------
    >>> from mapdpm.samplers import sample
    >>> sampler = FiniteSymmetricDirichlet(1.0, n_components=10)
    >>> sample([[0.0], [0.1], [9.0]], sampler, draws=3, random_state=0).partitions.shape
    (1, 3, 3)
    """

    draws_parameters = True

    _draw = staticmethod(compiled_if_possible(draw_components))

    def __init__(self, alpha: float = 1.0, *, n_components: int = 100, n_jobs: int | None = None, **model: Any) -> None:
        super().__init__(alpha, n_components=n_components, n_jobs=n_jobs, **model)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Draw weights and parameters, then labels."""
        likelihood, M = chain.likelihood, chain.prior.n_components
        used = compacted(likelihood, chain.state)  # and a free slot behind
        K = used.capacity - 1
        counts, rows = np.zeros(M, dtype=np.int64), np.repeat(used.rows[-1:], M, axis=0)
        counts[:K], rows[:K] = used.counts[:-1], used.rows[:-1]
        components = self._draw(likelihood, counts, rows, chain.prior.alpha / M, rng)
        redrawn = self.redraw(chain, used.labels, np.ones(chain.n_points, dtype=np.int8), components, rng)
        chain.take(compacted(likelihood, ClusterState(used.labels, *redrawn.sums)))
        return Info(chain.n_clusters, redrawn.moved)
