"""What holds points: dense arrays, sparse counts, and the names of DataFrames.

A likelihood says by ``read`` in which form it reads points, and reads them through its verbs. Everything else asks a
``PointSet``, and so knows no forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.dense import Dense
from mapdpm.data.point_set import PointSet
from mapdpm.validation import check_points

__all__ = ["PointSet", "point_set", "read_by"]


def read_by(likelihood: Any, X: Any) -> Any:
    """The points of ``X``, checked, in the form that ``likelihood`` reads; ValueError where they cannot be that."""
    read = getattr(likelihood, "read", check_points)
    return read(X)


def point_set(data: Any) -> PointSet:
    """``data``, in the form that verbs read, as a ``PointSet``: an array is wrapped, any other form is one itself."""
    if isinstance(data, np.ndarray):
        return Dense(data)
    points: PointSet = data
    return points
