"""The rank of a surprise among those so far, slowly: docs/maths.md (119) and (120), for many streams at once.

E is -log of the tail of the predictive. Each stream has counts of its own.
"""

import numpy as np

EDGES = np.array([2.0**k * (1 + m / 4) for k in range(10) for m in range(4)] + [1024.0]) - 1.0
BINS = len(EDGES) - 1
MIDDLES = np.diff(EDGES) / (2 + np.diff(EDGES) / 3)
OLD = 3 / 7  # the mean of squared weights 1/2, 1/4, ... over their mean, where periods double


class Counts:
    def __init__(self, n_streams):
        self.counts = np.zeros((n_streams, BINS))
        self.recent, self.period = 0, 64
        self.since, self.left_out = np.full(n_streams, 16), np.zeros(n_streams, int)

    def rank(self, E):
        """The surprise of a point of each stream, given E, shape (n_streams,)."""
        found = []
        for counts, e in zip(self.counts, np.atleast_1d(E), strict=True):
            total = counts.sum()
            precision = total / (OLD * max(total - self.recent, 0) + min(self.recent, total)) if total else 1.0
            found.append(rank_of(counts * precision, e))
        return np.array(found)

    def add(self, E, surprise):
        """Count the points; those that go on with an episode of extreme ones are left out."""
        extreme = surprise <= 1e-3
        goes_on = extreme & (self.since < 16) & (self.left_out < 64)
        self.left_out = np.where(extreme, self.left_out + goes_on, np.where(self.since < 16, self.left_out, 0))
        self.since = np.where(extreme, 0, np.minimum(self.since + 1, 16))
        bins = np.minimum(np.searchsorted(EDGES, E, side="right") - 1, BINS - 1)
        counted = np.flatnonzero(~goes_on)
        self.counts[counted, bins[counted]] += 1
        self.recent += 1
        if self.recent == self.period:
            self.counts /= 2
            self.recent, self.period = 0, 2 * self.period


def rank_of(counts, e):
    """(119) or (120) from the counts of one stream, in whole points."""
    beyond = np.append(counts[::-1].cumsum()[::-1], 0.0)  # beyond[i]: in bin i and above
    start = max([i for i in range(BINS) if beyond[i] >= 16.0], default=0)
    of_e = min(int(np.searchsorted(EDGES, e, side="right")) - 1, BINS - 1)
    N = beyond[0]
    if of_e < start:
        low, high = np.exp(-EDGES[of_e]), np.exp(-EDGES[of_e + 1])
        u = (np.exp(-e) - high) / (low - high)
        return min(1.0, (beyond[of_e + 1] + u * (counts[of_e] + 1)) / (N + 1))
    m, r, S, i = beyond[start], 0.0, 0.0, start
    while i < BINS and r < m / 2:
        r += counts[i]
        S += counts[i] * (EDGES[i] - EDGES[start] + MIDDLES[i])
        i += 1
    S += (m - r) * (EDGES[i] - EDGES[start])
    c = (e - EDGES[start]) / (1 + S)
    return (m + 1) / (N + 1) * np.exp(-c) * (1 + c) ** -max(r - 0.15, 0.0)
