"""Backends compute the inner loops.

They differ in arithmetic only; labels agree except at the edge of a tie (see ``objective``).
"""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from numpy.typing import NDArray

from mapdpm import jit
from mapdpm.backends import c, c_calls
from mapdpm.backends.composed import Composed
from mapdpm.backends.grouped import GroupCounts
from mapdpm.backends.python import NUMBA, PYTHON
from mapdpm.backends.states import Rows
from mapdpm.likelihoods._skipping import called
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, PartitionPriorVerbs, Vector
from mapdpm.state import ClusterState
from mapdpm.validation import check_choice

__all__ = ["BACKENDS", "Backend", "check_name", "functions", "names", "resolve"]


class Backend(Composed, Protocol):
    """The inner loops; the docstrings of the generic kernels specify each. Those of ``Composed`` are made of them.

    A function that reads points takes a ``Model``; one that reads statistics takes the likelihood and the prior. Scores
    are those of points of weight 1: ``score``, ``posteriors``, ``best_slots`` and ``log_densities`` ignore its weights.
    """

    @property
    def name(self) -> str: ...

    def implements(self, likelihood: Any) -> bool:
        """Whether it can run, and knows the family."""

    def sequential_start(self, model: Model, state: ClusterState, order: Labels, may_grow: bool) -> int: ...

    def sweep(self, model: Model, state: ClusterState, start: int, may_grow: bool) -> tuple[int, int]: ...

    def perturb(self, model: Model, state: ClusterState, uniforms: Vector) -> None: ...

    def statistics(self, model: Model, state: ClusterState) -> None: ...

    def log_marginals(self, likelihood: Likelihood, state: ClusterState) -> Vector: ...

    def score(self, model: Model, state: ClusterState, scores: Matrix) -> None: ...

    def posteriors(self, model: Model, state: ClusterState, shares: Matrix) -> None: ...

    def best_slots(self, model: Model, state: ClusterState, may_open: bool, slots: Labels) -> None: ...

    def log_densities(self, model: Model, state: ClusterState, densities: Vector) -> None: ...

    def left_out(self, model: Model, state: ClusterState, gains: Vector) -> None: ...

    def merge_losses(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        state: ClusterState,
        stale: Labels,
        partners: Labels,
        losses: Vector,
    ) -> None: ...

    def segments(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        atoms: Matrix,
        beam: int,
        best: Matrix,
        came_from: Labels,
    ) -> None: ...

    def cut(self, model: Model, order: Labels, n_atoms: int) -> tuple[int, float]: ...

    def tangents(
        self,
        likelihood: Likelihood,
        prior: PartitionPriorVerbs,
        state: ClusterState,
        constants: Vector,
        parameters: Matrix,
    ) -> None: ...

    def tangent_slots(
        self, model: Model, constants: Vector, parameters: Matrix, slots: Labels, margins: Vector
    ) -> None: ...

    def restless(self, model: Model, state: ClusterState, found: NDArray[Any]) -> None: ...

    def join_rows(self, likelihood: Likelihood, parts: Any, state: ClusterState) -> None: ...

    def grouped_start(
        self, model: Model, state: ClusterState, counts: GroupCounts, order: Labels, may_grow: bool
    ) -> int: ...

    def grouped_sweep(
        self, model: Model, state: ClusterState, counts: GroupCounts, start: int, may_grow: bool
    ) -> tuple[int, int]: ...

    def grouped_perturb(self, model: Model, state: ClusterState, counts: GroupCounts, uniforms: Vector) -> None: ...

    def move_cells(
        self,
        likelihood: Likelihood,
        state: ClusterState,
        counts: GroupCounts,
        slot: int,
        groups: Labels,
        cells: Matrix,
        to: Labels,
    ) -> float: ...

    def visit_states(
        self, model: Model, state: ClusterState, rows: Rows, order: Labels, first: int, may_grow: bool
    ) -> tuple[int, int]: ...

    def viterbi(
        self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, came_from: Labels, path: Labels
    ) -> float: ...

    def forward(self, start: Vector, steps: Matrix, scores: Matrix, begins: Labels, filtered: Matrix) -> Vector: ...

    def backward(self, steps: Matrix, begins: Labels, filtered: Matrix) -> None: ...

    def draw_path(self, steps: Matrix, begins: Labels, filtered: Matrix, uniforms: Vector, path: Labels) -> None: ...


def functions() -> tuple[str, ...]:
    """The names of a backend's functions, from ``Backend`` and ``Composed``, which list them once."""
    members = {**vars(Backend), **vars(Composed)}
    return tuple(name for name, each in members.items() if callable(each) and name[0] != "_" and name != "implements")


BACKENDS: dict[str, Backend] = {"c": c.C, "numba": NUMBA, "python": PYTHON}
"""The backends, in the order in which "auto" tries them."""

_NO_NUMBA = "numba is not installed; try: pip install 'mapdpm[numba]'"


def names() -> tuple[str, ...]:
    """The values that ``backend`` may take."""
    return ("auto", *BACKENDS)


def check_name(name: Any) -> None:
    """Raise ValueError unless it is the name of a backend."""
    check_choice("backend", name, names())


def resolve(name: str, likelihood: Likelihood) -> Backend:
    """The backend called ``name``; "auto" is C where it has the family, else numba, else python with a warning."""
    check_name(name)
    if name != "auto":
        backend = BACKENDS[name]
        if not backend.implements(likelihood):
            why = f"{c_calls.why_not(likelihood)}; use backend='auto'" if name == "c" else _NO_NUMBA
            msg = f"backend {name!r} cannot run {called(likelihood)}: {why}"
            raise ValueError(msg)
        return backend
    backend = next(b for b in BACKENDS.values() if b.implements(likelihood))
    if backend is PYTHON and not jit.available():
        hint = "pip install 'mapdpm[numba]'" if c_calls.is_built() else c_calls.NOT_BUILT
        msg = f"{called(likelihood)} runs in plain Python, some 300 times slower than compiled: {hint}"
        warnings.warn(msg, RuntimeWarning, stacklevel=2)
    return backend
