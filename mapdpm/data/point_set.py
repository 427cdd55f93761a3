"""The interface of a container of points. Likelihoods read points through their verbs instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mapdpm.protocol import Labels, Matrix, Vector


class PointSet(Protocol):
    """N points of D features. ``rows``, ``part`` and ``subtract_anchor`` return points in the form that verbs read.

    A new form of data is a class with these methods. The likelihood that reads it returns an instance from ``read``.
    """

    @property
    def n_points(self) -> int:
        """N."""

    @property
    def n_features(self) -> int:
        """D."""

    def rows(self, points: Labels) -> Any:
        """The points with these numbers, in that order."""

    def part(self, first: int, last: int) -> Any:
        """The points from ``first`` to ``last`` - 1."""

    def joined(self, others: Sequence[Any]) -> Any:
        """These points, and then those of ``others``, which are in the form that verbs read."""

    def subtract_anchor(self, anchor: Vector, room: Matrix) -> Any:
        """The points less ``anchor``, in ``room``; points without a location, such as counts, as they are."""

    @property
    def width(self) -> int:
        """The number of entries of a vector."""

    def as_vectors(self) -> Matrix:
        """One vector a point; similar points have near vectors. Moves look for directions to cut along."""
