"""A product of unlike families over blocks of columns, as kernels read it: rows of parts, one after the other.

numba compiles no list of unlike families. So a product is a pair: the first family, and the rest, which is a family or
a pair again. ``Product`` is the outermost: it knows the total weight, and takes the columns out of a ``Table``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable, optional
from mapdpm.likelihoods._moments import LEAST_SHARE
from mapdpm.likelihoods._parameters import RESOLUTION
from mapdpm.likelihoods._skipping import is_there, plain
from mapdpm.likelihoods._sums import is_exact
from mapdpm.protocol import Matrix, RngVerbs, Vector

_LONGEST = 100  # a chain of pairs


class Part(NamedTuple):
    """A family of a product, and the first and last + 1 of its columns, and of its numbers in a row."""

    family: Any
    columns: slice
    row: slice


class Pair(NamedTuple):
    """``head`` over the first ``width`` columns, ``tail`` over the others; a row is that of each, without a weight."""

    head: Any
    tail: Any
    width: int

    def size(self) -> int:
        return int(self.head.size()) + int(self.tail.size())

    def init(self, row: Vector) -> None:
        first = self.head.size()
        self.head.init(row[:first])
        self.tail.init(row[first:])

    def prepare(self, row: Vector) -> None:
        first = self.head.size()
        self.head.prepare(row[:first])
        self.tail.prepare(row[first:])

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        first = self.head.size()
        add_if_there(self.head, row[:first], data[:, : self.width], i, w)
        add_if_there(self.tail, row[first:], data[:, self.width :], i, w)

    def remove_if_there(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """Each part knows by itself whether it is there."""
        first = self.head.size()
        if not remove_if_there(self.head, row[:first], data[:, : self.width], i, w):
            return False
        return remove_if_there(self.tail, row[first:], data[:, self.width :], i, w)

    def merge(self, row: Vector, other: Vector) -> None:
        first = self.head.size()
        self.head.merge(row[:first], other[:first])
        self.tail.merge(row[first:], other[first:])

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        first = self.head.size()
        own = log_predictive_if_there(self.head, row[:first], data[:, : self.width], i)
        return own + log_predictive_if_there(self.tail, row[first:], data[:, self.width :], i)

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        first = self.head.size()
        own = log_gain_if_there(self.head, row[:first], data[:, : self.width], i, w)
        return own + log_gain_if_there(self.tail, row[first:], data[:, self.width :], i, w)

    def log_marginal(self, row: Vector) -> float:
        first = self.head.size()
        return float(self.head.log_marginal(row[:first]) + self.tail.log_marginal(row[first:]))

    def merge_gain(self, union: Vector, row: Vector, other: Vector) -> float:
        """Each part knows by itself whether both clusters have points of it."""
        first = self.head.size()
        own = merge_gain(self.head, union[:first], row[:first], other[:first])
        return own + merge_gain(self.tail, union[first:], row[first:], other[first:])

    def n_parameters(self) -> int:
        return int(self.head.n_parameters()) + int(self.tail.n_parameters())

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        first, own = self.head.size(), self.head.n_parameters()
        self.head.draw(row[:first], parameters[:own], rng)
        self.tail.draw(row[first:], parameters[own:], rng)

    def tangent(self, row: Vector, parameters: Vector) -> None:
        first, own = self.head.size(), self.head.n_parameters()
        self.head.tangent(row[:first], parameters[:own])
        self.tail.tangent(row[first:], parameters[own:])

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        own = self.head.n_parameters()
        total = log_likelihood_if_there(self.head, parameters[:own], data[:, : self.width], i)
        return total + log_likelihood_if_there(self.tail, parameters[own:], data[:, self.width :], i)

    def divergence(self, parameters: Vector, other: Vector) -> float:
        own = self.head.n_parameters()
        total = self.head.divergence(parameters[:own], other[:own])
        return float(total + self.tail.divergence(parameters[own:], other[own:]))


class Product(NamedTuple):
    """A family, or a ``Pair`` of them, over the columns of a ``Table``; a part without any value is left out.

    A row is the weight of all points, and the rows of the parts. Their constants lie among their statistics, so all of
    a row counts as statistics (decision 157): ``merge`` adds what is to be added, and ``prepare`` makes constants anew.
    """

    parts: Any
    n_columns: int
    skips: bool
    """Whether the user may leave cells out."""
    blanks: tuple[tuple[int, int], ...] = ()
    """Pairs of columns: where the first is 1, the second is missing, in draws too."""

    def size(self) -> int:
        return 1 + int(self.parts.size())

    def n_statistics(self) -> int:
        return 1 + int(self.parts.size())

    def init(self, row: Vector) -> None:
        row[0] = 0.0
        self.parts.init(row[1:])

    def prepare(self, row: Vector) -> None:
        self.parts.prepare(row[1:])

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        row[0] += w
        add_if_there(self.parts, row[1:], data.array, i, w)

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:
        """The inverse of ``add``. A part that loses its last point is empty; whole weights say so exactly."""
        left = row[0] - w
        if left < LEAST_SHARE * row[0] and not (left > 0.0 and is_exact(row[0], w)):
            return False
        row[0] = left
        return remove_if_there(self.parts, row[1:], data.array, i, w)

    def merge(self, row: Vector, other: Vector) -> None:
        row[0] += other[0]
        self.parts.merge(row[1:], other[1:])

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        return log_predictive_if_there(self.parts, row[1:], data.array, i)

    def log_predictive_weighted(self, row: Vector, data: Any, i: int, w: float) -> float:
        return log_gain_if_there(self.parts, row[1:], data.array, i, w)

    def log_marginal(self, row: Vector) -> float:
        return float(self.parts.log_marginal(row[1:]))

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        return merge_gain(self.parts, union[1:], row[1:], other[1:])

    def n_parameters(self) -> int:
        return int(self.parts.n_parameters())

    def draw(self, row: Vector, parameters: Vector, rng: RngVerbs) -> None:
        self.parts.draw(row[1:], parameters, rng)

    def tangent(self, row: Vector, parameters: Vector) -> None:
        self.parts.tangent(row[1:], parameters)

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return log_likelihood_if_there(self.parts, parameters, data.array, i)

    def divergence(self, parameters: Vector, other: Vector) -> float:
        return float(self.parts.divergence(parameters, other))

    def draw_points(self, parameters: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Rows of the columns of all parts, given what ``draw`` fills."""
        blocks, at = [], 0
        for family, columns, _ in parts_of(self):
            own = family.n_parameters()
            drawn = family.draw_points(parameters[at : at + own], n, rng)
            blocks.append(np.asarray(drawn, dtype=np.float64).reshape(n, columns.stop - columns.start))
            at += own
        found = np.concatenate(blocks, axis=1)
        for flag, column in self.blanks:
            found[found[:, flag] == 1.0, column] = np.nan
        return found

    def shifted(self, offset: Vector) -> Product:
        """The same model for data less ``offset``, which is 0 where a part has no location."""
        parts = list(parts_of(self))
        return self.of_families(
            [p.family.shifted(offset[p.columns]) if np.any(offset[p.columns]) else p.family for p in parts]
        )

    def of_families(self, families: list[Any]) -> Product:
        """The same with other families over the same columns."""
        widths = [part.columns.stop - part.columns.start for part in parts_of(self)]
        return product_of(families, widths, self.skips, self.blanks)

    @property
    def resolution(self) -> Vector:
        """The step of each column; 0 where the family has none."""
        parts = ((getattr(part.family, RESOLUTION, 0.0), part.columns) for part in parts_of(self))
        return np.concatenate([np.broadcast_to(steps, own.stop - own.start) for steps, own in parts])

    def kinds(self) -> list[Any]:
        """The class of each part."""
        return [type(plain(part.family)) for part in parts_of(self)]

    def has(self, verb: str) -> bool:
        """Whether all parts have a verb."""
        return all(hasattr(plain(part.family), verb) for part in parts_of(self))

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Those of the parts that have some, NaN in the columns of the others; without points the prior mean and 0."""
        means, variances = np.full((2, len(rows), self.n_columns), np.nan)
        for family, columns, row in parts_of(self):
            if hasattr(plain(family), "moments"):
                seen = rows[:, row.start] > 0.0
                means[:, columns], variances[:, columns] = plain(family).m0, 0.0
                means[seen, columns], variances[seen, columns] = family.moments(rows[seen, row])
        return means, variances


Product.title = "Mixed"  # type: ignore[attr-defined]  # what users know it as


@jitable
def some_there(data: Matrix, i: int) -> bool:
    """Whether a point has a value in one of these columns."""
    for d in range(data.shape[1]):  # noqa: SIM110  (numba compiles it)
        if is_there(data[i, d]):
            return True
    return False


@jitable
def add_if_there(family: Any, row: Vector, data: Matrix, i: int, w: float) -> None:
    """``add``, where the point has a value for the family."""
    if some_there(data, i):
        family.add(row, data, i, w)


@optional
def remove_if_there(family: Any, row: Vector, data: Matrix, i: int, w: float) -> bool:
    """``remove``, where the point has a value for the family; its last point leaves an empty row."""
    if not some_there(data, i):
        return True
    if row[0] == w and is_exact(w, w):
        family.init(row)
        return True
    return bool(row[0] > w and family.remove(row, data, i, w))


@jitable
def log_predictive_if_there(family: Any, row: Vector, data: Matrix, i: int) -> float:
    """``log_predictive``, where the point has a value for the family; else 0."""
    return float(family.log_predictive(row, data, i)) if some_there(data, i) else 0.0


@jitable
def log_gain_if_there(family: Any, row: Vector, data: Matrix, i: int, w: float) -> float:
    """``log_predictive_weighted``, where the point has a value for the family; else 0."""
    return float(family.log_predictive_weighted(row, data, i, w)) if some_there(data, i) else 0.0


@optional
def merge_gain(family: Any, union: Vector, row: Vector, other: Vector) -> float:
    """``log_merge``, where both clusters have points of the family; elsewhere the union is one of the two."""
    return float(family.log_merge(union, row, other)) if row[0] > 0.0 and other[0] > 0.0 else 0.0


@jitable
def log_likelihood_if_there(family: Any, parameters: Vector, data: Matrix, i: int) -> float:
    """``log_likelihood``, where the point has a value for the family; else 0."""
    return float(family.log_likelihood(parameters, data, i)) if some_there(data, i) else 0.0


def product_of(
    families: list[Any], widths: list[int], skips: bool, blanks: tuple[tuple[int, int], ...] = ()
) -> Product:
    """The product of these families, each over so many columns."""
    return Product(_pairs(families, widths), sum(widths), skips, blanks)


def _pairs(families: list[Any], widths: list[int]) -> Any:
    """A family, or a chain of pairs; of many families a chain of chains, for Python's stack is not deep."""
    size = max(1, len(families) // _LONGEST + (len(families) % _LONGEST > 0))
    if size > 1:
        starts = range(0, len(families), size)
        families = [_pairs(families[i : i + size], widths[i : i + size]) for i in starts]
        widths = [sum(widths[i : i + size]) for i in starts]
    parts = families[-1]
    for family, width in zip(families[-2::-1], widths[-2::-1], strict=True):
        parts = Pair(family, parts, width)
    return parts


def parts_of(product: Product) -> Iterator[Part]:
    """The families of a product, with their columns and their places in a row."""
    waiting, column, at = [(product.parts, product.n_columns)], 0, 1
    while waiting:
        left, width = waiting.pop()
        if isinstance(left, Pair):
            waiting += [(left.tail, width - left.width), (left.head, left.width)]
            continue
        size = left.size()
        yield Part(left, slice(column, column + width), slice(at, at + size))
        column, at = column + width, at + size
