"""The tree of mergers of clusters, beside the clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.merging.tree import MergeTree
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.protocol import Labels, Vector

_MOST_NAMES = 60  # leaves with a name each
_MOST_TICKS = 6  # more would be written over each other near 0


def tree(tree: Any, *, n_groups: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw how clusters merge, as a dendrogram; each group in its colour, and the cut between groups as a line.

    Heights are in nats; the axis is linear near 0 and logarithmic farther up. A merger below one before it is drawn at
    the height of that.

    Parameters
    ----------
    tree : MergeTree
        ``model.merge_tree()``.
    n_groups : int, optional
        Number of groups; None is ``tree.n_groups``.
    ax : matplotlib Axes, optional
        As in ``clusters``. To see both: ``figure, (left, right) = plt.subplots(1, 2)``, the tree in one, and
        ``clusters(model, X, labels=tree.labels(n_groups))`` in the other.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``tree`` is no ``MergeTree``, or ``n_groups`` is not between 1 and K.
    """
    if not isinstance(tree, MergeTree):
        msg = f"tree must be a MergeTree, as model.merge_tree() returns it, got an object of type {type(tree).__name__}"
        raise ValueError(msg)
    wanted = tree.n_groups if n_groups is None else n_groups
    groups = tree.groups(wanted)
    ax = canvas.axes(ax)
    K, n = tree.n_clusters, int(groups.max()) + 1
    places, heights, group_of = _layout(tree, groups)
    for t, (one, two) in enumerate(tree.linkage[:, :2].astype(int).tolist()):
        group = group_of[K + t]
        colour = canvas.GREY if group < 0 else canvas.colour(group, n)
        across = [places[one], places[one], places[two], places[two]]
        ax.plot(across, [heights[one], heights[K + t], heights[K + t], heights[two]], color=colour)
    leaves = np.argsort(places[:K])
    for leaf in leaves.tolist():
        ax.plot(places[leaf], 0.0, marker="o", markersize=3.0, color=canvas.colour(int(groups[leaf]), n))
    if n > 1:
        below = heights[2 * K - n - 1] if n < K else 0.0
        ax.axhline(0.5 * (below + heights[2 * K - n]), color=canvas.GREY, linestyle="--", linewidth=1.0)
    ax.set_yscale("asinh")
    ax.yaxis.get_major_locator().set_params(numticks=_MOST_TICKS)
    ax.set_ylim(bottom=0.0)
    ax.set_xticks(range(K) if K <= _MOST_NAMES else [], leaves.tolist() if K <= _MOST_NAMES else [])
    ax.set_xlabel("cluster")
    ax.set_ylabel("height of the merger (nats)")
    ax.set_title(f"{n} group{'s' * (n > 1)} of {K} clusters")
    return ax


def _layout(tree: MergeTree, groups: Labels) -> tuple[Vector, Vector, Any]:
    """Place, height and group of each node, leaves first; -1 for a node of several groups."""
    K = tree.n_clusters
    heights = np.append(np.zeros(K), np.maximum.accumulate(tree.linkage[:, 2]))
    members: list[list[int]] = [[k] for k in range(K)]
    group_of = groups.tolist()
    for one, two in tree.linkage[:, :2].astype(int).tolist():
        members.append(members[one] + members[two])
        group_of.append(group_of[one] if group_of[one] == group_of[two] else -1)
    places = np.zeros(2 * K - 1)
    places[members[-1]] = np.arange(K)
    for t, (one, two) in enumerate(tree.linkage[:, :2].astype(int).tolist()):
        places[K + t] = 0.5 * (places[one] + places[two])
    return places, heights, group_of
