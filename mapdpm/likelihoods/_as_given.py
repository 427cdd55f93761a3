"""Likelihoods as the user gave them: bound to columns, their parameters by name, values by the user's columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data.columns import CATEGORY, FLAG, columns_of, kinds_differ, warn_of_names
from mapdpm.likelihoods._blocks import families_of
from mapdpm.likelihoods._parameters import said_of
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.names import AUTO
from mapdpm.protocol import Vector


def of_columns(likelihood: Any, X: Any) -> Any:
    """``likelihood``, bound to the columns of ``X`` where it is mixed.

    "auto" is, where columns are not all numbers; and so is the class ``Categorical`` for a DataFrame: one a column.
    """
    if likelihood is Categorical and hasattr(X, "dtypes"):
        likelihood = Mixed({column.name: Categorical for column in columns_of(X)})
    if isinstance(likelihood, str) and likelihood == AUTO and kinds_differ(X):
        mixed = _by_types(X)
        likelihood = AUTO if all(block.kind is NormalGamma for block in mixed.blocks) else mixed
    return likelihood.bound_to(X) if isinstance(likelihood, Mixed) else likelihood


def parameters_of(likelihood: Any) -> dict[str, Any]:
    """The parameters of a likelihood by name; of a mixed one after the key of each part, as ``mode.beta``."""
    if not isinstance(likelihood, Mixed):
        return said_of(likelihood)
    families = {
        f"{key}.{own}" if own else key: each
        for key, family in likelihood._asdict().items()
        for own, each in families_of(family).items()
    }
    return {f"{key}.{name}": value for key, family in families.items() for name, value in said_of(family).items()}


def of_users_columns(likelihood: Any, values: Any) -> Vector:
    """For each of the user's columns the sum of ``values`` of the columns of points that follow from it."""
    numbers: Vector = np.asarray(values, dtype=np.float64)
    return likelihood.sums_of_columns(numbers) if isinstance(likelihood, Mixed) else numbers


def _by_types(X: Any) -> Mixed:
    """A product of the types of a DataFrame's columns: numbers together, each category, all flags together."""
    kinds: dict[str, list[Any]] = {}
    parts: dict[Any, Any] = {}
    for column in columns_of(X):
        if column.kind == CATEGORY:
            warn_of_names(column)
            parts[column.name] = Categorical
        else:
            kinds.setdefault(column.kind, []).append(column.name)
    for kind, names in kinds.items():
        parts[tuple(names)] = BetaBernoulli if kind == FLAG else NormalGamma
    return Mixed(parts)
