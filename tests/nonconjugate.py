"""Families without conjugacy, for tests: a parameter of two values, whose draws can be enumerated; Laplace data."""

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

VALUES = (-1.0, 1.5)
PRIOR = (0.7, 0.3)


class FewMeans(NamedTuple):
    """Normal data of variance 1; the mean is one of VALUES. The proposal is a blunt posterior: not quite right."""

    sharpness: float = 0.6

    def n_parameters(self):
        return 1

    def log_prior(self, parameters):
        for v in range(2):
            if parameters[0] == VALUES[v]:
                return log(PRIOR[v])
        return -np.inf

    def log_likelihood(self, parameters, data, i):
        return -0.5 * (data[i, 0] - parameters[0]) ** 2 - 0.5 * log(2.0 * np.pi)

    def _logw(self, data, points):
        logw = np.zeros(2)
        for v in range(2):
            for i in points:
                logw[v] -= 0.5 * self.sharpness * (data[i, 0] - VALUES[v]) ** 2
        return logw

    def propose(self, parameters, data, points, rng):
        parameters[0] = VALUES[rng.categorical(self._logw(data, points))]

    def log_proposal(self, parameters, data, points):
        logw = self._logw(data, points)
        v = VALUES.index(parameters[0])
        return float(logw[v] - np.logaddexp.reduce(logw))


class LaplaceData(NamedTuple):
    """Data with a Laplace density of scale 1 about a centre, one feature; the centre is normal with deviation s0.

    The proposal is normal about the mean of the points: that of their posterior if they were normal of variance 2.
    """

    s0: float = 5.0

    def n_parameters(self):
        return 1

    def log_prior(self, parameters):
        return -0.5 * (parameters[0] / self.s0) ** 2 - log(self.s0) - 0.5 * log(2.0 * np.pi)

    def log_likelihood(self, parameters, data, i):
        return -abs(data[i, 0] - parameters[0]) - log(2.0)

    def propose(self, parameters, data, points, rng):
        total = 0.0
        for m in range(points.shape[0]):
            total += data[points[m], 0]
        precision = points.shape[0] / 2.0 + 1.0 / self.s0**2
        parameters[0] = total / 2.0 / precision + rng.normal() / precision**0.5

    def log_proposal(self, parameters, data, points):
        total = 0.0
        for m in range(points.shape[0]):
            total += data[points[m], 0]
        precision = points.shape[0] / 2.0 + 1.0 / self.s0**2
        t = parameters[0] - total / 2.0 / precision
        return -0.5 * precision * t * t + 0.5 * log(precision) - 0.5 * log(2.0 * np.pi)


def unnormalised(family: Any, values: Any, data: Any, points: Any) -> Any:
    """p(theta) prod F(x | theta) of each value: for sums and integrals over the parameter."""
    return np.array(
        [
            exp(family.log_prior(np.array([v])) + sum(family.log_likelihood(np.array([v]), data, i) for i in points))
            for v in values
        ]
    )
