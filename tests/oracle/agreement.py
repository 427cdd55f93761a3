"""Distances between partitions, by pairs of points and by entropies, and the best partition by enumeration."""

from __future__ import annotations

import collections
import itertools
import math


def binder(a, b):
    """The share of pairs of points that are together in one of the two partitions only."""
    pairs = list(itertools.combinations(range(len(a)), 2))
    return sum((a[i] == a[j]) != (b[i] == b[j]) for i, j in pairs) / max(1, len(pairs))


def vi(a, b):
    """H(a | b) + H(b | a), in nats."""

    def entropy(labels):
        return -math.fsum(n / len(labels) * math.log(n / len(labels)) for n in collections.Counter(labels).values())

    joint = entropy(list(zip(a, b, strict=True)))
    return (joint - entropy(list(b))) + (joint - entropy(list(a)))


def expected(distance, partition, partitions, weights):
    losses = [w * distance(partition, z) for z, w in zip(partitions, weights, strict=True)]
    return math.fsum(losses) / math.fsum(weights)


def similarity(partitions, weights):
    n = range(len(partitions[0]))
    shares = [[math.fsum(w for z, w in zip(partitions, weights, strict=True) if z[i] == z[j]) for j in n] for i in n]
    return [[share / math.fsum(weights) for share in row] for row in shares]


def from_similarity(partition, S):
    """Binder's loss of a partition: the mean over pairs of 1 - S_ij or S_ij."""
    pairs = list(itertools.combinations(range(len(partition)), 2))
    return math.fsum(1 - S[i][j] if partition[i] == partition[j] else S[i][j] for i, j in pairs) / max(1, len(pairs))
