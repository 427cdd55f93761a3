"""Groups within groups: articles in sections in a corpus. Each point belongs to a group of every level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.groups import read_groups
from mapdpm.protocol import Labels


class GroupTree(NamedTuple):
    """A tree of groups whose leaves are all at one depth: nodes are numbered level by level, and 0 is the root.

    Within a level, nodes are in order of first appearance. With one level of groups the root is the only inner node.
    """

    parents: Labels
    """(nodes,): the parent of each node, whose number is lower; -1 of the root."""
    levels: Labels
    """(nodes,): the level of each node; 0 of the root."""
    of_points: Labels
    """(N,): the group of each point, 0 to n_groups - 1: its leaf is node n_inner + group."""
    names: NDArray[np.object_]
    """(nodes,): the label of a node of the first level, and its path, a tuple of labels, below; None of the root."""

    @property
    def own(self) -> GroupTree:
        """The tree of the groups themselves: one point for each."""
        return self._replace(of_points=np.arange(self.n_groups))

    def nodes_of(self, groups: Any, n_points: int) -> Labels:
        """(n_points,): the node of the group of each point; of a group that is not here, the lowest node above it.

        None is a group that is not here, unless it was given for this tree, too. ValueError as ``read_tree``, and for
        another number of levels.
        """
        if groups is None and self.names[-1] is not None:
            return np.zeros(n_points, dtype=np.int64)
        given = read_tree(groups, n_points)
        if given.n_levels != self.n_levels:
            msg = f"groups must have a column for each of {self.n_levels} levels, got {given.n_levels}"
            raise ValueError(msg)
        known = {(level, name): node for node, (level, name) in enumerate(zip(self.levels, self.names, strict=True))}
        nodes = np.zeros(len(given.parents), dtype=np.int64)
        for v in range(1, len(nodes)):
            nodes[v] = known.get((given.levels[v], given.names[v]), nodes[given.parents[v]])
        return nodes[given.n_inner + given.of_points]

    @property
    def n_levels(self) -> int:
        """The number of levels below the root."""
        return int(self.levels[-1])

    @property
    def n_inner(self) -> int:
        """The number of nodes that have children."""
        return int(np.count_nonzero(self.levels < self.n_levels))

    @property
    def n_groups(self) -> int:
        """The number of leaves."""
        return len(self.parents) - self.n_inner

    @property
    def group_names(self) -> NDArray[np.object_]:
        """(n_groups,): the names of leaves."""
        return self.names[self.n_inner :]


def read_tree(groups: Any, n_points: int) -> GroupTree:
    """The tree of ``groups``: one label a point, or an array or DataFrame with a column for each level, coarse first.

    Raises
    ------
    ValueError
        As ``read_groups``, for each column.
    """
    parents, levels, names = [np.full(1, -1)], [np.zeros(1, dtype=np.int64)], [[None]]
    nodes = np.zeros(n_points, dtype=np.int64)  # of points, at the level above
    first = 0  # the number of the first node of that level
    for level, column in enumerate(_columns(groups), start=1):
        labels, numbers = read_groups(column, n_points)
        keys, at, inverse = np.unique(nodes * len(labels) + numbers, return_index=True, return_inverse=True)
        order = np.argsort(at)  # of first appearance
        rank = np.argsort(order)
        above = keys[order] // len(labels)
        own = labels[keys[order] % len(labels)].tolist()
        if level > 1:
            paths = [names[-1][up - first] for up in above]
            own = [(*(path if level > 2 else (path,)), label) for path, label in zip(paths, own, strict=True)]  # noqa: PLR2004
        names.append(own)
        first += len(parents[-1])
        nodes = first + rank[inverse]
        parents.append(above)
        levels.append(np.full(len(above), level))
    flat = np.empty(first + len(parents[-1]), dtype=object)
    flat[:] = [name for each in names for name in each]
    return GroupTree(np.concatenate(parents), np.concatenate(levels), nodes - first, flat)


def _columns(groups: Any) -> list[Any]:
    """The columns of a table of groups; a vector of labels is the only one."""
    if hasattr(groups, "columns") and hasattr(groups, "iloc"):
        columns = [groups.iloc[:, c] for c in range(len(groups.columns))]
    else:
        rows_of_lists = isinstance(groups, list) and len(groups) > 0 and isinstance(groups[0], list)
        table = np.array(groups, dtype=object) if rows_of_lists else groups
        if getattr(table, "ndim", 1) != 2:  # noqa: PLR2004
            return [table]
        columns = list(np.asanyarray(table).T)
    if not columns:
        msg = "groups must have a column for each level, got none"
        raise ValueError(msg)
    return columns
