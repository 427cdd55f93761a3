"""The C backend's calls for passes over a chunk of the points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends import passes
from mapdpm.backends.c_calls import call_of, check, without_points
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, Vector
from mapdpm.state import ClusterState


class CPasses:
    """The twins of ``backends.passes``."""

    tangents = staticmethod(passes.tangents)  # a few rows, so that C needs no digamma

    def tangent_slots(
        self, model: Model, constants: Vector, parameters: Matrix, slots: Labels, margins: Vector
    ) -> None:
        call = call_of(model._replace(weights=None), None)
        view = call.ffi.from_buffer
        workspace = np.empty(call.lib.mapdpm_tangent_bytes(model.data.shape[1]) // 8 + 1)
        check(
            call,
            call.lib.mapdpm_tangent_slots(
                call.problem,
                len(constants),
                view("double[]", constants),
                view("double[]", parameters),
                view("unsigned char[]", workspace, require_writable=True),
                view("int64_t[]", slots, require_writable=True),
                view("double[]", margins, require_writable=True),
            ),
        )

    def restless(self, model: Model, state: ClusterState, found: NDArray[Any]) -> None:
        call = call_of(model, state)
        into = call.ffi.from_buffer("unsigned char[]", found, require_writable=True)
        check(call, call.lib.mapdpm_restless(call.problem, call.clusters, call.workspace, into))

    def join_rows(self, likelihood: Likelihood, parts: Any, state: ClusterState) -> None:
        call = call_of(without_points(likelihood, None), state)
        check(
            call,
            call.lib.mapdpm_join_rows(
                call.problem, call.clusters, call.workspace, len(parts), call.ffi.from_buffer("double[]", parts)
            ),
        )
