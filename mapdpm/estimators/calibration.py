"""The rank of a point among those of a fit, by the log density: a tail probability (maths, section 30)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Labels, Vector

_TAIL = 16  # points of the tail, whose lower half says how it goes on
_KEPT, _KEPT_TAIL = 1024, 64  # depths; those of the deepest points are all kept
_RARE = 0.1  # of the weight: rare clusters together have no more
_SMALL = 0.75  # of the mean weight of a cluster: a rare one has less


class Calibration(NamedTuple):
    """Depths (less log densities) of points of a fit, rising, and how many points are as deep or deeper."""

    depths: Vector
    above: Labels

    @classmethod
    def of(cls, depths: Vector) -> Calibration:
        """That of all these points, thinned to some."""
        rising, n = np.sort(depths), len(depths)
        kept = np.arange(n)
        if n > _KEPT:
            kept = np.append(np.linspace(0, n - _KEPT_TAIL - 1, _KEPT - _KEPT_TAIL).round(), kept[-_KEPT_TAIL:])
        places = kept.astype(np.int64)
        return cls(rising[places], n - places)

    def log_surprises(self, depths: Vector, *, own: bool) -> Vector:
        """The log of the share of points that are expected to be as deep or deeper; ``own`` points are among them.

        Of the n points, A are as deep: (A + 1) / (n + 1), the conformal p-value. Beyond the 16 deepest, (120) of their
        depths. Falls with the depth.
        """
        others = 1.0 if own else 0.0
        n = float(self.above[0]) - others
        as_deep = np.interp(depths, self.depths, self.above) - others
        found = np.log((np.maximum(as_deep, 0.0) + 1.0) / (n + 1.0))
        m = min(_TAIL, (len(self.depths) - 1) // 2)
        if m > 0:
            start = self.depths[-m - 1]
            r, excesses = -(-m // 2), self.depths[-m:] - start
            scale = 1.0 + excesses[:r].sum() + (m - r) * excesses[r - 1]
            c = np.maximum((depths - start) / scale, 0.0)
            found = np.where(c > 0.0, np.log((m + 1.0) / (n + 1.0)) - c - r * np.log1p(c), found)
        return np.minimum(found, 0.0)


def rare_clusters(weights: Vector) -> NDArray[np.bool_]:
    """Which clusters are rare: the lightest, a tenth of the weight at most, each below three quarters of the mean."""
    order = np.argsort(weights, kind="stable")
    rare = np.zeros(len(weights), dtype=bool)
    rare[order] = np.cumsum(weights[order]) <= _RARE * weights.sum()
    return rare & (weights < _SMALL * weights.mean())
