"""The run length of Raftery and Lewis."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from mapdpm.protocol import Labels, Vector
from mapdpm.validation import FEWEST_DRAWS, check_draws


class RafteryLewis(NamedTuple):
    """The run length that ``raftery_lewis`` asks for, in draws."""

    thin: float
    """The thinning at which the chain is Markov of first order."""
    burn_in: float
    """M, the number of draws to leave out at the start."""
    n_total: float
    """N, the number of draws to take, including the burn-in."""
    n_min: int
    """The number of independent draws that would be enough."""
    dependence_factor: float
    """I = N / n_min. Above 5 the chain mixes slowly, or has a bad start."""


def raftery_lewis(x: Any, q: float = 0.025, r: float = 0.005, s: float = 0.95, eps: float = 0.001) -> RafteryLewis:
    """The run length at which the q-quantile of x is known to +- r in probability, with probability s.

    Raftery and Lewis (1992), as in their program gibbsit and in ``raftery.diag`` of R's coda. Z_t = 1 if x_t is at most
    the q-quantile of x. k is the smallest thinning at which BIC prefers a Markov chain of first order for Z_k, Z_2k,
    ... to one of second order. With its transition probabilities a = P(0 to 1) and b = P(1 to 0),

    - burn_in = k ceil(log(eps (a + b) / max(a, b)) / log |1 - a - b|): after it P(Z = 1) is within eps of its limit,
    - n_total = burn_in + k ceil(a b (2 - a - b) / (a + b)^3 (phi / r)^2), phi the (1 + s) / 2 quantile of N(0, 1),
    - n_min = ceil(q (1 - q) (phi / r)^2), which is n_total for independent draws.

    Parameters
    ----------
    x : array-like of shape (draws,)
        A pilot run of one chain, with at least n_min draws.
    q, r, s, eps : float
        As above. Raykov2014 measures the iterations of its Gibbs sampler with r = 0.1.

    Returns
    -------
    RafteryLewis
        All fields but n_min are nan if Z never goes from 0 to 1, or never from 1 to 0: x is constant, or has moved once
        from one mode to another. burn_in and n_total are infinite if Z alternates at every step.

    Raises
    ------
    ValueError
        Fewer than n_min draws (as in coda), more than one chain, NaN or infinite draws, parameters out of range.

    Notes
    -----
    O(draws log draws).

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=10_000)
    >>> found = raftery_lewis(x)
    >>> found.n_min, bool(0.8 < found.dependence_factor < 1.2)
    (3746, True)
    """
    _check_goal(q, r, s, eps)
    x = check_draws(x)
    if x.ndim != 1:
        msg = f"x must be one chain, shape (draws,), got shape {x.shape}; take one chain at a time"
        raise ValueError(msg)
    scale = (NormalDist().inv_cdf(0.5 * (1.0 + s)) / r) ** 2
    n_min = math.ceil(q * (1.0 - q) * scale)
    if len(x) < n_min:
        msg = f"x must have at least {n_min} draws for q={q}, r={r}, s={s}, got {len(x)}; take more, or a larger r"
        raise ValueError(msg)
    k, z = _first_order(_at_most_quantile(x, q))
    to = np.bincount(2 * z[:-1] + z[1:], minlength=4).reshape(2, 2)
    if to[0, 1] == 0 or to[1, 0] == 0:
        return RafteryLewis(math.nan, math.nan, math.nan, n_min, math.nan)
    a, b = to[0, 1] / to[0].sum(), to[1, 0] / to[1].sum()
    burn_in = k * _steps_to_forget(float(a), float(b), eps)
    n_total = burn_in + k * math.ceil(a * b * (2.0 - a - b) / (a + b) ** 3 * scale)
    return RafteryLewis(k, burn_in, n_total, n_min, n_total / n_min)


def _check_goal(q: float, r: float, s: float, eps: float) -> None:
    for name, value, most in (("q", q, 1.0), ("r", r, 1.0), ("s", s, 1.0), ("eps", eps, 0.5)):
        if not 0.0 < value < most:
            msg = f"{name} must be > 0 and < {most:g}, got {value}"
            raise ValueError(msg)


def _at_most_quantile(x: Vector, q: float) -> Labels:
    # The quantile of R (type 7, numpy's default) lies between two neighbouring order statistics, so comparing with the
    # lower one is enough. R counts from 1, which matters when (n - 1) q is rounded.
    lower = math.floor(1 + (len(x) - 1) * q) - 1
    return (x <= np.partition(x, lower)[lower]).astype(np.int64)


def _first_order(z: Labels) -> tuple[int, Labels]:
    """The smallest thinning at which BIC prefers a first-order chain, and the thinned z."""
    for k in range(
        1, (len(z) - 1) // (FEWEST_DRAWS - 1) + 1
    ):  # at least four draws are left: two transitions of second order
        thinned = z[::k]
        n = len(thinned) - 2
        counts = np.bincount(4 * thinned[:-2] + 2 * thinned[1:-1] + thinned[2:], minlength=8).reshape(2, 2, 2)
        margin = counts.sum(axis=(0, 2))[None, :, None]
        fitted = counts.sum(axis=2)[:, :, None] * counts.sum(axis=0)[None] / np.maximum(margin, 1)
        seen = counts > 0
        g2 = 2.0 * (counts[seen] * np.log(counts[seen] / fitted[seen])).sum()
        if g2 < 2.0 * math.log(n):
            return k, thinned
    return 1, np.zeros(2, dtype=np.int64)


def _steps_to_forget(a: float, b: float, eps: float) -> float:
    rate = abs(1.0 - a - b)
    if rate in {0.0, 1.0}:
        return math.inf if rate else 0.0
    return math.ceil(math.log(eps * (a + b) / max(a, b)) / math.log(rate))
