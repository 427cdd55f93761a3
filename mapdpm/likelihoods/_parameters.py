"""What every likelihood is as a Python object: an immutable, checked, comparable tuple of parameters."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import numpy as np

from mapdpm.protocol import LARGEST, SMALLEST, Matrix, Vector
from mapdpm.validation import check_number, check_points, check_weights

C = TypeVar("C", bound=type)

# A factor 1 + z^2 stays below 1e71, and times a product not yet folded (1e100) finite: docs/maths.md, section 5.
LARGEST_Z = 1e35


def parameters(*, vectors: tuple[str, ...], positive: dict[str, float]) -> Any:
    """Turn a NamedTuple class into a family: arguments are checked and frozen, ``==`` and ``hash`` compare values.

    Fields named in ``vectors`` become read-only float64 arrays of one common length (a scalar is a vector of one
    entry, stretched to the data later); all others become floats. Fields named in ``positive`` must be > 0 and at most
    what it says.
    """

    def decorate(cls: C) -> C:
        bare = cls.__new__

        @functools.wraps(bare)
        def new(kind: type, *args: Any, **kwargs: Any) -> Any:
            raw = bare(kind, *args, **kwargs)
            checked = {
                name: _checked(name, value, name in vectors, positive.get(name))
                for name, value in zip(raw._fields, raw, strict=True)
            }
            lengths = {name: len(checked[name]) for name in vectors}
            common = set(lengths.values()) - {1}
            if len(common) > 1:
                got = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                msg = f"the vectors of {cls.__name__} must have one entry a feature each, got: {got}"
                raise ValueError(msg)
            return bare(kind, *(stretched(v, *common) if name in vectors else v for name, v in checked.items()))

        cls.vectors = vectors  # type: ignore[attr-defined]
        cls._make = classmethod(lambda kind, values: kind(*values))  # type: ignore[attr-defined]  # _replace checks too
        cls.__new__ = new  # type: ignore[method-assign, assignment]
        cls.__eq__ = _equal  # type: ignore[assignment]
        cls.__ne__ = _differ  # type: ignore[assignment]
        cls.__hash__ = _hash  # type: ignore[assignment]
        return cls

    return decorate


def stretched(vector: Vector, length: int = 1) -> Vector:
    """``vector`` with ``length`` entries, where it has one; read-only, so that a family cannot change."""
    if len(vector) == length:
        return vector
    return frozen(np.full(length, vector[0]))


def fitted_to(likelihood: Any, X: Matrix) -> Any:
    """``likelihood`` with vectors of ``X.shape[1]`` entries; ValueError where it describes another width."""
    n_features = X.shape[1]
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
    """``vector``, from now on read-only: the fields of a family never change."""
    vector.flags.writeable = False
    return vector


def flat_parameters(likelihood: Any) -> Vector:
    """The parameters of a family one after the other, in the order of ``enum mapdpm_family`` and of model files."""
    return np.concatenate([value if isinstance(value, np.ndarray) else [value] for value in likelihood])


def check_range(X: Matrix, centre: Vector, scale: Vector) -> None:
    """ValueError where a point lies so many prior scales from the prior mean that squares would overflow."""
    z = np.maximum(np.abs(X.max(axis=0) - centre), np.abs(X.min(axis=0) - centre)) / scale
    if np.any(z > LARGEST_Z):
        column = int(np.argmax(z))
        msg = (
            f"column {column} reaches {z[column]:.1e} prior scales from the prior mean (limit {LARGEST_Z:.0e}): rescale"
        )
        raise ValueError(msg)


def described(X: Any, sample_weight: Any = None) -> tuple[float, Vector, Vector]:
    """What empirical priors are set from: total weight (the number of points), mean and variance (ddof 0) of columns.

    A constant column, which has no scale, counts as of variance 1. An offset costs no digits.
    """
    points = check_points(X).astype(np.float64, copy=False)
    weights = check_weights(sample_weight, len(points), 0.0)
    if weights is not None:
        points, weights = points[weights > 0.0], weights[weights > 0.0]
    first = points[0]
    if weights is None:
        total, mean = float(len(points)), (points - first).mean(axis=0)
        variance: Vector = (points - first).var(axis=0)
    else:
        total = float(weights.sum())
        mean = weights @ (points - first) / total
        variance = weights @ (points - first - mean) ** 2 / total
    variance[variance <= SMALLEST] = 1.0
    return total, first + mean, variance


def _checked(name: str, value: Any, is_vector: bool, largest: float | None) -> Any:
    if not is_vector:
        number = check_number(name, value)
        _check_values(name, np.array([number]), largest)
        return number
    try:
        given = np.array(value, ndmin=1)
        if given.dtype.kind not in "biufO":
            raise TypeError  # noqa: TRY301  (said below)
        vector = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        msg = f"{name} must be a number or a sequence of numbers, got {value!r}"
        raise ValueError(msg) from None
    if vector.ndim != 1 or vector.size == 0:
        msg = f"{name} must be a number or one number a feature, got an array of shape {vector.shape}"
        raise ValueError(msg)
    _check_values(name, vector, largest)
    return frozen(vector)


def _check_values(name: str, values: Vector, largest: float | None) -> None:
    if largest is None:
        wrong = ~(np.abs(values) <= LARGEST)
        rule = "finite" if np.any(~np.isfinite(values[wrong])) else f"at most {LARGEST:.0e} in size"
    else:
        wrong = ~((values >= SMALLEST) & (values <= largest))
        rule = "> 0" if np.any(~(values[wrong] > 0)) else f"between {SMALLEST:.0e} and {largest:.0e}"
    if np.any(wrong):
        msg = f"{name} must be {rule}, got {values[wrong][0]}"
        raise ValueError(msg)


def _equal(self: Any, other: object) -> bool:
    return type(self) is type(other) and all(map(np.array_equal, self, other))  # type: ignore[call-overload]


def _differ(self: Any, other: object) -> bool:
    return not _equal(self, other)


def _hash(self: Any) -> int:
    return hash((type(self), *(v.tobytes() if isinstance(v, np.ndarray) else v for v in self)))
