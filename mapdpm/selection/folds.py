"""Folds of cross-validation: random, blocks of time, groups, or given by the caller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Labels
from mapdpm.rng import seeded
from mapdpm.validation import check_count, check_one_a_point, refuse_value

_LEAST = 2


class Fold(NamedTuple):
    """Rows to fit on, and rows to score."""

    train: Labels
    test: Labels


def folds_of(
    n_points: int, folds: Any, *, groups: Any = None, blocked: bool = False, random_state: Any = 0
) -> list[Fold]:
    """The folds of ``n_points`` rows.

    Parameters
    ----------
    n_points : int
    folds : int, object with ``split(X)``, or iterable of (train, test)
        A number of folds; or a splitter of scikit-learn; or pairs of arrays of row numbers.
    groups : array-like of shape (n_points,), optional
        Points of the same group (a recording, a subject) are held out together: groups, the largest first, each join
        the smallest fold.
    blocked : bool
        True: consecutive rows are held out together, for points in order of time. False: rows are dealt at random.
    random_state : int, Generator or None
        Source of randomness; None always gives the same folds.
    """
    if hasattr(folds, "split"):
        return _checked(folds.split(np.empty((n_points, 1)), None, groups), n_points)
    if isinstance(folds, Iterable):
        return _checked(folds, n_points)
    count = check_count("folds", folds, _LEAST)
    if count > n_points:
        msg = f"folds must be at most the number of points, got {count} folds of {n_points} points"
        raise ValueError(msg)
    if groups is not None:
        parts = _by_group(groups, n_points, count)
    else:
        rows = (
            np.arange(n_points)
            if blocked
            else seeded(0 if random_state is None else random_state).generator.permutation(n_points)
        )
        parts = [np.sort(part) for part in np.array_split(rows, count)]
    everything = np.arange(n_points)
    return [Fold(np.setdiff1d(everything, part), part) for part in parts]


def _by_group(groups: Any, n_points: int, count: int) -> list[Labels]:
    array = np.asarray(groups)
    check_one_a_point("groups", array, n_points)
    _, inverse, sizes = np.unique(array, return_inverse=True, return_counts=True)
    if len(sizes) < count:
        msg = f"folds must be at most the number of groups, got {count} folds of {len(sizes)} groups"
        raise ValueError(msg)
    fold_of, filled = np.zeros(len(sizes), dtype=np.int64), np.zeros(count, dtype=np.int64)
    for group in np.argsort(-sizes, kind="stable"):
        fold_of[group] = np.argmin(filled)
        filled[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[inverse] == fold) for fold in range(count)]


def _checked(pairs: Iterable[Any], n_points: int) -> list[Fold]:
    found = []
    for number, pair in enumerate(pairs):
        parts = tuple(pair) if isinstance(pair, Iterable) else ()
        if len(parts) != _LEAST:
            refuse_value("folds must be a number, a splitter, or pairs (train, test) of row numbers", pair)
        train, test = parts
        what = f"part of fold {number}"
        found.append(Fold(_rows(train, n_points, f"training {what}"), _rows(test, n_points, f"test {what}")))
    if not found:
        msg = "folds has no fold"
        raise ValueError(msg)
    return found


def _rows(rows: Any, n_points: int, what: str) -> Labels:
    array: NDArray[Any] = np.asarray(rows)
    if array.dtype == bool and array.shape == (n_points,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        refuse_value(f"the {what} must be row numbers", rows)
    if not array.size:
        msg = f"the {what} is empty"
        raise ValueError(msg)
    if array.min() < 0 or array.max() >= n_points:
        msg = (
            f"the {what} has row {array.max() if array.min() >= 0 else array.min()}, of {n_points} rows counted from 0"
        )
        raise ValueError(msg)
    return array.astype(np.int64)
