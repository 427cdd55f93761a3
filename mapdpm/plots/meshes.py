"""The range and the mesh of a picture of a density, and its lowest contour; the mesh hits narrow clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.frames import Names
from mapdpm.protocol import Matrix, Vector

_MARGIN = 0.2  # of the range of the points
_REACH = 4.0  # standard deviations to either side of a mean
_MASS = 0.99


class Places(NamedTuple):
    """Places along a feature: a number of evenly spaced ones, and deviations from each mean in standard deviations."""

    n_even: int
    deviations: Vector


# Steps of a quarter of a standard deviation near the mean, and of a quarter of the distance farther away.
CURVE_PLACES = Places(801, np.sinh(np.linspace(-10.0, 10.0, 81)))
CONTOUR_PLACES = Places(201, np.zeros(1))


class _Table(NamedTuple):
    """Values with names of columns, for a model that was fitted on a DataFrame warns without names."""

    values: Matrix
    columns: Names

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.values if dtype is None else self.values.astype(dtype)
        return array.copy() if copy else array


def named(model: Any, values: Matrix) -> Any:
    """``values``, with the names of the features of ``model`` if it has names."""
    return _Table(values, model.feature_names_in_) if hasattr(model, "feature_names_in_") else values


def box(model: Any, points: Matrix | None) -> tuple[Vector, Vector]:
    """Lowest and highest corner of the picture: the range of the points, or else of the clusters, with a margin.

    ValueError where there are no points, and the model has no ``means_``.
    """
    if points is not None:
        low, high = points.min(axis=0), points.max(axis=0)
    elif hasattr(model, "means_"):
        reach = _REACH * np.sqrt(model.variances_)
        low, high = (model.means_ - reach).min(axis=0), (model.means_ + reach).max(axis=0)
    else:
        msg = "this model has no means_ to say where its clusters are; give X, whose range is then drawn"
        raise ValueError(msg)
    margin = np.where(high > low, _MARGIN * (high - low), 1.0)
    return _within(model, low - margin, low), _within(model, high + margin, high)


def _within(model: Any, corner: Vector, inner: Vector) -> Vector:
    """``corner``, or ``inner`` where ``corner`` is outside the domain of the family (a negative waiting time)."""
    try:
        model.likelihood_.for_data(corner[None, :])
    except ValueError:
        return inner
    return corner


def line(model: Any, feature: int, ends: tuple[float, float], places: Places) -> Vector:
    """Places along a feature between ``ends``, in rising order, with some at every cluster, however narrow."""
    even = np.linspace(*ends, places.n_even)
    if not hasattr(model, "means_"):
        return even
    deviations = np.sqrt(model.variances_[:, feature, None])
    near = model.means_[:, feature, None] + deviations * places.deviations
    return np.union1d(even, near[(near > ends[0]) & (near < ends[1])])


def level_of(log_density: Matrix, x: Vector, y: Vector) -> float:
    """The log density (nats) that 99 % of the mass on a mesh exceeds; entry (i, j) of it is at ``x[j]``, ``y[i]``."""
    areas = np.gradient(y)[:, None] * np.gradient(x)
    falling = np.argsort(log_density, axis=None)[::-1]
    mass = np.cumsum((np.exp(log_density - log_density.max()) * areas).ravel()[falling])
    last = np.searchsorted(mass[:-1], _MASS * mass[-1])
    return float(log_density.ravel()[falling[last]])
