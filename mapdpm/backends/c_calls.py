"""Calls into the compiled kernels: the library, its structures, and the objects that must outlive a call."""

from __future__ import annotations

import functools
import importlib.util
import operator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods import FAMILY_NUMBERS, STREAM_FAMILIES, NormalInverseWishart
from mapdpm.likelihoods._parameters import flat_parameters
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
_WRITTEN = frozenset({"labels", "counts", "rows", "table", "sizes", "weights"})  # fields whose arrays C edits
_SKIPPING = 16  # MAPDPM_SKIPPING of mapdpm_batch.h
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
    """A workspace of ``mapdpm_NAME_bytes``: of the family, the number of features and ``sizes``.

    Where ``sizes`` are structures, that of the problem goes before them instead.
    """

    name: str
    sizes: tuple[Any, ...]
    of_family: bool = True


SPACE = Room("workspace", ())
"""The workspace of most functions, for the slots of the state that goes before it."""


def without_points(likelihood: Likelihood, prior: PartitionPriorVerbs | None) -> Model:
    """The model of a function that reads statistics only."""
    return Model(likelihood, prior, _no_points(shape_of(likelihood)[1]))


def has_twin(likelihood: Any) -> bool:
    """Whether C has the family; with missing values, only of independent features."""
    skips = isinstance(likelihood, Skipping)
    return type(likelihood.family) in STREAM_FAMILIES if skips else type(likelihood) in TWINS


def shape_of(likelihood: Any) -> tuple[int, int]:
    """The number of the family in C, and of features: what sizes of workspaces depend on."""
    return _described(likelihood)[1]


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
    compiled = importlib.import_module(f"mapdpm.backends._c{32 if dtype == np.float32 else 64}")
    return compiled.lib, compiled.ffi


def run(name: str, model: Model, *arguments: Any) -> _Given:
    """Call ``mapdpm_NAME`` with the problem of ``model``, and with ``arguments`` as C takes them.

    An array, a state, counts of groups, a ``Struct`` or a ``Room`` is converted; C reads and writes where they are. A
    number goes as it is. RuntimeError where the library returns an error: a fault of this package. Called with a
    ``Struct`` of the call, what is returned gives that of C, for the numbers that C has written there.
    """
    lib, ffi = library(model.data.dtype)
    problem, kept = _problem(model)
    given = _Given(lib, ffi, problem, [kept])
    _invoke(lib, ffi, name, given, (problem, *arguments))
    return given


def run_without_problem(name: str, *arguments: Any) -> None:
    """``run`` of a function that is the same for all types of data; that of float64 is called."""
    lib, ffi = library(np.dtype(np.float64))
    _invoke(lib, ffi, name, _Given(lib, ffi, None, []), arguments)


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

    def __init__(self, lib: Any, ffi: Any, problem: Any, kept: list[Any]) -> None:
        self._lib, self._ffi, self._problem, self._kept = lib, ffi, problem, kept
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
        first = room.sizes[0] if room.sizes else 0
        if isinstance(first, tuple):
            n_bytes = getattr(self._lib, f"mapdpm_{room.name}_bytes")(self._problem, *map(self, room.sizes))
        else:
            family = (self._problem.family, self._problem.n_features) if room.of_family else ()
            n_bytes = _n_bytes(self._lib, room.name, *family, *(room.sizes or (self._capacity,)))
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


@functools.lru_cache(4096)
def _n_bytes(lib: Any, name: str, *sizes: int) -> int:
    """A search asks for few sizes, many times."""
    return int(getattr(lib, f"mapdpm_{name}_bytes")(*sizes))


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


_LARGEST_KEPT = 1 << 20  # bytes of data; keeping a larger problem would hold its memory and save little time
_last_problems: dict[bool, tuple[Model, tuple[Any, tuple[Any, ...]]]] = {}
_last_described: tuple[Any, tuple[int, int], Vector] = (None, (0, 0), np.empty(0))


def _problem(model: Model) -> tuple[Any, tuple[Any, ...]]:
    """The structure, which C only reads, and the objects that must outlive it.

    A search makes hundreds of calls with the same model, and between them some without points. The last structure of
    each kind is kept.
    """
    likelihood, prior, data, weights = model
    known = _last_problems.get(len(data) > 0)
    if known is not None and all(map(operator.is_, known[0], model)):
        return known[1]
    _, ffi = library(data.dtype)
    problem = ffi.new("mapdpm_problem *")
    _, (problem.family, problem.n_features), parameters = _described(likelihood)
    problem.n_points = len(data)
    views = [ffi.from_buffer("mapdpm_real[]", data), ffi.from_buffer("double[]", parameters)]
    problem.data, problem.parameters = views
    if weights is not None:
        views.append(ffi.from_buffer("double[]", weights))
        problem.weights = views[-1]
    problem.alpha = getattr(prior, "alpha", 1.0)
    problem.discount = 0.0 if prior is None else prior.discount
    problem.penalty = getattr(prior, "lam", 0.0)
    made = problem, tuple(views)
    if data.nbytes <= _LARGEST_KEPT:
        _last_problems[len(data) > 0] = model, made
    return made


def flat_of(likelihood: Any) -> Vector:
    """``flat_parameters`` of a likelihood."""
    return _described(likelihood)[2]


def _described(likelihood: Any) -> tuple[Any, tuple[int, int], Vector]:
    """A likelihood, its shape and its parameters; those of the last one are kept."""
    global _last_described  # noqa: PLW0603  (one assignment, so threads see values that belong together)
    known = _last_described
    if known[0] is not likelihood:
        skips = isinstance(likelihood, Skipping)
        family = likelihood.family if skips else likelihood
        shape = TWINS[type(family)] + _SKIPPING * skips, len(family[0])
        known = _last_described = likelihood, shape, flat_parameters(family)
    return known
