"""Calls into the compiled kernels: the library, its structures, and the objects that must outlive a call."""

from __future__ import annotations

import functools
import importlib.util
import operator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends.c_families import Called, why_no_verbs
from mapdpm.data import point_set
from mapdpm.data.counts import Counts
from mapdpm.data.table import Table
from mapdpm.likelihoods import FAMILY_NUMBERS, STREAM_FAMILIES, NormalInverseWishart
from mapdpm.likelihoods._parameters import flat_parameters, steps_of
from mapdpm.likelihoods._product import Product
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.protocol import Likelihood, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState

NOT_BUILT = (
    f"the C kernels are not in {Path(__file__).resolve().parent}; in a checkout, pip install -e . compiles them there, "
    "or work in another folder, where Python finds the installed mapdpm"
)
TWINS: dict[type[Any], int] = {
    SquaredDistance: 3,
    **{kind: FAMILY_NUMBERS[kind] for kind in (*STREAM_FAMILIES, NormalInverseWishart)},
}
"""The families that have code of their own in C, and their numbers there."""
_WRITTEN = frozenset({"labels", "counts", "rows", "table", "sizes", "weights"})  # fields whose arrays C edits
_SKIPPING = 16  # MAPDPM_SKIPPING of mapdpm_batch.h
_REAL = np.dtype(np.float64)
_KINDS: dict[np.dtype[Any], str] = {
    np.dtype(np.int64): "int64_t[]",
    np.dtype(np.float64): "double[]",
    np.dtype(np.uint8): "unsigned char[]",
    np.dtype(np.bool_): "unsigned char[]",
}


class Struct(NamedTuple):
    """A structure of C by its name, and its fields: numbers, and arrays as C sees them; one left out is 0 or NULL."""

    kind: str
    fields: dict[str, Any]


class Room(NamedTuple):
    """A workspace of ``mapdpm_NAME_bytes``: of the problem and ``sizes``, numbers or structures."""

    name: str
    sizes: tuple[Any, ...]


SPACE = Room("workspace", ())
"""The workspace of most functions, for the slots of the state that goes before it."""
_known_bytes: dict[tuple[Any, ...], int] = {}  # a search asks for few sizes, many times


def without_points(likelihood: Likelihood, prior: PartitionPriorVerbs | None) -> Model:
    """The model of a function that reads statistics only."""
    return Model(likelihood, prior, _no_points(_n_features(likelihood)))


def why_not(likelihood: Any) -> str:
    """Why C cannot run a family, whose verbs may be compiled now; empty where it can."""
    if not is_built():
        return NOT_BUILT
    return "" if has_twin(likelihood) else why_no_verbs(likelihood)


def has_twin(likelihood: Any) -> bool:
    """Whether C has code for the family itself; with missing or rounded values, only of independent features."""
    if isinstance(likelihood, Skipping):
        return type(likelihood.family) in STREAM_FAMILIES
    if isinstance(likelihood, NormalInverseWishart):
        return steps_of(likelihood) is None
    return type(likelihood) in TWINS


@functools.cache
def _no_points(n_features: int) -> Matrix:
    return np.empty((0, n_features))


@functools.cache
def is_built() -> bool:
    """Whether the compiled modules are there."""
    return importlib.util.find_spec("mapdpm.backends._c64") is not None


@functools.cache
def library(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Each module loads only if its type is used."""
    compiled = importlib.import_module(f"mapdpm.backends._c{8 * dtype.itemsize}")
    return compiled.lib, compiled.ffi


def run(name: str, model: Model, *arguments: Any) -> _Given:
    """Call ``mapdpm_NAME`` with the problem of ``model``, and with ``arguments`` as C takes them.

    An array, a state, counts of groups, a ``Struct`` or a ``Room`` is converted; C reads and writes where they are. A
    number goes as it is. RuntimeError where the library returns an error: a fault of this package. Called with a
    ``Struct`` of the call, what is returned gives that of C, for the numbers that C has written there.
    """
    lib, ffi = library(getattr(model.data, "dtype", _REAL))
    problem = _problem(model)
    given = _Given(lib, ffi, problem)
    _invoke(lib, ffi, name, given, (problem.struct, *arguments))
    return given


def run_without_problem(name: str, *arguments: Any) -> None:
    """``run`` of a function that is the same for all types of data; that of float64 is called."""
    lib, ffi = library(_REAL)
    _invoke(lib, ffi, name, _Given(lib, ffi, None), arguments)


def _invoke(lib: Any, ffi: Any, name: str, given: _Given, arguments: tuple[Any, ...]) -> None:
    views = []
    for each in arguments:
        views.append(each if isinstance(each, int) else given(each))  # noqa: PERF401  (a comprehension is a call)
    error = getattr(lib, f"mapdpm_{name}")(*views)
    if error:
        msg = f"the C library refused a call: {ffi.string(lib.mapdpm_error_name(error)).decode()}"
        raise RuntimeError(msg)


class _Given:
    """Arguments of one call as C takes them, and what must outlive it."""

    def __init__(self, lib: Any, ffi: Any, problem: Any) -> None:
        self._lib, self._ffi, self._problem = lib, ffi, problem
        self._kept: list[Any] = []
        self._made: dict[int, Any] = {}
        self._capacity = 0

    def __call__(self, argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return self._ffi.from_buffer(_KINDS[argument.dtype], argument)
        if not isinstance(argument, tuple):
            return argument
        if id(argument) not in self._made:
            self._made[id(argument)] = self._room(argument) if isinstance(argument, Room) else self._struct(argument)
        return self._made[id(argument)]

    def _room(self, room: Room) -> Any:
        (struct, shape, _), (name, sizes) = self._problem, room
        if sizes and isinstance(sizes[0], tuple):
            n_bytes = getattr(self._lib, f"mapdpm_{name}_bytes")(struct, *map(self, sizes))
        else:
            sizes = (self._capacity,) if room is SPACE else sizes
            n_bytes = _known_bytes.get((name, shape, sizes), 0)
            if not n_bytes:
                n_bytes = _known_bytes[name, shape, sizes] = getattr(self._lib, f"mapdpm_{name}_bytes")(struct, *sizes)
        return self._ffi.from_buffer("unsigned char[]", np.empty(n_bytes // 8 + 1))

    def _struct(self, argument: Any) -> Any:
        kind, fields = argument if isinstance(argument, Struct) else _fields_of(argument)
        self._capacity = self._capacity or fields.get("capacity", 0)
        made = self._ffi.new(f"{kind} *")
        for name, value in fields.items():
            if value is not None:
                is_array, written = isinstance(value, np.ndarray), name in _WRITTEN
                view = self._ffi.from_buffer
                converted = view(_KINDS[value.dtype], value, require_writable=written) if is_array else value
                self._kept.append(converted)  # the structure does not keep it
                setattr(made, name, converted)
        return made


def _fields_of(argument: Any) -> tuple[str, dict[str, Any]]:
    """The structure of a state, or of counts of groups."""
    if isinstance(argument, ClusterState):
        labels, counts, rows, base = argument
        return "mapdpm_clusters", {
            "capacity": len(counts),
            "labels": labels,
            "counts": counts,
            "rows": rows,
            "base": base,
        }
    return "mapdpm_groups", {
        "n_groups": len(argument.table),
        "of_points": argument.groups,
        "table": argument.table,
        "weights": argument.weights,
        "new_share": argument.new_share,
        "n_inner": len(argument.weights),
        "parents": argument.parents,
    }


class _Problem(NamedTuple):
    """The structure, which C only reads; what sizes of workspaces depend on; and the objects that must outlive it."""

    struct: Any
    shape: tuple[Any, ...]
    kept: list[Any]


_LARGEST_KEPT = 1 << 20  # bytes of data; keeping a larger problem would hold its memory and save little time
_last_problems: dict[bool, tuple[Model, _Problem]] = {}
_last_called: dict[Any, tuple[Any, Called]] = {}
_last_described: tuple[Any, int, int, Any, Any] = (None, 0, 0, None, None)


def _problem(model: Model) -> _Problem:
    """The problem of a model.

    A search makes hundreds of calls with the same model, and between them some without points. The last problem of
    each kind is kept.
    """
    likelihood, prior, data, weights = model
    n_points = len(data) if isinstance(data, np.ndarray) else point_set(data).n_points
    known = _last_problems.get(n_points > 0)
    if known is not None and all(map(operator.is_, known[0], model)):
        return known[1]
    dtype = getattr(data, "dtype", _REAL)
    lib, ffi = library(dtype)
    problem = ffi.new("mapdpm_problem *")
    _, problem.family, problem.n_features, parameters, resolution = _described(likelihood)
    problem.n_points = n_points
    if problem.family:
        kept: list[Any] = [ffi.from_buffer("double[]", parameters)]
        problem.parameters = kept[0]
        if resolution is not None:
            kept.append(ffi.from_buffer("double[]", resolution))
            problem.resolution = kept[-1]
    else:
        kept = [_called(lib, ffi, likelihood)]
        problem.verbs, problem.view = kept[0].verbs, kept[0].view
    n_bytes = _set_points(ffi, problem, data, kept)
    if weights is not None:
        kept.append(ffi.from_buffer("double[]", weights))
        problem.weights = kept[-1]
    problem.alpha = getattr(prior, "alpha", 1.0)
    problem.discount = 0.0 if prior is None else prior.discount
    problem.penalty = getattr(prior, "lam", 0.0)
    problem.light = getattr(prior, "light", False)
    sizes = () if problem.family else kept[0].sizes
    shape = dtype.itemsize, problem.family, problem.n_features, problem.longest, sizes
    made = _Problem(problem, shape, kept)
    if n_bytes <= _LARGEST_KEPT:
        _last_problems[n_points > 0] = model, made
    return made


def _set_points(ffi: Any, problem: Any, data: Any, kept: list[Any]) -> int:
    """Set the points of a problem in the form that they have; returns their bytes."""
    dense = data.array if isinstance(data, Table) else data
    if isinstance(dense, np.ndarray):
        kept.append(ffi.from_buffer("mapdpm_real[]", dense))
        problem.data = kept[-1]
        return dense.nbytes
    if isinstance(data, Counts):
        indptr = np.ascontiguousarray(data.indptr, dtype=np.int64)
        parts = {"indices": data.indices, "begins": indptr[:-1], "ends": indptr[1:]}
        problem.longest = 1 + 2 * int(np.diff(indptr).max(initial=0))
        values = np.ascontiguousarray(data.values, dtype=np.float64)
        kept.append(ffi.from_buffer("double[]", values))
        problem.values, n_bytes = kept[-1], values.nbytes
    else:
        parts, n_bytes = {"words": data.words}, 0
    for name, numbers in parts.items():
        whole = np.ascontiguousarray(numbers, dtype=np.int64)
        kept.append(ffi.from_buffer("int64_t[]", whole))
        setattr(problem, name, kept[-1])
        n_bytes += whole.nbytes
    return n_bytes


def _called(lib: Any, ffi: Any, likelihood: Any) -> Called:
    """A family that is called by its verbs; the last one of each library is kept."""
    known = _last_called.get(ffi)
    if known is None or known[0] is not likelihood:
        known = _last_called[ffi] = likelihood, Called(lib, ffi, likelihood)
    return known[1]


def _n_features(likelihood: Any) -> int:
    """Columns of points, or words."""
    return _described(likelihood)[2]


def flat_of(likelihood: Any) -> Vector:
    """``flat_parameters`` of a likelihood that has code of its own."""
    return _described(likelihood)[3]


def _described(likelihood: Any) -> tuple[Any, int, int, Any, Any]:
    """A likelihood, its number or 0, of features, its parameters and steps; those of the last one are kept."""
    global _last_described  # noqa: PLW0603  (one assignment, so threads see values that belong together)
    known = _last_described
    if known[0] is not likelihood:
        skips = isinstance(likelihood, Skipping)
        family = likelihood.family if skips else likelihood
        if has_twin(likelihood):
            number = TWINS[type(family)] + _SKIPPING * skips
            known = likelihood, number, len(family[0]), flat_parameters(family), steps_of(family)
        else:
            wide = family.n_columns if isinstance(family, Product) else len(getattr(family, next(iter(family.axes))))
            known = likelihood, 0, wide, None, None
        _last_described = known
    return known
