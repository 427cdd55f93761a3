"""The C backend: the twin of ``generic``, ``grouped`` and ``passes``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends import passes
from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.backends.c_calls import (
    SPACE,
    Room,
    Struct,
    run,
    why_not,
    without_points,
)
from mapdpm.backends.c_evidence import CEvidence
from mapdpm.backends.c_states import CStates
from mapdpm.backends.grouped import GroupCounts
from mapdpm.backends.halves import ATOMS, SWEEPS, Draws, Halves, Tried
from mapdpm.data import point_set
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState


class CBackend(CStates, CEvidence):
    """The compiled kernels, by cffi. They release the GIL; float32 data is read as it is; all else is float64."""

    name = "c"

    def implements(self, likelihood: Any) -> bool:
        """Whether C has the family, by code of its own or by its verbs, which may be compiled now."""
        return not why_not(likelihood)

    def sequential_start(self, model: Model, state: ClusterState, order: Labels, may_grow: bool) -> int:
        position = np.zeros(1, dtype=np.int64)
        run("sequential_start", model, state, SPACE, order, len(order), may_grow, position)
        return int(position[0])

    def sweep(self, model: Model, state: ClusterState, start: int, may_grow: bool) -> tuple[int, int]:
        ends = np.array([start, 0])
        run("sweep", model, state, SPACE, may_grow, ends[:1], ends[1:])
        return int(ends[0]), int(ends[1])

    def perturb(self, model: Model, state: ClusterState, uniforms: Vector) -> None:
        run("gibbs_sweep", model, state, SPACE, uniforms)

    def statistics(self, model: Model, state: ClusterState) -> None:
        run("statistics", model, state, SPACE)

    def log_marginals(self, likelihood: Likelihood, state: ClusterState) -> Vector:
        result = np.empty(len(state.counts))
        run("log_marginals", without_points(likelihood, None), state, SPACE, result)
        return result

    def score(self, model: Model, state: ClusterState, scores: Matrix) -> None:
        run("score", model._replace(weights=None), state, SPACE, scores)

    def posteriors(self, model: Model, state: ClusterState, shares: Matrix) -> None:
        run("posteriors", model._replace(weights=None), state, SPACE, shares)

    def best_slots(self, model: Model, state: ClusterState, may_open: bool, slots: Labels) -> None:
        run("best_slots", model._replace(weights=None), state, SPACE, may_open, slots)

    def log_densities(self, model: Model, state: ClusterState, densities: Vector) -> None:
        run("log_densities", model._replace(weights=None), state, SPACE, densities)

    def left_out(self, model: Model, state: ClusterState, gains: Vector) -> None:
        run("left_out", model, state, SPACE, gains)

    def merge_losses(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        state: ClusterState,
        stale: Labels,
        partners: Labels,
        losses: Vector,
    ) -> None:
        run("merge_losses", without_points(likelihood, prior), state, SPACE, stale, partners, losses)

    def segments(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        atoms: Matrix,
        beam: int,
        best: Matrix,
        came_from: Labels,
    ) -> None:
        width, model = best.shape[1], without_points(likelihood, prior)
        run("segments", model, Room("segments", (beam, width)), atoms, len(atoms), beam, width, best, came_from)

    def cut(self, model: Model, order: Labels, n_atoms: int) -> tuple[int, float]:
        first, joint = np.zeros(1, dtype=np.int64), np.zeros(1)
        run("cut", model, Room("cut", (n_atoms,)), order, n_atoms, first, joint)
        return int(first[0]), float(joint[0])

    def grouped_start(
        self, model: Model, state: ClusterState, counts: GroupCounts, order: Labels, may_grow: bool
    ) -> int:
        position = np.zeros(1, dtype=np.int64)
        run("grouped_start", model, state, counts, SPACE, order, len(order), may_grow, position)
        return int(position[0])

    def grouped_sweep(
        self, model: Model, state: ClusterState, counts: GroupCounts, start: int, may_grow: bool
    ) -> tuple[int, int]:
        ends = np.array([start, 0])
        run("grouped_sweep", model, state, counts, SPACE, may_grow, ends[:1], ends[1:])
        return int(ends[0]), int(ends[1])

    def grouped_perturb(self, model: Model, state: ClusterState, counts: GroupCounts, uniforms: Vector) -> None:
        run("grouped_gibbs_sweep", model, state, counts, SPACE, uniforms)

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
        gained, space = np.zeros(1), Room("move_cells", (len(groups),))
        of_cells = slot, len(groups), groups, cells, to
        run("move_cells", without_points(likelihood, None), state, counts, space, *of_cells, gained)
        return float(gained[0])

    tangents = staticmethod(passes.tangents)  # a few rows, so that C needs no digamma

    def tangent_slots(
        self, model: Model, constants: Vector, parameters: Matrix, slots: Labels, margins: Vector
    ) -> None:
        of_clusters = len(constants), constants, parameters
        run("tangent_slots", model._replace(weights=None), *of_clusters, Room("tangent", ()), slots, margins)

    def restless(self, model: Model, state: ClusterState, found: NDArray[Any]) -> None:
        run("restless", model, state, SPACE, found)

    def join_rows(self, likelihood: Likelihood, parts: Any, state: ClusterState) -> None:
        run("join_rows", without_points(likelihood, None), state, SPACE, len(parts), parts)

    # ---- the twins of ``composed``: one call of C for what would be hundreds ---------------------------------------

    def settle(self, model: Model, state: ClusterState, most: int) -> None:
        run("settle", model, state, SPACE, most)

    def best_halves(self, model: Model, draws: Draws, tried: Tried) -> Halves:
        data, size, joints = model.data, model.likelihood.size(), np.zeros(2)
        vectors = None if isinstance(data, np.ndarray) else np.ascontiguousarray(point_set(data).as_vectors())
        n, width = (data if vectors is None else vectors).shape
        best = ClusterState(np.empty(n, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros((2, size)))
        room = tried.room(len(draws.starts))
        fields = {"n_starts": len(draws.starts), "starts": draws.starts, "direction": draws.direction}
        fields |= {"n_draws": len(draws.numbers), "draws": draws.numbers, "tried": room, "n_tried": tried.n}
        fields |= {"vectors": vectors, "width": width}
        sought = Struct("mapdpm_halves", {**fields, "n_atoms": ATOMS, "most_sweeps": SWEEPS})
        given = run("best_halves", model, best, Room("halves", (n, width, ATOMS)), sought, joints)
        tried.n = int(given(sought).n_tried)
        before, after = joints.tolist()
        return Halves(best if after > -np.inf else None, after - before, before)

    def recluster(
        self, model: Model, state: ClusterState, points: Labels, anew: ClusterState, order: Labels, most: int
    ) -> tuple[float, float]:
        fields = {"n_points": len(points), "points": points, "n_order": len(order), "order": order}
        part, joints = Struct("mapdpm_part", {**fields, "most_sweeps": most}), np.zeros(2)
        run("recluster", model, state, Room("recluster", (state, part, anew)), part, anew, joints)
        before, after = joints.tolist()
        return after - before, before

    def merge(self, model: Model, state: ClusterState, pairs: Agglomeration, most: int) -> int:
        capacity, merged = len(state.counts), np.zeros(1, dtype=np.int64)
        if capacity != len(pairs.known):
            pairs.resize(capacity)
        known = Struct("mapdpm_pairs", {"known": pairs.known, "partners": pairs.partners, "losses": pairs.losses})
        run("merge", model, state, Room("merge", (capacity,)), known, most, merged)
        return int(merged[0])


C = CBackend()
