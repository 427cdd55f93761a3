"""How a part of a product reads columns of a table: as they are, or as what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Labels, Matrix, Vector

Values = tuple[float, ...]
"""A value for each column of a part."""


class Reading(NamedTuple):
    """What a part makes of its columns; each field is empty where it does not apply.

    Missing values stay missing.
    """

    is_value: Values = ()
    """The columns of the part say whether values are these: 1 or 0."""
    others: Values = ()
    """With ``is_value``, the only other values that may be there: those of a flag."""
    without: tuple[Values, ...] = ()
    """Values that are missing for this part, for other parts say that they are there."""
    period: float = 0.0
    """Columns are angles of this period: each gives the part its cosine and its sine."""

    def width(self, n: int) -> int:
        """How many columns the part has, of ``n`` columns of the table."""
        return 2 * n if self.period else n

    def of(self, columns: list[Vector], named: Callable[[int], str]) -> Matrix:
        """The columns of the part; ValueError for a flag that is neither value, in a column called ``named(place)``."""
        if self.period:
            turns = [column * (2.0 * math.pi / self.period) for column in columns]
            return np.stack([wave(turn) for turn in turns for wave in (np.cos, np.sin)], axis=1)
        found = np.stack(columns, axis=1)
        absent: NDArray[np.bool_] = np.isnan(found)
        for values in self.without:
            absent |= found == values
        if self.others:
            self._check_flags(found, absent, named)
        if self.is_value:
            found = (found == self.is_value).astype(np.float64)
        if absent.any():
            found[absent] = np.nan
        return found

    def _check_flags(self, found: Matrix, absent: NDArray[np.bool_], named: Callable[[int], str]) -> None:
        wrong = ~absent & (found != self.is_value) & (found != self.others)
        if wrong.any():
            row, place = np.argwhere(wrong)[0].tolist()
            values = f"{self.others[place]:g} nor {self.is_value[place]:g}"
            msg = f"column {named(place)} is a flag, but row {row} has {found[row, place]:g}, which is neither {values}"
            raise ValueError(msg)

    def restricted(self, kept: Labels) -> Reading:
        """The same of some of the part's columns; of an angle both, or the columns of the table are others."""
        places = kept[::2] // 2 if self.period else kept

        def of(values: Values) -> Values:
            return tuple(values[place] for place in places.tolist()) if values else ()

        return self._replace(is_value=of(self.is_value), others=of(self.others), without=tuple(map(of, self.without)))


AS_IT_IS = Reading()


def angles(cosine: Vector, sine: Vector, period: float) -> Vector:
    """The angles from 0 to ``period`` of points in a plane, on a circle or within it."""
    return np.mod(np.arctan2(sine, cosine) * (period / (2.0 * math.pi)), period)
