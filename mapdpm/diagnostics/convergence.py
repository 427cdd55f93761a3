"""Effective sample size, R-hat and Geweke's z."""

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
    """The number of independent draws with the same precision: chains x draws / autocorrelation time.

    Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), (10) to (13): chains are split into halves, so that a drift
    lowers the size, and the autocorrelations of all halves are combined. These are summed in pairs while pairs are
    positive, each capped by the one before (Geyer 1992), as in Stan, posterior and ArviZ.

    Parameters
    ----------
    x : array-like of shape (chains, draws) or (draws,)
        At least 4 draws. For an odd number the middle one is left out.
    method : {"bulk", "mean"}
        "bulk" uses normal scores of the ranks, which heavy tails do not disturb. "mean" uses the draws themselves, for
        the error of their mean.

    Returns
    -------
    float
        At most S log10(S) for S draws in all; antithetic chains can have more than S. nan if all draws are equal: a
        chain that never moved does not show how fast it mixes. (ArviZ returns S then.)

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
    """Rank-normalised split R-hat: close to 1 if chains agree with each other, and each with itself over time.

    Vehtari et al. (2021), (4) and section 4: R-hat^2 = ((n - 1) W + B) / (n W). W is the mean variance within the
    halves of chains; B is n times the variance between their means. The draws are replaced by normal scores of their
    ranks, to compare locations, and by those of their distances from the median, to compare scales. The result is the
    larger of the two values. Continue sampling while it is above 1.01.

    Parameters
    ----------
    x : array-like of shape (chains, draws) or (draws,)
        As in ``effective_sample_size``. For a single chain its two halves are compared.

    Returns
    -------
    float
        Infinity if every half is constant but not all are equal; nan if all draws are equal.

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
    # Draws of two values, each in half of the draws, have equal distances from the median: nan, so location decides.
    return float(np.fmax(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(folded))))


def geweke_z(x: Any, first: float = 0.1, last: float = 0.5) -> Any:
    """The difference between an early and a late mean, in standard errors.

    Geweke (1992): z = (mean_a - mean_b) / sqrt(S_a(0) / n_a + S_b(0) / n_b), where a and b are the first and last share
    of the draws. The spectral density at zero is estimated as S(0) = c_0 tau: the variance of the window (divided by n)
    times its autocorrelation time by Geyer's initial monotone sequence. z is about N(0, 1) for a long chain at
    equilibrium.

    Parameters
    ----------
    x : array-like of shape (..., draws)
        One chain, or several, each tested separately.
    first, last : float
        Shares of the draws: together at most 1, each with at least 4 draws.

    Returns
    -------
    float or array of shape (...)
        If both windows are constant: nan if they are equal, else infinite.

    Raises
    ------
    ValueError
        Shares out of range or with too few draws, NaN or infinite draws.

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
    x = x - x[..., :1]  # so the variance of a constant window is 0, and not a rounding error
    a, b = x[..., :n_a], x[..., n - n_b :]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (a.mean(axis=-1) - b.mean(axis=-1)) / np.sqrt(_error_of_mean(a) + _error_of_mean(b))
    return float(z) if z.ndim == 0 else z


def _normal_scores(x: Matrix) -> Matrix:
    """Phi^-1((rank - 3/8) / (S + 1/4)); equal draws share their mean rank (Vehtari et al. 2021 (14), Blom)."""
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
    """The variance of the mean of each chain; 0 for a constant chain."""
    n = x.shape[-1]
    times = [geyer_time(rho, n) for rho in autocorrelation(x).reshape(-1, n)]
    return np.where(is_constant(x), 0.0, x.var(axis=-1) * np.reshape(times, x.shape[:-1]) / n)
