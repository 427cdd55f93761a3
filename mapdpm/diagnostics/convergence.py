"""Has a chain run long enough? Effective sample size, R-hat, Geweke's z."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from mapdpm.diagnostics.autocorrelation import autocorrelation, chains_of, geyer_time, halves_of, is_constant, mean_time
from mapdpm.protocol import Matrix, Vector
from mapdpm.validation import FEWEST_DRAWS, check_draws

_NORMAL = NormalDist()


def effective_sample_size(x: Any, method: str = "bulk") -> float:
    """How many independent draws would be worth as much: chains x draws / autocorrelation time.

    Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), (10) to (13): chains are cut in halves, so that a drift
    counts against them, and the autocorrelations of all are put together. Those are summed in pairs as long as pairs
    are positive, each at most the one before (Geyer 1992), as Stan, posterior and ArviZ do it.

    Parameters
    ----------
    x : array-like of shape (chains, draws) or (draws,)
        At least 4 draws; the middle one of an odd number is left out.
    method : {"bulk", "mean"}
        "bulk": of the ranks of the draws as normal scores, so that heavy tails do no harm. "mean": of the draws
        themselves, for the error of their mean.

    Returns
    -------
    float
        At most S log10(S) for S draws in all (antithetic chains are worth more than S); nan where all draws are equal,
        since a chain that never moved does not tell how fast it moves. (ArviZ says S there.)

    Raises
    ------
    ValueError
        Too few draws, more than two axes, NaN or infinite draws, an unknown method.

    Notes
    -----
    O(S log S).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4, 1000))
    >>> 3000.0 < effective_sample_size(x) < 5000.0
    True
    >>> effective_sample_size(np.repeat(x, 10, axis=1)) < 500.0 * 10
    True
    """
    if method not in {"bulk", "mean"}:
        msg = f'method must be "bulk" or "mean", got {method!r}'
        raise ValueError(msg)
    halves = halves_of(chains_of(x))
    return halves.size / mean_time(_normal_scores(halves) if method == "bulk" else halves)


def r_hat(x: Any) -> float:
    """Rank-normalised split R-hat: 1 where chains agree with one another, and with themselves over time.

    Vehtari et al. (2021), (4) and section 4: R-hat^2 = ((n - 1) W + B) / (n W), with W the mean variance within the
    halves of the chains and B that between their means times n, of normal scores of ranks: of the draws (do chains
    agree in location?), and of their distances from the median (in scale?). The larger of the two. Sampling should go
    on above 1.01.

    Parameters
    ----------
    x : array-like of shape (chains, draws) or (draws,)
        As in ``effective_sample_size``. A single chain is compared with itself: halves are two.

    Returns
    -------
    float
        Infinity where each half is constant, but not all at one value; nan where all draws are equal.

    Raises
    ------
    ValueError
        As in ``effective_sample_size``.

    Notes
    -----
    O(S log S) for S draws in all.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(4, 1000))
    >>> r_hat(x) < 1.01, r_hat(x + [[0.0], [0.0], [0.0], [1.0]]) > 1.1
    (True, True)
    """
    halves = halves_of(chains_of(x))
    if np.all(is_constant(halves.reshape(-1))):
        return math.nan
    folded = np.abs(halves - np.median(halves))
    # Two values, each in half of the draws, are at one distance from the median: nan, and location alone decides.
    return float(np.fmax(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(folded))))


def geweke_z(x: Any, first: float = 0.1, last: float = 0.5) -> Any:
    """Has the chain forgotten its start? The difference of an early and a late mean, in standard errors.

    Geweke (1992): z = (mean_a - mean_b) / sqrt(S_a(0) / n_a + S_b(0) / n_b), a and b being the first and last share of
    the draws. The spectral density at zero is estimated as S(0) = c_0 tau: the variance of the window (divided by n)
    times its autocorrelation time by Geyer's initial monotone sequence. About N(0, 1) for a long chain at equilibrium.

    Parameters
    ----------
    x : array-like of shape (..., draws)
        One chain, or several, each by itself.
    first, last : float
        Shares of the draws; together at most 1, and at least 4 draws each.

    Returns
    -------
    float or array of shape (...)
        Where neither window moves: nan if both stay at one value, else infinite.

    Raises
    ------
    ValueError
        Shares out of range or too short, NaN or infinite draws.

    Notes
    -----
    O(draws log draws) a chain.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> bool(abs(geweke_z(x)) < 4.0), bool(abs(geweke_z(x + np.linspace(1.0, 0.0, 1000))) > 4.0)
    (True, True)
    """
    x = check_draws(x)
    n = x.shape[-1]
    if min(first, last) <= 0.0 or not first + last <= 1.0:
        msg = f"first and last must be > 0, and at most 1 together, got {first} and {last}"
        raise ValueError(msg)
    n_a, n_b = int(first * n), int(last * n)
    if min(n_a, n_b) < FEWEST_DRAWS:
        msg = (
            f"first and last must leave at least {FEWEST_DRAWS} draws each, got {n_a} and {n_b} of {n}; take more draws"
        )
        raise ValueError(msg)
    x = x - x[..., :1]  # a constant window then has a variance of 0, and not of the square of a rounding error
    a, b = x[..., :n_a], x[..., n - n_b :]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (a.mean(axis=-1) - b.mean(axis=-1)) / np.sqrt(_error_of_mean(a) + _error_of_mean(b))
    return float(z) if z.ndim == 0 else z


def _normal_scores(x: Matrix) -> Matrix:
    """Phi^-1((rank - 3/8) / (S + 1/4)), of the mean rank where draws are equal (Vehtari et al. 2021 (14), Blom)."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - 0.5 * (counts - 1)
    scores = np.array([_NORMAL.inv_cdf(p) for p in ((ranks - 0.375) / (x.size + 0.25)).tolist()])
    return scores[inverse].reshape(x.shape)


def _plain_r_hat(x: Matrix) -> float:
    n = x.shape[1]
    x = x - x[:1, :1]
    within = (x - x[:, :1]).var(axis=1, ddof=1).mean()
    between = x.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return math.inf if between > 0.0 else math.nan
    return math.sqrt(between / within + (n - 1) / n)


def _error_of_mean(x: Matrix) -> Vector:
    """The variance of the mean of each chain, 0 for a constant one."""
    n = x.shape[-1]
    times = [geyer_time(rho, n) for rho in autocorrelation(x).reshape(-1, n)]
    return np.where(is_constant(x), 0.0, x.var(axis=-1) * np.reshape(times, x.shape[:-1]) / n)
