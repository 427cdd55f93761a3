"""HDPMixture in model files: the table of counts, the shares and the names of groups, as extras of the container."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.group_tree import GroupTree, read_tree
from mapdpm.partition_priors.hierarchy import hierarchy
from mapdpm.protocol import Labels, Matrix
from mapdpm.state import Mixture


def extras_of(model: Any) -> dict[str, Any]:
    """The extras that only models of groups have; ValueError where a group has a name that JSON does not have."""
    is_tree = np.ndim(model.alpha_) == 1
    paths = [list(name) if is_tree else [name] for name in model.group_names_]
    for name in (label for path in paths for label in path):
        if not isinstance(name, (str, int, float, bool)) and name is not None:
            msg = (
                f"a model file has groups named by str, int, float or bool, got {name!r}; pickle or joblib can keep it"
            )
            raise ValueError(msg)
    if not is_tree:
        return {"group_names_": model.group_names_.tolist()}
    return {"group_names_": paths, "alpha_": model.alpha_, "section_shares_": model.section_shares_.ravel()}


def with_alphas(mixture: Mixture, extras: dict[str, Any], n_levels: int) -> Mixture:
    """``mixture``, as the body of a file has it, with all concentrations of a tree; ValueError where they do not fit.

    The first is that of the body.
    """
    if n_levels == 1:
        return mixture
    found = hierarchy(extras["alpha_"], mixture.prior.gamma)
    if len(found.alphas) != n_levels or found.alphas[:1] != mixture.prior.alphas:
        msg = "alpha_"
        raise ValueError(msg)
    return mixture._replace(prior=found)


def checked_groups(mixture: Mixture, extras: dict[str, Any]) -> tuple[GroupTree, Labels, Matrix]:
    """The tree, the table of counts and the shares of inner nodes; ValueError where they do not fit the model."""
    names, n_clusters = extras["group_names_"], len(mixture.counts)
    tree = read_tree(None if names == [None] else _checked_paths(names), len(names))
    table, shares = extras["table"], extras["shares_"]
    if tree.n_groups != len(names) or table.dtype.kind != "i" or len(table) != len(names) * n_clusters:
        msg = "table"
        raise ValueError(msg)
    table = table.astype(np.int64).reshape(len(names), n_clusters)
    if table.min() < 0 or not np.array_equal(table.sum(axis=0), mixture.counts) or table.sum(axis=1).min() < 1:
        msg = "table"
        raise ValueError(msg)
    shares = np.append(shares, extras.get("section_shares_", ())).reshape(tree.n_inner, n_clusters + 1)
    within = shares.min() >= 0.0 and shares[:, :-1].min() > 0.0
    if not within or not np.allclose(shares.sum(axis=1), 1.0, rtol=0.0, atol=1e-9):
        msg = "shares_"
        raise ValueError(msg)
    return tree, table, shares


def _checked_paths(names: Any) -> NDArray[np.object_]:
    """The labels of groups as a table with a column for each level; ValueError where it is none."""
    paths = [name if isinstance(name, list) else [name] for name in names] if isinstance(names, list) else []
    known = all(isinstance(label, (str, int, float, bool)) for path in paths for label in path)
    if not paths or not known or len({len(path) for path in paths}) != 1:
        msg = "group_names_"
        raise ValueError(msg)
    table = np.empty((len(paths), len(paths[0])), dtype=object)
    table[:] = paths
    return table
