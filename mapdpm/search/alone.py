"""What clusters a column has by itself: where others hide them, they are those to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.table import Table
from mapdpm.likelihoods import NormalGamma
from mapdpm.likelihoods._product import parts_of
from mapdpm.likelihoods._skipping import plain
from mapdpm.protocol import Vector
from mapdpm.search.intervals import atoms_of, normal_intervals

_ATOMS = 32


def gains_alone(product: Any, table: Table) -> Vector:
    """For each part of a product what its column gains by clusters of its own, in nats, over one cluster.

    They are the best intervals of a column of normal data, each with the best of some priors. A part of another family
    has none: clusters of flags or of categories are nothing without other columns.
    """
    found: list[float] = []
    for part in parts_of(product):
        family: Any = plain(part.family)
        columns = table.array[:, part.columns]
        is_one = isinstance(family, NormalGamma) and columns.shape[1] == 1
        found.append(_gain(columns[~np.isnan(columns)], float(family.resolution[0])) if is_one else 0.0)
    return np.array(found)


def _gain(column: Vector, step: float) -> float:
    values, counts = np.unique(column, return_counts=True)
    if len(values) < 2:  # noqa: PLR2004
        return 0.0
    best = normal_intervals(atoms_of(values, counts.astype(np.float64), _ATOMS), step)
    return best.joint - best.one
