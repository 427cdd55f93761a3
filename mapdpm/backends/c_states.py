"""The functions of the C backend for states of sequences, and for paths of a hidden Markov model."""

from __future__ import annotations

import numpy as np

from mapdpm.backends.c_calls import Call, call_of, library
from mapdpm.backends.states import Rows
from mapdpm.protocol import Labels, Matrix, Model, Vector
from mapdpm.state import ClusterState


class CStates:
    """The twins of ``states`` and ``paths``."""

    def visit_states(
        self, model: Model, state: ClusterState, rows: Rows, order: Labels, first: int, may_grow: bool
    ) -> tuple[int, int]:
        call = call_of(model, state)
        problem, clusters, workspace = call.given
        states = call.ffi.new("mapdpm_states *")
        views = [call.view(each) for each in (rows.previous, rows.following, rows.counts, rows.sizes, rows.weights)]
        states.previous, states.following, states.counts, states.sizes, states.weights = views
        states.alpha, states.kappa = rows.alpha, rows.kappa
        states.new_share = 1.0 / (1.0 + rows.root_concentration)
        position, moved = call.ffi.new("int64_t *", first), call.ffi.new("int64_t *", 0)
        of_order = order, len(order), may_grow
        call.run("visit_states", problem, clusters, states, workspace, *of_order, position, moved)
        del views  # they had to live until here
        return int(position[0]), int(moved[0])

    def viterbi(
        self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, came_from: Labels, path: Labels
    ) -> float:
        call = _chain(start, steps, begins)
        workspace, total = np.empty(steps.size + 2 * len(start)), np.empty(1)
        call.run("viterbi", *call.given, scores, workspace, came_from, path, total)
        return float(total[0])

    def forward(self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, filtered: Matrix) -> Vector:
        call, totals = _chain(start, steps, begins), np.empty(len(begins) - 1)
        call.run("forward", *call.given, scores, filtered, totals)
        return totals

    def backward(self, steps: Matrix, begins: Labels, filtered: Matrix) -> None:
        call = _chain(None, steps, begins)
        call.run("backward", *call.given, np.empty(len(steps)), filtered)

    def draw_path(self, steps: Matrix, begins: Labels, filtered: Matrix, uniforms: Vector, path: Labels) -> None:
        call = _chain(None, steps, begins)
        call.run("draw_path", *call.given, filtered, uniforms, path)


def _chain(start: Vector | None, steps: Matrix, begins: Labels) -> Call:
    """A call with a hidden Markov model; the code is the same for all types of data, so that of float64 is called."""
    lib, ffi = library(np.dtype(np.float64))
    call, chain = Call(lib, ffi), ffi.new("mapdpm_chain *")
    chain.n_states, chain.n_sequences = len(steps), len(begins) - 1
    views = [call.view(array) for array in (steps, begins)]
    chain.steps, chain.begins = views
    if start is not None:
        views.append(call.view(start))
        chain.start = views[-1]
    return Call(lib, ffi, (chain,), tuple(views))
