"""Families, and products of them, with other steps: those of the points of a fit, or none for new points.

The statistics of clusters hold the cells of their points. So new points, which are exact, are scored under the family
without a step: its predictive is a density (maths, section 34).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.likelihoods._parameters import RESOLUTION, steps_of
from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.protocol import Matrix, Vector


def with_resolution(likelihood: Any, resolution: Vector) -> Any:
    """``likelihood``, as kernels read it, for values that are rounded to these steps, where a family knows any."""
    if isinstance(likelihood, Product):
        parts = parts_of(likelihood)
        return likelihood.of_families([with_resolution(part.family, resolution[part.columns]) for part in parts])
    if isinstance(likelihood, Skipping):
        return likelihood._replace(family=with_resolution(likelihood.family, resolution))
    return likelihood._replace(**{RESOLUTION: resolution}) if hasattr(likelihood, RESOLUTION) else likelihood


def for_exact_values(likelihood: Any) -> Any:
    """``likelihood``, as kernels read it, without steps."""
    steps = steps_of(likelihood)
    return likelihood if steps is None else with_resolution(likelihood, np.zeros(len(steps)))


def cells_of(steps: Vector | None) -> Any:
    """The variances of cells of these steps, q^2 / 12; 0 where there are none."""
    return 0.0 if steps is None else steps * steps / 12.0


def without_cells(variances: Matrix, steps: Vector | None) -> Matrix:
    """The variances of the values themselves, from those of statistics, which hold their cells."""
    found: Matrix = np.maximum(variances - cells_of(steps), 0.0)
    return found
