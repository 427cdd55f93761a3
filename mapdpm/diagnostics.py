"""Has a chain run long enough? Autocorrelation, effective sample size, R-hat, Geweke's z, Raftery and Lewis.

What goes in are numbers that a sampler traced: the log joint, the number of clusters, the share of the largest one.
Labels are no such numbers, for their names change from draw to draw. Needs numpy only.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from mapdpm.protocol import Matrix, Vector
from mapdpm.run_length import RafteryLewis, raftery_lewis
from mapdpm.validation import FEWEST_DRAWS, check_draws

__all__ = [
    "RafteryLewis",
    "autocorrelation",
    "autocorrelation_time",
    "effective_sample_size",
    "geweke_z",
    "r_hat",
    "raftery_lewis",
]

RafteryLewis.__module__ = raftery_lewis.__module__ = __name__  # where the reference has them

_NORMAL = NormalDist()


def autocorrelation(x: Any) -> Vector:
    """rho_t = c_t / c_0 with c_t = 1/n sum_i (x_i - mean)(x_{i+t} - mean), lags t = 0..n-1.

    Divided by n at every lag, not by the n - t terms there are: biased towards 0, but a positive semi-definite
    sequence, with less error. By a Fourier transform, padded with zeros so that the chain does not wrap around.

    Parameters
    ----------
    x : array-like of shape (..., draws)
        One chain, or several, each with a mean and variance of its own. At least 4 draws.

    Returns
    -------
    Array of the shape of x
        1 at lag 0; nan throughout for a chain that never moves.

    Raises
    ------
    ValueError
        Too few draws, or NaN or infinite ones.

    Notes
    -----
    O(draws log draws) a chain.

    Examples
    --------
    >>> print(autocorrelation([1.0, 2.0, 1.0, 2.0]))
    [ 1.   -0.75  0.5  -0.25]
    """
    x = check_draws(x)
    covariance = _autocovariance(x)
    with np.errstate(invalid="ignore"):
        return np.where(_constant(x)[..., None], np.nan, covariance / covariance[..., :1])


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
    halves = _halves(_chains(x))
    return halves.size / _time(_normal_scores(halves) if method == "bulk" else halves)


def autocorrelation_time(x: Any) -> float:
    """1 + 2 sum_t rho_t, in draws: keeping one draw in so many loses little about the mean.

    The number of draws over ``effective_sample_size(x, "mean")``; parameters, nan and errors as there. Antithetic
    chains have one below 1.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> 5.0 < autocorrelation_time(np.repeat(x, 10)) < 15.0
    True
    """
    return _time(_halves(_chains(x)))


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
    halves = _halves(_chains(x))
    if np.all(_constant(halves.reshape(-1))):
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


def _chains(x: Any) -> Matrix:
    chains = np.atleast_2d(check_draws(x))
    if chains.ndim > 2:  # noqa: PLR2004
        msg = f"x must be of shape (chains, draws) or (draws,), got shape {chains.shape}; take one quantity at a time"
        raise ValueError(msg)
    return chains


def _constant(x: Matrix) -> Any:
    return x.max(axis=-1) == x.min(axis=-1)


def _halves(chains: Matrix) -> Matrix:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(x: Matrix) -> Matrix:
    """Phi^-1((rank - 3/8) / (S + 1/4)), of the mean rank where draws are equal (Vehtari et al. 2021 (14), Blom)."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - 0.5 * (counts - 1)
    scores = np.array([_NORMAL.inv_cdf(p) for p in ((ranks - 0.375) / (x.size + 0.25)).tolist()])
    return scores[inverse].reshape(x.shape)


def _autocovariance(x: Matrix) -> Matrix:
    n = x.shape[-1]
    x = x - x[..., :1]  # large offsets are gone before a mean is rounded, and a constant chain is exactly 0
    x = x - x.mean(axis=-1, keepdims=True)
    padded = 2 ** math.ceil(math.log2(2 * n))
    covariance: Matrix = np.fft.irfft(np.abs(np.fft.rfft(x, padded)) ** 2, padded)[..., :n] / n
    return covariance


def _time(chains: Matrix) -> float:
    """The autocorrelation time of several chains together; nan where no draw differs."""
    if np.all(_constant(chains.reshape(-1))):
        return math.nan
    n = chains.shape[1]
    covariance = _autocovariance(chains).mean(axis=0)
    between = (chains - chains[0, 0]).mean(axis=1).var(ddof=1)
    within = covariance[0] * n / (n - 1.0)
    rho = 1.0 - (within - covariance) / (covariance[0] + between)
    rho[0] = 1.0
    return _geyer(rho, chains.size)


def _geyer(rho: Vector, n_draws: int) -> float:
    """1 + 2 sum_t rho_t by Geyer's initial monotone sequence.

    As Stan has it: the pairs up to lag n - 2, each at most the one before, up to the first that is not positive. Of
    that one its even lag, once, if positive; where all pairs are positive, that of the last, as it is. At least
    1 / log10 of the number of draws.
    """
    pairs = rho[: 2 + 2 * max(0, (len(rho) - 3) // 2)].reshape(-1, 2).sum(axis=1)
    end = next(iter(np.flatnonzero(pairs <= 0.0)), len(pairs) - 1)
    even = rho[2 * end] if pairs[end] > 0.0 else max(0.0, rho[2 * end])
    total = -1.0 + 2.0 * np.minimum.accumulate(pairs[:end]).sum() + even
    return max(float(total), 1.0 / math.log10(n_draws))


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
    times = [_geyer(rho, n) for rho in autocorrelation(x).reshape(-1, n)]
    return np.where(_constant(x), 0.0, x.var(axis=-1) * np.reshape(times, x.shape[:-1]) / n)


def __dir__() -> list[str]:
    return sorted(__all__)
