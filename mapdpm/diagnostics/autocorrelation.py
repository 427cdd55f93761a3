"""The autocorrelation of a chain, and its integrated autocorrelation time (Geyer 1992)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.protocol import Matrix, Vector
from mapdpm.validation import check_draws


def autocorrelation(x: Any) -> Vector:
    """rho_t = c_t / c_0 with c_t = 1/n sum_i (x_i - mean)(x_{i+t} - mean), lags t = 0..n-1.

    c_t is divided by n at every lag, not by its number of terms n - t. That is biased towards 0, but the sequence is
    positive semi-definite and has a smaller error. Computed by a Fourier transform, padded with zeros so that the chain
    does not wrap around.

    Parameters
    ----------
    x : array-like of shape (..., draws)
        One chain or several, each with its own mean and variance. At least 4 draws.

    Returns
    -------
    Array of the shape of x
        1 at lag 0. All nan for a chain whose draws are all equal.

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
        return np.where(is_constant(x)[..., None], np.nan, covariance / covariance[..., :1])


def autocorrelation_time(x: Any) -> float:
    """1 + 2 sum_t rho_t, in draws. Thinning by it loses little information about the mean.

    It is the number of draws divided by ``effective_sample_size(x, "mean")``, with the same parameters, nan and errors.
    Antithetic chains have a time below 1.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> 5.0 < autocorrelation_time(np.repeat(x, 10)) < 15.0
    True
    """
    return mean_time(halves_of(chains_of(x)))


def chains_of(x: Any) -> Matrix:
    """``x``, checked, with one row for each chain."""
    chains = np.atleast_2d(check_draws(x))
    if chains.ndim > 2:  # noqa: PLR2004
        msg = f"x must be of shape (chains, draws) or (draws,), got shape {chains.shape}; take one quantity at a time"
        raise ValueError(msg)
    return chains


def is_constant(x: Matrix) -> Any:
    """Whether all draws of a chain are equal."""
    return x.max(axis=-1) == x.min(axis=-1)


def halves_of(chains: Matrix) -> Matrix:
    """The first and the last half of each chain, as separate chains."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def mean_time(chains: Matrix) -> float:
    """The autocorrelation time of several chains together; nan if all draws are equal."""
    if np.all(is_constant(chains.reshape(-1))):
        return math.nan
    n = chains.shape[1]
    covariance = _autocovariance(chains).mean(axis=0)
    between = (chains - chains[0, 0]).mean(axis=1).var(ddof=1)
    within = covariance[0] * n / (n - 1.0)
    rho = 1.0 - (within - covariance) / (covariance[0] + between)
    rho[0] = 1.0
    return geyer_time(rho, chains.size)


def geyer_time(rho: Vector, n_draws: int) -> float:
    """1 + 2 sum_t rho_t by Geyer's initial monotone sequence.

    As in Stan: sum the pairs of lags up to n - 2, each capped by the pair before, up to the first pair that is not
    positive. Add the even lag of that pair once, if it is positive. If all pairs are positive, add the even lag of the
    last one. The result is at least 1 / log10 of the number of draws.
    """
    pairs = rho[: 2 + 2 * max(0, (len(rho) - 3) // 2)].reshape(-1, 2).sum(axis=1)
    end = next(iter(np.flatnonzero(pairs <= 0.0)), len(pairs) - 1)
    even = rho[2 * end] if pairs[end] > 0.0 else max(0.0, rho[2 * end])
    total = -1.0 + 2.0 * np.minimum.accumulate(pairs[:end]).sum() + even
    return max(float(total), 1.0 / math.log10(n_draws))


def _autocovariance(x: Matrix) -> Matrix:
    n = x.shape[-1]
    x = x - x[..., :1]  # so large offsets do not round the mean, and a constant chain is exactly 0
    x = x - x.mean(axis=-1, keepdims=True)
    padded = 2 ** math.ceil(math.log2(2 * n))
    return np.fft.irfft(np.abs(np.fft.rfft(x, padded)) ** 2, padded)[..., :n] / n
