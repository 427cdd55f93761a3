"""DataFrames, of pandas or polars, which are not imported unless one is asked for: names of columns in and out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Matrix
from mapdpm.validation import caller_level

Names: TypeAlias = NDArray[np.object_]

CONTAINERS = ("default", "pandas", "polars")
_SHOWN = 5


def column_names(X: Any) -> Names | None:
    """Names of the columns of a DataFrame, or None where ``X`` has none that are text.

    TypeError where some are text and some are not, as in scikit-learn.
    """
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        msg = "X is a lazy frame; use X.collect()"
        raise ValueError(msg)
    columns = getattr(X, "columns", None)
    if not isinstance(columns, Iterable) or isinstance(columns, str):
        return None
    names = list(columns)
    kinds = sorted({type(name).__name__ for name in names if not isinstance(name, str)})
    if not names or not kinds:
        return np.array(names, dtype=object) if names else None
    if any(isinstance(name, str) for name in names):
        msg = (
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted([*kinds, 'str'])} as feature name / column name types. Convert them all to strings, by "
            "X.columns = X.columns.astype(str) for example"
        )
        raise TypeError(msg)
    return None


def check_names(given: Names | None, fitted: Names | None, estimator: str) -> None:
    """Raise ValueError if the columns of a DataFrame, or their order, differ from those in ``fit``.

    Warn if only one of the two had names: columns are then matched by position.
    """
    if given is None and fitted is None:
        return
    if given is None or fitted is None:
        seen, now = ("without", "has") if fitted is None else ("with", "does not have valid")
        warnings.warn(
            f"X {now} feature names, but {estimator} was fitted {seen} feature names", stacklevel=caller_level()
        )
        return
    if np.array_equal(given, fitted):
        return
    unseen, missing = sorted(set(given) - set(fitted)), sorted(set(fitted) - set(given))
    lines = ["The feature names should match those that were passed during fit."]
    lines += _listed("Feature names unseen at fit time:", unseen)
    lines += _listed("Feature names seen at fit time, yet now missing:", missing)
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    raise ValueError("\n".join(lines) + "\n")


def framed(values: Matrix, container: str, names: Iterable[str], like: Any) -> Any:
    """``values`` as an array, or as a DataFrame with columns ``names``, and the index of ``like`` if it has one."""
    if container == "pandas":
        import pandas as pd  # noqa: PLC0415  (asked for)

        index = like.index if isinstance(like, pd.DataFrame) else None
        return pd.DataFrame(values, index=index, columns=list(names), copy=False)
    if container == "polars":
        import polars as pl  # noqa: PLC0415

        return pl.DataFrame(values, schema=list(names), orient="row")
    return values


def _listed(title: str, names: list[str]) -> list[str]:
    more = ["- ..."] if len(names) > _SHOWN else []
    return [title, *(f"- {name}" for name in names[:_SHOWN]), *more] if names else []
