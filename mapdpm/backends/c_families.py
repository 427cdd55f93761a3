"""Families without code of their own in C, which are called by their verbs.

The verbs of the families of this package are in the compiled modules. Those of other families are compiled when they
are first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods import FAMILIES, BetaBernoulli, GammaPoisson, NormalGamma
from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.likelihoods._skipping import Skipping, has_verb, plain
from mapdpm.translation.names import symbol_of

_MOST_GATHERED = 64  # MAPDPM_MOST_GATHERED of mapdpm_verbs.h

_BY_VERB = "MAPDPM_BY_VERB"
_FORMS: dict[type[Any], str] = {
    NormalGamma: "MAPDPM_STUDENT",
    BetaBernoulli: "MAPDPM_BERNOULLI",
    GammaPoisson: "MAPDPM_POISSON",
}
"""The forms of scores that C computes for many points at once. A class made from one of these has rules of its own."""


def form_of(likelihood: Any) -> str:
    """The form of a family, whether or not it skips missing values."""
    return _FORMS.get(type(plain(likelihood)), _BY_VERB)


def why_no_verbs(likelihood: Any) -> str:
    """Why C cannot call the verbs of a family, which may be compiled now; empty where it can."""
    if isinstance(likelihood, Product):
        return next((why for part in parts_of(likelihood) if (why := why_no_verbs(part.family))), "")
    if isinstance(likelihood, Skipping):
        one = likelihood.family.feature(0)
        if max(one.size(), _n_parameters(one)) > _MOST_GATHERED:
            return f"the row of one feature has more than {_MOST_GATHERED} numbers"
        return why_no_verbs(one)
    kind = type(likelihood)
    return "" if kind in FAMILIES else str(_of_user(kind).why)


def _of_user(kind: type[Any]) -> Any:
    from mapdpm.translation.cache import loaded  # noqa: PLC0415  (most programs have no family of their own)

    return loaded(kind)


def verbs_of(lib: Any, ffi: Any, kind: type[Any]) -> Any:
    """The verbs of a class that C can run."""
    if kind in FAMILIES:
        return getattr(lib, symbol_of(kind))()
    return ffi.cast("const mapdpm_verbs *", _of_user(kind).address)


class _Factor(NamedTuple):
    """A family of a product, the number of its columns, and the fields of ``mapdpm_factor``."""

    family: Any
    width: int
    column: int
    place: int
    parameters: int
    stride: int


def _factors_of(likelihood: Any) -> Iterator[_Factor]:
    """The columns of a family that skips missing values, whose rows lie side by side; or the parts of a product."""
    if isinstance(likelihood, Skipping):
        D = likelihood.n_features
        for d in range(D):
            yield _Factor(likelihood.family.feature(d), 1, d, 1 + d, d, D)
        return
    parameters = 0
    for family, columns, row in parts_of(likelihood):
        yield _Factor(family, columns.stop - columns.start, columns.start, row.start, parameters, 1)
        parameters += _n_parameters(family)


def _n_parameters(likelihood: Any) -> int:
    """The number of parameters of a cluster; 0 where the family has none."""
    return int(likelihood.n_parameters()) if has_verb(plain(likelihood), "n_parameters") else 0


class Called:
    """A family that is called by its verbs: these, their view of it, and what must outlive both."""

    def __init__(self, lib: Any, ffi: Any, likelihood: Any) -> None:
        self._lib, self._ffi = lib, ffi
        self._kept: list[Any] = []
        self._has_form = False
        self.view = ffi.new("mapdpm_family_view *")
        self.verbs = self._fill(self.view, likelihood)

    def _fill(self, view: Any, likelihood: Any) -> Any:
        """Fill a view; returns the verbs."""
        view.size, view.n_statistics = likelihood.size(), likelihood.n_statistics()
        view.n_parameters = _n_parameters(likelihood)
        form = form_of(likelihood)
        view.form = getattr(self._lib, form)
        self._has_form |= form != _BY_VERB
        if isinstance(likelihood, (Skipping, Product)):
            factors = list(_factors_of(likelihood))
            view.n_factors, view.n_columns = len(factors), sum(each.width for each in factors)
            view.factors = self._factors(factors)
            return self._lib.mapdpm_verbs_of_product()
        view.n_entries = view.n_columns = len(getattr(likelihood, next(iter(likelihood.axes))))
        values = [np.array(value, dtype=np.float64, order="C") for value in likelihood]
        fields = [self._ffi.from_buffer("double[]", value) for value in values]
        view.fields = self._keep(self._ffi.new("double *[]", fields))
        self._kept += fields
        return verbs_of(self._lib, self._ffi, type(likelihood))

    def _factors(self, given: list[_Factor]) -> Any:
        factors = self._keep(self._ffi.new("mapdpm_factor[]", len(given)))
        for made, each in zip(factors, given, strict=True):
            made.verbs = self._fill(made.view, each.family)
            made.view.n_columns = each.width
            made.column, made.place, made.parameters, made.stride = each[2:]
        return factors

    def _keep(self, made: Any) -> Any:
        self._kept.append(made)
        return made

    @property
    def sizes(self) -> tuple[int, ...]:
        """What sizes of workspaces depend on."""
        return self.view.size, self.view.n_statistics, self.view.n_parameters, int(self._has_form)
