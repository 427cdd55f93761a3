"""Tokens of documents: each cluster, a topic, has an unknown distribution over the vocabulary."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.tokens import Tokens, check_tokens, word_of
from mapdpm.likelihoods._dirichlet import (
    divergence_of_shares,
    draw_log_shares,
    expected_log_shares,
    log_marginal_of_counts,
    log_merge_of_counts,
    sum_of,
)
from mapdpm.likelihoods._moments import LEAST_SHARE
from mapdpm.likelihoods._parameters import Width, fitted_to, of_class_too, parameters
from mapdpm.likelihoods._sums import fault_of_sums, is_exact
from mapdpm.protocol import LARGEST, Labels, Matrix, RngVerbs, Values, Vector
from mapdpm.special import log_rising
from mapdpm.validation import check_weights


@parameters(vectors=("beta",), positive={"beta": LARGEST}, widths={"beta": Width()}, number=8)
class Categorical(NamedTuple):
    """Points that are one of V categories each, such as the words of documents; conjugate Dirichlet prior.

    ``theta ~ Dirichlet(beta)`` for each cluster, and ``p(x = v) = theta_v``. With the documents as groups
    (``samplers.DirectAssignment``) clusters are topics: Teh2004 section 6.1. A document as one point is
    ``DirichletMultinomial``.

    Parameters
    ----------
    beta : float > 0 or array of shape (n_words,)
        The prior count of each word; a number is the same for all words of the data, up to the largest (symmetric).

    Raises
    ------
    ValueError
        beta is not a finite number > 0; in ``read``, a point that is no whole number >= 0.

    Notes
    -----
    Immutable and comparable. ``X`` is one number of a word for each point, or what ``documents.read`` returns. For the
    columns of a table it is a part of ``Mixed``; the class itself, with a DataFrame, is one part a column. A row is
    ``n, counts | sum of beta``: ``log_predictive``, ``add`` and ``remove`` cost O(1), ``prepare`` nothing, and the
    others O(V). In nats. p(x = v | cluster) = (beta_v + n_v) / (sum of beta + n), maths (75).

    Examples
    --------
    >>> prior = Categorical(beta=0.5)
    >>> prior.for_data(prior.read([2, 0, 1])).beta
    array([0.5, 0.5, 0.5])
    """

    beta: Values

    @classmethod
    def empirical(cls, X: Any, sample_weight: Any = None) -> Categorical:
        """The overall frequencies of words, one added to each count: a prior that counts as one point.

        With ``sample_weight`` a point of weight w counts w times.
        """
        tokens = check_tokens(X, None)
        weights = check_weights(sample_weight, tokens.n_points, 0.0)
        seen = np.bincount(tokens.words, weights, tokens.n_words) + 1.0
        return cls(seen / seen.sum())

    @of_class_too
    def read(self: Any, X: Any) -> Tokens:
        """The points of ``X`` as the verbs read them; ValueError where they are no numbers of words."""
        return check_tokens(X, len(self.beta) if self is not None and len(self.beta) > 1 else None)

    def for_data(self, X: Any) -> Categorical:
        """Self with one entry a word; ValueError for data with another number of words."""
        return fitted_to(self, X)

    def fault(self, statistics: Matrix) -> str:
        """What statistics in a file have that those of no data have; empty where nothing is wrong."""
        return fault_of_sums(statistics, 1.0)

    def size(self) -> int:
        return 2 + self.beta.shape[0]

    def n_statistics(self) -> int:
        return 1 + self.beta.shape[0]

    def init(self, row: Vector) -> None:
        row[:] = 0.0
        row[1 + self.beta.shape[0]] = sum_of(self.beta)

    def prepare(self, row: Vector) -> None:
        """Do nothing: ``init`` has computed the sum of beta."""

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        row[0] += w
        row[1 + word_of(data, i)] += w

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """The inverse of ``add``; False if a weight that is not whole destroys the count."""
        at, exact = 1 + word_of(data, i), is_exact(row[0], w)
        before, total = row[at], row[0]
        row[0] -= w
        row[at] = max(0.0, before - w)
        left = (self.beta[word_of(data, i)] + row[at]) / (self.beta[word_of(data, i)] + before)
        return exact or min(left, row[0] / total) >= LEAST_SHARE

    def merge(self, row: Vector, other: Vector) -> None:
        for s in range(self.n_statistics()):
            row[s] += other[s]

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """maths (75)."""
        v = word_of(data, i)
        return log((self.beta[v] + row[1 + v]) / (row[1 + self.beta.shape[0]] + row[0]))

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row)."""
        v = word_of(data, i)
        return log_rising(self.beta[v] + row[1 + v], w) - log_rising(row[1 + self.beta.shape[0]] + row[0], w)

    def log_predictive_without(self, row: Vector, data: Any, i: int) -> float:
        """maths (75), of the other points."""
        v = word_of(data, i)
        return log((self.beta[v] + max(row[1 + v] - 1.0, 0.0)) / (row[1 + self.beta.shape[0]] + (row[0] - 1.0)))

    def log_marginal(self, row: Vector) -> float:
        """maths (75)."""
        return log_marginal_of_counts(self.beta, row[1:]) - log_rising(row[1 + self.beta.shape[0]], row[0])

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:  # noqa: ARG002  (the sum of the two)
        """As ``DirichletMultinomial``: only words that both have count."""
        total = row[1 + self.beta.shape[0]]
        apart = log_rising(total, other[0]) - log_rising(total + row[0], other[0])
        return apart + log_merge_of_counts(self.beta, row[1:], other[1:])

    def n_parameters(self) -> int:
        return self.beta.shape[0]

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """The logarithm of theta."""
        draw_log_shares(self.beta, row[1:], parameters, rng)

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """maths (101)."""
        expected_log_shares(self.beta, row[1:], row[1 + self.beta.shape[0]] + row[0], parameters)

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return float(parameters[word_of(data, i)])

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Labels:
        shares = np.exp(parameters)
        return rng.choice(len(shares), n, p=shares / shares.sum())

    def divergence(self, parameters: Vector, other: Vector) -> float:
        return divergence_of_shares(parameters, other)
