"""Features, slowly: each as a function of all points so far, as in docs/maths.md, section 32.

Points are arrays (n, D) of float64. A result is an array with a row for each point, or for each block.
"""

import math
from fractions import Fraction

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


LONGEST = 16
COMMON = 4


def tail(lengths, length):
    """P(the next length is at least so long), from all lengths before."""
    everything, kept = len(lengths), sorted(lengths, reverse=True)[:LONGEST]
    if not kept or length <= kept[-1]:
        return Fraction(1)
    rank = sum(each >= length for each in kept)
    if rank:
        return Fraction(rank + 1, everything + 1)
    shortest, found = kept[-1], Fraction(len(kept) + 1, everything + 1)
    doubled = sum(math.floor(math.log2(each // shortest)) for each in kept)
    for i in range(math.floor(math.log2(length // shortest))):
        found *= Fraction(doubled + 1 + i, doubled + len(kept) + 2 + i)
    return min(found, Fraction(1, everything + 1))


def is_left_out(lengths, length, strange, everything):
    return strange <= everything // 50 and tail(lengths, length) <= Fraction(1, 10_000)


def common_values(values):
    """The numbers of Misra and Gries, by value: equal ones count, and others take one from each when all are taken."""
    numbers = {}
    for value in values:
        if value in numbers or len(numbers) < COMMON:
            numbers[value] = numbers.get(value, 0) + 1
        else:
            numbers = {each: number - 1 for each, number in numbers.items() if number > 1}
    return numbers


def stuck(X, n):
    out = np.ones((len(X), 2 * X.shape[1]))
    for d, column in enumerate(X.T):
        values = ["missing" if math.isnan(x) else x for x in column.tolist()]
        runs, strange, run, was_common = {False: [], True: []}, 0, 0, False
        for t, value in enumerate(values):
            if t and value != values[t - 1]:
                if is_left_out(runs[was_common], run, strange + run, t):
                    strange += run
                else:
                    runs[common_values(values[:t]).get(values[t - 1], -1) >= t // 16].append(run)
                run = 0
            if not run:
                was_common = common_values(values[:t]).get(value, -1) >= t // 16
            run += 1
            out[t, d] = tail(runs[was_common], run) if t + 1 > n else 1
            out[t, X.shape[1] + d] = run
    return out


def silence(X, times, n):
    """Times in whole microseconds, so that gaps are exact."""
    out, lengths, everything, strange, last = np.ones((len(X), 2)), [], 0, 0, times[0]
    for t, now in enumerate(times):
        gap = max(0, now - last)
        length, last = min(max(1, gap // 1000), 2**31), max(now, last)
        out[t] = (tail(lengths, length) if t and t >= n else 1), gap / 1_000_000
        if t:
            seconds = gap // 1_000_000
            everything += seconds
            if is_left_out(lengths, length, strange + seconds, everything):
                strange += seconds
            else:
                lengths.append(length)
    return out


def window(X, n, step=1):
    return np.hstack([X[np.maximum(np.arange(len(X)) - k, 0)] for k in range(0, n, step)])


def spread(X, times, by, half_life=None, utc_offset=0.0):
    out = np.zeros_like(X)
    bins = np.array([bin_of(t, by, utc_offset) for t in times])
    for t, d in np.ndindex(X.shape):
        past = X[:t, d]
        here = past[(bins[:t] == bins[t]) & ~np.isnan(past)]
        everywhere = past[~np.isnan(past)]
        weights = 0.5 ** (np.arange(len(here))[::-1] / half_life) if half_life else np.ones(len(here))
        prior = np.mean(everywhere**2) if len(everywhere) else 0.0
        square = (np.sum(weights * here**2) + prior) / (np.sum(weights) + 1.0)
        out[t, d] = X[t, d] / math.sqrt(square) if square > 0.0 else np.sign(X[t, d])
    return out


def clock(X, times, by, utc_offset=0.0):
    """Of the time since Monday, which a day repeats seven times."""
    monday = -THURSDAY * HOURS * SECONDS_OF_HOUR
    turn = {"day": 1, "week": 7}[by] * HOURS * SECONDS_OF_HOUR
    angle = 2.0 * math.pi * ((times + utc_offset * SECONDS_OF_HOUR - monday) % turn) / turn
    return np.column_stack([np.cos(angle), np.sin(angle)])


# ---- the shape of a series -------------------------------------------------------------------------------------------


def smooth(X, n):
    out = np.full_like(X, math.nan)
    for t, d in np.ndindex(X.shape):
        last = X[max(0, t + 1 - n) : t + 1, d]
        last = last[~np.isnan(last)]
        if len(last):
            out[t, d] = math.fsum(last) / len(last)
    return out


def period_of(X):
    """The lag of the highest local maximum of the mean autocorrelation of columns, from 4 to n / 2; else None."""
    n = len(X)
    columns = [x - np.nanmean(x) for x in X.T if np.nanmax(x) > np.nanmin(x)]
    columns = [np.nan_to_num(x) / np.sqrt(np.nansum(x**2)) for x in columns]
    if not columns:
        return None
    a = [np.mean([np.sum(x[: n - k] * x[k:]) for x in columns]) for k in range(n // 2 + 1)]
    peaks = [k for k in range(4, n // 2) if a[k - 1] < a[k] >= a[k + 1] and a[k] > 3.0 / math.sqrt(n)]
    return max(peaks, key=lambda k: a[k]) if peaks else None


def autoperiod(X, n=256, parts=12):
    """Rows from the n-th point on: the mean of each part, the newest first."""
    part = max(1, math.floor((period_of(X[:n]) or n // 4) / (2 * parts) + 0.5))
    blocks = [[X[t + 1 - (i + 1) * part : t + 1 - i * part] for i in range(parts)] for t in range(n - 1, len(X))]
    with np.errstate(invalid="ignore"):
        sums = np.nansum(blocks, axis=2)
        return (sums / (~np.isnan(blocks)).sum(axis=2)).reshape(len(blocks), -1)


def pca(X, m, n=144):
    """Complete rows from the n-th one on: components, and the logarithm of the residual."""
    complete = np.flatnonzero(~np.isnan(X).any(axis=1))
    known = X[complete[:n]]
    mean = known.mean(axis=0)
    axes = np.linalg.svd(known - mean, full_matrices=False)[2][:m]
    axes *= np.sign(axes[np.arange(len(axes)), np.argmax(np.abs(axes), axis=1)])[:, None]
    about = X[complete[n - 1 :]] - mean
    found = about @ axes.T
    rest = np.sum((about - found @ axes) ** 2, axis=1) / (np.sum((known - mean) ** 2) / n)
    return np.column_stack([found, np.log(rest + 1e-9)])


def series(X, n=256, parts=12, m=6):
    return pca(autoperiod(X, n, parts), m, n * 9 // 16)
