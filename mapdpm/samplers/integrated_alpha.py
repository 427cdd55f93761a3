"""alpha integrated out of a table over the number of clusters, then drawn from its posterior."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior
from mapdpm.protocol import RngVerbs, Vector

LEAST_SHAPE = 0.1
"""The least shape of a prior. Tails of log alpha fall by shape nats a nat: with a smaller one more than e^-35 of an
integral is beyond e^350 and e^-350, and squares overflow there."""

_LARGEST_LOG = 350.0
_NEGLIGIBLE = 60.0  # nats below the mode: e^-60 of an integral
_STEPS = 0.6  # of the width of the narrowest peak: trapezes then miss less than 1e-10 at N = 1, and less above


class IntegratedAlpha:
    """The weight of K clusters among N points with alpha integrated out, and exact draws of alpha given N and K.

    A(K) = (1 / K!) integral of alpha^K Gamma(alpha) / Gamma(alpha + N) p(alpha) d alpha (papers: erratum 10). The
    trapezoidal rule is applied in log alpha, where the integrand is log-concave.
    """

    def __init__(self, prior: Any) -> None:
        self.prior = prior
        self._known: dict[int, Vector] = {}

    def log_of_k(self, N: int) -> Vector:
        """log A(K) for K = 0 (not used) to N. Computed once for each N, in O(N^2)."""
        if N not in self._known:
            edges = [self._edge(N, K, sign) for K, sign in ((1, -1.0), (N, 1.0))]
            h = _STEPS / math.sqrt(N + self.prior.shape + 1.0)
            t = np.arange(edges[0], edges[1] + h, h)
            base = np.array([self._log_density(N, 0, each) for each in t])
            values = np.full(N + 1, -np.inf)
            for K in range(1, N + 1):
                terms = K * t + base
                top = terms.max()
                values[K] = top + math.log(h * np.exp(terms - top).sum()) - math.lgamma(K + 1.0)
            self._known[N] = values
        return self._known[N]

    def draw(self, N: int, K: int, rng: RngVerbs) -> float:
        """A draw from p(alpha | N, K), by rejection from an envelope with a flat top and exponential tails."""
        top = math.log(ConcentrationPosterior(N, K, self.prior).mode(of="log alpha"))
        height = self._log_density(N, K, top)
        low, high = (self._below(N, K, top, sign) for sign in (-1.0, 1.0))
        # A log-concave density stays below a chord from its mode, beyond the end of the chord.
        slopes = [(height - self._log_density(N, K, end)) / abs(end - top) for end in (low, high)]
        tails = [math.exp(-slope * abs(end - top)) / slope for slope, end in zip(slopes, (low, high), strict=True)]
        while True:
            u = rng.uniform() * (tails[0] + (high - low) + tails[1])
            if u < tails[0]:
                t = low + math.log(1.0 - rng.uniform()) / slopes[0]
                bound = height - slopes[0] * (top - t)
            elif u < tails[0] + tails[1]:
                t = high - math.log(1.0 - rng.uniform()) / slopes[1]
                bound = height - slopes[1] * (t - top)
            else:
                t, bound = low + (high - low) * rng.uniform(), height
            if rng.accept(self._log_density(N, K, t) - bound):
                return math.exp(t)

    def _log_density(self, N: int, K: int, t: float) -> float:
        """The log density of log alpha, without its unknown constant."""
        return float(ConcentrationPosterior(N, K, self.prior).log_density([math.exp(t)])[0]) + t

    def _below(self, N: int, K: int, top: float, sign: float, nats: float = 1.0) -> float:
        """A point on one side of the mode ``top`` where the log density is lower by ``nats``, or the end of alpha."""
        height, step = self._log_density(N, K, top), 0.05
        furthest = _LARGEST_LOG - sign * top
        while step < furthest and height - self._log_density(N, K, top + sign * step) < nats:
            step *= 1.5
        return top + sign * min(step, furthest)

    def _edge(self, N: int, K: int, sign: float) -> float:
        top = math.log(ConcentrationPosterior(N, K, self.prior).mode(of="log alpha"))
        return self._below(N, K, top, sign, _NEGLIGIBLE)
