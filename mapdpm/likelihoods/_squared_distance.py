"""The stand-in for a likelihood in DP-means: minus the squared distances of points from the mean of their cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

from mapdpm.likelihoods import _draws as draws
from mapdpm.likelihoods import _moments as mo
from mapdpm.likelihoods._moments import PREPARED
from mapdpm.likelihoods._parameters import parameters
from mapdpm.protocol import LARGEST, Values, Vector


@parameters(vectors=("scale",), positive={"scale": LARGEST})
class SquaredDistance(NamedTuple):
    """L(row) = -sum_i w_i ||x_i - mean||^2: normal data of known variance, in the limit of a small one (docs/maths.md).

    It is not a density, so no estimator offers it as a likelihood. But it has the verbs, so every move works on it.

    Parameters
    ----------
    scale : array of shape (n_features,)
        A squared distance of interest: a removal that rounds away its digits makes the row anew.
    """

    scale: Values

    def size(self) -> int:
        return mo.row_size(self.scale.shape[0])

    def n_statistics(self) -> int:
        return mo.n_moments(self.scale.shape[0])

    def init(self, row: Vector) -> None:
        mo.init(row, self.scale.shape[0])
        self.prepare(row)

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        mo.add(row, data, i, w)

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        return mo.remove(row, data, i, w, self.scale)

    def merge(self, row: Vector, other: Vector) -> None:
        mo.merge(row, other, self.scale.shape[0])

    def prepare(self, row: Vector) -> None:
        """A point of weight 1 adds n / (n + 1) times its squared distance from the mean."""
        D = self.scale.shape[0]
        constant = mo.n_moments(D)
        centre = constant + PREPARED
        row[constant] = 0.0
        row[constant + 1] = 1.0
        row[constant + 2] = 0.0
        for d in range(D):
            row[centre + d] = row[1 + d]
            row[centre + D + d] = row[0] / (row[0] + 1.0)

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        return self.log_predictive_weighted(row, data, i, 1.0)

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        total = 0.0
        for d in range(self.scale.shape[0]):
            t = data[i, d] - row[1 + d]
            total += t * t
        return -total * row[0] * w / (row[0] + w)

    def log_marginal(self, row: Vector) -> float:
        D = self.scale.shape[0]
        total = 0.0
        for d in range(D):
            total -= row[1 + D + d]
        return total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        total = 0.0
        for d in range(self.scale.shape[0]):
            t = row[1 + d] - other[1 + d]
            total -= t * t
        return total * row[0] * other[0] / union[0]

    def n_parameters(self) -> int:
        return 1 + 2 * self.scale.shape[0]

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """Minus the squared distance from the mean: a pass by tangents is one of Lloyd's."""
        D = self.scale.shape[0]
        parameters[0] = 0.0
        for d in range(D):
            parameters[1 + d] = row[1 + d]
            parameters[1 + D + d] = 1.0

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return draws.log_normal(parameters, data, i)
