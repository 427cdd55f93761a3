"""Features, slowly: each as a function of all points so far, as in docs/maths.md, section 32.

Points are arrays (n, D) of float64. A result is an array with a row for each point, or for each block.
"""

import math

import numpy as np

SECONDS_OF_HOUR, HOURS, DAYS = 3600, 24, 7
THURSDAY = 3  # 1970 began on a Thursday; weeks begin on Monday


def lag(X, n):
    return np.hstack([X[np.maximum(np.arange(len(X)) - k, 0)] for k in range(n + 1)])


def difference(X, n):
    return X - X[np.maximum(np.arange(len(X)) - n, 0)]


def centre(X, window):
    out = np.zeros_like(X)
    for t, d in np.ndindex(X.shape):
        before = X[max(0, t - window) : t, d]
        before = before[~np.isnan(before)]
        out[t, d] = math.fsum(X[t, d] - before) / max(len(before), 1) + (X[t, d] - X[t, d])  # NaN stays
    return out


def bin_of(t, by, utc_offset=0.0):
    hours = math.floor((t + utc_offset * SECONDS_OF_HOUR) / SECONDS_OF_HOUR)
    day = (hours // HOURS + THURSDAY) % DAYS
    return {"hour": hours % HOURS, "day": day, "week": day * HOURS + hours % HOURS}[by]


def seasonal(X, times, by, half_life=None, utc_offset=0.0):
    out = np.zeros_like(X)
    bins = np.array([bin_of(t, by, utc_offset) for t in times])
    for t, d in np.ndindex(X.shape):
        past = X[:t, d]
        here = past[(bins[:t] == bins[t]) & ~np.isnan(past)]
        everywhere = past[~np.isnan(past)]
        if len(here):
            ages = np.arange(len(here))[::-1]
            weights = 0.5 ** (ages / half_life) if half_life else np.ones(len(here))
            expected = np.sum(weights * here) / np.sum(weights)
        else:
            expected = np.mean(everywhere) if len(everywhere) else X[t, d]
        out[t, d] = X[t, d] - expected
    return out


def blocks(X, window):
    whole = len(X) // window * window
    return X[:whole].reshape(-1, window, X.shape[1])


def of_each(function, X, window):
    """``function`` of the values that are there, of each block and feature; NaN where there are none."""
    return np.array(
        [
            [function(column[~np.isnan(column)]) if not np.all(np.isnan(column)) else math.nan for column in block.T]
            for block in blocks(X, window)
        ]
    ).reshape(-1, X.shape[1])


def rms(X, window, centred=True):
    return of_each(lambda x: math.sqrt(np.mean((x - centred * x.mean()) ** 2)), X, window)


def crest_factor(X, window, centred=True):
    def one(x):
        x = x - centred * x.mean()
        root = math.sqrt(np.mean(x**2))
        return np.abs(x).max() / root if root > 0 else 0.0

    return of_each(one, X, window)


def band_energy(X, window, bins):
    """``bins`` are pairs (first, end) of DFT bins; a group of columns for each, of NaN where a sample is missing."""
    n, k = np.arange(window), np.arange(window // 2 + 1)
    waves = np.exp(-2j * np.pi * (np.outer(k, n) % window) / window)
    found = []
    for block in blocks(X, window):
        power = np.abs(waves @ block) ** 2 / window**2
        power *= np.where(2 * k == window, 1.0, 2.0)[:, None]
        found.append(np.concatenate([power[first:end].sum(axis=0) for first, end in bins]))
    return np.array(found).reshape(-1, len(bins) * X.shape[1])
