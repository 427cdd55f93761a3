"""The special functions that the mathematics needs, accurate where the textbook form cancels."""

from __future__ import annotations

from math import exp, expm1, inf, lgamma, log, log1p, pi
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapdpm.jit import jitable
from mapdpm.protocol import Vector

Real = TypeVar("Real", float, Vector)

LARGE_COUNT = 1000.0
"""From here on counts take the forms that do not cancel: below, x log x is so small that rounding it does no harm."""

_STIRLING_FROM = 10.0
_NO_STEPS_FROM = 1e20
"""From here on ten steps are a rounding; the product of more would be too large for a float."""
_HALF_LOG_2PI = 0.5 * log(2.0 * pi)


@jitable
def _stirling_tail(x: Real) -> Real:
    """LnGamma(x) minus its Stirling formula, for x >= 10, to 1e-15 (Abramowitz and Stegun 6.1.41)."""
    r = 1.0 / (x * x)
    tail = 1.0 / 1188.0 - r * (691.0 / 360360.0)
    return (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r * tail)))) / x


@jitable
def log_rising(a: float, h: float) -> float:
    """LnGamma(a + h) - lnGamma(a), the log of the rising factorial, for a > 0 and a + h > 0.

    A difference of two ``lgamma`` loses digits where both are large (2e-10 at a = 1e5); this one never forms them.
    """
    shift = 1.0
    while a < _STIRLING_FROM or a + h < _STIRLING_FROM:
        shift *= a / (a + h)
        a += 1.0
    stirling = (a - 0.5) * log1p(h / a) + h * (log(a + h) - 1.0)
    return log(shift) + stirling + (_stirling_tail(a + h) - _stirling_tail(a))


@jitable
def log_gamma_excess(x: float) -> float:
    """LnGamma(x) - x ln x + x for x > 0: lnGamma without its large terms."""
    if x < _STIRLING_FROM:
        return lgamma(x) - x * log(x) + x
    return _HALF_LOG_2PI - 0.5 * log(x) + _stirling_tail(x)


@jitable
def multigamma_excess(nu: float, D: int) -> float:
    """sum_{j < D} lnGamma((nu - j) / 2) less D (nu / 2 ln(nu / 2) - nu / 2), its large terms; for nu > D - 1."""
    total = 0.0
    for j in range(D):
        a = 0.5 * (nu - j)
        total += log_gamma_excess(a) + a * log1p(-j / nu) - 0.5 * j * (log(0.5 * nu) - 1.0)
    return total


_MOST_IN_TABLE = 256
_LOG_FACTORIALS = np.array([lgamma(x + 1.0) for x in range(_MOST_IN_TABLE + 1)])


@jitable
def log_factorial(x: float) -> float:
    """Log x!, for x >= 0; by a table for small x, and by Stirling's formula for large x, where ``lgamma`` differs."""
    if x <= _MOST_IN_TABLE and x == int(x):
        return float(_LOG_FACTORIALS[int(x)])
    if x < LARGE_COUNT:
        return lgamma(x + 1.0)
    return log_gamma_excess(x) + log(x) + x * (log(x) - 1.0)


@jitable
def log_count_gain(a: float, b: float, x: float, w: float) -> float:
    """Log of b^a Gamma(a + w x) / ((b + w)^(a + w x) Gamma(a) x!^w), for large x.

    With w = 1 it is the log of the negative binomial density of x. Its terms are of size x log x and cancel. In
    Loader's form ("Fast and accurate computation of binomial probabilities", 2000) they cancel by algebra: the
    deviances of a and w x from the shares b / (b + w) and w / (b + w) of their sum are left, and small terms.
    """
    h = w * x
    off = w * (a - x * b) / (b + w)
    small = log_gamma_excess(a + h) - log_gamma_excess(a) - w * (log_gamma_excess(x) + log(x))
    return small - _deviance(a, (a + h) * (b / (b + w)), -off) - _deviance(h, (a + h) * (w / (b + w)), off)


@jitable
def _deviance(x: float, m: float, off: float) -> float:
    """X log(x / m) + m - x for x, m > 0 and their difference off = m - x, which the caller knows to more digits."""
    if m < 0.5 * x:
        return x * log(x / m) + off
    return x * log1p_excess(off / x)


@jitable
def log1p_excess(y: float) -> float:
    """Y - log(1 + y) for y >= -1/2, without the cancellation of small y."""
    if y > 1.0:
        return y - log1p(y)
    r = y / (2.0 + y)  # log1p(y) = 2 atanh(r), and y - 2 r = r y
    power, total = r, 0.0
    for k in range(3, 39, 2):
        power *= r * r
        total += power / k
    return r * y - 2.0 * total


def digamma_difference(x: float, h: float) -> tuple[float, float, float]:
    """Psi(x + h) - psi(x) for x >= 1 and h >= 0; the same less log(1 + h / x); and psi'(x) - psi'(x + h).

    A difference of two digammas loses digits where h is small against x (1e-6 of it at x = 1e10); this one never forms
    them. For whole h they are the sums of 1 / (x + i) and of 1 / (x + i)^2 over i < h.
    """
    first, shifted, squares = x, 0.0, 0.0
    while x < _STIRLING_FROM:
        shifted += 1.0 / x - 1.0 / (x + h)
        squares += 1.0 / (x * x) - 1.0 / ((x + h) * (x + h))
        x += 1.0
    rest = h / (2.0 * x * (x + h)) + _digamma_tail(x) - _digamma_tail(x + h)
    squares += (
        h / (x * (x + h)) * (1.0 + (2.0 * x + h) / (2.0 * x * (x + h))) + _trigamma_tail(x) - _trigamma_tail(x + h)
    )
    if x > first:
        difference = shifted + log1p(h / x) + rest
        return difference, difference - log1p(h / first), squares
    return log1p(h / x) + rest, rest, squares


@jitable
def _digamma_tail(x: Real) -> Real:
    """Log x - 1 / (2 x) - psi(x) for x >= 10, to 1e-16 (Abramowitz and Stegun 6.3.18)."""
    r = 1.0 / (x * x)
    return r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))


def _trigamma_tail(x: Real) -> Real:
    """Psi'(x) - 1 / x - 1 / (2 x^2) for x >= 10, to 1e-16 (Abramowitz and Stegun 6.4.12)."""
    r = 1.0 / (x * x)
    return r / x * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * (5 / 66)))))


def log_rising_of_arrays(a: NDArray[np.float64], n: NDArray[Any]) -> NDArray[np.float64]:
    """``log_rising`` for arrays a > 0 and n > 0: ten steps lead to where Stirling's formula holds."""
    small = np.minimum(a, _NO_STEPS_FROM)
    last = small + n
    product, other = small.copy(), last.copy()
    for i in range(1, int(_STIRLING_FROM)):
        product *= small + i
        other *= last + i
    x = a + _STIRLING_FROM
    y = x + n
    difference = (x - 0.5) * np.log1p(n / x) + n * (np.log(y) - 1.0)
    total: NDArray[np.float64] = np.log(product / other)
    return total + difference + (_stirling_tail(y) - _stirling_tail(x))


def rising_moments(a: Vector, n: NDArray[Any]) -> tuple[Vector, Vector]:
    """For arrays a > 0 and n > 0: a (psi(a + n) - psi(a)), and a^2 (psi'(a) - psi'(a + n)).

    For whole n these are the sums over i < n of p_i = a / (a + i), and of p_i^2: the first is the derivative of
    log a^(n) by log a; less the second it is the next derivative. Ten steps lead to where the asymptotic series hold.
    No difference cancels.
    """
    i = np.arange(_STIRLING_FROM)[:, None]
    p, r = a / (a + i), n / (a + n + i)
    x = a + _STIRLING_FROM
    width, ends = n / (x * (x + n)), np.stack([x, x + n])
    tails, squared = _digamma_tail(ends), _trigamma_tail(ends)
    difference = np.log1p(n / x) + 0.5 * width + (tails[0] - tails[1])
    squares = width * (1.0 + 0.5 / x + 0.5 / (x + n)) + (squared[0] - squared[1])
    return (p * r).sum(axis=0) + a * difference, (p * p * r * (2.0 - r)).sum(axis=0) + a * a * squares


@jitable
def digamma_of(x: float) -> float:
    """Psi(x) for a number x > 0, as ``digamma``; for kernels."""
    steps = 0.0
    while x < _STIRLING_FROM:
        steps += 1.0 / x
        x += 1.0
    return log(x) - 0.5 / x - _digamma_tail(x) - steps


def digamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Psi(x) for an array x > 0; ten steps lead to where its asymptotic series holds."""
    steps: NDArray[np.float64] = sum((1.0 / (x + i) for i in range(int(_STIRLING_FROM))), np.zeros_like(x))
    y = x + _STIRLING_FROM
    return np.log(y) - 0.5 / y - _digamma_tail(y) - steps


def trigamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Psi'(x) for an array x > 0, as ``digamma``."""
    steps: NDArray[np.float64] = sum((1.0 / (x + i) ** 2 for i in range(int(_STIRLING_FROM))), np.zeros_like(x))
    y = x + _STIRLING_FROM
    return 1.0 / y + 0.5 / (y * y) + _trigamma_tail(y) + steps


def log_waiting_time(log_p: float, q: float, n: float) -> float:
    """Log of the expected number of independent trials until n successes in a row, maths (140).

    ``log_p`` is the log probability of a success, and ``q`` = 1 - p; -inf for n = 0. Both are given, so that neither a
    p near 0 nor one near 1 loses digits.

    Examples
    --------
    >>> round(exp(log_waiting_time(log(0.5), 0.5, 3)), 9)  # three heads
    14.0
    """
    if n <= 0.0:
        return -inf
    if q <= 0.0:
        return log(n)
    growth = -n * log_p
    return growth + log1p(-exp(-growth)) - log(q) if growth > 1.0 else log(expm1(growth)) - log(q)


def log_cycle(log_p: float, pause: int, n: int) -> float:
    """Log of the expected number of trials from one run of n successes to the next, maths (142).

    After a run, the next one can begin when there were ``pause`` failures in a row. ``log_p`` is the log probability of
    a success.

    Examples
    --------
    >>> round(exp(log_cycle(log(0.5), 1, 1)), 9)  # two trials until a failure, two more until a success
    4.0
    """
    p = exp(log_p)
    waits = log_waiting_time(log_p, -expm1(log_p), n)
    lasts = log_waiting_time(log1p(-p), p, pause) if p < 1.0 else inf
    largest = max(waits, lasts)
    return largest + log(exp(waits - largest) + exp(lasts - largest))
