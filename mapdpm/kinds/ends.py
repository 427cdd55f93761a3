"""The ends of columns: whether all rows fit the kind that some of them show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.counts import MOST
from mapdpm.kinds.kinds import CONSTANT, COUNT, FLAG, ColumnKind
from mapdpm.protocol import Matrix, Vector


class Ends(NamedTuple):
    """The smallest and the largest value of each column, and whether others lie between; missing values are left aside.

    Examples
    --------
    >>> Ends.of(np.array([[0.0, 1.5], [1.0, 2.0], [0.0, 1.0]])).are_only.tolist()
    [True, False]
    """

    low: Vector
    high: Vector
    are_only: NDArray[np.bool_]
    """Whether a column has no other value."""
    are_whole: NDArray[np.bool_]
    """Whether all values are whole numbers."""

    @classmethod
    def of(cls, values: Matrix) -> Ends:
        """Those of the columns of ``values``; O(n D)."""
        low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        absent = np.isnan(values)
        are_only = np.all((values == low) | (values == high) | absent, axis=0)
        return cls(low, high, are_only, np.all((np.floor(values) == values) | absent, axis=0))

    @classmethod
    def joined(cls, parts: Sequence[Ends]) -> Ends:
        """Those of the rows of all parts."""
        low, high = np.fmin.reduce([each.low for each in parts]), np.fmax.reduce([each.high for each in parts])
        inside = [each.are_only & _are_ends(each.low, low, high) & _are_ends(each.high, low, high) for each in parts]
        return cls(low, high, np.all(inside, axis=0), np.all([each.are_whole for each in parts], axis=0))

    def fit(self, column: ColumnKind, place: int) -> bool:
        """Whether the column at ``place`` may be what ``column``, that of some of its rows, is."""
        low, high = float(self.low[place]), float(self.high[place])
        if column.kind == CONSTANT:
            return low == high
        if column.kind == FLAG:
            return bool(self.are_only[place]) and low in column.spikes and high in column.spikes
        return column.kind != COUNT or (bool(self.are_whole[place]) and low >= 0.0 and high <= MOST)

    def constants(self) -> Vector:
        """The value of each column that has one, 0 where it has none at all; NaN for others."""
        varying = np.where(self.low == self.high, self.low, np.nan)
        return np.where(np.isnan(self.low), 0.0, varying).astype(np.float64)


def _are_ends(values: Vector, low: Vector, high: Vector) -> NDArray[np.bool_]:
    return (values == low) | (values == high) | np.isnan(values)
