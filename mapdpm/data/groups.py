"""The groups of points: recordings, devices, patients, documents. A group is any hashable label, one a point."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Labels


class Groups(NamedTuple):
    """The names of groups in order of first appearance, and the group of each point."""

    names: NDArray[np.object_]
    of_points: Labels


def read_groups(groups: Any, n_points: int, what: str = "groups") -> Groups:
    """``groups``, one label a point, checked; None is one group of all points, whose name is None.

    Messages call the labels ``what``.

    Raises
    ------
    ValueError
        The number of labels differs from that of the points, or a label is missing (None, NaN, NaT) or not hashable.
    """
    if groups is None:
        return Groups(_names([None]), np.zeros(n_points, dtype=np.int64))
    labels = _listed(groups, n_points, what)
    if isinstance(labels, np.ndarray):
        values, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.argsort(order)
        return Groups(_names(values[order].tolist()), rank[inverse].astype(np.int64))
    numbers: dict[Hashable, int] = {}
    try:
        of_points = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    except TypeError as error:
        msg = f"{what} must be hashable labels, such as str or int ({error})"
        raise ValueError(msg) from None
    return Groups(_names(list(numbers)), of_points)


def _listed(groups: Any, n_points: int, what: str) -> NDArray[Any] | Sequence[Any]:
    """The labels as an array that numpy sorts, or as a list of plain objects; none is missing."""
    if hasattr(groups, "to_numpy"):
        groups = groups.to_numpy()
    elif hasattr(groups, "__array__") and not isinstance(groups, np.ndarray):
        groups = np.asarray(groups)
    if np.ma.is_masked(groups):
        msg = f"{what} has masked entries: each point needs one"
        raise ValueError(msg)
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__") or getattr(groups, "ndim", 1) == 0:
        msg = f"{what} must be one label a point, such as a list or an array, got {type(groups).__name__}"
        raise ValueError(msg)
    if getattr(groups, "ndim", 1) != 1 or len(groups) != n_points:
        shape = getattr(groups, "shape", (len(groups),))
        msg = f"{what} must have one label a point, shape ({n_points},), got shape {tuple(shape)}"
        raise ValueError(msg)
    kind = groups.dtype.kind if isinstance(groups, np.ndarray) else "O"
    if kind in "biuUS":
        return np.asarray(groups)
    # Numbers become those of Python, which a file can hold; dates and durations keep their type.
    labels = [plain(label) for label in groups]
    for i, label in enumerate(labels):
        if is_missing(label):
            msg = f"{what}[{i}] is {label!r}: each point needs one"
            raise ValueError(msg)
    return labels


def plain(label: Any) -> Any:
    """A number of numpy as one of Python, which a file can hold; any other label as it is."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind in "biuf" else label


def is_missing(label: Any) -> bool:
    """Whether a label is None, or not equal to itself, as NaN and NaT are."""
    if label is None:
        return True
    try:
        return bool(label != label)  # noqa: PLR0124  (NaN)
    except (TypeError, ValueError, ArithmeticError):
        return type(label).__name__ == "NAType"


def _names(values: Sequence[Any]) -> NDArray[np.object_]:
    names = np.empty(len(values), dtype=object)
    names[:] = values
    return names
