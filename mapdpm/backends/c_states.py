"""The functions of the C backend for states of sequences, and for paths of a hidden Markov model."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends.c_calls import call_of, check, library
from mapdpm.backends.states import Rows
from mapdpm.protocol import Labels, Matrix, Model, Vector
from mapdpm.state import ClusterState


class CStates:
    """The twins of ``states`` and ``paths``."""

    def visit_states(
        self, model: Model, state: ClusterState, rows: Rows, order: Labels, first: int, may_grow: bool
    ) -> tuple[int, int]:
        call = call_of(model, state)
        view = call.ffi.from_buffer
        states = call.ffi.new("mapdpm_states *")
        names = ("previous", "following", "counts", "sizes")
        views = [view("int64_t[]", getattr(rows, name)) for name in names]
        states.previous, states.following, states.counts, states.sizes = views
        states.weights = weights = view("double[]", rows.weights)
        states.alpha, states.kappa = rows.alpha, rows.kappa
        states.new_share = 1.0 / (1.0 + rows.root_concentration)
        position, moved = call.ffi.new("int64_t *", first), call.ffi.new("int64_t *", 0)
        points = view("int64_t[]", order)
        visit = call.lib.mapdpm_visit_states
        arguments = call.problem, call.clusters, states, call.workspace, points, len(order), may_grow, position, moved
        check(call, visit(*arguments))
        del weights
        return int(position[0]), int(moved[0])

    def viterbi(
        self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, came_from: Labels, path: Labels
    ) -> float:
        chain = _Chain(start, steps, begins)
        workspace, total = np.empty(steps.size + 2 * len(start)), np.empty(1)
        chain.call("viterbi", scores, workspace, came_from, path, total)
        return float(total[0])

    def forward(self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, filtered: Matrix) -> Vector:
        totals = np.empty(len(begins) - 1)
        _Chain(start, steps, begins).call("forward", scores, filtered, totals)
        return totals

    def backward(self, steps: Matrix, begins: Labels, filtered: Matrix) -> None:
        _Chain(None, steps, begins).call("backward", np.empty(len(steps)), filtered)

    def draw_path(self, steps: Matrix, begins: Labels, filtered: Matrix, uniforms: Vector, path: Labels) -> None:
        _Chain(None, steps, begins).call("draw_path", filtered, uniforms, path)


class _Chain:
    """A hidden Markov model for C; the same code for all types of data, so that of float64 is called."""

    def __init__(self, start: Vector | None, steps: Matrix, begins: Labels) -> None:
        self.lib, self.ffi = library(np.dtype(np.float64))
        self.chain = self.ffi.new("mapdpm_chain *")
        self.chain.n_states, self.chain.n_sequences = len(steps), len(begins) - 1
        self._kept = [self._view(array) for array in (steps, begins)]
        self.chain.steps, self.chain.begins = self._kept
        if start is not None:
            self._kept.append(self._view(start))
            self.chain.start = self._kept[-1]

    def call(self, name: str, *arrays: Any) -> None:
        """Call the function of this name with views of ``arrays``."""
        views = [self._view(array) for array in arrays]
        check(self, getattr(self.lib, f"mapdpm_{name}")(self.chain, *views))

    def _view(self, array: Any) -> Any:
        kind = "int64_t[]" if array.dtype.kind == "i" else "double[]"
        return self.ffi.from_buffer(kind, array)
