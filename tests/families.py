"""Families that tests pass through the library: one each way data can be."""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.likelihoods._template import GammaExponential


class Counts(NamedTuple):
    """Sparse rows of counts (CSR)."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


class SparseDirichletMultinomial(NamedTuple):
    """A toy: sequences of words, one multinomial a cluster, symmetric Dirichlet prior. Row: n, total, counts."""

    beta: float
    n_words: int

    def size(self):
        return 2 + self.n_words

    def n_statistics(self):
        return 2 + self.n_words

    def init(self, row):
        row[:] = 0.0

    def prepare(self, row):
        pass

    def add(self, row, data, i, w):
        row[0] += w
        for j in range(data.indptr[i], data.indptr[i + 1]):
            row[1] += w * data.data[j]
            row[2 + data.indices[j]] += w * data.data[j]

    def remove(self, row, data, i, w):
        self.add(row, data, i, -w)
        return True

    def merge(self, row, other):
        row += other

    def log_predictive(self, row, data, i):
        result, n = 0.0, 0.0
        for j in range(data.indptr[i], data.indptr[i + 1]):
            count = data.data[j]
            base = self.beta + row[2 + data.indices[j]]
            result += lgamma(base + count) - lgamma(base)
            n += count
        total = self.n_words * self.beta + row[1]
        return result - lgamma(total + n) + lgamma(total)

    def log_marginal(self, row):
        total = self.n_words * self.beta
        result = lgamma(total) - lgamma(total + row[1])
        for v in range(self.n_words):
            result += lgamma(self.beta + row[2 + v]) - lgamma(self.beta)
        return result

    def log_merge(self, union, row, other):
        return self.log_marginal(union) - self.log_marginal(row) - self.log_marginal(other)


def dense(family, generator, n=8, D=2):
    """A family of ``D`` features with random parameters, and n points for it."""
    X = generator.normal(0.0, 2.0, (n, D))
    m0, scale = generator.normal(size=D), generator.uniform(0.2, 3.0, D)
    if family is NormalGamma:
        return NormalGamma(m0, generator.uniform(0.05, 3.0), generator.uniform(0.5, 3.0), scale), X
    if family is NormalKnownVariance:
        return NormalKnownVariance(m0, generator.uniform(0.5, 20.0, D), scale), X
    return GammaExponential(generator.uniform(0.5, 3.0), scale), np.abs(X)


def sparse(generator, n=8, n_words=5):
    """The sparse toy and n points for it."""
    counts = [generator.choice(n_words, generator.integers(1, n_words), replace=False) for _ in range(n)]
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in counts])]).astype(np.int64)
    indices = np.concatenate(counts).astype(np.int64)
    data = generator.integers(1, 4, len(indices)).astype(np.float64)
    return SparseDirichletMultinomial(0.3, n_words), Counts(data, indices, indptr)


FAMILIES = (NormalGamma, NormalKnownVariance, GammaExponential)


def example(family, generator, n=8):
    """``(likelihood, data)`` of any family, the sparse toy among them."""
    return sparse(generator, n) if family is SparseDirichletMultinomial else dense(family, generator, n)
