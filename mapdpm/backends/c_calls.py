"""Calls into the compiled kernels: the library, its structures, and the objects that must outlive a call."""

from __future__ import annotations

import functools
import importlib.util
import operator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends.grouped import GroupCounts
from mapdpm.likelihoods import FAMILY_NUMBERS, STREAM_FAMILIES
from mapdpm.likelihoods._parameters import flat_parameters
from mapdpm.likelihoods._skipping import plain, skips
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.protocol import Likelihood, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState

NOT_BUILT = (
    f"the C kernels are not in {Path(__file__).resolve().parent}; in a checkout, pip install -e . compiles them there, "
    "or work in another folder, where Python finds the installed mapdpm"
)
TWINS = {**FAMILY_NUMBERS, SquaredDistance: 3}
_SKIPPING = 16  # MAPDPM_SKIPPING of mapdpm_batch.h
_KINDS: dict[np.dtype[Any], str] = {
    np.dtype(np.int64): "int64_t[]",
    np.dtype(np.float64): "double[]",
    np.dtype(np.uint8): "unsigned char[]",
    np.dtype(np.bool_): "unsigned char[]",
}


class Call(NamedTuple):
    """One call: the library of the data's type, and the structures that its functions take."""

    lib: Any
    ffi: Any
    given: tuple[Any, ...] = ()
    """The problem, the clusters, the groups if there are some, and the workspace: with these most functions begin."""
    kept: tuple[Any, ...] = ()
    """What must outlive the structures."""

    def view(self, array: Any) -> Any:
        """``array`` as C sees it, where it is."""
        return self.ffi.from_buffer(_KINDS[array.dtype], array)

    def room(self, name: str, *sizes: Any) -> Matrix:
        """A workspace of ``mapdpm_NAME_bytes`` of these sizes."""
        return np.empty(getattr(self.lib, f"mapdpm_{name}_bytes")(*sizes) // 8 + 1)

    def run(self, name: str, *arguments: Any) -> None:
        """Call ``mapdpm_NAME``, arrays as views; RuntimeError where it returns an error: a fault of this package."""
        view = self.ffi.from_buffer
        views = [view(_KINDS[each.dtype], each) if isinstance(each, np.ndarray) else each for each in arguments]
        error = getattr(self.lib, f"mapdpm_{name}")(*views)
        if error:
            msg = f"the C library refused a call: {self.ffi.string(self.lib.mapdpm_error_name(error)).decode()}"
            raise RuntimeError(msg)


def without_points(likelihood: Likelihood, prior: PartitionPriorVerbs | None) -> Model:
    """The model of a function that reads statistics only."""
    return Model(likelihood, prior, _no_points(shape_of(likelihood)[1]))


def has_twin(likelihood: Any) -> bool:
    """Whether C has the family; with missing values, only of independent features."""
    return type(plain(likelihood)) in (STREAM_FAMILIES if skips(likelihood) else TWINS)


def shape_of(likelihood: Any) -> tuple[int, int]:
    """The number of the family in C, and of features: what sizes of workspaces depend on."""
    family = plain(likelihood)
    return TWINS[type(family)] + _SKIPPING * skips(likelihood), len(family[0])


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


def call_of(model: Model, state: ClusterState | None, counts: GroupCounts | None = None) -> Call:
    """The structures of a call, and a workspace for the slots of ``state``; ``counts`` where points have groups."""
    lib, ffi = library(model.data.dtype)
    problem, views = _problem(model)
    if state is None:
        return Call(lib, ffi, (problem,), views)
    workspace = np.empty(lib.mapdpm_workspace_bytes(problem.family, problem.n_features, len(state.counts)) // 8 + 1)
    clusters, arrays = clusters_of(ffi, state)
    if counts is None:
        return Call(lib, ffi, (problem, clusters, workspace), (views, arrays))
    groups, of_groups = _groups(ffi, counts)
    return Call(lib, ffi, (problem, clusters, groups, workspace), (views, arrays, of_groups))


def clusters_of(ffi: Any, state: ClusterState) -> tuple[Any, tuple[Any, ...]]:
    """The structure of ``state``, and the objects that must outlive it."""
    view, clusters = ffi.from_buffer, ffi.new("mapdpm_clusters *")
    clusters.capacity = len(state.counts)
    clusters.labels = labels = view("int64_t[]", state.labels, require_writable=True)
    clusters.counts = sizes = view("int64_t[]", state.counts, require_writable=True)
    clusters.rows = rows = view("double[]", state.rows, require_writable=True)
    base = None if state.base is None else view("double[]", state.base)
    clusters.base = ffi.NULL if base is None else base
    return clusters, (labels, sizes, rows, base)


def _groups(ffi: Any, counts: GroupCounts) -> tuple[Any, tuple[Any, ...]]:
    """The structure of the groups, and the objects that must outlive it."""
    groups = ffi.new("mapdpm_groups *")
    groups.n_groups = len(counts.table)
    groups.of_points = of_points = ffi.from_buffer("int64_t[]", counts.groups)
    groups.table = table = ffi.from_buffer("int64_t[]", counts.table, require_writable=True)
    groups.weights = weights = ffi.from_buffer("double[]", counts.weights, require_writable=True)
    groups.new_share = counts.new_share
    groups.n_inner = len(counts.weights)
    groups.parents = parents = ffi.from_buffer("int64_t[]", counts.parents)
    return groups, (of_points, table, weights, parents)


_LARGEST_KEPT = 1 << 20  # bytes of data; keeping a larger problem would hold its memory and save little time
_last_problems: dict[bool, tuple[Model, tuple[Any, tuple[Any, ...]]]] = {}
_last_parameters: tuple[Any, Vector] = (None, np.empty(0))


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
    problem.family, problem.n_features = shape_of(likelihood)
    problem.n_points = len(data)
    views = [ffi.from_buffer("mapdpm_real[]", data), ffi.from_buffer("double[]", flat_of(likelihood))]
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
    """``flat_parameters``; the parameters of the last likelihood are kept."""
    global _last_parameters  # noqa: PLW0603  (one assignment, so threads see a pair that belongs together)
    known, parameters = _last_parameters
    if known is not likelihood:
        parameters = flat_parameters(plain(likelihood))
        _last_parameters = likelihood, parameters
    return parameters
