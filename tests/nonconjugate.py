"""A family without conjugacy, for tests: a parameter of two values, whose draws can be enumerated."""

from math import log
from typing import NamedTuple

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
