"""The best partition of one column into intervals, clusters that follow each other along it: maths (175).

A mode of a mixture of one column may have a narrow cluster inside a wide one, which intervals cannot say: theirs is a
lower bound of the largest joint. It costs O(A^2) marginals for A atoms, a few milliseconds for a hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from mapdpm.likelihoods._marginals import CountMarginals, NormalMarginals
from mapdpm.protocol import Matrix, Vector
from mapdpm.special import log_rising_of_arrays

MOST_ATOMS = 100

Marginals: TypeAlias = Callable[[Vector, Vector, Vector], Matrix]


class Atoms(NamedTuple):
    """Groups of equal or nearly equal values of a column, which rise: their means, weights, and sums of squares."""

    values: Vector
    weights: Vector
    squares: Vector
    """Of deviations from the mean of the group; 0 where its values are equal."""


class Intervals(NamedTuple):
    """The largest log joint of a column's partitions into intervals, in nats; and what it is for one cluster."""

    joint: float
    one: float
    """The largest joint of one cluster, under a prior of its own."""
    n_clusters: int
    place: int
    """The prior of the largest joint, among those of the marginals."""


def best_intervals(
    values: Vector, weights: Vector, log_marginal_of: Marginals, alpha: float = 1.0, squares: Vector | None = None
) -> Intervals:
    """The partition of atoms into intervals of largest log joint, under the best of some priors.

    The joint is K log alpha + sum_k (lnGamma(n_k) + L(c_k)) + lnGamma(alpha) - lnGamma(alpha + N), as that of all
    partitions.

    Parameters
    ----------
    values, weights : array of shape (n_atoms,)
        Values, which rise, and the number of points of each.
    log_marginal_of : callable
        From the weights, means and sums of squares of clusters, arrays, to their log marginals: a line a prior.
    alpha : float
        The concentration.
    squares : array of shape (n_atoms,), optional
        The squared deviations within each atom.

    Examples
    --------
    >>> values = np.array([-1.1, -1.0, -0.9, 0.9, 1.0, 1.1])
    >>> found = best_intervals(values, np.full(6, 10.0), NormalMarginals.of_step(0.1).of)
    >>> found.n_clusters, found.joint > found.one
    (2, True)
    """
    n_atoms = len(values)
    n, mean, within = _of_intervals(values, weights, np.zeros(n_atoms) if squares is None else squares)
    marginals = np.atleast_2d(log_marginal_of(n, mean, within))
    gains = marginals + (np.log(alpha) + log_rising_of_arrays(np.ones(1), n) - np.log(n))
    best = np.zeros((len(gains), n_atoms + 1))
    n_clusters = np.zeros((len(gains), n_atoms + 1), dtype=np.int64)
    lines = np.arange(len(gains))
    first = 0
    for end in range(1, n_atoms + 1):
        ways = best[:, :end] + gains[:, first : first + end]
        start = ways.argmax(axis=1)
        best[:, end] = ways[lines, start]
        n_clusters[:, end] = n_clusters[lines, start] + 1
        first += end
    place = int(best[:, -1].argmax())
    rest = float(log_rising_of_arrays(np.full(1, alpha), weights.sum(keepdims=True))[0])
    one = float(gains[:, first - n_atoms].max()) - rest
    return Intervals(float(best[place, -1]) - rest, one, int(n_clusters[place, -1]), place)


def normal_intervals(atoms: Atoms, step: float = 0.0, alpha: float = 1.0) -> Intervals:
    """``best_intervals`` of normal clusters whose values have this step; a density in units of the values."""
    n, mean, squares = _merged(atoms)
    scale = math.sqrt(squares / n) or 1.0
    marginals = NormalMarginals.of_step(step / scale)
    found = best_intervals((atoms.values - mean) / scale, atoms.weights, marginals.of, alpha, atoms.squares / scale**2)
    unit = n * math.log(scale)
    return found._replace(joint=found.joint - unit, one=found.one - unit)


def count_intervals(atoms: Atoms, log_factorials: float, alpha: float = 1.0) -> Intervals:
    """``best_intervals`` of counts; ``log_factorials`` is the sum of log x! over all points."""
    mean = _merged(atoms)[1]
    found = best_intervals(atoms.values, atoms.weights, CountMarginals.of_mean(mean).of, alpha)
    return found._replace(joint=found.joint - log_factorials, one=found.one - log_factorials)


def atoms_of(values: Vector, counts: Vector, most: int = MOST_ATOMS) -> Atoms:
    """Distinct values, which rise, with their numbers, in at most ``most`` groups.

    Half of the borders are the widest gaps, the others are at equal numbers of points.
    """
    n = len(values)
    if n <= most:
        return Atoms(values, counts, np.zeros(n))
    gaps = np.argpartition(np.diff(values), n - 1 - most // 2)[n - 1 - most // 2 :] + 1
    shares = np.searchsorted(np.cumsum(counts), counts.sum() * np.arange(1, most - len(gaps)) / (most - len(gaps)))
    borders = np.unique(np.concatenate([[0], gaps, shares]))
    weights = np.add.reduceat(counts, borders)
    means = np.add.reduceat(counts * values, borders) / weights
    off = values - np.repeat(means, np.diff(np.append(borders, n)))
    return Atoms(means, weights, np.add.reduceat(counts * off**2, borders))


def _merged(atoms: Atoms) -> tuple[float, float, float]:
    """Weight, mean and squares of all points."""
    n, first = float(atoms.weights.sum()), float(atoms.values[0])
    mean = first + float(atoms.weights @ (atoms.values - first)) / n
    return n, mean, float(atoms.squares.sum() + atoms.weights @ (atoms.values - mean) ** 2)


def _of_intervals(values: Vector, weights: Vector, squares: Vector) -> tuple[Vector, Vector, Vector]:
    """Weights, means and squares of all intervals: those that end with the first atom, with the second, and so on.

    Sums of each are about its first atom, so that a narrow one far from 0 loses no digits.
    """
    last, first = np.tril_indices(len(values))
    away = values - values[:, None]  # a line for each first atom
    sums = [
        np.cumsum(np.triu(each), axis=1)[first, last]
        for each in (np.broadcast_to(weights, away.shape), weights * away, weights * away**2 + squares)
    ]
    n, shift = sums[0], sums[1] / sums[0]
    return n, values[first] + shift, np.maximum(sums[2] - n * shift**2, 0.0)
