"""Whether a column has clusters by itself: where others hide them, its clusters are those to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.table import Table
from mapdpm.likelihoods import NormalGamma
from mapdpm.likelihoods._product import parts_of
from mapdpm.likelihoods._skipping import plain
from mapdpm.protocol import Vector
from mapdpm.search.intervals import atoms_of, normal_intervals

_GAIN = 3.0  # nats
_ATOMS = 48


def have_clusters(product: Any, table: Table) -> list[bool]:
    """Of each part of a product whether its column has clusters by itself.

    It has, where the best intervals of a column of normal data are better than one, each with the best of some priors.
    A part of another family has none: clusters of flags or of categories are nothing without other columns.
    """
    found = []
    for part in parts_of(product):
        family: Any = plain(part.family)
        columns = table.array[:, part.columns]
        is_one = isinstance(family, NormalGamma) and columns.shape[1] == 1
        found.append(is_one and _has_clusters(columns[~np.isnan(columns)], float(family.resolution[0])))
    return found


def _has_clusters(column: Vector, step: float) -> bool:
    values, counts = np.unique(column, return_counts=True)
    if len(values) < 2:  # noqa: PLR2004
        return False
    best = normal_intervals(atoms_of(values, counts.astype(np.float64), _ATOMS), step)
    return best.joint > best.one + _GAIN
