"""Checks of the statistics of clusters in a model file: each must be that of some data that a fit accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mapdpm.files.errors import refuse_damaged
from mapdpm.likelihoods import NormalInverseWishart
from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.likelihoods._skipping import Skipping, plain
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.validation import LARGEST_WEIGHT, LARGEST_WHOLE, check_points


class Moments(NamedTuple):
    """The weights of clusters (K,), and the weight, mean and M2 of each feature, (K, D); means are a view."""

    weights: Vector
    of_features: Matrix
    means: Matrix
    squares: Matrix

    @classmethod
    def of(cls, likelihood: Any, statistics: Matrix) -> Moments:
        """The moments in rows of 1 + 2 D numbers, of 1 + 3 D with a weight for each feature, or with a factor.

        Squares are -1 where the factor cannot be one.
        """
        D = len(plain(likelihood).m0)
        if isinstance(likelihood, NormalInverseWishart):
            means, weights = statistics[:, 1 : 1 + D], statistics[:, :1]
            with np.errstate(all="ignore"):
                squares = likelihood.moments(statistics)[1] * weights
            squares[~likelihood.are_factors(statistics)] = -1.0
            return cls(weights[:, 0], np.broadcast_to(weights, means.shape), means, squares)
        weights, first = statistics[:, 0], statistics.shape[1] - 2 * D
        counted = statistics[:, 1 : 1 + D] if first > 1 else np.broadcast_to(weights[:, None], (len(weights), D))
        return cls(weights, counted, statistics[:, first : first + D], statistics[:, first + D :])


def check_body(likelihood: Any, anchor: Vector, counts: Labels, rows: Matrix) -> None:
    """ModelFileError where the statistics in ``rows`` contradict each other."""
    checks = (
        ("anchor is not finite", np.all(np.isfinite(anchor))),
        ("statistics are not finite", np.all(np.isfinite(rows))),
        ("a cluster is empty", np.all(counts >= 1) and np.all(rows[:, 0] > 0)),
    )
    for what, fine in checks:
        check(bool(fine), what)
    for family, statistics in _parts(likelihood, rows):
        check(not np.any(statistics[:, 0] < 0.0), "a weight is negative")
        if hasattr(plain(family), "m0"):
            _check_moments(family, statistics, rows[:, :1])
        elif hasattr(family, "fault"):
            fault = family.fault(statistics)
            check(not fault, fault)


def check_reach(likelihood: Any, anchor: Vector, counts: Labels, rows: Matrix, discount: float) -> None:
    """ValueError for clusters that no data which a fit accepts can have: their densities would overflow."""
    check_points(anchor[None])
    n, weights = counts.astype(np.float64), rows[:, 0]
    check(n.sum() <= LARGEST_WHOLE, "counts are too large")
    # Within a factor of two, for weights are rounded when they are added, and reals may have four bytes.
    within = (weights >= 0.5 * n / LARGEST_WEIGHT) & (weights <= 2.0 * n * LARGEST_WEIGHT) & (weights > discount)
    check(bool(np.all(within)), "a weight does not fit its count")
    for kernels, statistics in _parts(likelihood, rows):
        family = plain(kernels)
        if not hasattr(family, "m0"):
            continue
        _, of_features, means, squares = Moments.of(kernels, statistics)
        # A mean, and a standard deviation, is within the range of the points: half of it, for rounding.
        with np.errstate(over="ignore"):
            deviations = np.sqrt(squares / np.where(of_features > 0.0, of_features, 1.0))
            for distances in (means - family.m0, deviations):
                family.for_data(family.m0 + 0.5 * distances)


def check(fine: bool, what: str) -> None:
    """ModelFileError with ``what`` is wrong, unless it is ``fine``."""
    if not fine:
        refuse_damaged(what)


def _check_moments(family: Any, statistics: Matrix, largest: Matrix) -> None:
    weights, of_features, means, squares = Moments.of(family, statistics)
    nowhere = of_features == 0.0
    everywhere = isinstance(family, Skipping)
    checks = (
        ("a cluster is empty", not everywhere or np.all(np.any(~nowhere, axis=1) | (weights == 0.0))),
        # Within a factor of two, for both are rounded sums.
        ("weights of features do not fit", np.all((of_features >= 0) & (0.5 * of_features <= largest))),
        ("a feature without points has moments", not np.any(means[nowhere]) and not np.any(squares[nowhere])),
        ("sums of squares are negative, or a factor does not fit the prior", np.all(squares >= 0)),
    )
    for what, fine in checks:
        check(bool(fine), what)


def _parts(likelihood: Any, rows: Matrix) -> Iterator[tuple[Any, Matrix]]:
    """The families of a likelihood, as kernels read them, with the statistics of each; of features where they skip."""
    if isinstance(likelihood, Product):
        for part in parts_of(likelihood):
            yield from _parts(part.family, rows[:, part.row])
    elif isinstance(likelihood, Skipping) and not hasattr(likelihood.family, "m0"):
        D = likelihood.n_features
        for d in range(D):
            feature = likelihood.family.feature(d)
            yield feature, rows[:, 1 + d :: D][:, : feature.n_statistics()]
    else:
        yield likelihood, rows[:, : likelihood.n_statistics()]
