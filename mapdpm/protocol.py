"""The protocol: the verbs a likelihood, a partition prior and a source of randomness answer to.

A likelihood, a partition prior and an ``Rng`` are ``typing.NamedTuple`` classes whose fields are parameters and whose
methods are the verbs below. Kernels (a sweep, a sampler) call verbs and nothing else, so one source runs as plain
Python, and compiled by numba (``jit.py`` registers each verb named here, once). Verbs take ``(row, data, i)`` and not
a point, so that dense arrays and sparse counts pass through the same kernels.

A *row* describes one cluster: *statistics* first, then *prepared constants*. ``row[0]`` is the total weight of the
cluster, in every family. ``add``, ``remove`` and ``merge`` touch statistics only; ``prepare`` rebuilds the constants
from them, and the ``log_*`` verbs read both. Only statistics are merged, decayed and saved.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

SMALLEST, LARGEST = 1e-100, 1e100
"""Bounds of positive parameters and weights: within them squares and short products stay finite in float64."""

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Values: TypeAlias = Any
"""A parameter that is a vector: given as a number or a sequence, kept as a read-only Vector."""

Labels: TypeAlias = NDArray[np.int64]
Weights: TypeAlias = NDArray[np.float64] | None
"""One positive weight a point, or None where every point weighs 1."""


class LikelihoodVerbs(Protocol):
    """The verbs of a conjugate family, for kernels. All logarithms are natural, all constants included (nats)."""

    def size(self) -> int:
        """Length of a row."""

    def n_statistics(self) -> int:
        """How many leading entries of a row are statistics."""

    def init(self, row: Vector) -> None:
        """Make ``row`` the row of an empty cluster, prepared."""

    def prepare(self, row: Vector) -> None:
        """Rebuild the constants of ``row`` from its statistics."""

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        """Add point ``i`` with weight ``w`` to the statistics."""

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """Take point ``i`` out of the statistics; False if rounding has destroyed them and the row must be rebuilt.

        Never asked to empty a row: the caller uses ``init`` for that. Constants are stale afterwards (decision 3).
        """

    def merge(self, row: Vector, other: Vector) -> None:
        """Add the statistics of ``other`` to those of ``row``."""

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """log p(x_i | the points in ``row``)."""

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        """L(row + w x_i) - L(row), L the log marginal. A family without it takes no ``sample_weight``."""

    def log_predictive_without(self, row: Vector, data: Any, i: int) -> float:
        """log p(x_i | the other points in ``row``), which holds x_i, all of weight 1; nan where digits are lost.

        Optional, for speed: without it the point is taken out of a copy of the row.
        """

    def log_marginal(self, row: Vector) -> float:
        """L(row): log of the density of the points in ``row``, parameters integrated out; 0 for an empty row."""

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        """L(union) - L(row) - L(other), ``union`` the merged row of the two; from their statistics alone."""

    def feature(self, d: int) -> Any:
        """The family of feature ``d`` alone, where features are independent: a family without it needs whole points."""

    def n_parameters(self) -> int:
        """How many numbers ``draw`` fills. A family without it and the two below is for collapsed methods only."""

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        """Fill ``parameters`` with a draw of those of the cluster, given its points; of the prior for an empty row."""

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        """Log F(x_i | parameters), of what ``draw`` fills."""

    def log_likelihoods(self, parameters: Vector, tile: Matrix, values: Vector) -> None:
        """The same, bit for bit, of all points in ``tile``, shape (n_features, n_points). Optional: for speed."""

    def tangent(self, row: Vector, parameters: Vector) -> None:
        """Fill ``parameters`` so that ``log_likelihood`` gives E[log F(x | theta) | the points in ``row``].

        That is the slope of the log marginal towards a point x, which is convex: maths (96). For a row with points.
        """

    def divergence(self, parameters: Vector, other: Vector) -> float:
        """KL(F || F') + KL(F' || F) of the densities that two draws give. A family without it has no near clusters."""


class NonconjugateVerbs(Protocol):
    """The verbs of a family whose parameters are not integrated out; beside ``n_parameters`` and ``log_likelihood``.

    Parameters are a vector. ``points`` are numbers of points, without an order. A split needs the density of new
    parameters. A draw from a vague prior would fit no point, and a random walk from old parameters open no cluster.
    """

    def log_prior(self, parameters: Vector) -> float:
        """Log density of the parameters of a cluster under the prior."""

    def propose(self, parameters: Vector, data: Any, points: Labels, rng: RngVerbs) -> None:
        """Fill ``parameters`` with a draw from q(. | points), nearly their posterior; for one point or more."""

    def log_proposal(self, parameters: Vector, data: Any, points: Labels) -> float:
        """log q(parameters | points), the density by which ``propose`` draws."""


class PartitionPriorVerbs(Protocol):
    """The verbs of a prior over partitions, for kernels."""

    @property
    def discount(self) -> float:
        """The discount of a Pitman-Yor process; 0 for every other prior. Kernels do not read it."""

    def log_existing(self, n: float, w: float) -> float:
        """Log weight of joining a cluster of total weight ``n`` with a point of weight ``w``."""

    def log_new(self, k: int, w: float) -> float:
        """Log weight of opening a cluster beside ``k`` others with a point of weight ``w``."""

    def slope(self, n: float) -> float:
        """The derivative of log p(z) by the total weight ``n`` of a cluster; of a prior that is convex in it."""

    def log_normaliser(self, total: float, w: float) -> float:
        """The log of the factor that turns the weights above into probabilities, after points of weight ``total``."""

    def log_partition(self, sizes: Vector) -> float:
        """log p(z) of a partition, from the total weights of its clusters."""


class RngVerbs(Protocol):
    """The only source of randomness of a sampler, so that tests can enumerate every choice."""

    def categorical(self, logw: Vector) -> int:
        """An index drawn in proportion to ``exp(logw)``; ``logw`` is overwritten."""

    def by_weight(self, weights: Vector) -> int:
        """An index drawn in proportion to ``weights`` >= 0."""

    def integer(self, n: int) -> int:
        """A uniform integer below ``n``."""

    def accept(self, log_ratio: float) -> bool:
        """True with probability ``min(1, exp(log_ratio))``."""

    def chance(self, probability: float) -> bool:
        """True with this probability."""

    def uniform(self) -> float:
        """A uniform draw from [0, 1)."""

    def normal(self) -> float:
        """A standard normal draw."""

    def gamma(self, shape: float) -> float:
        """A draw from Gamma(shape, rate 1)."""

    def log_gamma(self, shape: float) -> float:
        """Log of a draw from Gamma(shape, rate 1), which may be too small for a float."""

    def log_odds(self, a: float, b: float) -> float:
        """log x / (1 - x) of a draw x from Beta(a, b), which may be too near to 0 or 1 for a float."""


class Model(NamedTuple):
    """The model that a kernel reads: the family, the partition prior, the points and their weights."""

    likelihood: Any
    prior: Any
    data: Any
    weights: Weights = None


PROTOCOLS = (LikelihoodVerbs, NonconjugateVerbs, PartitionPriorVerbs, RngVerbs)


class PartitionPrior(PartitionPriorVerbs, Protocol):
    """The verbs, and what a search for the mode asks besides, outside kernels."""

    def given_other_clusters(self, k: int) -> Any:
        """The prior of how some of the points are parted, given that ``k`` clusters hold the others.

        Up to a constant: of two partitions of those points the log joints differ by the same.
        """

    @property
    def unit(self) -> float:
        """A difference of log joints that matters."""

    def of_sample(self, share: float) -> Any:
        """The prior of a random share of the points, to find about the same clusters there."""


class Likelihood(LikelihoodVerbs, Protocol):
    """The verbs, and what an estimator asks besides, outside kernels.

    A family whose verbs read anything but a dense array of finite numbers also has ``read(X)``: what a user gave,
    checked, in the form they read (``mapdpm.data`` then knows that form).
    """

    @classmethod
    def empirical(cls, X: Matrix) -> Any:
        """A prior set from the data."""

    def for_data(self, X: Any) -> Any:
        """Self with one entry a feature in every vector; ValueError where ``X`` is outside of the family's domain."""

    def shifted(self, offset: Vector) -> Any:
        """The same model for data less ``offset``; a family without location has no such method."""

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Any:
        """``n`` points given parameters, one a row, in coordinates less the anchor; a family may have none."""

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Sample means and variances (M2 / n) of the clusters in ``rows``; only where the family has them."""
