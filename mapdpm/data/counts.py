"""Counts: points that are mostly zeros, as the rows of a sparse matrix (CSR) that kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.hashing import mixed_bits
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.validation import check_points

MOST = 1e9
"""The largest count: sums of millions of them are exact."""

_SKETCH = 32
"""The number of random directions that sparse features are projected onto."""


class Counts(NamedTuple):
    """Rows of counts: point i has ``values[j]`` of feature ``indices[j]`` for ``indptr[i] <= j < indptr[i + 1]``.

    Examples
    --------
    >>> counts = check_counts([[0, 2, 1], [0, 0, 0], [3, 0, 0]])
    >>> counts.indices.tolist(), counts.indptr.tolist()
    ([1, 2, 0], [0, 2, 2, 3])
    >>> counts.rows(np.array([2, 0])).values.tolist()
    [3.0, 2.0, 1.0]
    """

    values: Vector
    indices: Labels
    indptr: Labels
    n_features: int

    @property
    def n_points(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def rows(self, points: Labels) -> Counts:
        """The rows ``points``, in that order; O(their entries)."""
        firsts, lengths = self.indptr[points], np.diff(self.indptr)[points]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(firsts - indptr[:-1], lengths)
        return Counts(self.values[entries], self.indices[entries], indptr, self.n_features)

    def part(self, first: int, last: int) -> Counts:
        """The rows from ``first`` to ``last`` - 1."""
        begin, end = self.indptr[first], self.indptr[last]
        indptr = self.indptr[first : last + 1] - begin
        return Counts(self.values[begin:end], self.indices[begin:end], indptr, self.n_features)

    def joined(self, others: Sequence[Counts]) -> Counts:
        """These rows, and those of ``others`` below them."""
        every = (self, *others)
        lengths = np.concatenate([np.diff(each.indptr) for each in every])
        values, indices = (np.concatenate([getattr(each, name) for each in every]) for name in ("values", "indices"))
        return Counts(values, indices, np.concatenate([[0], np.cumsum(lengths)]), self.n_features)

    def subtract_anchor(self, anchor: Vector, room: Matrix) -> Counts:  # noqa: ARG002  (of every ``PointSet``)
        """The counts as they are: they have no location."""
        return self

    @property
    def width(self) -> int:
        """D, or the number of random directions."""
        return min(self.n_features, _SKETCH)

    def as_vectors(self) -> Matrix:
        """Square roots of shares, whose squared distance is Hellinger's, so that no long document dominates.

        Many features are summed with random signs into 32 directions, which keeps distances in the mean (Achlioptas
        2003). The signs are bits of a hash of the feature: a point has the same vector in every part of the points.
        O(entries) for each direction.
        """
        row_numbers = self.row_numbers()
        roots = np.sqrt(self.values / np.maximum(self.totals(), 1.0)[row_numbers])
        if self.n_features <= _SKETCH:
            few = np.zeros((self.n_points, self.n_features))
            few[row_numbers, self.indices] = roots
            return few
        roots /= np.sqrt(_SKETCH)
        hashes = mixed_bits(self.indices)
        columns = []
        for bit in range(_SKETCH):
            signs = 1.0 - 2.0 * ((hashes >> np.uint64(bit)) & np.uint64(1)).astype(np.float64)
            columns.append(np.bincount(row_numbers, weights=signs * roots, minlength=self.n_points))
        return np.stack(columns, axis=1)

    def row_numbers(self) -> Labels:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_points), np.diff(self.indptr))

    def totals(self) -> Vector:
        """The sum of each row."""
        return np.bincount(self.row_numbers(), weights=self.values, minlength=self.n_points).astype(np.float64)


def check_counts(X: Any) -> Counts:
    """``X``, a sparse matrix, an array or ``Counts``, as ``Counts``.

    Raises
    ------
    ValueError
        Not 2-D, empty, arrays of a sparse matrix that do not fit together, or an entry that is no whole number from 0
        to 1e9 (with the place).
    """
    if isinstance(X, Counts):
        _check_compressed(X.indptr, X.indices, len(X.values), (X.n_points, X.n_features))
        counts = X
    else:
        counts = _of_sparse(X) if hasattr(X, "tocsr") else _of_dense(check_points(X))
    wrong = ~((counts.values >= 0.0) & (counts.values <= MOST) & (counts.values == np.floor(counts.values)))
    if np.any(wrong):
        at = int(np.argmax(wrong))
        place = f"row {counts.row_numbers()[at]}, column {counts.indices[at]}"
        got = f"there is {counts.values[at]:g} at {place} (counted from 0)"
        msg = f"X must hold counts, whole numbers from 0 to 1e9, but {got}"
        raise ValueError(msg)
    return counts


def _of_dense(points: NDArray[Any]) -> Counts:
    row_numbers, indices = np.nonzero(points)
    lengths = np.bincount(row_numbers, minlength=len(points))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Counts(points[row_numbers, indices].astype(np.float64), indices.astype(np.int64), indptr, points.shape[1])


def _of_sparse(X: Any) -> Counts:
    if len(X.shape) != 2 or 0 in X.shape:  # noqa: PLR2004
        msg = f"X must be a 2-D matrix (points x features) with at least one of each, got shape {tuple(X.shape)}"
        raise ValueError(msg)
    if X.dtype.kind not in "biuf":
        msg = f"X must hold counts, whole numbers from 0 to 1e9, got {X.dtype}"
        raise ValueError(msg)
    _check_structure(X)
    csr = X.tocsr()
    if not csr.has_canonical_format:  # an entry may be there twice
        csr = csr.copy()
        csr.sum_duplicates()
    indices, indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    n = indptr[-1]
    return Counts(csr.data[:n].astype(np.float64), indices[:n], indptr, int(X.shape[1]))


def _check_structure(X: Any) -> None:
    """ValueError if the arrays of a sparse matrix do not fit together: a damaged file can hold such a matrix."""
    form = getattr(X, "format", None)
    if form in {"csr", "csc"}:
        _check_compressed(X.indptr, X.indices, len(X.data), X.shape if form == "csr" else X.shape[::-1])
    elif form == "coo":
        _check_numbers("row", X.row, X.shape[0])
        _check_numbers("col", X.col, X.shape[1])
        if not len(X.row) == len(X.col) == len(X.data):
            _refuse_structure(f"{len(X.data)} entries, but {len(X.row)} rows and {len(X.col)} columns of them")
    elif form == "bsr":
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            _refuse_structure(str(error))


def _check_compressed(indptr: Any, indices: Any, n_entries: int, shape: tuple[int, ...]) -> None:
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        _refuse_structure(f"indptr must begin with 0, never fall, and have {shape[0] + 1} numbers")
    if not indptr[-1] <= min(len(indices), n_entries):
        _refuse_structure(f"indptr ends with {indptr[-1]}, but there are {len(indices)} indices, {n_entries} entries")
    _check_numbers("indices", indices, shape[1])


def _check_numbers(name: str, numbers: Any, end: int) -> None:
    if len(numbers) and not 0 <= np.min(numbers) <= np.max(numbers) < end:
        _refuse_structure(f"{name} must be from 0 to {end - 1}, got {np.min(numbers)} to {np.max(numbers)}")


def _refuse_structure(why: str) -> None:
    msg = f"X is a damaged sparse matrix: {why}"
    raise ValueError(msg)
