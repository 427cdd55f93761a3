"""Labels and probabilities of a fitted mixture: of its clusters, or of groups of clusters that belong together."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends import Backend
from mapdpm.data import point_set
from mapdpm.deprecated import argument
from mapdpm.estimators.background import have_new_values
from mapdpm.estimators.chunks import in_chunks
from mapdpm.estimators.draws import DrawnMixture
from mapdpm.files.batch_models import Restored
from mapdpm.merging.groups import groups_at_points
from mapdpm.merging.make import log_shares_of, tree_of_mixture
from mapdpm.merging.tree import MergeTree, group_of, groups_of
from mapdpm.names import AUTO, CRITERIA
from mapdpm.protocol import Labels, Matrix, Model, Vector, Weights
from mapdpm.state import ClusterState, Mixture

_MOST_POINTS, _FEWEST_POINTS = 16_384, 1024  # of a sample
_FEWEST_OF_CLUSTER = 32  # in a sample, if there are so many
_MOST_SHARES = 2**22  # probabilities of a sample, points times clusters


class GroupingMixture(DrawnMixture):
    """A fitted mixture that tells clusters, or groups of them, apart."""

    groups: Any
    n_jobs: Any
    _groups: Labels | None = None
    _components: Labels | None = None

    @property
    def groups_(self) -> Labels:
        """The group of each cluster, shape (K,), numbered in order of appearance; without ``groups=`` its own."""
        self._check_fitted()
        return np.arange(self.n_clusters_) if self._groups is None else self._groups

    @property
    def n_groups_(self) -> int:
        """The number of groups; without ``groups=`` that of the clusters."""
        return int(self.groups_.max()) + 1

    @property
    def components_(self) -> Labels:
        """The cluster of each point of the fit, shape (n_points,), whatever its group; -1 for one of weight 0."""
        return self.labels_ if self._components is None else self._components

    def predict(self, X: Any, novelty: bool = False, merged: Any = None, *, groups: Any = None) -> Labels:
        """The best existing cluster for each point; with ``novelty``, -1 where a new cluster would be better.

        argmax_k log N_k + log p(x | cluster k) (Raykov2014 (18), its sign corrected). O(N K D); changes nothing. A
        model with ``groups=`` gives the group of that cluster. With ``merged``, the merged cluster of it: one integer
        for each cluster, as ``merge_tree().groups()`` has, ``range(K)`` for clusters; or how many there are, by the log
        joint.
        """
        merged = argument("merged", merged, "groups", groups)
        found = self._clusters_of(self._read_to_score(X), novelty)
        if merged is not None:
            return group_of(groups_of(self, merged), found)
        return self._named(found)

    def predict_proba(self, X: Any) -> Matrix:
        """Posterior probability of each cluster for each point, shape (N, K + 1); the last column is a new cluster.

        A model with ``groups=`` gives those of groups, (N, n_groups_ + 1).
        """

        def shares(backend: Backend, model: Model, state: ClusterState) -> Matrix:
            found = np.empty((point_set(model.data).n_points, state.capacity))
            backend.posteriors(model, state, found)
            return found

        points = self._read_to_score(X)
        found: Matrix = self._in_chunks(points, shares)
        if self._relevance is not None:
            found[have_new_values(self._relevance, points)] = np.eye(found.shape[1])[-1]
        if self._groups is None:
            return found
        members = np.append(self._groups, self.n_groups_)[:, None] == np.arange(self.n_groups_ + 1)
        return np.asarray(found @ members.astype(np.float64))

    def transform(self, X: Any) -> Any:
        """``predict_proba``, in the container that ``set_output`` chose, for the next step of a pipeline."""
        return self._framed(self.predict_proba(X), X)

    def merge_tree(self, criterion: str = CRITERIA[0], *, prior: Any = None, X: Any = None) -> MergeTree:
        """How the clusters merge, two at a time: components that together make a class, by a tree.

        Parameters
        ----------
        criterion : {"log-joint", "overlap"}
            "log-joint": the pair whose merger lowers log p(x, z) least, first: maths (19) to (21). "overlap": the two
            of which one is most often taken for the other (Hennig 2010, DEMP); it follows bent shapes.
        prior : Likelihood, optional
            For "log-joint": another prior of the same family, to judge mergers by, such as the wide
            ``NormalGamma.empirical(X)``. None is ``likelihood_``.
        X : array-like, optional
            For "overlap": points at which to compare clusters, such as those of the fit. None: by the statistics of
            clusters alone; families that are not normal draw points from them.

        Returns
        -------
        MergeTree
            ``linkage`` for scipy, ``labels(n_groups)`` of the points of the fit, ``groups(n_groups)`` of the clusters.
            Heights are in nats. O(K^2 D); "overlap" at points O(N K + K^3).
        """
        self._check_fitted()
        log_shares = None if X is None else self._in_chunks(self._read_to_score(X), log_shares_of)
        components = self.components_ if "labels_" in vars(self) else None
        return tree_of_mixture(self._mixture, criterion, prior, log_shares, components, self._relevance)

    def _clusters_of(self, points: Any, novelty: bool) -> Labels:
        def best(backend: Backend, model: Model, state: ClusterState) -> Labels:
            slots = np.empty(point_set(model.data).n_points, dtype=np.int64)
            backend.best_slots(model, state, novelty, slots)
            slots[slots == self.n_clusters_] = -1
            return slots

        found: Labels = self._in_chunks(points, best)
        if novelty and self._relevance is not None:
            found[have_new_values(self._relevance, points)] = -1
        return found

    def _named(self, clusters: Labels) -> Labels:
        """The labels of clusters: the groups that they belong to, where labels are of groups."""
        return clusters if self._groups is None else group_of(self._groups, clusters)

    def _group_points(self, points: Any, weights: Weights) -> None:
        """Find the groups that ``groups=`` asks for, at the points of the fit."""
        numbers, log_weights = _sample(self.labels_, weights, self.n_clusters_)
        log_shares = self._in_chunks(point_set(points).rows(numbers), log_shares_of)
        if self.groups == AUTO:
            self._set_groups(groups_at_points(log_shares, log_weights))
            return
        wanted = min(self.groups, self.n_clusters_)
        if wanted < self.groups:
            msg = f"groups is {self.groups}, but the fit has found {self.n_clusters_} clusters: each is a group"
            warnings.warn(msg, stacklevel=4)
        tree = tree_of_mixture(self._mixture, CRITERIA[1], None, log_shares + log_weights[:, None], None)
        self._set_groups(tree.groups(wanted))

    def _set_groups(self, groups: Labels) -> None:
        """Let labels be those of groups, given the group of each cluster."""
        self._groups = groups
        if "labels_" in vars(self):  # a model from a device has none
            self._components = self.components_
            self.labels_ = group_of(groups, self._components)

    def _restore(self, mixture: Mixture, restored: Restored, extras: dict[str, Any]) -> None:
        super()._restore(mixture, restored, extras)
        if "groups_" in extras:
            self._set_groups(extras["groups_"].astype(np.int64))

    def _names_out(self, prefix: str) -> list[str]:
        return [*(f"{prefix}{k}" for k in range(self.n_groups_)), f"{prefix}_new"]

    def _in_chunks(self, points: Any, found: Callable[[Backend, Model, ClusterState], NDArray[Any]]) -> NDArray[Any]:
        """``found`` of points, chunk by chunk, joined in order."""
        points = self._clustered(points)
        return in_chunks(points, self._mixture, self.n_jobs, lambda model, state, _: found(self._backend, model, state))


def _sample(components: Labels, weights: Weights, n_clusters: int) -> tuple[Labels, Vector]:
    """Numbers of some points, and the log of what each counts: all, or a sample that has points of every cluster."""
    numbers = np.flatnonzero(components >= 0)
    log_weights = np.zeros(len(numbers)) if weights is None else np.log(np.asarray(weights, dtype=np.float64)[numbers])
    most = int(np.clip(_MOST_SHARES // n_clusters, _FEWEST_POINTS, _MOST_POINTS))
    if len(numbers) <= most:
        return numbers, log_weights
    own = components[numbers]
    sizes = np.bincount(own, minlength=n_clusters)
    fewest = int(np.clip(_MOST_SHARES // n_clusters**2, 2, _FEWEST_OF_CLUSTER))
    wanted = np.minimum(sizes, np.maximum(fewest, np.ceil(most / len(numbers) * sizes).astype(np.int64)))
    shuffled = np.random.default_rng(0).permutation(len(numbers))
    by_cluster = shuffled[np.argsort(own[shuffled], kind="stable")]
    rank = np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.sort(by_cluster[rank < np.repeat(wanted, sizes)])
    return numbers[chosen], log_weights[chosen] + np.log(sizes / wanted)[own[chosen]]
