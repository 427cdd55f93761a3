"""Sequences of words, given as counts: each cluster has an unknown distribution over the vocabulary."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.counts import MOST, Counts, check_counts
from mapdpm.jit import jitable
from mapdpm.likelihoods._dirichlet import (
    divergence_of_shares,
    draw_log_shares,
    expected_log_shares,
    log_marginal_of_counts,
    log_merge_of_counts,
    sum_of,
)
from mapdpm.likelihoods._moments import HUGE, LEAST_SHARE, TINY
from mapdpm.likelihoods._parameters import Width, fitted_to, parameters
from mapdpm.likelihoods._sums import fault_of_sums, is_exact
from mapdpm.protocol import LARGEST, Matrix, RngVerbs, Values, Vector
from mapdpm.special import log_rising
from mapdpm.validation import check_weights

# Up to this count a rising factorial is multiplied out.
_FEW = 16.0


@parameters(vectors=("beta",), positive={"beta": LARGEST}, widths={"beta": Width()}, number=5)
class DirichletMultinomial(NamedTuple):
    """Documents as counts of words, conjugate Dirichlet prior on the distribution over words.

    ``theta ~ Dirichlet(beta)`` for each cluster, and the words of a document are independent draws from theta. The
    density is that of the *sequence* of words, given its length: the product of theta_v to the power x_v. It is the
    same for all orders, so counts suffice; it sums to 1 over all sequences of one length, its exponential per word is
    the perplexity of the literature, and a weight w is w repetitions. The probability of the *counts* is larger by
    the number of orders, a constant of the data that cancels wherever partitions, priors or alphas are compared: add
    ``gammaln(n + 1) - gammaln(x + 1).sum()`` to a score to compare it with a density of counts, as of ``GammaPoisson``.

    Parameters
    ----------
    beta : float > 0 or array of shape (n_features,)
        The prior count of each word; a number is the same for all words (symmetric).

    Raises
    ------
    ValueError
        beta is not a finite number > 0; in ``read``, an entry that is no whole number from 0 to 1e9.

    Notes
    -----
    Immutable and comparable. ``X`` is a sparse matrix of scipy's or an array of counts; a point without words has
    density 1. A row is ``n, words, counts | sum of beta``; ``log_predictive``, ``add`` and ``remove`` cost O(entries of
    the point), ``prepare`` nothing, and the others O(n_features). In nats. Formulas: docs/maths.md, (39) to (41).

    Examples
    --------
    >>> prior = DirichletMultinomial(beta=0.5)
    >>> prior.for_data(prior.read([[2, 0, 1]])).beta
    array([0.5, 0.5, 0.5])
    """

    beta: Values

    @classmethod
    def empirical(cls, X: Any, sample_weight: Any = None) -> DirichletMultinomial:
        """The overall frequencies of words, one added to each count, times the mean length of a point (at least 1).

        So the prior counts as one point of average length, as a unit information prior does (Kass and Wasserman 1995).
        With ``sample_weight`` a point of weight w counts w times.
        """
        counts = check_counts(X)
        weights = check_weights(sample_weight, counts.n_points, 0.0)
        w = np.ones(counts.n_points) if weights is None else weights
        seen = np.bincount(counts.indices, counts.values * w[counts.row_numbers()], counts.n_features)
        return cls(max(seen.sum() / w.sum(), 1.0) * (seen + 1.0) / (seen.sum() + counts.n_features))

    @staticmethod
    def read(X: Any) -> Counts:
        """The points of ``X`` as the verbs read them; ValueError where they are no counts."""
        return check_counts(X)

    def for_data(self, X: Any) -> DirichletMultinomial:
        """Self with one entry a word; ValueError for data with another number of words."""
        return fitted_to(self, X)

    def fault(self, statistics: Matrix) -> str:
        """What statistics in a file have that those of no data have; empty where nothing is wrong."""
        words = statistics[:, 2:]
        if not np.allclose(statistics[:, 1], words.sum(axis=1), rtol=1e-6):
            return "the counts of words do not add up"
        return fault_of_sums(np.hstack([statistics[:, :1], words]), MOST)

    def size(self) -> int:
        return 3 + self.beta.shape[0]

    def n_statistics(self) -> int:
        return 2 + self.beta.shape[0]

    def init(self, row: Vector) -> None:
        row[:] = 0.0
        row[2 + self.beta.shape[0]] = sum_of(self.beta)

    def prepare(self, row: Vector) -> None:
        """Do nothing: a point needs only its own few words, and ``init`` has computed the sum of beta."""

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        row[0] += w
        for j in range(data.indptr[i], data.indptr[i + 1]):
            row[1] += w * data.values[j]
            row[2 + data.indices[j]] += w * data.values[j]

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """The inverse of ``add``; False if removals with weights that are not whole destroy a word's count."""
        least = 1.0 if is_exact(row[0], w) else (row[0] - w) / row[0]
        exact = least == 1.0
        row[0] -= w
        for j in range(data.indptr[i], data.indptr[i + 1]):
            v = data.indices[j]
            before = row[2 + v]
            row[1] = max(0.0, row[1] - w * data.values[j])
            row[2 + v] = max(0.0, before - w * data.values[j])
            if not exact:
                least = min(least, (self.beta[v] + row[2 + v]) / (self.beta[v] + before))
        return least >= LEAST_SHARE

    def merge(self, row: Vector, other: Vector) -> None:
        for s in range(self.n_statistics()):
            row[s] += other[s]

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """maths (40)."""
        return _log_gain(self, row, data, i, 1.0)

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row); maths (40)."""
        return _log_gain(self, row, data, i, w)

    def log_marginal(self, row: Vector) -> float:
        """maths (39)."""
        return log_marginal_of_counts(self.beta, row[2:]) - log_rising(row[2 + self.beta.shape[0]], row[1])

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:  # noqa: ARG002  (the sum of the two)
        """maths (41): only words that both have count."""
        total = row[2 + self.beta.shape[0]]
        apart = log_rising(total, other[1]) - log_rising(total + row[1], other[1])
        return apart + log_merge_of_counts(self.beta, row[2:], other[2:])

    def n_parameters(self) -> int:
        return self.beta.shape[0]

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """The logarithm of theta."""
        draw_log_shares(self.beta, row[2:], parameters, rng)

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """maths (101)."""
        expected_log_shares(self.beta, row[2:], row[2 + self.beta.shape[0]] + row[1], parameters)

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        total = 0.0
        for j in range(data.indptr[i], data.indptr[i + 1]):
            total += data.values[j] * parameters[data.indices[j]]
        return total

    def divergence(self, parameters: Vector, other: Vector) -> float:
        """That of one token."""
        return divergence_of_shares(parameters, other)


@jitable
def _log_gain(prior: DirichletMultinomial, row: Vector, data: Any, i: int, w: float) -> float:
    """sum_v log (beta_v + n_v)^(rising w x_v), less the same of the sums; small powers share one logarithm."""
    product, total, words = 1.0, 0.0, 0.0
    for j in range(data.indptr[i], data.indptr[i + 1]):
        count = w * data.values[j]
        base = prior.beta[data.indices[j]] + row[2 + data.indices[j]]
        words += count
        if w == 1.0 and count <= _FEW:
            for k in range(int(count)):
                product *= base + k
                if product > HUGE or product < TINY:
                    total += log(product)
                    product = 1.0
        else:
            total += log_rising(base, count)
    return total + log(product) - log_rising(row[2 + prior.beta.shape[0]] + row[1], words)
