"""A family without conjugacy to copy: data with a Laplace density. Its verbs are those of ``NonconjugateVerbs``.

Rules: constants are included; verbs are plain scalar code that numba compiles; ``propose`` does not read what it fills.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from mapdpm.jit import jitable
from mapdpm.likelihoods._moments import LOG_2PI
from mapdpm.protocol import Labels, RngVerbs, Vector

_VARIANCE = 2.0  # of a Laplace density of scale 1


class LaplaceData(NamedTuple):
    """One feature with a Laplace density of scale 1 about a centre, which is normal about 0 with deviation ``s0``.

    The proposal is normal: the posterior of the centre if the data were normal with the same variance.

    Examples
    --------
    >>> LaplaceData(s0=5.0).n_parameters()
    1
    """

    s0: float = 5.0

    def n_parameters(self) -> int:
        return 1

    def log_prior(self, parameters: Vector) -> float:
        return float(-0.5 * (parameters[0] / self.s0) ** 2 - log(self.s0) - 0.5 * LOG_2PI)

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return float(-abs(data[i, 0] - parameters[0]) - log(2.0))

    def propose(self, parameters: Vector, data: Any, points: Labels, rng: RngVerbs) -> None:
        mean, precision = _normal_posterior(self, data, points)
        parameters[0] = mean + rng.normal() / precision**0.5

    def log_proposal(self, parameters: Vector, data: Any, points: Labels) -> float:
        mean, precision = _normal_posterior(self, data, points)
        t = parameters[0] - mean
        return float(0.5 * log(precision) - 0.5 * LOG_2PI - 0.5 * precision * t * t)


@jitable
def _normal_posterior(prior: LaplaceData, data: Any, points: Labels) -> tuple[float, float]:
    """Mean and precision of the centre, were the data normal."""
    total = 0.0
    for m in range(points.shape[0]):
        total += data[points[m], 0] / _VARIANCE
    precision = points.shape[0] / _VARIANCE + 1.0 / prior.s0**2
    return total / precision, precision
