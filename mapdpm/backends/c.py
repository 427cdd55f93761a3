"""The C backend: the twin of ``generic``, ``grouped`` and ``passes`` for normal data and squared distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends import passes
from mapdpm.backends.c_calls import call_of, has_twin, is_built, shape_of, without_points
from mapdpm.backends.c_composed import CComposed
from mapdpm.backends.c_states import CStates
from mapdpm.backends.grouped import GroupCounts
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState


class CBackend(CStates, CComposed):
    """The compiled kernels, by cffi. They release the GIL; float32 data is read as it is; all else is float64."""

    name = "c"

    def implements(self, likelihood: Any) -> bool:
        """Whether C implements the family, and the compiled modules exist."""
        return has_twin(likelihood) and is_built()

    def sequential_start(self, model: Model, state: ClusterState, order: Labels, may_grow: bool) -> int:
        call = call_of(model, state)
        position = call.ffi.new("int64_t *", 0)
        call.run("sequential_start", *call.given, order, len(order), may_grow, position)
        return int(position[0])

    def sweep(self, model: Model, state: ClusterState, start: int, may_grow: bool) -> tuple[int, int]:
        call = call_of(model, state)
        position, moved = call.ffi.new("int64_t *", start), call.ffi.new("int64_t *", 0)
        call.run("sweep", *call.given, may_grow, position, moved)
        return int(position[0]), int(moved[0])

    def perturb(self, model: Model, state: ClusterState, uniforms: Vector) -> None:
        call = call_of(model, state)
        call.run("gibbs_sweep", *call.given, uniforms)

    def statistics(self, model: Model, state: ClusterState) -> None:
        call = call_of(model, state)
        call.run("statistics", *call.given)

    def log_marginals(self, likelihood: Likelihood, state: ClusterState) -> Vector:
        call, result = call_of(without_points(likelihood, None), state), np.empty(state.capacity)
        call.run("log_marginals", *call.given, result)
        return result

    def score(self, model: Model, state: ClusterState, scores: Matrix) -> None:
        call = call_of(model._replace(weights=None), state)
        call.run("score", *call.given, scores)

    def posteriors(self, model: Model, state: ClusterState, shares: Matrix) -> None:
        call = call_of(model._replace(weights=None), state)
        call.run("posteriors", *call.given, shares)

    def best_slots(self, model: Model, state: ClusterState, may_open: bool, slots: Labels) -> None:
        call = call_of(model._replace(weights=None), state)
        call.run("best_slots", *call.given, may_open, slots)

    def log_densities(self, model: Model, state: ClusterState, densities: Vector) -> None:
        call = call_of(model._replace(weights=None), state)
        call.run("log_densities", *call.given, densities)

    def merge_losses(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        state: ClusterState,
        stale: Labels,
        partners: Labels,
        losses: Vector,
    ) -> None:
        call = call_of(without_points(likelihood, prior), state)
        call.run("merge_losses", *call.given, stale, partners, losses)

    def segments(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        atoms: Matrix,
        beam: int,
        best: Matrix,
        came_from: Labels,
    ) -> None:
        call, width = call_of(without_points(likelihood, prior), None), best.shape[1]
        space = call.room("segments", *shape_of(likelihood), beam, width)
        call.run("segments", *call.given, space, atoms, len(atoms), beam, width, best, came_from)

    def cut(self, model: Model, order: Labels, n_atoms: int) -> tuple[int, float]:
        call = call_of(model, None)
        space = call.room("cut", *shape_of(model.likelihood), n_atoms)
        first, joint = call.ffi.new("int64_t *"), call.ffi.new("double *")
        call.run("cut", *call.given, space, order, n_atoms, first, joint)
        return int(first[0]), float(joint[0])

    def grouped_start(
        self, model: Model, state: ClusterState, counts: GroupCounts, order: Labels, may_grow: bool
    ) -> int:
        call = call_of(model, state, counts)
        position = call.ffi.new("int64_t *", 0)
        call.run("grouped_start", *call.given, order, len(order), may_grow, position)
        return int(position[0])

    def grouped_sweep(
        self, model: Model, state: ClusterState, counts: GroupCounts, start: int, may_grow: bool
    ) -> tuple[int, int]:
        call = call_of(model, state, counts)
        position, moved = call.ffi.new("int64_t *", start), call.ffi.new("int64_t *", 0)
        call.run("grouped_sweep", *call.given, may_grow, position, moved)
        return int(position[0]), int(moved[0])

    def grouped_perturb(self, model: Model, state: ClusterState, counts: GroupCounts, uniforms: Vector) -> None:
        call = call_of(model, state, counts)
        call.run("grouped_gibbs_sweep", *call.given, uniforms)

    def move_cells(
        self,
        likelihood: Likelihood,
        state: ClusterState,
        counts: GroupCounts,
        slot: int,
        groups: Labels,
        cells: Matrix,
        to: Labels,
    ) -> float:
        call = call_of(without_points(likelihood, None), state, counts)
        space, gained = call.room("move_cells", *shape_of(likelihood), len(groups)), call.ffi.new("double *")
        call.run("move_cells", *call.given[:-1], space, slot, len(groups), groups, cells, to, gained)
        return float(gained[0])

    tangents = staticmethod(passes.tangents)  # a few rows, so that C needs no digamma

    def tangent_slots(
        self, model: Model, constants: Vector, parameters: Matrix, slots: Labels, margins: Vector
    ) -> None:
        call = call_of(model._replace(weights=None), None)
        space = call.room("tangent", model.data.shape[1])
        call.run("tangent_slots", *call.given, len(constants), constants, parameters, space, slots, margins)

    def restless(self, model: Model, state: ClusterState, found: NDArray[Any]) -> None:
        call = call_of(model, state)
        call.run("restless", *call.given, found)

    def join_rows(self, likelihood: Likelihood, parts: Any, state: ClusterState) -> None:
        call = call_of(without_points(likelihood, None), state)
        call.run("join_rows", *call.given, len(parts), parts)


C = CBackend()
