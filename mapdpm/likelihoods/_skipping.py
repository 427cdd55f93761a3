"""Missing values: a family of independent features is a product of one-feature families, each with its own points."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.likelihoods._moments import LEAST_SHARE
from mapdpm.likelihoods._sums import is_exact
from mapdpm.names import MISSING
from mapdpm.protocol import Matrix, RngVerbs, Vector

_SKIP = MISSING[1]


class Skipping(NamedTuple):
    """``family``, under which NaN is a missing value, and is integrated out (decision 136).

    A feature of a cluster is a cluster of one feature, whose points are those with a value there. Its row, the *row of
    the feature*, is that of ``family.feature(d)``. So densities, marginals and gains are sums over features, in which a
    missing value has no term: maths (110) to (112).

    A row is ``weight | s_0[D], ..., s_S[D] | c_0[D], ..., c_C[D]``: the total weight of the points; the statistics of
    the rows of the features, the first of each (their total weight), then the second of each, and so on; then their
    constants in the same way. So the row of feature d is every D-th number from 1 + d on. For normal families it is
    ``weight, count[D], mean[D], M2[D] | constant[D], exponent[D], sum log b_n[D], share left[D], m_n[D], s_n[D]``.
    Parameters that ``tangent`` fills lie in the same way, from 0 on. Each verb calls one of each feature.
    """

    family: Any
    n_features: int

    def size(self) -> int:
        return 1 + self.n_features * int(self.family.feature(0).size())

    def n_statistics(self) -> int:
        return 1 + self.n_features * int(self.family.feature(0).n_statistics())

    def init(self, row: Vector) -> None:
        D = self.n_features
        row[0] = 0.0
        for d in range(D):
            self.family.feature(d).init(row[1 + d :: D])

    def prepare(self, row: Vector) -> None:
        D = self.n_features
        for d in range(D):
            self.family.feature(d).prepare(row[1 + d :: D])

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        D = self.n_features
        row[0] += w
        for d in range(D):
            if is_there(data[i, d]):
                self.family.feature(d).add(row[1 + d :: D], data[:, d : d + 1], i, w)

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """The inverse of ``add``. A feature that loses its last point is empty; whole weights say so exactly."""
        D = self.n_features
        left = row[0] - w
        if left < LEAST_SHARE * row[0] and not (left > 0.0 and is_exact(row[0], w)):
            return False
        row[0] = left
        for d in range(D):
            if is_there(data[i, d]):
                own = row[1 + d :: D]
                if own[0] == w and is_exact(w, w):
                    self.family.feature(d).init(own)
                elif not (own[0] > w and self.family.feature(d).remove(own, data[:, d : d + 1], i, w)):
                    return False
        return True

    def merge(self, row: Vector, other: Vector) -> None:
        D = self.n_features
        row[0] += other[0]
        for d in range(D):
            self.family.feature(d).merge(row[1 + d :: D], other[1 + d :: D])

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        D = self.n_features
        total = 0.0
        for d in range(D):
            if is_there(data[i, d]):
                total += self.family.feature(d).log_predictive(row[1 + d :: D], data[:, d : d + 1], i)
        return total

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        D = self.n_features
        total = 0.0
        for d in range(D):
            if is_there(data[i, d]):
                total += self.family.feature(d).log_predictive_weighted(row[1 + d :: D], data[:, d : d + 1], i, w)
        return total

    def log_marginal(self, row: Vector) -> float:
        D = self.n_features
        total = 0.0
        for d in range(D):
            total += self.family.feature(d).log_marginal(row[1 + d :: D])
        return total

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        """A sum over the features of which both have points: elsewhere the union is one of the two."""
        D = self.n_features
        total = 0.0
        for d in range(D):
            if row[1 + d] > 0.0 and other[1 + d] > 0.0:
                own = row[1 + d :: D]
                total += self.family.feature(d).log_merge(union[1 + d :: D], own, other[1 + d :: D])
        return total

    def n_parameters(self) -> int:
        return self.n_features * int(self.family.feature(0).n_parameters())

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        D = self.n_features
        for d in range(D):
            self.family.feature(d).draw(row[1 + d :: D], parameters[d::D], rng)

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Points with all values."""
        D = self.n_features
        return np.hstack([self.family.feature(d).draw_points(parameters[d::D], n, rng) for d in range(D)])

    def tangent(self, row: Vector, parameters: Vector) -> None:
        D = self.n_features
        for d in range(D):
            self.family.feature(d).tangent(row[1 + d :: D], parameters[d::D])

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        D = self.n_features
        total = 0.0
        for d in range(D):
            if is_there(data[i, d]):
                total += self.family.feature(d).log_likelihood(parameters[d::D], data[:, d : d + 1], i)
        return total

    @property
    def resolution(self) -> Vector:
        """That of the family; AttributeError where it has none."""
        steps: Vector = self.family.resolution
        return steps

    def shifted(self, offset: Vector) -> Skipping:
        """The same model for data from which ``offset`` was subtracted."""
        return self._replace(family=self.family.shifted(offset))

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Sample means and variances of clusters; where a feature has no point, the prior mean and 0."""
        D = self.n_features
        means, variances = np.tile(self.family.m0, (len(rows), 1)), np.zeros((len(rows), D))
        for d in range(D):
            seen = rows[:, 1 + d] > 0.0
            found = self.family.feature(d).moments(rows[seen, 1 + d :: D])
            means[seen, d], variances[seen, d] = (each[:, 0] for each in found)
        return means, variances


@jitable
def is_there(value: float) -> bool:
    """Whether a value is not missing: NaN differs from itself."""
    return value == value  # noqa: PLR0124


def is_family(kind: Any) -> bool:
    """Whether a class is a family with a prior that is integrated out."""
    return hasattr(kind, "log_predictive")


def has_verb(likelihood: Any, verb: str) -> bool:
    """Whether a family, or each part of a product, has an optional verb."""
    return bool(likelihood.has(verb)) if hasattr(likelihood, "has") else hasattr(likelihood, verb)


def empirical_prior(family: Any, X: Any, sample_weight: Any = None, missing: str = MISSING[0]) -> Any:
    """``family.empirical``; ValueError for weights, or values that may be ``missing``, if the family takes none."""
    if not hasattr(family, "empirical"):
        msg = f"{named(family)} has no `empirical`, which computes a prior from data: give one with its prior"
        raise ValueError(msg)
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    if missing == _SKIP:
        given["missing"] = missing
    for name in given:
        if name not in inspect.signature(family.empirical).parameters:
            msg = f"{named(family)}.empirical takes no {name}, so no prior is fitted with it: give one of your own"
            raise ValueError(msg)
    return family.empirical(X, **given)


def in_kernels(likelihood: Any, missing: str) -> Any:
    """``likelihood``, fitted to its data, as kernels read it; values of points may be ``missing``."""
    if hasattr(likelihood, "in_kernels"):
        return likelihood.in_kernels(missing)
    if missing != _SKIP:
        return likelihood
    return Skipping(likelihood, len(getattr(likelihood, next(iter(likelihood.axes)))))


def like(made_by: Any, likelihood: Any) -> Any:
    """``likelihood``, a plain family, as it reads the rows that ``made_by`` has made."""
    return in_kernels(likelihood, MISSING[skips(made_by)])


def plain(likelihood: Any) -> Any:
    """The family itself, whether or not it skips missing values."""
    return likelihood.family if isinstance(likelihood, Skipping) else likelihood


def called(likelihood: Any) -> str:
    """The name of a family in messages."""
    return named(plain(likelihood)) + f" with missing={_SKIP!r}" * skips(likelihood)


def named(likelihood: Any) -> str:
    """The name of a class, or of that of an object."""
    kind = likelihood if isinstance(likelihood, type) else type(likelihood)
    return str(getattr(kind, "title", kind.__name__))


def kinds_of(likelihood: Any) -> list[Any]:
    """The classes of a likelihood, as the user gave it or as kernels read it: one, or those of the parts."""
    return likelihood.kinds() if hasattr(likelihood, "kinds") else [type(plain(likelihood))]


def skips(likelihood: Any) -> bool:
    """Whether it takes NaN for a missing value."""
    return isinstance(likelihood, Skipping) or bool(getattr(likelihood, "skips", False))
