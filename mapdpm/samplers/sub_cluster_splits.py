"""Sweeps given weights and parameters, splits and merges of whole clusters, all in parallel: Chang2013, exactly."""

from __future__ import annotations

from typing import Any

from mapdpm.jit import compiled_if_possible
from mapdpm.likelihoods._skipping import has_verb
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Likelihood, RngVerbs
from mapdpm.samplers._lone_points import lone_points
from mapdpm.samplers._printed_steps import PrintedSteps
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.launched_split_merge import LaunchedSplitMerge
from mapdpm.samplers.random_split_merge import random_split_merges, run_proposals, share_of_sides
from mapdpm.samplers.sampler import Info
from mapdpm.validation import check_choice

VARIANTS = ("exact", "printed")
_SPLITS = 1.0 / 512.0
"""The probability that a random proposal is a split, which costs much and is nearly never accepted."""


class SubClusterSplits(PrintedSteps, LaunchedSplitMerge):
    r"""Parallel sampling of many points: restricted Gibbs sweeps, and splits and merges of whole clusters (Chang2013).

    A step of the variant "exact" is, in order:

    1. a *restricted sweep*: weights and parameters of the clusters are drawn, pi ~ Dir(N_1, ..., N_K, alpha) and
       theta_k ~ p(theta | x_k), Chang2013 (7) and (8); then the label of each point given them, (9), among the clusters
       that there are;
    2. ``n_proposals`` splits or merges as of ``LaunchedSplitMerge``;
    3. for each of these, 100 as of ``RandomSplitMerge``, most of them merges, and 20 of a point that leaves its
       cluster to be alone, or ends being so.

    Chang2013 splits along sub-clusters that are sampled beside the clusters. That is biased, and a sweep of all points
    that empties a cluster is, too. Here a split is launched from the points alone, and in a sweep half of the points,
    drawn by coins, are held: they keep the clusters in being, and the others move. So each part of a step leaves the
    posterior invariant; it is the posterior of ``CollapsedGibbs``.

    The variant "printed" is the paper's own, with what its authors' code adds (docs/maths.md, section 17). It has
    sub-clusters, sweeps of all points and merges of all pairs, and is here for comparison. It is biased. Its
    total variation from the posterior was 0.09 to 0.64 on four sets of six points; its mean number of clusters was 2.4
    instead of 5.5 on 100 points, and 5.7 instead of 7.2 on 1,000 (``bench/papers/chang2013.py``).

    Every pass over points is a map over chunks of 16,384 points or more and a reduction in order: draws do not depend
    on ``n_jobs``. For a million points call ``sample(..., keep=())``, which keeps no partitions but the best one.

    Parameters
    ----------
    variant : {"exact", "printed"}
        "printed" knows neither a discount nor a finite mixture.
    super_clusters : bool
        Whether the points of a cluster choose only among clusters near it (Chang2013, Algorithm 1): each cluster draws
        another one in proportion to exp(-4 J), J the divergence of their parameters, and so groups form. A sweep then
        costs less if there are many clusters, and is as exact. The likelihood needs the verb ``divergence``.
    n_steps : int >= 0
        As in ``LaunchedSplitMerge``; for "exact".
    n_proposals : int >= 1
        The number of launched proposals in a step; for "exact".
    deferred : bool
        Whether a split waits until the sub-clusters have burned in; for "printed". False is the approximate method of
        the paper's section 6.
    n_jobs : int or None
        The number of threads; None is 1.
    **model
        The parameters of ``Sampler``. The likelihood needs the verbs ``draw`` and ``log_likelihood``, which all of this
        library have.

    Notes
    -----
    O(N K D) a step, half of it for half of the points. Memory: the rows of all clusters for each chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm.samplers import sample
    >>> X = np.r_[np.zeros(200), np.full(200, 9.0)][:, None] + np.random.default_rng(0).normal(size=(400, 1))
    >>> trace = sample(X, SubClusterSplits(1.0), draws=20, burn_in=20, init="single", random_state=0)
    >>> int(np.median(trace.n_clusters))
    2
    """

    draws_parameters = True

    _at_random = staticmethod(compiled_if_possible(random_split_merges))
    _lone_points = staticmethod(compiled_if_possible(lone_points))

    _n_random, _n_lone = 100, 20  # a launched proposal costs more than all of these

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        variant: str = "exact",
        super_clusters: bool = False,
        deferred: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(alpha, **options)
        check_choice("variant", variant, VARIANTS)
        self.variant, self.super_clusters, self.deferred = variant, bool(super_clusters), bool(deferred)
        if variant == "printed" and self.target.prior != partition_prior(alpha, 0.0):
            msg = "variant='printed' is for a Dirichlet process; leave discount and n_components out, or use 'exact'"
            raise ValueError(msg)

    def equip(self, chain: Chain) -> None:
        """Sub-clusters for the printed variant."""
        if self.variant == "printed":
            self.carry_sub_clusters(chain)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """A sweep, then splits and merges."""
        if self.variant == "printed":
            return self.printed_step(chain, rng)
        moved = self.sweep(chain, rng)
        info = super().move(chain, rng)
        n_random, n_lone = self._n_random * self.n_proposals, self._n_lone * self.n_proposals
        merged = run_proposals(self._at_random, chain, n_random, share_of_sides(chain.prior), _SPLITS, rng)
        moved += run_proposals(self._lone_points, chain, n_lone, rng)
        return Info(chain.n_clusters, moved, info.proposed + n_random, info.accepted + merged)

    def sweep(self, chain: Chain, rng: RngVerbs) -> int:
        """Redraw the labels of the points that are not held; return how many changed."""
        likelihood, state = chain.likelihood, chain.state
        free, n_held = self.hold(chain, rng)
        candidates = self._draw_open(likelihood, chain.prior, state, n_held, rng)
        if not len(candidates.slots):
            return 0
        redrawn = self.redraw(chain, state.labels, free, self.grouped(chain, candidates, rng), rng)
        chain.state = state._replace(**redrawn.sums._asdict())
        return redrawn.moved

    def check_family(self, likelihood: Likelihood) -> None:
        """ValueError for a family without draws of parameters, or without the divergence of two."""
        super().check_family(likelihood)
        if self.super_clusters and not has_verb(likelihood, "divergence"):
            msg = f"super-clusters need the verb divergence, which {type(likelihood).__name__} does not have"
            raise ValueError(msg)
