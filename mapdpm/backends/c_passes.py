"""The C backend's calls for passes over a chunk of the points."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from mapdpm.backends import passes
from mapdpm.backends.c_calls import call_of, without_points
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, Vector
from mapdpm.state import ClusterState


class CPasses:
    """The twins of ``backends.passes``."""

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
