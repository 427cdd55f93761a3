"""Trees of groups: numbers, parents and names of nodes, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from mapdpm.data.group_tree import read_tree

COLUMNS = [["b", 1], ["a", 1], ["a", 1], ["b", 2], ["a", 3]]


@pytest.mark.parametrize(
    "kind", [list, lambda c: np.array(c, dtype=object), lambda c: pd.DataFrame(c, columns=["s", "d"])]
)
def test_nodes_are_in_order_of_appearance(kind):
    tree = read_tree(kind(COLUMNS), 5)
    assert tree.names.tolist() == [None, "b", "a", ("b", 1), ("a", 1), ("b", 2), ("a", 3)]
    assert tree.parents.tolist() == [-1, 0, 0, 1, 2, 1, 2]
    assert tree.levels.tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert tree.of_points.tolist() == [0, 1, 1, 2, 3]
    assert (tree.n_levels, tree.n_inner, tree.n_groups) == (2, 3, 4)
    assert tree.group_names.tolist() == [("b", 1), ("a", 1), ("b", 2), ("a", 3)]


def test_a_group_is_named_by_its_whole_path():
    tree = read_tree(np.array([[0, 0, 7], [0, 1, 7], [1, 0, 7]]), 3)
    assert tree.group_names.tolist() == [(0, 0, 7), (0, 1, 7), (1, 0, 7)]
    assert tree.parents.tolist() == [-1, 0, 0, 1, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("groups", [["x", "y", "x"], np.array([["x"], ["y"], ["x"]]), np.array([5, 3, 5])])
def test_one_column_is_a_vector(groups):
    tree = read_tree(groups, 3)
    assert tree.parents.tolist() == [-1, 0, 0]
    assert tree.of_points.tolist() == [0, 1, 0]
    assert tree.n_inner == 1
    assert tree.names[1:].tolist() == list(dict.fromkeys(np.ravel(groups).tolist()))


def test_a_list_of_tuples_is_one_level():
    assert read_tree([("a", 1), ("a", 2)], 2).group_names.tolist() == [("a", 1), ("a", 2)]


@pytest.mark.parametrize(
    ("message", "groups"),
    [
        ("one label a point", np.zeros((3, 2))),
        (r"groups\[1\] is nan", np.array([[0, 0], [0, np.nan]])),
        ("a column for each level, got none", np.zeros((2, 0))),
    ],
)
def test_bad_groups(message, groups):
    with pytest.raises(ValueError, match=message):
        read_tree(groups, 2)
