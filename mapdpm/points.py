"""What everything but a likelihood asks of points, whatever holds them: a dense array, or sparse ``Counts``.

Likelihoods read points through their verbs, and say by ``read`` which form they want; the rest of the library asks
here, so that no search knows of forms. A new form of data is a branch of each function below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.counts import Counts
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.validation import check_points

_SKETCH = 32
"""Directions that stand for all the features of sparse points."""


def read_by(likelihood: Any, X: Any) -> Any:
    """The points of ``X``, checked, in the form that ``likelihood`` reads; ValueError where they cannot be that."""
    read = getattr(likelihood, "read", check_points)
    return read(X)


def n_points(data: Any) -> int:
    """How many points."""
    return data.n_points if isinstance(data, Counts) else len(data)


def n_features(data: Any) -> int:
    """Of how many features."""
    return data.n_features if isinstance(data, Counts) else data.shape[1]


def rows(data: Any, points: Labels) -> Any:
    """The points of these numbers, in that order."""
    return data.rows(points) if isinstance(data, Counts) else np.ascontiguousarray(data[points])


def part(data: Any, first: int, last: int) -> Any:
    """The points from ``first`` up to ``last``, that one not among them."""
    return data.rows(np.arange(first, last)) if isinstance(data, Counts) else data[first:last]


def less(data: Any, anchor: Vector, room: Matrix) -> Any:
    """``data`` less ``anchor``, in ``room``; sparse counts, which have no location, as they are."""
    return data if isinstance(data, Counts) else np.subtract(data, anchor, out=room[: len(data)])


def as_vectors(data: Any) -> Matrix:
    """One vector a point, near each other where points are alike: where moves look for directions to cut along.

    Of sparse counts, square roots of shares (whose squared distance is Hellinger's), which no long document
    dominates; summed with signs into a few directions, which keeps distances in the mean (Achlioptas 2003). The signs
    are bits of a hash of the feature, so that a part of the points gets what the whole got. O(entries) for each
    direction.
    """
    if not isinstance(data, Counts):
        return data
    row_numbers = data.row_numbers()
    roots = np.sqrt(data.values / np.maximum(data.totals(), 1.0)[row_numbers])
    if data.n_features <= _SKETCH:
        few = np.zeros((data.n_points, data.n_features))
        few[row_numbers, data.indices] = roots
        return few
    roots /= np.sqrt(_SKETCH)
    hashes = _hashed(data.indices)
    columns = []
    for bit in range(_SKETCH):
        signs = 1.0 - 2.0 * ((hashes >> np.uint64(bit)) & np.uint64(1)).astype(np.float64)
        columns.append(np.bincount(row_numbers, weights=signs * roots, minlength=data.n_points))
    return np.stack(columns, axis=1)


def _hashed(numbers: Labels) -> Any:
    """64 mixed bits for each number (SplitMix64)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
