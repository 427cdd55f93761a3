"""Diagnostics of chains as they are printed: loops over lags and draws, quantiles of scipy."""

from __future__ import annotations

import collections
import itertools
import math

import numpy as np
from scipy import stats


def autocovariance(x, t):
    """c_t of one chain, divided by n."""
    mean = sum(x) / len(x)
    return sum((x[i] - mean) * (x[i + t] - mean) for i in range(len(x) - t)) / len(x)


def halves(chains):
    n = len(chains[0]) // 2
    return [half for x in chains for half in (list(x[:n]), list(x[len(x) - n :]))]


def normal_scores(chains):
    """Vehtari et al. (2021) (14)."""
    everything = np.array(chains)
    ranks = stats.rankdata(everything, method="average")
    return stats.norm.ppf((ranks - 3 / 8) / (everything.size + 1 / 4)).reshape(everything.shape).tolist()


def variances(chains):
    """W and var+ of Vehtari et al. (2021), (1) to (3)."""
    n = len(chains[0])
    W = float(np.mean([np.var(x, ddof=1) for x in chains]))
    B_over_n = float(np.var([np.mean(x) for x in chains], ddof=1))
    return W, (n - 1) / n * W + B_over_n


def geyer(rho, n, S):
    """1 + 2 sum rho(t) for chains of n draws, S in all: Vehtari et al. (2021) (13), with Stan's last even lag."""
    total, before, t = -1.0, math.inf, 0
    while True:
        pair = rho(t) + rho(t + 1)
        is_last = t + 3 > n - 2  # the next pair is not looked at
        if pair <= 0 or is_last:
            break
        before = min(before, pair)
        total += 2 * before
        t += 2
    total += rho(t) if pair > 0 else max(rho(t), 0)
    return max(total, 1 / math.log10(S))


def autocorrelation_time(chains):
    """Vehtari et al. (2021), (10) to (13), on chains that have been split."""
    n = len(chains[0])
    W, var_plus = variances(chains)

    def rho(t):
        # (10): the s_m^2 rho_tm there is the autocovariance at lag t, s_m^2 the variance divided by n - 1.
        return 1 - (W - np.mean([autocovariance(x, t) for x in chains])) / var_plus if t else 1.0

    return geyer(rho, n, n * len(chains))


def effective_sample_size(chains, method):
    split = halves(chains)
    scores = normal_scores(split) if method == "bulk" else split
    return len(split) * len(split[0]) / autocorrelation_time(scores)


def r_hat(chains):
    split = np.array(halves(chains))
    found = []
    for values in (split, abs(split - np.median(split))):
        W, var_plus = variances(normal_scores(values))
        found.append(math.sqrt(var_plus / W))
    return max(found)


def geweke_z(x, first, last):
    windows = x[: int(first * len(x))], x[len(x) - int(last * len(x)) :]
    errors = []
    for window in windows:
        variance, n = autocovariance(window, 0), len(window)
        rho = [autocovariance(window, t) / variance for t in range(n)]
        errors.append(variance * geyer(rho.__getitem__, n, n) / n)
    return (np.mean(windows[0]) - np.mean(windows[1])) / math.sqrt(sum(errors))


def raftery_lewis(x, q, r, s, eps):
    """Step by step, as Raftery and Lewis (1992) and the manual of coda describe it: (k, M, N, N_min, I)."""
    phi = stats.norm.ppf((1 + s) / 2)
    n_min = math.ceil(q * (1 - q) * phi**2 / r**2)
    z = (x <= np.quantile(x, q)).astype(int).tolist()
    k = 0
    while True:
        k += 1
        thinned = z[::k]
        triples = collections.Counter(zip(thinned, thinned[1:], thinned[2:], strict=False))
        g2 = 0.0
        for (i, j, l), n in triples.items():
            ij = sum(triples[i, j, c] for c in (0, 1))
            jl = sum(triples[a, j, l] for a in (0, 1))
            middle = sum(triples[a, j, c] for a in (0, 1) for c in (0, 1))
            g2 += 2 * n * math.log(n / (ij * jl / middle))
        if g2 - 2 * math.log(len(thinned) - 2) < 0:
            break
    pairs = collections.Counter(itertools.pairwise(thinned))
    alpha = pairs[0, 1] / (pairs[0, 0] + pairs[0, 1])
    beta = pairs[1, 0] / (pairs[1, 0] + pairs[1, 1])
    m = math.ceil(math.log(eps * (alpha + beta) / max(alpha, beta)) / math.log(abs(1 - alpha - beta)))
    n = math.ceil((2 - alpha - beta) * alpha * beta * phi**2 / ((alpha + beta) ** 3 * r**2))
    return k, m * k, (m + n) * k, n_min, (m + n) * k / n_min
