"""Dense points: an array with one row for each point. Every likelihood without ``read`` uses this form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.point_set import PointSet
from mapdpm.names import MISSING
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.validation import check_choice, check_points


class Dense(NamedTuple):
    """A ``PointSet`` of the rows of an array."""

    array: Any

    @property
    def n_points(self) -> int:
        """N."""
        return len(self.array)

    @property
    def n_features(self) -> int:
        """D."""
        return int(self.array.shape[1])

    def rows(self, points: Labels) -> Any:
        """A contiguous copy of these rows, in that order."""
        return np.ascontiguousarray(self.array[points])

    def part(self, first: int, last: int) -> Any:
        """A view of the rows from ``first`` to ``last`` - 1."""
        return self.array[first:last]

    def joined(self, others: Sequence[Any]) -> Any:
        """The array, and ``others`` below it."""
        return np.concatenate([self.array, *others])

    def subtract_anchor(self, anchor: Vector, room: Matrix) -> Any:
        """The rows less ``anchor``, in the first rows of ``room``."""
        return np.subtract(self.array, anchor, out=room[: len(self.array)])

    @property
    def width(self) -> int:
        """D."""
        return self.n_features

    def as_vectors(self) -> Matrix:
        """The array itself."""
        return self.array


def read_by(likelihood: Any, X: Any, missing: str | None = None) -> Any:
    """The points of ``X``, checked, in the form that ``likelihood`` reads; ValueError if that is impossible.

    ``missing`` is one of ``names.MISSING``, where the user has that choice: with "skip", NaN in a dense array is a
    missing value.
    """
    if missing is not None:
        check_choice("missing", missing, MISSING)
    if hasattr(likelihood, "read_table"):
        return likelihood.read_table(X, missing == "skip")
    kind = getattr(likelihood, "kind", likelihood)  # of a class with steps
    whole = hasattr(kind, "log_predictive") and not hasattr(kind, "feature")
    if whole and missing == "skip":
        name = (kind if isinstance(kind, type) else type(kind)).__name__
        msg = (
            f"missing='skip' is exact for families of independent features, which {name} is not; use NormalGamma, "
            "NormalKnownVariance, GammaPoisson or BetaBernoulli, or remove or impute missing values"
        )
        raise ValueError(msg)
    if hasattr(likelihood, "read"):
        return likelihood.read(X)
    cure = "" if missing is None or whole else ", or set missing='skip' for NaN"
    return check_points(X, missing=missing == "skip", cure=cure)


def point_set(data: Any) -> PointSet:
    """``data``, in the form that verbs read, as a ``PointSet``: an array is wrapped, any other form is one itself."""
    return Dense(data) if isinstance(data, np.ndarray) else data
