"""Sums and shares of weights that are given by their logarithms."""

from __future__ import annotations

from math import exp, inf, log, log1p

from mapdpm.jit import jitable
from mapdpm.protocol import Vector


@jitable
def log_sum(terms: Vector) -> float:
    """The log of the sum of exp(terms)."""
    top = terms.max()
    if top == -inf:
        return -inf
    total = 0.0
    for a in range(terms.shape[0]):
        total += exp(terms[a] - top)
    return float(top + log(total))


@jitable
def log_half_sum(first: float, second: float) -> float:
    """log((exp(first) + exp(second)) / 2)."""
    top = max(first, second)
    return top + log1p(exp(min(first, second) - top)) - log(2.0)


@jitable
def log_share(odds: float) -> float:
    """log(1 / (1 + exp(-odds)))."""
    return -log1p(exp(-odds)) if odds >= 0.0 else odds - log1p(exp(odds))
