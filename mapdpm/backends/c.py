"""The C backend: the twin of ``generic`` for normal data and squared distances, through cffi."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends.c_calls import call_of, check, has_twin, is_built, shape_of, without_points
from mapdpm.backends.c_composed import CComposed
from mapdpm.backends.c_passes import CPasses
from mapdpm.backends.c_states import CStates
from mapdpm.backends.grouped import GroupCounts
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState


class CBackend(CStates, CPasses, CComposed):
    """The compiled kernels. They release the GIL; float32 data is read as it is; everything else is float64."""

    name = "c"

    def implements(self, likelihood: Any) -> bool:
        """Whether C implements the family, and the compiled modules exist."""
        return has_twin(likelihood) and is_built()

    def sequential_start(
        self,
        model: Model,
        state: ClusterState,
        order: Labels,
        may_grow: bool,
    ) -> int:
        call = call_of(model, state)
        position = call.ffi.new("int64_t *", 0)
        check(
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
        call = call_of(model, state)
        position, moved = call.ffi.new("int64_t *", start), call.ffi.new("int64_t *", 0)
        check(call, call.lib.mapdpm_sweep(call.problem, call.clusters, call.workspace, may_grow, position, moved))
        return int(position[0]), int(moved[0])

    def perturb(
        self,
        model: Model,
        state: ClusterState,
        uniforms: Vector,
    ) -> None:
        call = call_of(model, state)
        draws = call.ffi.from_buffer("double[]", uniforms)
        check(call, call.lib.mapdpm_gibbs_sweep(call.problem, call.clusters, call.workspace, draws))

    def statistics(self, model: Model, state: ClusterState) -> None:
        call = call_of(model, state)
        check(call, call.lib.mapdpm_statistics(call.problem, call.clusters, call.workspace))

    def log_marginals(self, likelihood: Likelihood, state: ClusterState) -> Vector:
        call = call_of(without_points(likelihood, None), state)
        result = np.empty(state.capacity)
        into = call.ffi.from_buffer("double[]", result, require_writable=True)
        check(call, call.lib.mapdpm_log_marginals(call.problem, call.clusters, call.workspace, into))
        return result

    def score(self, model: Model, state: ClusterState, scores: Matrix) -> None:
        call = call_of(model._replace(weights=None), state)
        into = call.ffi.from_buffer("double[]", scores, require_writable=True)
        check(call, call.lib.mapdpm_score(call.problem, call.clusters, call.workspace, into))

    def posteriors(self, model: Model, state: ClusterState, shares: Matrix) -> None:
        call = call_of(model._replace(weights=None), state)
        into = call.ffi.from_buffer("double[]", shares, require_writable=True)
        check(call, call.lib.mapdpm_posteriors(call.problem, call.clusters, call.workspace, into))

    def best_slots(self, model: Model, state: ClusterState, may_open: bool, slots: Labels) -> None:
        call = call_of(model._replace(weights=None), state)
        into = call.ffi.from_buffer("int64_t[]", slots, require_writable=True)
        check(call, call.lib.mapdpm_best_slots(call.problem, call.clusters, call.workspace, may_open, into))

    def log_densities(self, model: Model, state: ClusterState, densities: Vector) -> None:
        call = call_of(model._replace(weights=None), state)
        into = call.ffi.from_buffer("double[]", densities, require_writable=True)
        check(call, call.lib.mapdpm_log_densities(call.problem, call.clusters, call.workspace, into))

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
        changed = call.ffi.from_buffer("int64_t[]", stale)
        to = call.ffi.from_buffer("int64_t[]", partners, require_writable=True)
        cost = call.ffi.from_buffer("double[]", losses, require_writable=True)
        check(call, call.lib.mapdpm_merge_losses(call.problem, call.clusters, call.workspace, changed, to, cost))

    def segments(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        atoms: Matrix,
        beam: int,
        best: Matrix,
        came_from: Labels,
    ) -> None:
        call = call_of(without_points(likelihood, prior), None)
        n_atoms, width = len(atoms), best.shape[1]
        workspace = np.empty(call.lib.mapdpm_segments_bytes(*shape_of(likelihood), beam, width) // 8 + 1)
        check(
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
        call = call_of(model, None)
        workspace = np.empty(call.lib.mapdpm_cut_bytes(*shape_of(model.likelihood), n_atoms) // 8 + 1)
        space = call.ffi.from_buffer("unsigned char[]", workspace, require_writable=True)
        first, joint = call.ffi.new("int64_t *"), call.ffi.new("double *")
        points = call.ffi.from_buffer("int64_t[]", order)
        check(call, call.lib.mapdpm_cut(call.problem, space, points, n_atoms, first, joint))
        return int(first[0]), float(joint[0])

    def grouped_start(
        self, model: Model, state: ClusterState, counts: GroupCounts, order: Labels, may_grow: bool
    ) -> int:
        call = call_of(model, state, counts)
        position = call.ffi.new("int64_t *", 0)
        points = call.ffi.from_buffer("int64_t[]", order)
        check(
            call,
            call.lib.mapdpm_grouped_start(
                call.problem, call.clusters, call.groups, call.workspace, points, len(order), may_grow, position
            ),
        )
        return int(position[0])

    def grouped_sweep(
        self, model: Model, state: ClusterState, counts: GroupCounts, start: int, may_grow: bool
    ) -> tuple[int, int]:
        call = call_of(model, state, counts)
        position, moved = call.ffi.new("int64_t *", start), call.ffi.new("int64_t *", 0)
        check(
            call,
            call.lib.mapdpm_grouped_sweep(
                call.problem, call.clusters, call.groups, call.workspace, may_grow, position, moved
            ),
        )
        return int(position[0]), int(moved[0])

    def grouped_perturb(self, model: Model, state: ClusterState, counts: GroupCounts, uniforms: Vector) -> None:
        call = call_of(model, state, counts)
        draws = call.ffi.from_buffer("double[]", uniforms)
        check(
            call, call.lib.mapdpm_grouped_gibbs_sweep(call.problem, call.clusters, call.groups, call.workspace, draws)
        )

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
        workspace = np.empty(call.lib.mapdpm_move_cells_bytes(*shape_of(likelihood), len(groups)) // 8 + 1)
        gained = call.ffi.new("double *")
        view = call.ffi.from_buffer
        check(
            call,
            call.lib.mapdpm_move_cells(
                call.problem,
                call.clusters,
                call.groups,
                view("unsigned char[]", workspace, require_writable=True),
                slot,
                len(groups),
                view("int64_t[]", groups),
                view("double[]", cells),
                view("int64_t[]", to, require_writable=True),
                gained,
            ),
        )
        return float(gained[0])


C = CBackend()
