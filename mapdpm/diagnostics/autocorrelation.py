"""The autocorrelation of a chain, and the time that it takes to forget (Geyer 1992)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.protocol import Matrix, Vector
from mapdpm.validation import check_draws


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
        return np.where(is_constant(x)[..., None], np.nan, covariance / covariance[..., :1])


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
    return mean_time(halves_of(chains_of(x)))


def chains_of(x: Any) -> Matrix:
    """``x``, checked, with one row a chain."""
    chains = np.atleast_2d(check_draws(x))
    if chains.ndim > 2:  # noqa: PLR2004
        msg = f"x must be of shape (chains, draws) or (draws,), got shape {chains.shape}; take one quantity at a time"
        raise ValueError(msg)
    return chains


def is_constant(x: Matrix) -> Any:
    """Whether all draws of a chain are equal."""
    return x.max(axis=-1) == x.min(axis=-1)


def halves_of(chains: Matrix) -> Matrix:
    """The first and the last half of each chain, as chains."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def mean_time(chains: Matrix) -> float:
    """The autocorrelation time of several chains together; nan where no draw differs."""
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

    As Stan has it: the pairs up to lag n - 2, each at most the one before, up to the first that is not positive. Of
    that one its even lag, once, if positive; where all pairs are positive, that of the last, as it is. At least
    1 / log10 of the number of draws.
    """
    pairs = rho[: 2 + 2 * max(0, (len(rho) - 3) // 2)].reshape(-1, 2).sum(axis=1)
    end = next(iter(np.flatnonzero(pairs <= 0.0)), len(pairs) - 1)
    even = rho[2 * end] if pairs[end] > 0.0 else max(0.0, rho[2 * end])
    total = -1.0 + 2.0 * np.minimum.accumulate(pairs[:end]).sum() + even
    return max(float(total), 1.0 / math.log10(n_draws))


def _autocovariance(x: Matrix) -> Matrix:
    n = x.shape[-1]
    x = x - x[..., :1]  # large offsets are gone before a mean is rounded, and a constant chain is exactly 0
    x = x - x.mean(axis=-1, keepdims=True)
    padded = 2 ** math.ceil(math.log2(2 * n))
    covariance: Matrix = np.fft.irfft(np.abs(np.fft.rfft(x, padded)) ** 2, padded)[..., :n] / n
    return covariance
