"""HDPMixture: clusters shared by groups, at a mode of a hierarchical Dirichlet process mixture."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapdpm.data import point_set
from mapdpm.data.group_tree import read_tree
from mapdpm.estimators.background import have_new_values, log_densities_of_others
from mapdpm.estimators.chunks import in_chunks, log_densities, posteriors
from mapdpm.estimators.grouped import GroupedEstimator, chosen_groups
from mapdpm.files import container
from mapdpm.files.grouped_models import checked_groups, extras_of, with_alphas
from mapdpm.models.files import SavedMixture
from mapdpm.names import AUTO, HDP_MOVES
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.partition_priors.hierarchy import Hierarchy, hierarchy
from mapdpm.partition_priors.hyperpriors import GammaPrior, check_gamma_prior, check_levels, level_priors
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, Vector
from mapdpm.search.background import Relevance
from mapdpm.search.fit import FitSettings, Structure
from mapdpm.search.groups import GroupedProblem
from mapdpm.search.settings import ColumnParameters, SearchParameters, SearchSettings, check_init, check_search
from mapdpm.state import ClusterState, Mixture
from mapdpm.validation import check_count


@dataclass(eq=False, repr=False)
class _Model:
    alpha: Any = 1.0
    gamma: float = 1.0
    _: KW_ONLY
    likelihood: Any = AUTO
    alpha_prior: Any = None
    gamma_prior: GammaPrior | None = None
    max_clusters: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class _Parameters(ColumnParameters, SearchParameters, _Model):  # the fields of the last base come first
    init: Any = None
    moves: tuple[str, ...] = HDP_MOVES

    _moves_known: ClassVar[tuple[str, ...]] = HDP_MOVES


class HDPMixture(_Parameters, SavedMixture, GroupedEstimator):
    r"""Clusters that groups of points share, at a mode of a hierarchical Dirichlet process mixture (Teh2004).

    Each group j mixes the same clusters in shares of its own: point i of group j is in cluster k with probability
    proportional to n_jk + alpha beta_k, where n_jk counts the other points of the group there, and beta_k is the common
    share of the cluster (Teh2004 (37)). The fit finds a partition z at a local maximum of J = log p(z | alpha, gamma) +
    sum_k log p(x_{c_k}), where the tables and the shares beta are integrated out (docs/maths.md (53) to (57); to 0.02
    nats). Points move one by one; then clusters merge, cells (the points of a group in a cluster) move, clusters
    split, and are deleted. The number of clusters is found.

    Parameters
    ----------
    alpha : float > 0, or sequence of float
        Concentration within groups: a small one makes groups use few of the clusters, a large one makes all groups
        alike. For a tree of groups one a level, coarse to fine, or one number for all levels.
    gamma : float > 0
        Concentration of the common shares: the number of clusters grows with it.
    likelihood : "auto", Likelihood, a family, or None
        The family with its prior. "auto", or the class of a family: a prior fitted as by ``MAPDPM`` to the points
        without their groups, and again to the clusters of the fit while J rises. None is the empirical Normal-Gamma
        (``NormalGamma.empirical``).
    alpha_prior, gamma_prior : GammaPrior or None
        With a prior, ``alpha`` (or ``gamma``) is where the search begins, and is set to the mode of its posterior: of
        p(log alpha, log gamma | z), which always has one. ``alpha_`` and ``gamma_`` are the results. In a tree,
        ``alpha_prior`` may be a sequence, one a level.
    init : array of shape (n_points,) or None
        Integer labels to start from, such as a draw of a sampler. None is the better of two starts: the clusters of
        ``MAPDPM`` for the points without their groups, and a sequential start.
    max_clusters : int or None
        Largest number of clusters; None: no limit. It must not be below the number of clusters in ``init``.
    moves : tuple of {"merge", "cell", "split", "delete"}
        Moves of many points at once, in the order in which they are tried.
    n_restarts : int
        Number of runs; the best one wins. The first starts from ``init``, the others after a few Gibbs sweeps from the
        best result so far.
    relevance : {"auto", "all", "search"}
        As for ``MAPDPM``: where the prior is fitted, clusters are those of the columns that carry some. These are first
        found without the groups, and again for the clusters of the fit while J rises. If no column carries clusters
        then, the groups are clustered by all columns.
    max_sweeps, time_limit, backend, n_jobs, random_state, verbose, callback
        As for ``MAPDPM``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_points,)
        Cluster of each point, 0..K-1 in order of first appearance.
    n_clusters_ : int
        K.
    cluster_sizes_ : ndarray of shape (K,)
        Number of points in each cluster.
    group_names_ : ndarray of shape (n_groups,)
        The groups in order of first appearance; in a tree each is a path, a tuple of labels. ``fit`` without groups
        makes one, whose name is None.
    weights_ : ndarray of shape (n_groups, K + 1)
        Shares of the clusters in each group, (n_jk + alpha beta_k) / (n_j + alpha); the last column is a new cluster.
        Rows sum to 1.
    group_sizes_ : ndarray of shape (n_groups,)
        Number of points in each group.
    shares_ : ndarray of shape (K + 1,)
        The common shares beta, by which a group not seen before weighs; the last is a new cluster. They sum to 1.
    section_names_, section_shares_ : ndarrays of shape (n_sections,), (n_sections, K + 1)
        In a tree, the groups above the finest level, and their shares, by which a new group of that section weighs.
    means_, variances_ : ndarray of shape (K, n_features)
        Sample mean and variance (ddof 0) of each cluster; only where the family has them.
    log_joint_ : float
        J in nats, all constants included.
    history_ : ndarray
        J of the winning run after the start, each sweep and each move that gained. It never falls.
    n_sweeps_ : int
        Sweeps of the winning run.
    converged_ : bool
        True if the last sweep moved no point, and no move gained.
    alpha_, gamma_ : float
        The concentrations that were used; ``alpha_`` has one a level in a tree.
    likelihood_ : Likelihood
        The likelihood with the prior that was used.
    backend_ : str
        The backend that was used.
    relevant_, relevance_, n_features_in_, feature_names_in_
        As for ``MAPDPM``.

    Notes
    -----
    O(N K D) a sweep, as ``MAPDPM``; the shares cost O(groups K) a sweep, and the moves a few more sweeps. Memory: the
    points, and groups x K numbers. In a tree each new cluster costs O(sections), and J some 30 (groups + sections) K
    terms (docs/maths.md (79) to (82); to 0.03 nats).

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> X = np.array([[0.0], [0.2], [9.0], [9.3], [9.1], [0.1]])
    >>> groups = ["hall", "hall", "hall", "roof", "roof", "roof"]
    >>> model = HDPMixture(likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1)).fit(X, groups)
    >>> model.labels_.tolist(), model.group_names_.tolist()
    ([0, 0, 1, 1, 1, 0], ['hall', 'roof'])
    >>> model.predict([[8.8], [8.8]], ["roof", "cellar"]).tolist()
    [1, 1]
    """

    group_names_: NDArray[np.object_]
    group_sizes_: Labels
    weights_: Matrix
    shares_: Vector
    section_names_: NDArray[np.object_]
    section_shares_: Matrix
    alpha_: Any
    gamma_: float

    _kind: ClassVar[int] = container.GROUPED

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Cluster the points of ``X``.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_points, n_features)
            As for ``MAPDPM``. Not changed.
        y : array-like of shape (n_points,), optional
            The groups, where they are given as the second argument: ``fit(X, groups)``. Clustering has no y; where
            scikit-learn passes ``groups`` by name, y is ignored.
        groups : array-like of shape (n_points,) or (n_points, n_levels), optional
            The group of each point: any hashable label, such as a name or a number; not None or NaN. Columns are the
            levels of a tree, coarse to fine (corpus sections, then articles). Without groups all points are one group,
            and a warning says so.

        Returns
        -------
        HDPMixture
            self.

        Raises
        ------
        ValueError
            A parameter, the points or the groups are invalid; the message says where, and what was got.
        """
        search = check_search(self)
        names, points, plan = self._read_to_fit(X)
        prior, hyperpriors = self._priors()
        tree = read_tree(chosen_groups(y, groups), point_set(points).n_points)
        if tree.names[-1] is None:
            msg = "no groups were given, so all points are one group; MAPDPM clusters points without groups"
            warnings.warn(msg, UserWarning, stacklevel=2)
        check_levels(hyperpriors[:-1], tree.n_levels)
        alphas, prior = hyperpriors[:-1], prior.of_levels(tree.n_levels)
        alphas = alphas * tree.n_levels if len(alphas) == 1 else alphas
        order = np.argsort(tree.of_points, kind="stable")  # kernels are fastest where groups are neighbours
        structure = Structure(
            lambda flat: GroupedProblem.of(flat, tree, prior), order, (*alphas, hyperpriors[-1]), "clusters"
        )
        fitted = self._fit(self._settings(len(order), structure, search)._replace(**plan._asdict()), points)
        self._take(fitted, names)
        self._tree = tree.own
        self._set_table(*fitted.counted)
        return self

    def predict(self, X: Any, groups: Any = None, novelty: bool = False) -> Labels:
        """The best existing cluster for each point; with ``novelty``, -1 where a new cluster would be better.

        argmax_k log (n_jk + alpha beta_k) + log p(x | cluster k), the lowest in a tie. A point of a group that was not
        in the fit, and each point where ``groups`` is None, weighs by ``shares_``; in a tree, a new group of a section
        that was in the fit weighs by those of the section. O(N K D); changes nothing.
        """

        def best(scores: Matrix) -> Labels:
            slots: Labels = np.argmax(scores if novelty else scores[:, :-1], axis=1)
            return np.where(slots == self.n_clusters_, -1, slots)

        points = self._read_to_score(X)
        found: Labels = self._of_scores(points, groups, best)
        if novelty and self._relevance is not None:
            found[have_new_values(self._relevance, points)] = -1
        return found

    def predict_proba(self, X: Any, groups: Any = None) -> Matrix:
        """Posterior probability of each cluster for each point, shape (N, K + 1); the last column is a new cluster."""
        points = self._read_to_score(X)
        found: Matrix = self._of_scores(points, groups, posteriors)
        if self._relevance is not None:
            found[have_new_values(self._relevance, points)] = np.eye(found.shape[1])[-1]
        return found

    def transform(self, X: Any, groups: Any = None) -> Any:
        """``predict_proba``, in the container that ``set_output`` chose, for the next step of a pipeline."""
        return self._framed(self.predict_proba(X, groups), X)

    def score_samples(self, X: Any, groups: Any = None) -> Vector:
        """Log predictive density of each point, in nats with all constants; high is normal.

        The log of sum_k w_jk p(x | cluster k), with the row of ``weights_`` of the point's group, or the shares for a
        group that was not in the fit (as ``predict``), and the prior predictive for the last column.
        """
        points = self._read_to_score(X)
        found: Vector = self._of_scores(points, groups, log_densities)
        if self._relevance is not None:
            found += log_densities_of_others(self._relevance, self._n_fitted, points, self.n_jobs)
        return found

    def score(self, X: Any, y: Any = None, groups: Any = None) -> float:
        """Mean log predictive density of the points of ``X``, in nats a point; ``y`` as in ``fit``."""
        return float(self.score_samples(X, chosen_groups(y, groups)).mean())

    def _extras(self) -> dict[str, Any]:
        return extras_of(self)

    def _read_table(self, mixture: Mixture, extras: dict[str, Any]) -> tuple[Mixture, Labels, Matrix]:
        self._tree, table, shares = checked_groups(mixture, extras)
        return with_alphas(mixture, extras, self._tree.n_levels), table, shares

    def _priors(self) -> tuple[Hierarchy, tuple[GammaPrior | None, ...]]:
        """The prior of partitions, and those of alpha (of all levels, or of each) and gamma; checked."""
        check_gamma_prior("gamma_prior", self.gamma_prior)
        alpha_priors = level_priors(self.alpha_prior) or (None,)
        return hierarchy(self.alpha, self.gamma), (*alpha_priors, self.gamma_prior)

    def _settings(
        self, n_points: int, structure: Structure | None, search: SearchSettings | None = None
    ) -> FitSettings:
        """The settings of the search, checked."""
        cap = None if self.max_clusters is None else check_count("max_clusters", self.max_clusters)
        init, prior = check_init(self, n_points), partition_prior(self.gamma)
        return FitSettings(self.likelihood, prior, cap, init, search or check_search(self), structure=structure)

    def _adopt(
        self, mixture: Mixture, likelihood: Likelihood, backend: str, relevance: Relevance | None = None
    ) -> None:
        super()._adopt(mixture, likelihood, backend, relevance)
        alphas, self.gamma_ = mixture.prior
        self.alpha_ = alphas[0] if len(alphas) == 1 else np.array(alphas)

    def _set_table(self, table: Labels, shares: Matrix) -> None:
        self._table, tree = table, self._tree
        self.group_names_, self.section_names_ = tree.group_names, tree.names[1 : tree.n_inner]
        self.shares_, self.section_shares_ = shares[0], shares[1:]
        self.group_sizes_ = table.sum(axis=1)
        alpha = np.atleast_1d(self.alpha_)[-1]
        counts = np.hstack([table, np.zeros((len(table), 1), dtype=np.int64)])
        expected = alpha * shares[tree.parents[tree.n_inner :]]
        self.weights_ = (counts + expected) / (self.group_sizes_[:, None] + alpha)

    def _of_scores(self, points: Any, groups: Any, found: Callable[[Matrix], Any]) -> Any:
        """``found`` of the scores log w_jk + log p(x | cluster k) of points, chunk by chunk."""
        node = self._tree.nodes_of(groups, point_set(points).n_points)
        with np.errstate(divide="ignore"):
            log_weights = np.log(np.vstack([self.shares_, self.section_shares_, self.weights_]))
        backend = self._backend

        def computed(model: Model, state: ClusterState, first: int) -> Any:
            n = point_set(model.data).n_points
            scores = np.empty((n, state.capacity))
            backend.score(model._replace(prior=NO_PRIOR), state, scores)
            scores += log_weights[node[first : first + n]]
            return found(scores)

        return in_chunks(self._clustered(points), self._mixture, self.n_jobs, computed)
