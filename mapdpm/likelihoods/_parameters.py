"""The base of every likelihood as a Python object: an immutable, checked, comparable tuple of parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mapdpm.data import point_set
from mapdpm.likelihoods import _moments as mo
from mapdpm.likelihoods._registry import enter, kebab
from mapdpm.names import MISSING
from mapdpm.protocol import LARGEST, SMALLEST, Matrix, Vector, Weights
from mapdpm.validation import LARGEST_ENTRY, check_choice, check_number, check_points, check_weights, refuse_value

C = TypeVar("C", bound=type)

# A factor 1 + z^2 stays below 1e71, and times a product not yet folded (1e100) finite: docs/maths.md, section 5.
LARGEST_Z = 1e35

# The smallest ratio of a pivot to the diagonal entry. A matrix with a smaller one is singular, up to rounding. An
# asymmetry up to this ratio is rounding too.
_LEAST_PIVOT = 1e-12

RESOLUTION = "resolution"
"""A vector of this name is the step that the values of each feature are rounded to: 0, which is none, or more."""

_MATRIX = 2
_PART = 1 << 12  # points


class Width(NamedTuple):
    """A parameter that says how wide clusters are: its range where the prior is fitted.

    The range is that of multiples of the empirical value, or of the value itself; of one that is ``above_dimension``
    that of its excess over the number of features less one, and the end is for each feature. At a start, one that
    ``follows`` is the width of clusters, or the empirical value times that.
    """

    low: float = 1e-6
    high: float = 1e6
    absolute: bool = False
    follows: bool = True
    above_dimension: bool = False


COUNT = Width(1e-8, 1.0, absolute=True)
"""The range of how many points a prior mean counts as: a few clusters could not tell a number above 1."""


def parameters(
    *,
    vectors: tuple[str, ...],
    positive: dict[str, float],
    matrices: tuple[str, ...] = (),
    check: Callable[[Any], None] | None = None,
    widths: dict[str, Width] | None = None,
    number: int = 0,
    name: str = "",
) -> Any:
    """Turn a NamedTuple class into a family: checked, frozen, compared by values (decision 2).

    Fields named in ``vectors`` become read-only float64 arrays of one common length (a scalar is a vector of one
    entry, stretched to the data later); those in ``matrices`` symmetric positive definite ones of as many rows (a
    vector is a diagonal); all others become floats. A vector named ``RESOLUTION`` is >= 0, and is left out of texts,
    and of files, where it is 0. Fields named in ``positive`` must be > 0, a matrix on its
    diagonal, and at most what it says. ``check`` is called with each object made, for what concerns several fields.
    ``widths`` are the parameters that are fitted where the class stands for its fitted prior. ``name`` is what the
    command line, and files of models, call the family. One of the package has a ``number`` in files instead, which
    ``enum mapdpm_family`` of mapdpm.h has where C knows the family; its name follows from that of the class.
    """
    axes = dict.fromkeys(vectors, 1) | dict.fromkeys(matrices, _MATRIX)

    def decorate(cls: C) -> C:
        bare = cls.__new__

        @functools.wraps(bare)
        def new(kind: type, *args: Any, **kwargs: Any) -> Any:
            raw = bare(kind, *args, **kwargs)
            checked = {
                name: _checked(name, value, axes.get(name, 0), positive.get(name))
                for name, value in zip(raw._fields, raw, strict=True)
            }
            lengths = {name: len(checked[name]) for name in axes}
            common = set(lengths.values()) - {1}
            if len(common) > 1:
                got = ", ".join(f"{name} has {length}" for name, length in lengths.items() if length > 1)
                msg = f"the vectors of {cls.__name__} must have one entry a feature each, got: {got}"
                raise ValueError(msg)
            made = bare(kind, *(stretched(v, *common) if name in axes else v for name, v in checked.items()))
            if check is not None:
                check(made)
            return made

        cls.axes = axes  # type: ignore[attr-defined]
        cls.positive = positive  # type: ignore[attr-defined]
        cls.widths = widths or {}  # type: ignore[attr-defined]
        cls.number = number  # type: ignore[attr-defined]
        cls.name = name or (kebab(cls.__name__) if number else "")  # type: ignore[attr-defined]
        cls._make = classmethod(lambda kind, values: kind(*values))  # type: ignore[attr-defined]  # _replace checks too
        cls.__new__ = new  # type: ignore[method-assign, assignment]
        cls.__eq__ = _equal  # type: ignore[assignment]
        cls.__ne__ = _differ  # type: ignore[assignment]
        cls.__hash__ = _hash  # type: ignore[assignment]
        if RESOLUTION in axes:
            cls.__repr__ = _repr  # type: ignore[assignment]
        if cls.name:  # type: ignore[attr-defined]
            enter(cls)
        return cls

    return decorate


class of_class_too:  # noqa: N801  (reads as the decorator it is)
    """A method that the class has too: there, ``self`` is None."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, instance: Any, _: Any = None) -> Any:
        return functools.partial(self._method, instance)


def stretched(values: Vector, length: int = 1) -> Vector:
    """A vector with ``length`` equal entries, or a matrix with them on its diagonal, where there is one entry."""
    if len(values) == length:
        return values
    return frozen(np.full(length, values[0]) if values.ndim == 1 else values[0, 0] * np.eye(length))


def fitted_to(likelihood: Any, X: Any) -> Any:
    """``likelihood`` with vectors of an entry for each feature of ``X``; ValueError if it has another width."""
    n_features = point_set(X).n_features
    if all(len(getattr(likelihood, name)) == n_features for name in likelihood.axes):
        return likelihood
    values = []
    for value in likelihood:
        if isinstance(value, np.ndarray) and len(value) not in (1, n_features):
            msg = (
                f"{type(likelihood).__name__} has parameters of {len(value)} entries but the data has {n_features} "
                f"feature{'s' * (n_features != 1)}; give one entry a feature, or a scalar for all"
            )
            raise ValueError(msg)
        values.append(stretched(value, n_features) if isinstance(value, np.ndarray) else value)
    return type(likelihood)(*values)


def frozen(vector: Vector) -> Vector:
    """``vector``, made read-only: the fields of a family never change."""
    vector.flags.writeable = False
    return vector


def steps_of(likelihood: Any) -> Vector | None:
    """The resolution of a likelihood in any form, a step a column; None where no value is rounded."""
    steps = getattr(likelihood, RESOLUTION, None)
    return None if steps is None or not np.any(steps) else steps


def prior_of(likelihood: Any) -> dict[str, Any]:
    """The parameters of a family by name, all but the resolution of its points."""
    return {name: value for name, value in likelihood._asdict().items() if name != RESOLUTION}


def said_of(likelihood: Any) -> dict[str, Any]:
    """The parameters of a family by name, without a resolution of 0."""
    return prior_of(likelihood) if steps_of(likelihood) is None else dict(likelihood._asdict())


def flat_parameters(likelihood: Any) -> Vector:
    """``prior_of`` a family one after the other, in the order of ``enum mapdpm_family`` and of model files."""
    return np.concatenate([np.ravel(value) for value in prior_of(likelihood).values()])


def check_range(X: Matrix, centre: Vector, scale: Vector) -> None:
    """ValueError for a point so many prior scales from the prior mean that squares would overflow; NaN is none."""
    farthest = max(abs(float(X.max())), abs(float(X.min())))  # of all columns: much faster
    if np.all(farthest + np.abs(centre) <= LARGEST_Z * scale):
        return
    z = np.fmax(np.abs(np.fmax.reduce(X) - centre), np.abs(np.fmin.reduce(X) - centre)) / scale
    if np.any(z > LARGEST_Z):
        column = int(np.nanargmax(z))
        msg = (
            f"column {column} reaches {z[column]:.1e} prior scales from the prior mean (limit {LARGEST_Z:.0e}): rescale"
        )
        raise ValueError(msg)


def described(X: Any, sample_weight: Any = None, missing: str = "error") -> tuple[float, Vector, Vector]:
    """The moments that set empirical priors: total weight (number of points), mean and variance (ddof 0) of columns.

    A constant column has no scale; its variance counts as 1. An offset costs no digits. With ``missing`` "skip", each
    column has the mean and the variance of the values that are there; 0 and 1 where there are none.
    """
    check_choice("missing", missing, MISSING)
    points = check_points(X, missing=missing == "skip")
    weights = check_weights(sample_weight, len(points), 0.0)
    if missing == "skip" and np.isnan(points).any():
        total = float(len(points) if weights is None else weights.sum())
        return variances_of(np.concatenate([[total], _column_moments(points, weights).ravel()]))
    return variances_of(joined_moments([moments_of(points, weights)]))


def _column_moments(points: Any, weights: Weights) -> Matrix:
    """Means, and variances times the total weight of all points, of the values in each column that are not NaN."""
    total, found = float(len(points) if weights is None else weights.sum()), np.zeros((2, points.shape[1]))
    for d, column in enumerate(points.T):
        there = ~np.isnan(column)
        own, mean, squares = moments_of(column[there, None], None if weights is None else weights[there])
        if own > 0.0:
            found[:, d] = mean, squares * (total / own)
    return found


def moments_of(points: Any, weights: Weights) -> Vector:
    """The total weight, means, and sums of squared deviations from them; 4096 points at a time need no second copy."""
    n = len(points)
    parts = [slice(first, first + _PART) for first in range(0, max(n, 1), _PART)]
    return joined_moments([_moments(points[part], None if weights is None else weights[part]) for part in parts])


def joined_moments(parts: Sequence[Vector]) -> Vector:
    """The moments of all points, from those of parts, which are joined in order (Chan)."""
    row = parts[0].copy()
    for part in parts[1:]:
        mo.merge(row, part, len(row) // 2)
    return row


def variances_of(moments: Vector) -> tuple[float, Vector, Vector]:
    """Total weight, means and variances, as ``described`` returns them, from moments."""
    D = len(moments) // 2
    variance: Vector = moments[1 + D :] / moments[0]
    variance[variance <= SMALLEST] = 1.0
    return float(moments[0]), moments[1 : 1 + D].copy(), variance


def _moments(points: Any, weights: Weights) -> Vector:
    if weights is not None:
        points, weights = points[weights > 0.0], weights[weights > 0.0]
    if not len(points):
        return np.zeros(1 + 2 * points.shape[1])
    columns = np.array(points.T, dtype=np.float64, order="C")  # numpy is slow along the first of two axes
    first = columns[:, :1].copy()
    columns -= first
    w = 1.0 if weights is None else weights
    total = float(len(points) if weights is None else weights.sum())
    mean = (columns * w).sum(axis=1, keepdims=True) / total
    columns -= mean
    columns *= columns
    columns *= w
    return np.concatenate([[total], (first + mean)[:, 0], columns.sum(axis=1)])


def _checked(name: str, value: Any, n_axes: int, largest: float | None) -> Any:
    if n_axes == 0:
        number = check_number(name, value)
        _check_values(name, np.array([number]), largest)
        return number
    try:
        given = np.array(value, ndmin=1)
        if given.dtype.kind not in "biufO":
            raise TypeError  # noqa: TRY301  (said below)
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        refuse_value(f"{name} must be a number or a sequence of numbers", value)
    if n_axes == _MATRIX:
        return frozen(_checked_matrix(name, array, largest))
    if array.ndim != 1 or array.size == 0:
        msg = f"{name} must be a number or one number a feature, got an array of shape {array.shape}"
        raise ValueError(msg)
    _check_values(name, array, largest)
    return frozen(array if name != RESOLUTION else _checked_steps(array))


def _checked_steps(array: Vector) -> Vector:
    """Steps, of any number of features where there are none."""
    wrong = ~((array >= 0.0) & (array <= LARGEST_ENTRY))
    if np.any(wrong):
        msg = f"{RESOLUTION} must be 0, for none, or between 0 and {LARGEST_ENTRY:.0e}, got {array[wrong][0]}"
        raise ValueError(msg)
    return array if np.any(array) else np.zeros(1)


def _checked_matrix(name: str, array: Matrix, largest: float | None) -> Matrix:
    if array.ndim == 1:
        _check_values(name, array, largest)
        array = np.diag(array)
    if array.ndim != _MATRIX or array.size == 0 or array.shape[0] != array.shape[1]:
        shape = array.shape
        msg = f"{name} must be a number, a number a feature, or a symmetric matrix, got an array of shape {shape}"
        raise ValueError(msg)
    _check_values(name, array.ravel(), None)
    _check_values(f"the diagonal of {name}", np.diag(array), largest)
    scale = np.sqrt(np.diag(array))
    units = array / scale / scale[:, None]
    i, j = np.unravel_index(np.argmax(np.abs(units - units.T)), array.shape)
    if abs(units[i, j] - units[j, i]) > _LEAST_PIVOT:
        got = f"{array[i, j]} at row {i}, column {j} and {array[j, i]} at row {j}, column {i}"
        msg = f"{name} must be symmetric, got {got}; use ({name} + {name}.T) / 2"
        raise ValueError(msg)
    least = float(np.linalg.eigvalsh(units)[0])
    if least < _LEAST_PIVOT:
        msg = (
            f"{name} must be positive definite, got a matrix whose correlations have the eigenvalue {least:.3g}; "
            "add to its diagonal, or give a vector of variances"
        )
        raise ValueError(msg)
    return 0.5 * (array + array.T)


def _check_values(name: str, values: Vector, largest: float | None) -> None:
    right = np.abs(values) <= LARGEST if largest is None else (values >= SMALLEST) & (values <= largest)
    if right.all():
        return
    wrong = values[~right]
    if largest is None:
        rule = f"at most {LARGEST:.0e} in size" if np.isfinite(wrong).all() else "finite"
    else:
        rule = f"between {SMALLEST:.0e} and {largest:.0e}" if (wrong > 0.0).all() else "> 0"
    msg = f"{name} must be {rule}, got {wrong[0]}"
    raise ValueError(msg)


def _equal(self: Any, other: object) -> bool:
    return type(self) is type(other) and all(map(np.array_equal, self, other))  # type: ignore[call-overload]


def _differ(self: Any, other: object) -> bool:
    return not _equal(self, other)


def _repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said_of(self).items())})"


def _hash(self: Any) -> int:
    return hash((type(self), *(v.tobytes() if isinstance(v, np.ndarray) else v for v in self)))
