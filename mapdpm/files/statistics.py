"""The moments of clusters in the statistics of a model file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mapdpm.protocol import Matrix, Vector


class Moments(NamedTuple):
    """Views of the statistics of clusters: their weights (K,), and of each feature weight, mean and M2, (K, D)."""

    weights: Vector
    of_features: Matrix
    means: Matrix
    squares: Matrix

    @classmethod
    def of(cls, statistics: Matrix, D: int) -> Moments:
        """The moments in rows of 1 + 2 D numbers, or of 1 + 3 D with a weight for each feature."""
        weights, first = statistics[:, 0], statistics.shape[1] - 2 * D
        counted = statistics[:, 1 : 1 + D] if first > 1 else np.broadcast_to(weights[:, None], (len(weights), D))
        return cls(weights, counted, statistics[:, first : first + D], statistics[:, first + D :])
