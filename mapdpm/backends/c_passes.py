"""The C backend's calls for passes over a chunk of the points."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from mapdpm.backends import passes
from mapdpm.backends.c_calls import SPACE, Room, run, without_points
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, Vector
from mapdpm.state import ClusterState


class CPasses:
    """The twins of ``backends.passes``."""

    tangents = staticmethod(passes.tangents)  # a few rows, so that C needs no digamma

    def tangent_slots(
        self, model: Model, constants: Vector, parameters: Matrix, slots: Labels, margins: Vector
    ) -> None:
        space = Room("tangent", (model.data.shape[1],), of_family=False)
        of_clusters = len(constants), constants, parameters
        run("tangent_slots", model._replace(weights=None), *of_clusters, space, slots, margins)

    def restless(self, model: Model, state: ClusterState, found: NDArray[Any]) -> None:
        run("restless", model, state, SPACE, found)

    def join_rows(self, likelihood: Likelihood, parts: Any, state: ClusterState) -> None:
        run("join_rows", without_points(likelihood, None), state, SPACE, len(parts), parts)
