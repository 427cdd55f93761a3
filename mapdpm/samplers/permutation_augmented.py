"""The permutation-augmented sampler of Liang, Jordan and Taskar (2007): whole partitions along an order of points."""

from __future__ import annotations

from math import lgamma, log
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors import DirichletProcess
from mapdpm.protocol import Labels, Model, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.samplers._orders import IGNORED, MARKOV, UNIFORM, draw_order
from mapdpm.samplers._segment_tables import (
    TableOptions,
    contains_clustering,
    draw_cuts,
    draw_from_all,
    labels_of_cuts,
    segment_table,
)
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.integrated_alpha import LEAST_SHAPE, IntegratedAlpha
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.special import digamma_difference
from mapdpm.state import ClusterState
from mapdpm.validation import check_choice, check_number, check_positive

METHODS = ("beam", "beta", "table")
PERMUTATIONS = {"uniform": UNIFORM, "markov": MARKOV}
PROJECTIONS = "projections"
_MOST_BYTES = 8e9
_EULER = 0.57721566490153286061


def move_by_table(
    model: Model, state: ClusterState, options: TableOptions, log_of_k: Vector, rng: RngVerbs
) -> tuple[bool, Labels]:
    """Draw an order, then a partition from p(C | order, x): a Gibbs step for both. O(N^3 + N^2 D)."""
    order, _ = draw_order(model.likelihood, model.data, state, options.orders, rng)
    table = segment_table(model.likelihood, model.prior, model.data, order, options)
    cuts = np.empty(order.shape[0], dtype=np.int64)
    return True, labels_of_cuts(order, cuts, draw_from_all(table, log_of_k, cuts, rng))


def move_by_beam(
    model: Model, state: ClusterState, options: TableOptions, log_of_k: Vector, rng: RngVerbs
) -> tuple[bool, Labels]:
    """Draw an order, then propose a partition from q' (5); return whether it was accepted, and the partition.

    p / q' depends on the number of clusters alone. If the beam has lost the present partition, the reverse proposal is
    impossible, so the proposal is rejected (papers: erratum 9; decision 76). O(N beam D).
    """
    order, ends = draw_order(model.likelihood, model.data, state, options.orders, rng)
    table = segment_table(model.likelihood, model.prior, model.data, order, options)
    cuts = np.empty(order.shape[0], dtype=np.int64)
    old, new = ends.shape[0], draw_cuts(table, cuts, rng)
    labels = labels_of_cuts(order, cuts, new)
    ratio = log_of_k[new] - log_of_k[old] - options.log_per_cluster * (new - old)
    return contains_clustering(table, ends) and rng.accept(ratio), labels


def climb(model: Model, order: Labels, options: TableOptions, rng: RngVerbs) -> Labels:
    """Draw a partition along ``order`` in proportion to lambda^K prod j(c) p(x_c), maths (51).

    This is no kernel of the posterior. For a Dirichlet process the weight is p(C, x); for other priors it is close to
    that near the present number of clusters.
    """
    table = segment_table(model.likelihood, model.prior, model.data, order, options)
    cuts = np.empty(order.shape[0], dtype=np.int64)
    return labels_of_cuts(order, cuts, draw_cuts(table, cuts, rng))


def log_of_numbers(prior: PartitionPriorVerbs, N: int) -> Vector:
    """Log of the factor of p(partition, order) that depends on K alone, for K up to N: A(K) of Liang2007 (4)."""
    values = np.zeros(N + 1)
    opened = 0.0
    for k in range(N):
        opened += prior.log_new(k, 1.0)
        values[k + 1] = opened - lgamma(k + 2.0)
    return values


class PermutationAugmented(Sampler):
    """Whole partitions at once, among all that are contiguous along a random order of the points (Liang2007).

    A step draws an order given the partition, then a partition given the order, by dynamic programming. Moves of single
    points, splits and merges change one or two clusters; this step may change all.

    Parameters
    ----------
    method : {"beam", "beta", "table"}
        How partitions are drawn given the order. "table" has an axis for the number of clusters, and draws from the
        posterior: O(N^3). "beta" replaces K! by beta^K (3.2) and corrects it by Metropolis-Hastings: O(N^2). Both take
        some 20 N^2 bytes, and refuse to take more than 8 GB. "beam" is "beta" with the starts of segments pruned (3.3)
        as far as ``epsilon`` allows: about O(N).
    permutations : {"uniform", "markov", "projections"}
        Orders within clusters: uniform; Markov chains to likely next points (4.1), O(N_k^2); or the order of points
        and clusters along a random direction (4.2). The last is a hill climb and leaves no posterior invariant, so
        ``sample`` takes it for a burn-in only.
    burn_in : {"uniform", "markov", "projections"} or None
        The orders in a burn-in, if they differ from ``permutations``.
    beta : float > 0 or None
        None is exp psi(K + 1). In a burn-in K is the present number of clusters; afterwards it is the mean number over
        the burn-in, or that of the start if there was none.
    epsilon : float in [0, 1)
        The share of each sum that a beam may lose. Starts of clusters are kept for eight points whatever they weigh:
        under a wide prior the first point of a cluster is less likely alone than in the cluster before it, and its
        start would be lost. The effect grows with the number of features. (The paper has 1e-32, at a cost in few
        features.)
    integrate_alpha : bool
        Whether alpha is integrated out of a step, and then drawn from p(alpha | N, K). Needs a Dirichlet process and
        an ``alpha_prior``. It prepares log A(K) for all K once: O(N^1.5) numbers for each K.
    **model
        The parameters of ``Sampler``.

    Notes
    -----
    A beam leaves the posterior invariant because it stays at a partition that it could not have proposed. So alone it
    may never leave a partition that it prunes along every order: a bad start, or an improbable one. Combine it with
    ``CollapsedGibbs``, which can leave any partition, or give ``burn_in="projections"``.
    """

    _n_recent = 8  # starts that a beam keeps whatever they weigh: 1 is too few with 80 features and a wide prior
    _by_table = staticmethod(compiled_if_possible(move_by_table))
    _by_beam = staticmethod(compiled_if_possible(move_by_beam))
    _climb = staticmethod(compiled_if_possible(climb))
    _log_of_numbers = staticmethod(compiled_if_possible(log_of_numbers))

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        method: str = "beam",
        permutations: str = "uniform",
        burn_in: str | None = None,
        beta: float | None = None,
        epsilon: float = 1e-16,
        integrate_alpha: bool = False,
        **model: Any,
    ) -> None:
        super().__init__(alpha, **model)
        known = (*PERMUTATIONS, PROJECTIONS)
        check_choice("method", method, METHODS)
        check_choice("permutations", permutations, known)
        check_choice("burn_in", burn_in, (None, *known))
        if not 0.0 <= check_number("epsilon", epsilon) < 1.0:
            msg = f"epsilon must be in [0, 1), got {epsilon}"
            raise ValueError(msg)
        process = isinstance(self.target.prior, DirichletProcess)
        if integrate_alpha and not (process and self.target.alpha_prior is not None):
            got = f"{type(self.target.prior).__name__} and alpha_prior={self.target.alpha_prior}"
            msg = f"integrate_alpha needs a DirichletProcess and an alpha_prior, got {got}"
            raise ValueError(msg)
        if integrate_alpha and (self.target.alpha_prior.shape < LEAST_SHAPE or self.target.alpha_update == "slice"):
            msg = (
                f"integrate_alpha draws alpha itself (leave alpha_update out), under a prior of shape {LEAST_SHAPE} at "
                f"least, got {self.target.alpha_prior} and alpha_update={self.target.alpha_update!r}"
            )
            raise ValueError(msg)
        self.method, self.permutations, self.burn_in = method, permutations, burn_in
        self.beta = None if beta is None else check_positive("beta", beta)
        self.epsilon = float(epsilon) if method == "beam" else 0.0
        self.integrated = IntegratedAlpha(self.target.alpha_prior) if integrate_alpha else None

    def step(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step. An alpha that was integrated out is drawn before anything conditions on it."""
        if self.integrated is None:
            return super().step(chain, rng)
        info = self.move(chain, rng)
        chain.prior = chain.prior._replace(alpha=self.integrated.draw(chain.n_points, chain.n_clusters, rng))
        return info

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Draw an order, then a partition along it."""
        permutations = self.burn_in if self.burn_in and chain.adapted is None else self.permutations
        model, N = chain.model, chain.n_points
        self._check_room(N)
        if permutations == PROJECTIONS:
            options = TableOptions(
                IGNORED, chain.prior.log_new(chain.n_clusters - 1, 1.0), self.epsilon, self._n_recent
            )
            accepted, labels = True, self._climb(model, order_along_random_direction(chain, rng), options, rng)
        else:
            log_of_k = self.integrated.log_of_k(N) if self.integrated else self._log_of_numbers(chain.prior, N)
            if self.method == "table":
                options = TableOptions(PERMUTATIONS[permutations], 0.0, 0.0, 0)
                accepted, labels = self._by_table(model, chain.state, options, log_of_k, rng)
            else:
                per_cluster = self._per_cluster(chain, log_of_k)
                options = TableOptions(PERMUTATIONS[permutations], per_cluster, self.epsilon, self._n_recent)
                accepted, labels = self._by_beam(model, chain.state, options, log_of_k, rng)
        # A climb may propose more clusters than a finite mixture has components.
        accepted = accepted and chain.prior.log_new(int(labels.max()), 1.0) > -np.inf
        if accepted:
            chain.become(labels)
        return Info(chain.n_clusters, proposed=1, accepted=int(accepted))

    def check_sampling(self) -> None:
        """ValueError for a hill climb (decision 75)."""
        if self.permutations == PROJECTIONS:
            msg = (
                "permutations='projections' is a hill climb, no sampler: give burn_in='projections', and 'uniform' or "
                "'markov' as permutations for the draws"
            )
            raise ValueError(msg)

    def _check_room(self, N: int) -> None:
        needed = {"beta": 16.0, "table": 24.0}.get(self.method, 0.0) * N * N
        if needed > _MOST_BYTES:
            msg = (
                f"method={self.method!r} of {N} points takes {needed / 1e9:.1f} GB, more than {_MOST_BYTES / 1e9:.0f} "
                f"GB; method='beam' keeps only what matters"
            )
            raise ValueError(msg)

    def _per_cluster(self, chain: Chain, log_of_k: Vector) -> float:
        """Log lambda: the log weight of one more cluster, near a typical number of them.

        Log alpha - log beta for any prior. It must not change with the present alpha if that is integrated out: alpha
        tells of the partition, and a proposal may not depend on what it replaces.
        """
        typical = chain.n_clusters if chain.adapted is None else chain.adapted.n_clusters
        K = max(round(typical), 1)
        log_new = chain.prior.log_new(K - 1, 1.0) if self.integrated is None else _log_new(log_of_k, K)
        log_beta = digamma_difference(1.0, typical)[0] - _EULER if self.beta is None else log(self.beta)
        return float(log_new - log_beta)


def _log_new(log_of_k: Vector, K: int) -> float:
    """The log weight of a new cluster beside about K - 1, alpha integrated out: the slope of log K! A(K)."""
    at = min(max(K, 2), len(log_of_k) - 1)
    return float(log_of_k[at] - log_of_k[at - 1] + log(at)) if at > 1 else 0.0


def order_along_random_direction(chain: Chain, rng: RngVerbs) -> Labels:
    """The points in order of their clusters' means along a random direction, then of their own coordinate along it."""
    vectors = point_set(chain.data).as_vectors()
    places = vectors @ np.array([rng.normal() for _ in range(vectors.shape[1])])
    labels = chain.state.labels
    sums = np.bincount(labels, weights=places, minlength=chain.state.capacity)
    means = sums / np.maximum(chain.state.counts, 1)
    return np.lexsort((places, labels, means[labels])).astype(np.int64)
