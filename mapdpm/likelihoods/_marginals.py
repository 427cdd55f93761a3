"""Log marginals of many clusters of one column at once, under many priors: NormalGamma with a step, and GammaPoisson.

The formulas are those of the families, maths (6) and (42), in numpy: the verbs take one cluster at a time. Clusters are
given by their weight n, their mean, and their sum of squared deviations from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mapdpm.protocol import Matrix, Vector
from mapdpm.special import log_rising_of_arrays

_WIDTHS = 10.0 ** -np.arange(0.0, 5.01, 0.5)  # variances within clusters, as shares of that of all points
_SHAPES = np.array([1.0, 4.0, 30.0])
_RATE_SHAPES = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0])
_FINEST = 0.1  # a width far below the variance within a step, q^2 / 12, is that variance


class NormalMarginals(NamedTuple):
    """Normal-Gamma priors of one column of mean 0 and variance 1, and the step of its values.

    Clusters have a variance of ``width``, known as well as from 2 ``shape`` points; their means vary as all points do.
    """

    widths: Vector
    shapes: Vector
    step: float

    @classmethod
    def of_step(cls, step: float) -> NormalMarginals:
        """Priors of all shapes, and of widths from that of all points down to that within a step."""
        widths = _WIDTHS[(_FINEST * step**2 / 12.0 <= _WIDTHS) | (_WIDTHS == 1.0)]
        shapes = np.repeat(_SHAPES, len(widths))
        return cls(np.tile(widths, len(_SHAPES)), shapes, step)

    def of(self, n: Vector, mean: Vector, squares: Vector) -> Matrix:
        """A line a prior, a column a cluster; maths (6), with q^2 / 12 for each point."""
        shapes, first = np.unique(self.shapes, return_inverse=True)
        rising = log_rising_of_arrays(shapes[:, None], 0.5 * n)[first]
        b0 = (self.shapes * self.widths)[:, None]
        c0, a = self.widths[:, None], self.shapes[:, None] + 0.5 * n
        grown = 0.5 * (squares + n * (self.step**2 / 12.0)) + 0.5 * n * mean**2 * (c0 / (c0 + n))
        total: Matrix = rising - 0.5 * np.log1p(n / c0) - 0.5 * n * np.log(2.0 * np.pi)
        return total - a * np.log(b0 + grown) + self.shapes[:, None] * np.log(b0)


class CountMarginals(NamedTuple):
    """Gamma priors of the rates of counts, whose mean is that of all points."""

    shapes: Vector
    mean: float

    @classmethod
    def of_mean(cls, mean: float) -> CountMarginals:
        """Priors of many shapes."""
        return cls(_RATE_SHAPES, mean)

    def of(self, n: Vector, mean: Vector, squares: Vector) -> Matrix:  # noqa: ARG002  (counts do not need them)
        """A line a prior, a column a cluster; maths (42) without the sum of log x!, which all clusters share."""
        a0 = self.shapes[:, None]
        b0, events = a0 / self.mean, n * mean
        return log_rising_of_arrays(a0, events) - a0 * np.log1p(n / b0) - events * np.log(b0 + n)
