"""The plane in which points are drawn: two of their columns, or the two principal directions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.frames import column_names
from mapdpm.protocol import Labels, Matrix
from mapdpm.validation import check_points, refuse_value

_MOST_LISTED = 12


class Plane(NamedTuple):
    """Coordinates of the points, shape (n_points, 2), and what the two axes are."""

    points: Matrix
    titles: tuple[str, str]


def plane_of(points: Matrix, columns: Columns, chosen: Any) -> Plane:
    """The plane of two chosen columns; for None, both of two columns, or the two principal directions."""
    n_columns = points.shape[1]
    if chosen is None and n_columns == 1:
        return Plane(np.column_stack([points[:, 0], np.arange(len(points))]), (columns.titles[0], "row"))
    if chosen is None and n_columns > 2:  # noqa: PLR2004
        return _principal(points)
    first, second = (0, 1) if chosen is None else columns.pair(chosen)
    return Plane(points[:, [first, second]], (columns.titles[first], columns.titles[second]))


def read_points(model: Any, X: Any) -> Matrix:
    """The points of ``X``, checked; values may be missing where the model skips them. Levels are vectors."""
    likelihood: Any = getattr(model, "likelihood_", None)
    if hasattr(likelihood, "read_table"):
        return likelihood.read_table(X, getattr(model, "missing", None) == "skip").as_vectors()
    return check_points(X, missing=getattr(model, "missing", None) == "skip").astype(np.float64)


def whole(points: Matrix, labels: Labels) -> Matrix:
    """``points`` with each missing value at the mean of those with its label; of all, or at 0, where there are none."""
    absent = np.isnan(points)
    if not absent.any():
        return points
    filled = np.where(absent, _means(points), points)
    for label in np.unique(labels):
        own = labels == label
        means = _means(points[own])
        filled[own] = np.where(absent[own] & ~absent[own].all(axis=0), means, filled[own])
    return filled


def _means(points: Matrix) -> Matrix:
    """The mean of the values that are there in each column, 0 of none."""
    there = ~np.isnan(points)
    return np.where(there, points, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)


def _principal(points: Matrix) -> Plane:
    """The two principal directions of standardised data, with the share of the variance that each has."""
    centred = points - points.mean(axis=0)
    spread = centred.std(axis=0)
    rounding = 1e-12 * np.abs(points).max(axis=0)  # a constant column has no scale
    centred /= np.where(spread > rounding, spread, 1.0)
    _, scales, directions = np.linalg.svd(centred, full_matrices=False)
    # An SVD does not fix signs: the largest entry of each direction is made positive.
    directions = directions[:2]
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    plane = centred @ (directions * np.where(largest < 0, -1.0, 1.0)[:, None]).T
    missing = 2 - plane.shape[1]  # for a single point
    shares = scales[:2] ** 2 / max(float((scales**2).sum()), np.finfo(float).tiny)
    return Plane(np.pad(plane, ((0, 0), (0, missing))), principal_titles(*np.pad(shares, (0, missing)).tolist()))


def principal_titles(first: float, second: float) -> tuple[str, str]:
    """The titles of axes along the two principal directions, with the share of the variance that each has."""
    return (
        f"first principal direction ({first:.0%} of the standardised variance)",
        f"second principal direction ({second:.0%})",
    )


class Columns:
    """The columns of data: their titles, and the index of a column chosen by name or index."""

    def __init__(self, X: Any, model: Any, n_columns: int) -> None:
        """Take the names of ``X`` where it is a DataFrame, else those of the model, if it has any."""
        own = column_names(X)
        names: Any = getattr(model, "feature_names_in_", None) if own is None else own
        self.named = names is not None and len(names) == n_columns
        self.titles = [str(n) for n in names] if self.named else [f"feature {j}" for j in range(n_columns)]

    def pair(self, chosen: Any) -> list[int]:
        """Indices of the two chosen columns; ValueError where they are not two of the columns."""
        members = list(chosen) if isinstance(chosen, Iterable) and not isinstance(chosen, str) else []
        if len(members) != 2:  # noqa: PLR2004
            refuse_value("features must be a pair of columns, such as (0, 1)", chosen)
        indices = [self._index(member) for member in members]
        if indices[0] == indices[1]:
            refuse_value("features must be two different columns", chosen)
        return indices

    def _index(self, member: Any) -> int:
        n_columns = len(self.titles)
        if isinstance(member, str):
            if not self.named:
                msg = f"features has the name {member!r}, but the columns have no names; give indices"
                raise ValueError(msg)
            if self.titles.count(member) != 1:
                n_called = self.titles.count(member)
                msg = f"features has the name {member!r}, and {n_called} columns are called so: {self._listed()}"
                raise ValueError(msg)
            return self.titles.index(member)
        if isinstance(member, (bool, np.bool_)) or not isinstance(member, (int, np.integer)):
            refuse_value("features must hold indices or names of columns", member)
        if not -n_columns <= member < n_columns:
            msg = f"features has the index {member}, but X has {n_columns} column{'s' * (n_columns != 1)}"
            raise ValueError(msg)
        return int(member) % n_columns

    def _listed(self) -> str:
        more = ", ..." if len(self.titles) > _MOST_LISTED else ""
        return ", ".join(map(repr, self.titles[:_MOST_LISTED])) + more
