"""Randomness, in a few verbs: the only source a sampler or a move may draw from."""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, Vector

_NEGLIGIBLE = 60.0  # nats: such a share is far below the spacing of u, and its exponential need not be computed

_BLOCK = 8
_ROUNDING = 1e-9  # nats


@jitable
def drawn(logw: Vector, u: float) -> int:
    """The index where the cumulated shares of exp(``logw``) pass ``u`` in [0, 1); overwrites ``logw``."""
    top = logw[0]
    for k in range(1, logw.shape[0]):
        top = max(top, logw[k])
    total = 0.0
    for k in range(logw.shape[0]):
        logw[k] = exp(logw[k] - top) if logw[k] >= top - _NEGLIGIBLE else 0.0
        total += logw[k]
    u *= total
    last = 0
    for k in range(logw.shape[0]):
        if logw[k] > 0.0:
            last = k
            u -= logw[k]
            if u < 0.0:
                return k
    return last  # rounding may leave u at 0


@jitable
def drawn_by_weight(weights: Vector, u: float) -> int:
    """The index where the cumulated ``weights`` pass ``u`` in [0, 1) of their sum.

    Blocks are summed first, of which one is searched: their sums do not wait for each other.
    """
    n = weights.shape[0]
    whole = n - n % _BLOCK
    total = 0.0
    for begin in range(0, whole, _BLOCK):
        total += sum_of_block(weights, begin)
    for k in range(whole, n):
        total += weights[k]
    u *= total
    first = 0
    while first < whole:
        part = sum_of_block(weights, first)
        if u < part:
            break
        u -= part
        first += _BLOCK
    for k in range(first, n):
        if u < weights[k]:
            return k
        u -= weights[k]
    last = n - 1  # rounding may leave u at 0, and so do weights that are all 0
    while last > 0 and weights[last] == 0.0:
        last -= 1
    return last


@jitable
def sum_of_block(w: Vector, k: int) -> float:
    """The sum of the ``_BLOCK`` entries from ``k`` on."""
    return ((w[k] + w[k + 1]) + (w[k + 2] + w[k + 3])) + ((w[k + 4] + w[k + 5]) + (w[k + 6] + w[k + 7]))


class Rng(NamedTuple):
    """The verbs over a numpy ``Generator``, in plain Python and under numba alike.

    Tests put an enumerating twin in its place, which walks every choice and so yields exact transition matrices.

    Examples
    --------
    >>> rng = seeded(0)
    >>> rng.categorical(np.array([-np.inf, 0.0]))
    1
    """

    generator: np.random.Generator

    def categorical(self, logw: Vector) -> int:
        return drawn(logw, self.generator.random())

    def by_weight(self, weights: Vector) -> int:
        return drawn_by_weight(weights, self.generator.random())

    def integer(self, n: int) -> int:
        return min(int(self.generator.random() * n), n - 1)

    def accept(self, log_ratio: float) -> bool:
        return log_ratio >= 0.0 or log(1.0 - self.generator.random()) < log_ratio

    def chance(self, probability: float) -> bool:
        return self.generator.random() < probability

    def uniform(self) -> float:
        return self.generator.random()

    def normal(self) -> float:
        return self.generator.standard_normal()

    def gamma(self, shape: float) -> float:
        return self.generator.standard_gamma(shape)

    def log_gamma(self, shape: float) -> float:
        # However small the shape: G(a) = G(a + 1) u^(1 / a).
        return log(self.generator.standard_gamma(shape + 1.0)) + log(1.0 - self.generator.random()) / shape

    def log_odds(self, a: float, b: float) -> float:
        return self.log_gamma(a) - self.log_gamma(b)


class Uniforms(NamedTuple):
    """The verb ``categorical`` by numbers in [0, 1) that were drawn before; ``position`` is the next one's."""

    values: Vector
    position: Labels

    def categorical(self, logw: Vector) -> int:
        at = self.position[0]
        self.position[0] = at + 1
        return drawn(logw, self.values[at])


class Climbing(NamedTuple):
    """The verbs of ``Rng`` for a kernel that climbs: the best of all choices, and proposals only if they gain.

    What is proposed is still drawn; normal and gamma draws are in the middle. Without ``climbs`` verbs draw as those of
    ``Rng``: a long kernel that does both is compiled once.
    """

    generator: np.random.Generator
    climbs: bool

    def categorical(self, logw: Vector) -> int:
        return int(np.argmax(logw)) if self.climbs else Rng(self.generator).categorical(logw)

    def by_weight(self, weights: Vector) -> int:
        return int(np.argmax(weights)) if self.climbs else Rng(self.generator).by_weight(weights)

    def integer(self, n: int) -> int:
        return Rng(self.generator).integer(n)

    def accept(self, log_ratio: float) -> bool:
        return log_ratio > _ROUNDING if self.climbs else Rng(self.generator).accept(log_ratio)

    def chance(self, probability: float) -> bool:
        return Rng(self.generator).chance(probability)

    def normal(self) -> float:
        return 0.0 if self.climbs else Rng(self.generator).normal()

    def log_gamma(self, shape: float) -> float:
        return log(shape) if self.climbs else Rng(self.generator).log_gamma(shape)


def seeded(random_state: int | np.random.Generator | np.random.RandomState | None) -> Rng:
    """An ``Rng`` from what users pass as ``random_state``: None, an integer, or one of numpy's generators."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    try:
        return Rng(np.random.default_rng(random_state))
    except (TypeError, ValueError):
        msg = f"random_state must be None, an integer >= 0, or a generator of numpy, got {random_state!r}"
        raise ValueError(msg) from None
