"""The posterior of the concentration of a Dirichlet or Pitman-Yor process given a partition: its mode and its curve."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mapdpm.partition_priors.hyperpriors import InverseGammaPrior
from mapdpm.protocol import Vector
from mapdpm.special import digamma_difference, log1p_excess, log_rising
from mapdpm.validation import check_number, refuse_value

MOST_STEPS = 30
"""Newton steps to the mode, from any start within [1e-6, 1e6]; a test counts them."""

_NEAR = 1e-8  # a Newton step of log alpha so short leaves an error of about its square
_CANCELS = 1e6  # alphas so many times N: ten digits of the slope would be lost
_FARTHEST = 230.0  # nats of log alpha: 1e-100 to 1e100
_FARTHEST_MODE, _SPACING = 40.0, 0.25  # of the grid of log alpha with a discount; the terms of the slope are wider


class NoInteriorModeError(ValueError):
    """The density has its largest values at an end: alpha = 0, or infinity."""


class ConcentrationPosterior(NamedTuple):
    r"""p(alpha | N, K) proportional to Gamma(alpha) / Gamma(alpha + N) alpha^K p(alpha)  (Raykov2014 (25), (26)).

    Only the numbers of points and of clusters of a partition inform about alpha (maths (31)). With a discount d, of a
    Pitman-Yor process, alpha^K is prod_{k < K} (alpha + k d), the factor of maths (2) in which alpha is.

    Examples
    --------
    >>> posterior = ConcentrationPosterior(1000, 12, InverseGammaPrior())
    >>> print(f"{posterior.mode():.4f}")
    1.5929
    """

    n_points: int
    n_clusters: int
    prior: Any = InverseGammaPrior()
    discount: float = 0.0

    def log_density(self, alphas: Any) -> Vector:
        """log p(alpha | N, K) less its unknown constant, for each of ``alphas`` > 0, in nats."""
        N, K, d = self.n_points, self.n_clusters, self.discount
        if d == 0.0:
            values = [K * math.log(a) - log_rising(a, float(N)) + self.prior.log_density(a) for a in _positive(alphas)]
        else:
            values = [
                log_rising(a / d + 1.0, K - 1.0) - log_rising(a + 1.0, N - 1.0) + self.prior.log_density(a)
                for a in _positive(alphas)
            ]
        return np.array(values)

    def curve(self, alphas: Any) -> Vector:
        """p(log alpha | N, K) at each of ``alphas``, scaled so that its integral over log alpha is 1.

        The integral uses the trapezoidal rule, where the density is within exp(-40) of its largest value.
        """
        centre = math.log(self.mode(of="log alpha"))
        top = float(self._log_density_of_log(np.array([centre]))[0])
        low, high = (self._where_negligible(centre, sign, top) for sign in (-1.0, 1.0))
        t = np.linspace(low, high, 4001)
        density = np.exp(self._log_density_of_log(t) - top)
        whole = float(((density[1:] + density[:-1]) * np.diff(t)).sum()) / 2.0
        return np.exp(self._log_density_of_log(np.log(_positive(alphas))) - top) / whole

    def mode(self, of: str = "alpha", start: float = 1.0) -> float:
        """The mode of the density of alpha; with ``of="log alpha"``, the mode of the density of log alpha.

        The density of log alpha is log-concave. The density of alpha is that over alpha, so its mode is lower. With
        S(alpha) = sum_{i < N} alpha / (alpha + i), the expected number of clusters, modes solve S(alpha) + r alpha - s
        / alpha = c (maths (32)). Both sides are monotone, so there is one solution, or none. Newton steps in log alpha
        stay within an interval that encloses it. With a discount the density is not log-concave: all maxima are
        bracketed on a grid of log alpha, and the highest is returned; ``start`` does not matter.

        Raises
        ------
        NoInteriorModeError
            There is none: under a Gamma prior of shape at most 1, the density of alpha is largest at 0 for a single
            cluster; under a prior of rate 0, at infinity where each point is a cluster. With a discount, also in other
            cases. (That the density is infinite at 0, under a Gamma prior of shape below 1, does not count there.)
        """
        c = self._exponent(of)
        r, s = self.prior.rates
        if self.discount > 0.0:
            return self._highest(of)
        if (c <= 1.0 and s == 0.0) or (c >= self.n_points and r == 0.0):
            raise self._no_mode("0" if c <= 1.0 else "infinity")
        return math.exp(self._solved(c, math.log(check_number("start", start)))[0])

    def _no_mode(self, end: str) -> NoInteriorModeError:
        given = f"N={self.n_points}, K={self.n_clusters}" + (f", d={self.discount:g}" if self.discount else "")
        other = ", or the mode of='log alpha'" if end == "0" else ""
        msg = f"p(alpha | {given}) has no interior mode under {self.prior}: it is largest at {end}"
        msg += f"; take another prior{other}"
        return NoInteriorModeError(msg)

    def _highest(self, of: str) -> float:
        """The highest interior maximum with a discount: all are bracketed by changes of sign of the slope."""
        own = self._exponent(of) - self.n_clusters
        infinite_at_0 = own < 0.0 and self.prior.rates[1] == 0.0
        grid = np.arange(-_FARTHEST_MODE, _FARTHEST_MODE + _SPACING, _SPACING).tolist()
        slopes = [self._slope(t, own) for t in grid]
        maxima = [
            self._bisected(left, right, own)
            for left, right, rises, falls in zip(grid, grid[1:], slopes, slopes[1:], strict=False)
            if rises > 0.0 >= falls
        ]

        def height(t: float) -> float:
            return float(self.log_density([math.exp(t)])[0]) + (t if of == "log alpha" else 0.0)

        best = max(maxima, key=height, default=None)
        if best is None or (not infinite_at_0 and height(grid[0]) >= height(best)):
            raise self._no_mode("infinity" if best is None and slopes[-1] > 0.0 else "0")
        return math.exp(best)

    def _slope(self, t: float, own: float) -> float:
        """The slope of the log density by log alpha: sums of alpha / (alpha + k d) and alpha / (alpha + i), in O(1)."""
        alpha, d = math.exp(t), self.discount
        r, s = self.prior.rates
        clusters = alpha / d * digamma_difference(alpha / d + 1.0, self.n_clusters - 1.0)[0]
        return clusters - alpha * digamma_difference(alpha + 1.0, self.n_points - 1.0)[0] + own - r * alpha + s / alpha

    def _bisected(self, low: float, high: float, own: float) -> float:
        """The place between ``low``, where the density rises, and ``high``, where it falls, of its maximum."""
        while low < (middle := (low + high) / 2.0) < high:
            low, high = (middle, high) if self._slope(middle, own) > 0.0 else (low, middle)
        return middle

    def _exponent(self, of: str) -> float:
        if of not in ("alpha", "log alpha"):
            refuse_value("of must be 'alpha' or 'log alpha'", of)
        return self.n_clusters + float(self.prior.exponent) - (of == "alpha")

    def _solved(self, c: float, t: float) -> tuple[float, int]:
        """The solution of S + r alpha - s / alpha = c in log alpha, and the Newton steps that it took."""
        low, high = -_FARTHEST, _FARTHEST
        for step in range(1, MOST_STEPS + 1):
            gap, move = self._newton(c, t)
            low, high = (t, high) if gap < 0.0 else (low, t)
            if abs(move) <= _NEAR:
                return t + move, step
            to = t + move
            t = to if low < to < high else (low + high) / 2.0
        return t, MOST_STEPS

    def _newton(self, c: float, t: float) -> tuple[float, float]:
        """The sign of S + r alpha - s / alpha - c, and a step towards where that is 0.

        Two forms of the equation, with positive terms on both sides and in logarithms, are nearly straight lines: one
        for small alpha, where S is near 1, the other for large, where it is near N. The other one is flat there and
        gives too long a step, so the shorter step is used.
        """
        alpha, N = math.exp(t), self.n_points
        r, s = self.prior.rates
        above, below, slope = expected_clusters(alpha, N)  # S - 1, N - S, and the derivative of S by log alpha
        # (S - 1) + (1 - c)+ + r alpha = (c - 1)+ + s / alpha
        one = _line(
            (above + max(1.0 - c, 0.0) + r * alpha, slope + r * alpha), (max(c - 1.0, 0.0) + s / alpha, -s / alpha)
        )
        # (N - c)+ + r alpha = (N - S) + (c - N)+ + s / alpha
        two = _line((max(N - c, 0.0) + r * alpha, r * alpha), (below + max(c - N, 0.0) + s / alpha, -slope - s / alpha))
        gap = one[0] if c <= N / 2.0 else two[0]
        return gap, min((one[1], two[1]), key=abs)

    def _log_density_of_log(self, t: Vector) -> Vector:
        return self.log_density(np.exp(t)) + t

    def _where_negligible(self, centre: float, sign: float, top: float) -> float:
        width = 0.5
        while width < _FARTHEST / 2.0:
            value = self._log_density_of_log(np.array([centre + sign * width]))[0]
            if value < top - 40.0:
                break
            width *= 1.5
        return centre + sign * width


def expected_clusters(alpha: float, n_points: int) -> tuple[float, float, float]:
    """S - 1, N - S and dS / dlog alpha, for S(alpha) = sum_{i < N} alpha / (alpha + i), each to a few roundings.

    S is the expected number of clusters of N points under a Dirichlet process. Where alpha is large against N it is
    near N, so N - S is made of terms that do not cancel: with y = (N - 1) / (alpha + 1) and digamma difference
    log1p(y) + rest, it is y + alpha (y - log1p(y)) - alpha rest.
    """
    h = n_points - 1.0
    if h == 0.0:
        return 0.0, 0.0, 0.0
    difference, rest, squares = digamma_difference(alpha + 1.0, h)
    y = h / (alpha + 1.0)
    below = y + alpha * (log1p_excess(y) - rest)
    # sum_i alpha i / (alpha + i)^2; only a slope: where its terms cancel, it is N - S to as many digits as are needed
    slope = alpha * (difference - alpha * squares) if alpha < _CANCELS * h else below
    return alpha * difference, below, slope


def _line(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    """log left - log right, and the Newton step from the slopes by log alpha; inf if they are flat."""
    if left[0] <= 0.0 or right[0] <= 0.0:
        return (math.inf if left[0] > 0.0 else -math.inf if right[0] > 0.0 else 0.0), math.inf
    gap = math.log(left[0] / right[0])
    slope = left[1] / left[0] - right[1] / right[0]
    return gap, -gap / slope if slope > 0.0 else math.inf


def _positive(alphas: Any) -> Vector:
    values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if not np.all((values > 0.0) & np.isfinite(values)):
        refuse_value("alphas must be > 0 and finite", alphas)
    return values
