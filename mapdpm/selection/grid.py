"""A grid of settings: each is an alpha, or a dict of hyper-parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mapdpm.likelihoods import FAMILIES, NormalGamma
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Labels
from mapdpm.search.widths import family_to_fit
from mapdpm.validation import check_number, check_positive, refuse_value

ALPHAS = tuple(np.geomspace(0.1, 30.0, 10).tolist())
"""The default grid."""

ALPHA_STARTS = dict.fromkeys(("map", "empirical-bayes"), (0.1, 1.0, 10.0))
"""The default starts of the methods that find alpha themselves."""

Setting = dict[str, Any]
_SCALE = "_scale"
_FIELDS = frozenset(field for family in FAMILIES for field in family._fields)


def default_alphas(method: str) -> tuple[float, ...]:
    """The alphas of a method where the caller gives none."""
    return ALPHA_STARTS.get(method, ALPHAS)


def settings_of(alphas: Any, names: frozenset[str], least: int) -> list[Setting]:
    """The grid ``alphas`` as dicts: a number > 0 is an alpha; keys of a dict are in ``names``, or of a likelihood."""
    if isinstance(alphas, (str, bytes, Mapping)) or not isinstance(alphas, Iterable):
        refuse_value("alphas must be a sequence of numbers > 0, or of dicts of parameters", alphas)
    grid = [
        dict(each) if isinstance(each, Mapping) else {"alpha": check_positive("each of alphas", each)}
        for each in alphas
    ]
    if len(grid) < least:
        msg = f"alphas must hold at least {least} to choose from, got {len(grid)}"
        raise ValueError(msg)
    for setting in grid:
        for name in setting:
            field = name.removesuffix(_SCALE)
            if name not in names and field not in _FIELDS:
                msg = f"alphas has a dict with {name!r}, which is no parameter to choose; there are {_known(names)}"
                raise ValueError(msg)
        partition_prior(setting.get("alpha", 1.0), setting.get("discount", 0.0))
    return grid


def split_setting(setting: Setting) -> tuple[Setting, Setting]:
    """The parameters of the learner, and those of its likelihood."""
    own = {name: value for name, value in setting.items() if name.removesuffix(_SCALE) not in _FIELDS}
    return own, {name: value for name, value in setting.items() if name not in own}


def restricted_setting(setting: Setting, columns: Labels, n_columns: int) -> Setting:
    """``setting`` of some of ``n_columns`` columns: vectors have one entry a column."""
    return {name: np.asarray(v)[columns] if np.shape(v) == (n_columns,) else v for name, v in setting.items()}


def changed_likelihood(likelihood: Any, changes: Setting, X: Any, missing: str = "error") -> Any:
    """``likelihood``, or its empirical prior, with new values, or multiples for ``NAME_scale``."""
    if not changes:
        return likelihood
    family = NormalGamma if likelihood is None else family_to_fit(likelihood)
    base = likelihood if family is None else empirical_prior(family, X, missing=missing)
    fields = base._fields
    values = {}
    for name, value in changes.items():
        field = name.removesuffix(_SCALE)
        if field not in fields:
            msg = f"{type(base).__name__} has no parameter {field!r}; it has {', '.join(fields)}"
            raise ValueError(msg)
        values[field] = value if name == field else getattr(base, field) * check_number(name, value)
    return base._replace(**values)


def _known(names: frozenset[str]) -> str:
    return f"{', '.join(sorted(names))}, the parameters of a likelihood, and NAME{_SCALE} to multiply one"
