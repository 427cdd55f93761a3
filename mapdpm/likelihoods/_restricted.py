"""A likelihood of some of the columns of points, as the user gave it: with its prior, or yet to be fitted.

Columns are those of the points as the likelihood reads them: of an array, or of a ``Table``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.data.table import Table
from mapdpm.likelihoods._blocks import Block
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.protocol import Labels


def restricted(likelihood: Any, columns: Labels) -> Any:
    """``likelihood`` of these columns of the points that it reads."""
    if isinstance(likelihood, type):
        return likelihood
    if hasattr(likelihood, "restricted"):
        return likelihood.restricted(columns.tolist())
    values = (value[columns] if isinstance(value, np.ndarray) else value for value in likelihood)
    return type(likelihood)(*values)


def restricted_points(points: Any, columns: Labels) -> Any:
    """These columns of the points; the points themselves where that is all."""
    if np.array_equal(columns, np.arange(point_set(points).n_features)):
        return points
    if isinstance(points, Table):
        return points.restricted(columns.tolist())
    return np.ascontiguousarray(points[:, columns])


def units_of(likelihood: Any, n_columns: int) -> list[Labels]:
    """The columns, alone where features are independent, and else those that belong together."""
    if hasattr(likelihood, "units"):
        return list(likelihood.units())
    if not hasattr(getattr(likelihood, "kind", likelihood), "feature"):
        return [np.arange(n_columns)]
    return [np.array([d]) for d in range(n_columns)]


def joined(likelihoods: list[Any], columns: list[Labels]) -> Mixed:
    """The product of likelihoods, each over as many columns as those of its own, one after the other."""
    blocks: list[Block] = []
    for likelihood, own in zip(likelihoods, columns, strict=True):
        of_family = likelihood.blocks if isinstance(likelihood, Mixed) else [Block("", ("",) * len(own), likelihood)]
        for block in of_family:
            at = len(blocks)
            blocks.append(block._replace(key=at, names=tuple(f"{at}.{d}" for d in range(len(block.names)))))
    return Mixed.of_blocks(tuple(blocks))


def as_table(points: Any) -> Table:
    """Rows of an array as those of a table."""
    if isinstance(points, Table):
        return points
    return Table(points.astype(np.float64, copy=False), np.zeros(points.shape[1], dtype=np.int64))


def has_columns(points: Any) -> bool:
    """Whether points are rows of an array or of a table: words and sparse counts have no columns of their own."""
    return isinstance(points, (np.ndarray, Table))
