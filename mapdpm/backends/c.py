"""The C backend: the twin of ``generic`` for normal data and squared distances, through cffi."""

from __future__ import annotations

import functools
import importlib.util
import operator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods import FAMILY_NUMBERS
from mapdpm.likelihoods._parameters import flat_parameters
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState

NOT_BUILT = (
    f"the C kernels are not in {Path(__file__).resolve().parent}; in a checkout, pip install -e . compiles them there, "
    "or work in another folder, where Python finds the installed mapdpm"
)
_TWINS = {**FAMILY_NUMBERS, SquaredDistance: 3}


class _Call(NamedTuple):
    """One call: the library of the data's type, its two structures, and the objects that must outlive them."""

    lib: Any
    ffi: Any
    problem: Any
    clusters: Any
    workspace: Any
    kept: tuple[Any, ...]


class CBackend:
    """The compiled kernels. They release the GIL; float32 data is read as it is; everything else is float64."""

    name = "c"

    def implements(self, likelihood: Any) -> bool:
        """Whether C implements the family, and the compiled modules exist."""
        return type(likelihood) in _TWINS and is_built()

    def sequential_start(
        self,
        model: Model,
        state: ClusterState,
        order: Labels,
        may_grow: bool,
    ) -> int:
        call = _call(model, state)
        position = call.ffi.new("int64_t *", 0)
        _check(
            call,
            call.lib.mapdpm_sequential_start(
                call.problem,
                call.clusters,
                call.workspace,
                call.ffi.from_buffer("int64_t[]", order),
                len(order),
                may_grow,
                position,
            ),
        )
        return int(position[0])

    def sweep(
        self,
        model: Model,
        state: ClusterState,
        start: int,
        may_grow: bool,
    ) -> tuple[int, int]:
        call = _call(model, state)
        position, moved = call.ffi.new("int64_t *", start), call.ffi.new("int64_t *", 0)
        _check(call, call.lib.mapdpm_sweep(call.problem, call.clusters, call.workspace, may_grow, position, moved))
        return int(position[0]), int(moved[0])

    def perturb(
        self,
        model: Model,
        state: ClusterState,
        uniforms: Vector,
    ) -> None:
        call = _call(model, state)
        draws = call.ffi.from_buffer("double[]", uniforms)
        _check(call, call.lib.mapdpm_gibbs_sweep(call.problem, call.clusters, call.workspace, draws))

    def statistics(self, model: Model, state: ClusterState) -> None:
        call = _call(model, state)
        _check(call, call.lib.mapdpm_statistics(call.problem, call.clusters, call.workspace))

    def log_marginals(self, likelihood: Likelihood, state: ClusterState) -> Vector:
        call = _call(_without_points(likelihood, None), state)
        result = np.empty(state.capacity)
        into = call.ffi.from_buffer("double[]", result, require_writable=True)
        _check(call, call.lib.mapdpm_log_marginals(call.problem, call.clusters, into))
        return result

    def score(self, model: Model, state: ClusterState, scores: Matrix) -> None:
        call = _call(model._replace(weights=None), state)
        into = call.ffi.from_buffer("double[]", scores, require_writable=True)
        _check(call, call.lib.mapdpm_score(call.problem, call.clusters, call.workspace, into))

    def best_slots(self, model: Model, state: ClusterState, may_open: bool, slots: Labels) -> None:
        call = _call(model._replace(weights=None), state)
        into = call.ffi.from_buffer("int64_t[]", slots, require_writable=True)
        _check(call, call.lib.mapdpm_best_slots(call.problem, call.clusters, call.workspace, may_open, into))

    def log_densities(self, model: Model, state: ClusterState, densities: Vector) -> None:
        call = _call(model._replace(weights=None), state)
        into = call.ffi.from_buffer("double[]", densities, require_writable=True)
        _check(call, call.lib.mapdpm_log_densities(call.problem, call.clusters, call.workspace, into))

    def merge_losses(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        state: ClusterState,
        stale: Labels,
        partners: Labels,
        losses: Vector,
    ) -> None:
        call = _call(_without_points(likelihood, prior), state)
        changed = call.ffi.from_buffer("int64_t[]", stale)
        to = call.ffi.from_buffer("int64_t[]", partners, require_writable=True)
        cost = call.ffi.from_buffer("double[]", losses, require_writable=True)
        _check(call, call.lib.mapdpm_merge_losses(call.problem, call.clusters, call.workspace, changed, to, cost))

    def segments(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        atoms: Matrix,
        beam: int,
        best: Matrix,
        came_from: Labels,
    ) -> None:
        call = _call(_without_points(likelihood, prior), None)
        n_atoms, width = len(atoms), best.shape[1]
        workspace = np.empty(call.lib.mapdpm_segments_bytes(_width_of(likelihood), beam, width) // 8 + 1)
        _check(
            call,
            call.lib.mapdpm_segments(
                call.problem,
                call.ffi.from_buffer("unsigned char[]", workspace, require_writable=True),
                call.ffi.from_buffer("double[]", atoms),
                n_atoms,
                beam,
                width,
                call.ffi.from_buffer("double[]", best, require_writable=True),
                call.ffi.from_buffer("int64_t[]", came_from, require_writable=True),
            ),
        )

    def cut(
        self,
        model: Model,
        order: Labels,
        n_atoms: int,
    ) -> tuple[int, float]:
        call = _call(model, None)
        workspace = np.empty(call.lib.mapdpm_cut_bytes(model.data.shape[1], n_atoms) // 8 + 1)
        space = call.ffi.from_buffer("unsigned char[]", workspace, require_writable=True)
        first, joint = call.ffi.new("int64_t *"), call.ffi.new("double *")
        points = call.ffi.from_buffer("int64_t[]", order)
        _check(call, call.lib.mapdpm_cut(call.problem, space, points, n_atoms, first, joint))
        return int(first[0]), float(joint[0])

    def settle(
        self,
        model: Model,
        state: ClusterState,
        most: int,
    ) -> None:
        call = _call(model, state)
        _check(call, call.lib.mapdpm_settle(call.problem, call.clusters, call.workspace, most))


def _without_points(likelihood: Likelihood, prior: PartitionPriorVerbs | None) -> Model:
    """The model of a function that reads statistics only."""
    return Model(likelihood, prior, _no_points(_width_of(likelihood)))


def _width_of(likelihood: Likelihood) -> int:
    """The number of features: the statistics are a weight, means and sums of squares."""
    return (likelihood.n_statistics() - 1) // 2


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


def _call(model: Model, state: ClusterState | None) -> _Call:
    lib, ffi = library(model.data.dtype)
    problem, views = _problem(model)
    if state is None:
        return _Call(lib, ffi, problem, ffi.NULL, ffi.NULL, views)
    view = ffi.from_buffer
    workspace = np.empty(lib.mapdpm_workspace_bytes(model.data.shape[1], state.capacity) // 8 + 1)
    clusters = ffi.new("mapdpm_clusters *")
    clusters.capacity = state.capacity
    clusters.labels = labels = view("int64_t[]", state.labels, require_writable=True)
    clusters.counts = counts = view("int64_t[]", state.counts, require_writable=True)
    clusters.rows = rows = view("double[]", state.rows, require_writable=True)
    space = view("unsigned char[]", workspace, require_writable=True)
    return _Call(lib, ffi, problem, clusters, space, (views, labels, counts, rows, workspace))


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
    problem.family = _TWINS[type(likelihood)]
    problem.n_points, problem.n_features = data.shape
    views = [ffi.from_buffer("mapdpm_real[]", data), ffi.from_buffer("double[]", _parameters(likelihood))]
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


def _parameters(likelihood: Likelihood) -> Vector:
    """``flat_parameters``; the parameters of the last likelihood are kept."""
    global _last_parameters  # noqa: PLW0603  (one assignment, so threads see a pair that belongs together)
    known, parameters = _last_parameters
    if known is not likelihood:
        parameters = flat_parameters(likelihood)
        _last_parameters = likelihood, parameters
    return parameters


def _check(call: _Call, error: int) -> None:
    if error:
        name = call.ffi.string(call.lib.mapdpm_error_name(error)).decode()
        msg = f"the C library refused a call: {name}"
        raise RuntimeError(msg)


C = CBackend()
