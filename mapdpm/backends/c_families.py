"""Families without code of their own in C, which are called by their verbs.

The verbs of the families of this package are in the compiled modules. Those of other families are compiled when they
are first asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.likelihoods import FAMILIES
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.translation.names import symbol_of

_MOST_GATHERED = 64  # MAPDPM_MOST_GATHERED of mapdpm_verbs.h


def why_no_verbs(likelihood: Any) -> str:
    """Why C cannot call the verbs of a family, which may be compiled now; empty where it can."""
    if isinstance(likelihood, Skipping):
        one = likelihood.family.feature(0)
        if max(one.size(), getattr(one, "n_parameters", int)()) > _MOST_GATHERED:
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


class Called:
    """A family that is called by its verbs: these, their view of it, and what must outlive both."""

    def __init__(self, lib: Any, ffi: Any, likelihood: Any) -> None:
        self._lib, self._ffi = lib, ffi
        self._kept: list[Any] = []
        self.view = ffi.new("mapdpm_family_view *")
        self.verbs = self._fill(self.view, likelihood)

    def _fill(self, view: Any, likelihood: Any) -> Any:
        """Fill a view; returns the verbs."""
        view.size, view.n_statistics = likelihood.size(), likelihood.n_statistics()
        view.n_parameters = getattr(likelihood, "n_parameters", int)()
        if isinstance(likelihood, Skipping):
            view.n_entries = view.n_columns = view.n_factors = likelihood.n_features
            view.factors = self._columns(likelihood)
            return self._lib.mapdpm_verbs_of_product()
        view.n_entries = view.n_columns = len(getattr(likelihood, next(iter(likelihood.axes))))
        values = [np.array(value, dtype=np.float64, order="C") for value in likelihood]
        fields = [self._ffi.from_buffer("double[]", value) for value in values]
        view.fields = self._keep(self._ffi.new("double *[]", fields))
        self._kept += fields
        return verbs_of(self._lib, self._ffi, type(likelihood))

    def _columns(self, likelihood: Skipping) -> Any:
        """A factor for each column, whose rows lie side by side."""
        D = likelihood.n_features
        factors = self._keep(self._ffi.new("mapdpm_factor[]", D))
        for d in range(D):
            each = factors[d]
            each.verbs = self._fill(each.view, likelihood.family.feature(d))
            each.column, each.place, each.parameters, each.stride = d, 1 + d, d, D
        return factors

    def _keep(self, made: Any) -> Any:
        self._kept.append(made)
        return made

    @property
    def sizes(self) -> tuple[int, ...]:
        """What sizes of workspaces depend on."""
        return self.view.size, self.view.n_statistics, self.view.n_parameters
