"""The functions of the C backend for states of sequences, and for paths of a hidden Markov model."""

from __future__ import annotations

import numpy as np

from mapdpm.backends.c_calls import SPACE, Room, Struct, run, run_without_problem
from mapdpm.backends.states import Rows
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.protocol import Labels, Matrix, Model, Vector
from mapdpm.state import ClusterState


class CStates:
    """The twins of ``states`` and ``paths``."""

    def visit_states(
        self, model: Model, state: ClusterState, rows: Rows, order: Labels, first: int, may_grow: bool
    ) -> tuple[int, int]:
        ends = np.array([first, 0])
        of_order = order, len(order), may_grow
        run("visit_states", model, state, _states(rows), SPACE, *of_order, ends[:1], ends[1:])
        return int(ends[0]), int(ends[1])

    def draw_states(self, model: Model, state: ClusterState, rows: Rows, begins: Labels, uniforms: Matrix) -> None:
        n_rounds, n = uniforms.shape
        sequences, space = (len(begins) - 1, begins), Room("draw_states", (n, len(begins) - 1, len(state.counts)))
        priorless, gamma = model._replace(prior=NO_PRIOR), rows.root_concentration
        run("draw_states", priorless, state, _states(rows), *sequences, space, gamma, n_rounds, uniforms)

    def viterbi(
        self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, came_from: Labels, path: Labels
    ) -> float:
        workspace, total = np.empty(steps.size + 2 * len(start)), np.empty(1)
        run_without_problem("viterbi", _chain(start, steps, begins), scores, workspace, came_from, path, total)
        return float(total[0])

    def forward(self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, filtered: Matrix) -> Vector:
        totals = np.empty(len(begins) - 1)
        run_without_problem("forward", _chain(start, steps, begins), scores, filtered, totals)
        return totals

    def backward(self, steps: Matrix, begins: Labels, filtered: Matrix) -> None:
        run_without_problem("backward", _chain(None, steps, begins), np.empty(len(steps)), filtered)

    def draw_path(self, steps: Matrix, begins: Labels, filtered: Matrix, uniforms: Vector, path: Labels) -> None:
        run_without_problem("draw_path", _chain(None, steps, begins), filtered, uniforms, path)


def _states(rows: Rows) -> Struct:
    """The states of points."""
    fields = rows._asdict()
    fields["new_share"] = 1.0 / (1.0 + fields.pop("root_concentration"))
    return Struct("mapdpm_states", fields)


def _chain(start: Vector | None, steps: Matrix, begins: Labels) -> Struct:
    """A hidden Markov model."""
    sizes = {"n_states": len(steps), "n_sequences": len(begins) - 1}
    return Struct("mapdpm_chain", {**sizes, "steps": steps, "begins": begins, "start": start})
