"""Super-clusters: clusters are thrown into groups, and Gibbs sampling runs within each in parallel (Lovell 2012)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.partition_priors import FiniteDirichlet
from mapdpm.protocol import Labels, PartitionPrior, RngVerbs
from mapdpm.samplers._map_reduce import streams
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.collapsed_gibbs import CollapsedGibbs
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState, compacted
from mapdpm.threads import Threads
from mapdpm.validation import check_count, check_jobs


class SuperClusters(CollapsedGibbs):
    """Collapsed Gibbs sampling within groups of clusters, in parallel, exactly (Lovell, Adams and Mansinghka 2012).

    A Dirichlet process of concentration alpha is a mixture of J processes of concentration alpha / J, with Dirichlet
    weights: given the partition, each cluster belongs to each of J super-clusters with probability 1 / J. A step draws
    the super-clusters of all clusters, and then makes a sweep of ``CollapsedGibbs`` in each, with alpha / J. Points
    cannot leave their super-cluster in a sweep, so similar clusters meet in one of J steps. In a finite mixture each
    component belongs to a super-cluster, those without points too; docs/maths.md, (65).

    The super-clusters that Chang2013 compares in Figs. 4 and 5 are other ones, drawn from a Chinese restaurant process
    of clusters; that sampler is not exact.

    Parameters
    ----------
    n_super_clusters : int >= 1
        J. With 1 it is ``CollapsedGibbs``.
    n_jobs : int or None
        The number of threads; None is 1. Draws do not depend on it.
    **model
        The parameters of ``Sampler``, without a discount: the super-clusters of a Pitman-Yor process depend on each
        other.

    Notes
    -----
    O(N K D / J) a step, plus O(N D) for the statistics of each super-cluster.

    Examples
    --------
    >>> from mapdpm.samplers import sample
    >>> sample([[0.0], [0.1], [9.0]], SuperClusters(1.0), draws=3, random_state=0).partitions.shape
    (1, 3, 3)
    """

    def __init__(
        self, alpha: float = 1.0, *, n_super_clusters: int = 8, n_jobs: int | None = None, **model: Any
    ) -> None:
        odd = [name for name in ("discount", "discount_prior") if model.get(name)]
        if odd:
            msg = f"super-clusters are those of a Dirichlet process or a finite mixture; leave {odd[0]} out"
            raise ValueError(msg)
        super().__init__(alpha, **model)
        self.n_super_clusters = check_count("n_super_clusters", n_super_clusters)
        self.n_jobs = None if n_jobs is None else check_jobs(n_jobs)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Draw super-clusters, then a sweep in each."""
        state, J = chain.state, self.n_super_clusters
        group_of = np.full(state.capacity, -1)
        for k in np.flatnonzero(state.counts):
            group_of[k] = rng.integer(J)
        priors = prior_of_each(chain.prior, np.bincount(group_of[state.counts > 0], minlength=J), rng)
        groups = [np.flatnonzero(group_of[state.labels] == j) for j in range(J)]
        jobs = [(points, prior) for points, prior in zip(groups, priors, strict=True) if len(points)]

        def swept(job: tuple[Labels, Any], rng: RngVerbs) -> tuple[ClusterState, int]:
            points, prior = job
            labels = np.unique(state.labels[points], return_inverse=True)[1]
            part = type(chain)(chain.likelihood, prior, point_set(chain.data).rows(points), labels)
            moved = CollapsedGibbs.move(self, part, rng).moved
            return compacted(chain.likelihood, part.state), moved

        with Threads(self.n_jobs) as threads:
            parts, moved = zip(*threads.each(swept, jobs, streams(rng, len(jobs))), strict=True)
        chain.take(_joined(parts, [points for points, _ in jobs], chain.n_points))
        return Info(chain.n_clusters, sum(moved))


def prior_of_each(prior: Any, n_clusters: Labels, rng: RngVerbs) -> list[PartitionPrior]:
    """The partition prior within each super-cluster, given their numbers of clusters.

    A Dirichlet process has equal parts of alpha. In a finite mixture, components without points draw their
    super-cluster here.
    """
    J = len(n_clusters)
    if not isinstance(prior, FiniteDirichlet):
        return [prior._replace(alpha=prior.alpha / J)] * J
    M, n_components = prior.n_components, n_clusters.copy()
    for _ in range(M - n_clusters.sum()):
        n_components[rng.integer(J)] += 1
    return [FiniteDirichlet(prior.alpha * m / M, int(m)) for m in n_components]


def _joined(parts: tuple[ClusterState, ...], groups: list[Labels], n_points: int) -> ClusterState:
    """The state of all points, from compacted states of groups of them; the last slot is free."""
    labels, first = np.empty(n_points, dtype=np.int64), 0
    for part, points in zip(parts, groups, strict=True):
        labels[points] = first + part.labels
        first += part.capacity - 1
    counts = np.concatenate([part.counts[:-1] for part in parts] + [parts[0].counts[-1:]])
    rows = np.concatenate([part.rows[:-1] for part in parts] + [parts[0].rows[-1:]])
    return ClusterState(labels, counts, rows)
