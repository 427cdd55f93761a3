"""The moments of clusters in the statistics of a model file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods import NormalInverseWishart
from mapdpm.likelihoods._skipping import plain
from mapdpm.protocol import Matrix, Vector


class Moments(NamedTuple):
    """The weights of clusters (K,), and the weight, mean and M2 of each feature, (K, D); means are a view."""

    weights: Vector
    of_features: Matrix
    means: Matrix
    squares: Matrix

    @classmethod
    def of(cls, likelihood: Any, statistics: Matrix) -> Moments:
        """The moments in rows of 1 + 2 D numbers, of 1 + 3 D with a weight for each feature, or with a factor.

        Squares are -1 where the factor cannot be one.
        """
        D = len(plain(likelihood).m0)
        if isinstance(likelihood, NormalInverseWishart):
            means, weights = statistics[:, 1 : 1 + D], statistics[:, :1]
            with np.errstate(all="ignore"):
                squares = likelihood.moments(statistics)[1] * weights
            squares[~likelihood.are_factors(statistics)] = -1.0
            return cls(weights[:, 0], np.broadcast_to(weights, means.shape), means, squares)
        weights, first = statistics[:, 0], statistics.shape[1] - 2 * D
        counted = statistics[:, 1 : 1 + D] if first > 1 else np.broadcast_to(weights[:, None], (len(weights), D))
        return cls(weights, counted, statistics[:, first : first + D], statistics[:, first + D :])
