"""The tree of mergers of the clusters of a model, in scipy's form."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.merging.cut import cut_of_losses, cut_of_overlaps
from mapdpm.names import CRITERIA
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.validation import check_count, check_number, in_order_of_appearance


class MergeTree(NamedTuple):
    """How the clusters of a model merge, two at a time, until one is left; made by ``merge_tree``.

    A group is here a merged cluster, one of ``n_groups``. It is not the group that a point comes from (``HDPMixture``).

    Attributes
    ----------
    linkage : ndarray of shape (K - 1, 4)
        The linkage matrix of ``scipy.cluster.hierarchy``. In row t the nodes of columns 0 and 1 become node K + t, of
        as many clusters as column 3 says. Column 2 is the height: ``losses[t]``, or 0 where that is negative, as scipy
        does not allow it. Heights need not rise.
    losses : ndarray of shape (K - 1,)
        "log-joint": by how much each merger lowers log p(x, z), in nats. "overlap": -log of the probability that a
        point of one of the two is taken for one of the other, in nats.
    clusters : ndarray of shape (n_points,), or None
        The cluster of each point of the fit, -1 for one of weight 0; None where the model does not know its points.
    criterion : {"log-joint", "overlap"}
        What the tree was made by.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import MAPDPM, NormalGamma
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [50.0], [50.2]])
    >>> model = MAPDPM(likelihood=NormalGamma(0.0, 1e-4, 2.0, 0.02)).fit(X)
    >>> tree = model.merge_tree()
    >>> model.labels_.tolist(), tree.n_groups, tree.labels(2).tolist()
    ([0, 0, 1, 1, 2, 2], 3, [0, 0, 0, 0, 1, 1])
    """

    linkage: Matrix
    losses: Vector
    clusters: Labels | None
    criterion: str = CRITERIA[0]

    @property
    def n_clusters(self) -> int:
        """K: the leaves of the tree."""
        return len(self.losses) + 1

    @property
    def n_groups(self) -> int:
        """The number of groups that the tree asks for, K where it says nothing (maths, section 27).

        "log-joint": what is left where losses rise most, tenfold at least, and mergers that gain are made. "overlap":
        what is left at the largest gap of heights, if what merges below it is hard to tell apart.
        """
        cut = cut_of_losses if self.criterion == CRITERIA[0] else cut_of_overlaps
        return self.n_clusters - cut(self._risen())

    def groups(self, n_groups: int | None = None, *, height: float | None = None) -> Labels:
        """The group of each cluster, shape (K,), 0, 1, ... in order of first appearance.

        Groups are what is left after the first K - ``n_groups`` mergers; or after all up to the first that is higher
        than ``height``. With neither, ``n_groups`` is that of the tree.
        """
        K = self.n_clusters
        if n_groups is not None and height is not None:
            msg = f"give n_groups or height, not both, got {n_groups} and {height}"
            raise ValueError(msg)
        if height is not None:
            n_mergers = int(np.count_nonzero(self._risen() <= check_number("height", height)))
        else:
            wanted = self.n_groups if n_groups is None else check_count("n_groups", n_groups)
            if wanted > K:
                msg = f"n_groups must be at most the number of clusters, {K}, got {wanted}"
                raise ValueError(msg)
            n_mergers = K - wanted
        node_of = np.arange(K)
        for t, pair in enumerate(self.linkage[:n_mergers, :2]):
            node_of[np.isin(node_of, pair)] = K + t
        return in_order_of_appearance(node_of)

    def labels(self, n_groups: int | None = None, *, height: float | None = None) -> Labels:
        """The group of each point of the fit, shape (n_points,); -1 for a point of weight 0. See ``groups``."""
        if self.clusters is None:
            msg = "the model does not know its points: use groups(), and predict(X, merged=...)"
            raise ValueError(msg)
        return group_of(self.groups(n_groups, height=height), self.clusters)

    def _risen(self) -> Vector:
        """The highest merger so far, after each."""
        return np.maximum.accumulate(self.linkage[:, 2])


def group_of(groups: Labels, clusters: Labels) -> Labels:
    """The group of each of ``clusters``; -1 stays -1."""
    return np.append(groups, -1)[clusters]


def tree_of(
    pairs: Sequence[tuple[int, int]],
    losses: Sequence[float],
    clusters: Labels | None,
    criterion: str = CRITERIA[0],
) -> MergeTree:
    """The tree in which the cluster or group in the second slot of each of ``pairs`` joins that in the first."""
    K = len(pairs) + 1
    node, size = np.arange(K), np.ones(K)
    linkage = np.empty((K - 1, 4))
    for t, (kept, gone) in enumerate(pairs):
        size[kept] += size[gone]
        linkage[t] = (*sorted((node[kept], node[gone])), max(0.0, losses[t]), size[kept])
        node[kept] = K + t
    return MergeTree(linkage, np.array(losses, dtype=np.float64), clusters, criterion)


def groups_of(model: Any, merged: Any) -> Labels:
    """The merged cluster of each cluster of ``model``: as given, else ValueError; of its tree where it is a number."""
    if isinstance(merged, numbers.Integral):
        return model.merge_tree().groups(merged)
    array, n_clusters = np.asarray(merged), model.n_clusters_
    if array.shape != (n_clusters,) or array.dtype.kind not in "iu" or np.any(array < 0):
        msg = (
            f"merged must have an integer >= 0 for each of the {n_clusters} clusters, as merge_tree().groups() has, "
            f"got shape {array.shape} and dtype {array.dtype}"
        )
        raise ValueError(msg)
    return array.astype(np.int64)
