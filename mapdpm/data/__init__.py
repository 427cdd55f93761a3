"""The containers of points: dense arrays, sparse counts, and the names of DataFrames.

A likelihood says by ``read`` in which form it reads points, and reads them through its verbs. Everything else asks a
``PointSet``, and so knows no forms.
"""

from mapdpm.data.dense import point_set, read_by
from mapdpm.data.point_set import PointSet

__all__ = ["PointSet", "point_set", "read_by"]
