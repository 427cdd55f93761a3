"""The shares of clusters in groups, from the draws of a sampler of grouped points."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.group_tree import read_tree
from mapdpm.protocol import Matrix, Vector
from mapdpm.samplers.trace import Trace


def group_shares(trace: Trace, groups: Any) -> list[Matrix]:
    """The shares of clusters in each group, of each draw of ``trace``, chain after chain.

    (n_jk + alpha beta_k) / (n_j + alpha), with beta of the parent of the group (Teh2004 (37)): the probability that
    the next point of group j is in cluster k. Draws of ``ChineseRestaurantFranchise`` have no beta; its mean given the
    tables, m_k / (m + gamma), takes its place.

    Parameters
    ----------
    trace : Trace
        Of ``sample(X, ..., groups=groups)``, with partitions.
    groups : array-like of shape (n_points,) or (n_points, n_levels)
        Those of the trace.

    Returns
    -------
    list of array of shape (n_groups, K + 1)
        Groups in order of first appearance; the last column is a new cluster. Rows sum to 1. O(N + groups K) each.

    Raises
    ------
    ValueError
        The trace holds no partitions, or is of other points or without groups.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> from mapdpm.samplers import DirectAssignment, sample
    >>> X, groups = np.array([[0.0], [9.0], [9.1], [9.2]]), ["hall", "hall", "roof", "roof"]
    >>> sampler = DirectAssignment(likelihood=NormalGamma(0.0, 0.01, 1.0, 0.1))
    >>> trace = sample(X, sampler, groups=groups, draws=5, random_state=0)
    >>> len(group_shares(trace, groups)), group_shares(trace, groups)[0].shape[0]
    (5, 2)
    """
    if trace.partitions is None or "m" not in trace.extra:
        msg = "the trace must hold partitions, of sample(X, DirectAssignment(...), groups=groups)"
        raise ValueError(msg)
    tree = read_tree(groups, trace.partitions.shape[2])
    if trace.extra["m"].shape[2] != len(tree.parents) - 1:
        msg = f"groups must be those of the trace, which has {trace.extra['m'].shape[2]} of all levels"
        raise ValueError(msg)
    above, found = tree.parents[tree.n_inner :], []
    for chain, draw in np.ndindex(*trace.log_joint.shape):
        K = trace.n_clusters[chain, draw]
        cells = tree.of_points * (K + 1) + trace.partitions[chain, draw]
        counts = np.bincount(cells, minlength=tree.n_groups * (K + 1)).reshape(tree.n_groups, K + 1)
        alpha = np.atleast_1d(trace.alpha[chain, draw])[-1]
        inner = np.stack([common_shares(trace, chain, draw, u) for u in range(tree.n_inner)])
        found.append((counts + alpha * inner[above]) / (counts.sum(axis=1, keepdims=True) + alpha))
    return found


def common_shares(trace: Trace, chain: int, draw: int, parent: int) -> Vector:
    """(K + 1,): the shares of an inner node of a draw; the last is that of a new cluster."""
    K = trace.n_clusters[chain, draw]
    if "beta" not in trace.extra:
        tables = np.append(trace.extra["m"][chain, draw][:, :K].sum(axis=0), trace.gamma[chain, draw])
        return tables / tables.sum()
    shares = np.atleast_2d(trace.extra["beta"][chain, draw])
    if not 0 <= parent < len(shares):
        msg = f"parent must be one of the {len(shares)} inner nodes of the tree, got {parent}"
        raise ValueError(msg)
    return shares[parent, : K + 1]
