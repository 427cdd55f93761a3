"""Clusters of many learners become fewer, slowly: docs/design.md, decision 162."""

import itertools

import numpy as np
from scipy.special import gammaln

MOST_AT_ONCE = 256
MOST_IN_PART = 64


def merged_in_parts(clusters, model, most):
    """The clusters (weight, mean, sum of squares) that are left of more than ``MOST_AT_ONCE``."""
    parts = [clusters]
    while len(clusters) // len(parts) >= MOST_IN_PART:
        halves, n = [], 2 * len(parts)
        for i, part in enumerate(parts):
            d = np.argmax(np.ptp([mean for _, mean, _ in part], axis=0) ** 2 / model.likelihood_.b0)
            half = len(clusters) * (2 * i + 1) // n - len(clusters) * 2 * i // n
            order = sorted(part, key=lambda cluster: cluster[1][d])
            halves += [order[:half], order[half:]]
        parts = halves
    while len(parts) > 1:
        left = [best_first(part, model, max(most, MOST_IN_PART)) for part in parts]
        parts = [one + two for one, two in zip(left[::2], left[1::2], strict=True)]
    return best_first(parts[0], model, most)


def best_first(clusters, model, most):
    """The clusters (weight, mean, sum of squares) that are left when the best pair has been merged again and again."""
    names, gains, prior = itertools.count(), {}, model.likelihood_
    clusters = {next(names): cluster for cluster in clusters}
    while len(clusters) > 1:
        pairs = list(itertools.combinations(clusters, 2))
        for a, b in pairs:
            if (a, b) not in gains:
                gains[a, b] = joined_gain(clusters[a], clusters[b], prior, model.alpha)
        a, b = max(pairs, key=gains.get)
        if gains[a, b] <= 0 and len(clusters) <= most:
            break
        clusters[next(names)] = joined(clusters.pop(a), clusters.pop(b))
    return list(clusters.values())


def joined(one, two):
    (n1, m1, s1), (n2, m2, s2) = one, two
    n = n1 + n2
    return n, (n1 * m1 + n2 * m2) / n, s1 + s2 + n1 * n2 / n * (m1 - m2) ** 2


def joined_gain(one, two, prior, alpha):
    both = joined(one, two)
    terms = [log_normal_gamma(*cluster, prior) + gammaln(cluster[0]) for cluster in (both, one, two)]
    return terms[0] - terms[1] - terms[2] - np.log(alpha)


def log_normal_gamma(n, mean, squares, prior):
    """The log marginal likelihood of a cluster: Murphy (2007), Conjugate Bayesian analysis of the Gaussian, (95)."""
    m0, c0, a0, b0, _ = (np.asarray(value, dtype=float) for value in prior)
    a, c = a0 + n / 2, c0 + n
    b = b0 + squares / 2 + c0 * n * (mean - m0) ** 2 / (2 * c)
    each = gammaln(a) - gammaln(a0) + a0 * np.log(b0) - a * np.log(b) + (np.log(c0) - np.log(c)) / 2
    return np.sum(each - n / 2 * np.log(2 * np.pi))
