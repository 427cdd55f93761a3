"""The C backend's twins of functions that are made of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.backends.c_calls import call_of, clusters_of, flat_of, shape_of, without_points
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
        call.run("settle", *call.given, most)

    def largest_evidence(self, made_by: Any, state: ClusterState, widths: Widths, logs: Vector) -> tuple[Vector, float]:
        if isinstance(made_by, NormalInverseWishart):  # its rows know a prior, and numpy restates them
            return super().largest_evidence(made_by, state, widths, logs)
        call, box = call_of(without_points(made_by, None), state), widths.box
        found, gain, sought = logs.copy(), call.ffi.new("double *"), call.ffi.new("mapdpm_widths *")
        sought.n_logs, sought.tolerance, sought.gain = len(logs), box.tolerance, box.gain
        views = [call.view(each) for each in (flat_of(widths.likelihood), _log_of(widths), box.low, box.high)]
        sought.parameters, sought.log_of, sought.low, sought.high = views
        call.run("largest_evidence", *call.given, sought, found, gain)
        del views  # they had to live until here
        return found, float(gain[0])

    def best_halves(self, model: Model, draws: Draws, tried: Tried) -> Halves:
        n, size = len(model.data), model.likelihood.size()
        best = ClusterState(np.empty(n, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros((2, size)))
        call = call_of(model, best)
        joints, sought = call.ffi.new("double[2]"), call.ffi.new("mapdpm_halves *")
        sought.n_starts, sought.n_draws, sought.n_tried = len(draws.starts), len(draws.numbers), tried.n
        sought.n_atoms, sought.most_sweeps = ATOMS, SWEEPS
        views = [call.view(each) for each in (draws.starts, draws.numbers, tried.room(len(draws.starts)))]
        sought.starts, sought.draws, sought.tried = views
        if draws.direction is not None:
            views.append(call.view(draws.direction))
            sought.direction = views[-1]
        space = call.room("halves", *shape_of(model.likelihood), n, ATOMS)
        call.run("best_halves", *call.given[:-1], space, sought, joints)
        del views
        tried.n = int(sought.n_tried)
        before, after = joints
        return Halves(best if after > -np.inf else None, after - before, before)

    def recluster(
        self, model: Model, state: ClusterState, points: Labels, anew: ClusterState, order: Labels, most: int
    ) -> tuple[float, float]:
        call = call_of(model, state)
        given, joints, part = call.given[:-1], call.ffi.new("double[2]"), call.ffi.new("mapdpm_part *")
        part.n_points, part.n_order, part.most_sweeps = len(points), len(order), most
        part.points, part.order = views = call.view(points), call.view(order)
        clusters, arrays = clusters_of(call.ffi, anew)
        call.run("recluster", *given, call.room("recluster", *given, part, clusters), part, clusters, joints)
        del views, arrays
        before, after = joints
        return after - before, before

    def merge(self, model: Model, state: ClusterState, pairs: Agglomeration, most: int) -> int:
        if state.capacity != len(pairs.known):
            pairs.resize(state.capacity)
        call = call_of(model, state)
        merged, known = call.ffi.new("int64_t *"), call.ffi.new("mapdpm_pairs *")
        views = [call.view(each) for each in (pairs.known, pairs.partners, pairs.losses)]
        known.known, known.partners, known.losses = views
        space = call.room("merge", *shape_of(model.likelihood), state.capacity)
        call.run("merge", *call.given[:-1], space, known, most, merged)
        del views
        return int(merged[0])


def _log_of(widths: Widths) -> Labels:
    """The number of the logarithm of each entry of the flat parameters; -1 for one that stays."""
    fields = {name: number for number, name in enumerate(widths.names)}
    sizes = [np.size(value) for value in widths.likelihood]
    return np.repeat([fields.get(name, -1) for name in widths.likelihood._fields], sizes).astype(np.int64)
