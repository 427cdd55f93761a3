"""Tables whose columns are of several kinds: numbers, and levels of categories by their place in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdpm.data.tokens import Tokens
from mapdpm.protocol import Labels, Matrix, Vector


class Table(NamedTuple):
    """A ``PointSet`` of rows of numbers; NaN is a missing value.

    Examples
    --------
    >>> table = Table(np.array([[1.5, 2.0], [0.5, 0.0]]), n_levels=np.array([0, 3]))
    >>> table.as_vectors().tolist()
    [[1.5, 0.0, 0.0, 1.0], [0.5, 1.0, 0.0, 0.0]]
    """

    array: Matrix
    n_levels: Labels
    """For each column the number of levels, whose places are 0, 1, ...; 0 for a column of numbers."""

    @property
    def n_points(self) -> int:
        """The number of rows."""
        return len(self.array)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    def rows(self, points: Labels) -> Table:
        """The rows ``points``, in that order."""
        return self._replace(array=np.ascontiguousarray(self.array[points]))

    def restricted(self, columns: Sequence[int]) -> Table:
        """Some of the columns, in their order."""
        chosen = np.unique(np.asarray(columns, dtype=np.int64))
        return Table(np.ascontiguousarray(self.array[:, chosen]), self.n_levels[chosen])

    def part(self, first: int, last: int) -> Table:
        """The rows from ``first`` to ``last`` - 1."""
        return self._replace(array=self.array[first:last])

    def joined(self, others: Sequence[Table]) -> Table:
        """These rows, and those of ``others`` below them."""
        return self._replace(array=np.concatenate([each.array for each in (self, *others)]))

    def subtract_anchor(self, anchor: Vector, room: Matrix) -> Table:
        """The rows less ``anchor``, which is 0 for categories, in the first rows of ``room``."""
        return self._replace(array=np.subtract(self.array, anchor, out=room[: len(self.array)]))

    @property
    def width(self) -> int:
        """Numbers, and the vectors of categories."""
        return sum(Tokens(np.empty(0, dtype=np.int64), n).width if n else 1 for n in self.n_levels.tolist())

    def as_vectors(self) -> Matrix:
        """Numbers as they are; a category as a vector with a 1 for its level, NaN where it is missing."""
        blocks = [self._vectors(d, n) for d, n in enumerate(self.n_levels.tolist())]
        return np.concatenate(blocks, axis=1)

    def _vectors(self, d: int, n_levels: int) -> Matrix:
        column = self.array[:, d]
        if not n_levels:
            return column[:, None]
        absent = np.isnan(column)
        vectors = Tokens(np.where(absent, 0.0, column).astype(np.int64), n_levels).as_vectors()
        vectors[absent] = np.nan
        return vectors
