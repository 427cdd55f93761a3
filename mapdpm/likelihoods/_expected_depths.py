"""What the values that a point has are expected to add to its depth: a missing value and a spike add nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.likelihoods._skipping import plain
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.likelihoods.normal_known_variance import NormalKnownVariance
from mapdpm.protocol import Vector

_ENTROPY = 0.5 * math.log(2.0 * math.pi * math.e)  # nats, of a standard normal


def expected_depths(likelihood: Any, points: Any) -> Vector:
    """The entropy of the numbers that each point has, as normals with the spreads that the prior expects, shape (N,).

    Depths (less log densities) that exceed it have no unit, so points with different missing values or spikes can be
    ranked. Nats; O(N D).
    """
    table = getattr(points, "array", points)
    if not isinstance(table, np.ndarray):
        return np.zeros(points.n_points)
    return np.asarray(~np.isnan(table) @ _entropies(likelihood, table.shape[1]))


def _entropies(likelihood: Any, n_columns: int) -> Vector:
    """The entropy of a number of each column in a cluster; 0 where values are counted."""
    family, found = plain(likelihood), np.zeros(n_columns)
    if isinstance(family, Product):
        for part in parts_of(family):
            found[part.columns] = _entropies(part.family, len(found[part.columns]))
    elif isinstance(family, NormalGamma):
        found[:] = _ENTROPY + 0.5 * np.log(family.b0 / family.a0)
    elif isinstance(family, NormalKnownVariance):
        found[:] = _ENTROPY + 0.5 * np.log(family.variance)
    elif isinstance(family, NormalInverseWishart):
        found[:] = _ENTROPY + 0.5 * np.log(np.diag(family.psi0) / family.nu0)
    return found
