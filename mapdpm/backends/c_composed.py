"""The C backend's twins of functions that are made of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.backends.c_calls import call_of, check, clusters_of, flat_of, shape_of, without_points
from mapdpm.backends.composed import Composed
from mapdpm.backends.evidence import Widths
from mapdpm.backends.halves import ATOMS, SWEEPS, Draws, Halves, Tried
from mapdpm.likelihoods import NormalInverseWishart
from mapdpm.protocol import Labels, Model, Vector
from mapdpm.state import ClusterState


class CComposed(Composed):
    """The twins of ``backends.composed``: one call of C for what would be hundreds."""

    def settle(self, model: Model, state: ClusterState, most: int) -> None:
        call = call_of(model, state)
        check(call, call.lib.mapdpm_settle(call.problem, call.clusters, call.workspace, most))

    def largest_evidence(self, made_by: Any, state: ClusterState, widths: Widths, logs: Vector) -> tuple[Vector, float]:
        if isinstance(made_by, NormalInverseWishart):  # its rows know a prior, and numpy restates them
            return super().largest_evidence(made_by, state, widths, logs)
        call = call_of(without_points(made_by, None), state)
        view, found, gain = call.ffi.from_buffer, logs.copy(), call.ffi.new("double *")
        sought = call.ffi.new("mapdpm_widths *")
        sought.n_logs, sought.tolerance, sought.gain = len(logs), widths.box.tolerance, widths.box.gain
        sought.parameters = parameters = view("double[]", flat_of(widths.likelihood))
        sought.log_of = log_of = view("int64_t[]", _log_of(widths))
        sought.low, sought.high = low, high = view("double[]", widths.box.low), view("double[]", widths.box.high)
        into = view("double[]", found, require_writable=True)
        check(call, call.lib.mapdpm_largest_evidence(call.problem, call.clusters, call.workspace, sought, into, gain))
        del parameters, log_of, low, high  # they had to live until here
        return found, float(gain[0])

    def best_halves(self, model: Model, draws: Draws, tried: Tried) -> Halves:
        n, size = len(model.data), model.likelihood.size()
        best = ClusterState(np.empty(n, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros((2, size)))
        call = call_of(model, best)
        view, joints = call.ffi.from_buffer, call.ffi.new("double[2]")
        workspace = np.empty(call.lib.mapdpm_halves_bytes(*shape_of(model.likelihood), n, ATOMS) // 8 + 1)
        sides = tried.room(len(draws.starts))
        sought = call.ffi.new("mapdpm_halves *")
        sought.n_starts, sought.n_draws, sought.n_tried = len(draws.starts), len(draws.numbers), tried.n
        sought.n_atoms, sought.most_sweeps = ATOMS, SWEEPS
        sought.starts, sought.draws = starts, numbers = (
            view("int64_t[]", draws.starts),
            view("int64_t[]", draws.numbers),
        )
        sought.tried = seen = view("unsigned char[]", sides, require_writable=True)
        direction = call.ffi.NULL if draws.direction is None else view("double[]", draws.direction)
        sought.direction = direction
        space = view("unsigned char[]", workspace, require_writable=True)
        check(call, call.lib.mapdpm_best_halves(call.problem, call.clusters, space, sought, joints))
        del starts, numbers, seen, direction
        tried.n = int(sought.n_tried)
        before, after = joints
        return Halves(best if after > -np.inf else None, after - before, before)

    def recluster(
        self, model: Model, state: ClusterState, points: Labels, anew: ClusterState, order: Labels, most: int
    ) -> tuple[float, float]:
        call = call_of(model, state)
        view, joints, part = call.ffi.from_buffer, call.ffi.new("double[2]"), call.ffi.new("mapdpm_part *")
        part.n_points, part.n_order, part.most_sweeps = len(points), len(order), most
        part.points, part.order = kept = view("int64_t[]", points), view("int64_t[]", order)
        clusters, arrays = clusters_of(call.ffi, anew)
        n_bytes = call.lib.mapdpm_recluster_bytes(call.problem, call.clusters, part, clusters)
        space = view("unsigned char[]", np.empty(n_bytes // 8 + 1), require_writable=True)
        check(call, call.lib.mapdpm_recluster(call.problem, call.clusters, space, part, clusters, joints))
        del kept, arrays
        before, after = joints
        return after - before, before

    def merge(self, model: Model, state: ClusterState, pairs: Agglomeration, most: int) -> int:
        if state.capacity != len(pairs.known):
            pairs.resize(state.capacity)
        call = call_of(model, state)
        view, merged, known = call.ffi.from_buffer, call.ffi.new("int64_t *"), call.ffi.new("mapdpm_pairs *")
        arrays = [view("double[]", each, require_writable=True) for each in (pairs.known, pairs.losses)]
        known.known, known.losses = arrays
        known.partners = partners = view("int64_t[]", pairs.partners, require_writable=True)
        n_bytes = call.lib.mapdpm_merge_bytes(*shape_of(model.likelihood), state.capacity)
        space = view("unsigned char[]", np.empty(n_bytes // 8 + 1), require_writable=True)
        check(call, call.lib.mapdpm_merge(call.problem, call.clusters, space, known, most, merged))
        del arrays, partners
        return int(merged[0])


def _log_of(widths: Widths) -> Labels:
    """The number of the logarithm of each entry of the flat parameters; -1 for one that stays."""
    fields = {name: number for number, name in enumerate(widths.names)}
    sizes = [np.size(value) for value in widths.likelihood]
    return np.repeat([fields.get(name, -1) for name in widths.likelihood._fields], sizes).astype(np.int64)
