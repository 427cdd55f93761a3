"""Marks of chunks: passes make a chunk again and again, and it must be the same each time."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.counts import Counts
from mapdpm.data.table import Table


class Mark(NamedTuple):
    """What tells a chunk from another: its points, the sum of all bits, a check sum of its first and last row."""

    n_points: int = 0
    total: int = 0
    ends: int = 0

    @classmethod
    def of(cls, points: Any, weights: Any = None) -> Mark:
        """That of a chunk of points in any form; O(N D), as fast as memory."""
        total = ends = 0
        arrays = _arrays_of(points)
        for array in arrays if weights is None else [*arrays, weights]:
            whole = np.ascontiguousarray(array)
            total += int(whole.view(f"u{whole.itemsize}").sum(dtype=np.uint64))
            ends = zlib.crc32(whole[-1:].tobytes(), zlib.crc32(whole[:1].tobytes(), ends))
        return cls(len(arrays[0]), total, ends)

    def check(self, number: int, now: Mark) -> None:
        """ValueError where the chunk of this ``number`` is not the same ``now``."""
        if now != self:
            what = f"{now.n_points} points" if now.n_points != self.n_points else "other values"
            msg = (
                f"chunk {number} (counted from 0) had {self.n_points} points, and {what} when it was made again: it "
                "must be the same each time; give its random numbers a seed, sort what is read, or persist() it"
            )
            raise ValueError(msg)


def _arrays_of(points: Any) -> list[Any]:
    """The arrays that hold points of any form, the one with a row a point first."""
    if isinstance(points, Counts):
        return [np.diff(points.indptr), points.indices, points.values]
    return [points.array if isinstance(points, Table) else getattr(points, "words", points)]
