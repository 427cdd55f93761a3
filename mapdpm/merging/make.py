"""``merge_tree``: the tree of given clusters, or of those of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends import Backend, resolve
from mapdpm.data import point_set, read_by
from mapdpm.likelihoods._as_given import of_columns
from mapdpm.merging.by_joint import tree_by_joint
from mapdpm.merging.by_overlap import tree_by_overlap
from mapdpm.merging.tree import MergeTree
from mapdpm.names import CRITERIA
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Labels, Matrix, Model
from mapdpm.search.background import Relevance
from mapdpm.search.chunks import Frame, sums_of
from mapdpm.search.observed import observed
from mapdpm.state import ClusterState, Mixture, mixture_of
from mapdpm.validation import check_choice, in_order_of_appearance


def merge_tree(
    X: Any,
    labels: Any,
    criterion: str = "log-joint",
    *,
    likelihood: Any = None,
    alpha: float = 1.0,
    discount: float = 0.0,
) -> MergeTree:
    """How given clusters of ``X`` merge, such as a point estimate of a sampler's draws.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points, in a form that ``likelihood`` reads.
    labels : array-like of shape (n_points,)
        The cluster of each point, -1 for none. Leaves of the tree are clusters in order of first appearance.
    criterion : {"log-joint", "overlap"}
        "log-joint": the pair whose merger lowers log p(x, z) least, first. "overlap": the two of which one is most
        often taken for the other, by the probabilities of clusters at the points of ``X`` (Hennig 2010, DEMP).
    likelihood : Likelihood or None
        The family with its prior; None is the empirical Normal-Gamma.
    alpha, discount : float
        Of the prior of partitions.

    Returns
    -------
    MergeTree
        ``linkage``, ``labels(n_groups)``, ``groups(n_groups)``, ``n_groups``.

    Raises
    ------
    ValueError
        Labels are not one integer a point, or an argument is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1], [9.0], [9.2]])
    >>> merge_tree(X, [0, 0, 1, 1, 2, 2]).labels(2).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    check_choice("criterion", criterion, CRITERIA)
    likelihood = of_columns(likelihood, X)
    points = read_by(likelihood, X)
    clusters = _checked_labels(labels, point_set(points).n_points)
    seen = observed(likelihood, points)
    backend = resolve("auto", seen.shifted)
    frame = Frame(seen.shifted, None, seen.anchor, backend.name)
    sums = sums_of(frame, seen.data, None, clusters, int(clusters.max()) + 1)
    mixture = mixture_of(seen.shifted, partition_prior(alpha, discount), seen.anchor, *sums)
    if criterion == "log-joint":
        return tree_by_joint(mixture, None, clusters)
    model = Model(mixture.likelihood, mixture.prior, seen.data)
    return tree_by_overlap(mixture, log_shares_of(backend, model, mixture.state), clusters)


def _checked_labels(labels: Any, n_points: int) -> Labels:
    """Labels 0, 1, ... in order of first appearance; -1 stays. ValueError where they are not one integer a point."""
    given = np.asarray(labels)
    if given.shape != (n_points,) or given.dtype.kind not in "biu":
        msg = (
            f"labels must be one integer a point, shape ({n_points},), got shape {given.shape} and dtype {given.dtype}"
        )
        raise ValueError(msg)
    given = given.astype(np.int64)
    if not np.any(given >= 0):
        msg = "labels must name a cluster, got -1 for all points"
        raise ValueError(msg)
    clusters = np.full(n_points, -1)
    clusters[given >= 0] = in_order_of_appearance(given[given >= 0])
    return clusters


def tree_of_mixture(
    mixture: Mixture,
    criterion: str,
    prior: Any,
    log_shares: Matrix | None,
    clusters: Labels | None,
    relevance: Relevance | None = None,
) -> MergeTree:
    """The tree of the clusters of a model; ``clusters`` of its points, and ``log_shares`` at some points.

    ``relevance`` says which columns the mixture reads, where those are not all.
    """
    check_choice("criterion", criterion, CRITERIA)
    if criterion == "log-joint":
        if log_shares is not None:
            msg = "X is for criterion='overlap'; the log joint reads statistics only"
            raise ValueError(msg)
        return tree_by_joint(mixture, prior, clusters, relevance)
    if prior is not None:
        msg = "prior is for criterion='log-joint'; overlap has none"
        raise ValueError(msg)
    return tree_by_overlap(mixture, log_shares, clusters)


def log_shares_of(backend: Backend, model: Model, state: ClusterState) -> Matrix:
    """Logarithms of the posterior probabilities of the clusters there are, (N, K): the last slot is a new one."""
    scores = np.empty((point_set(model.data).n_points, state.capacity))
    backend.score(model, state, scores)
    known = scores[:, :-1]
    return known - np.logaddexp.reduce(known, axis=1, keepdims=True)
