"""The generic backends: one source, run as plain Python or compiled by numba, for every likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mapdpm import jit
from mapdpm.backends.generic import FLAT_KERNELS
from mapdpm.backends.grouped import GROUPED_KERNELS
from mapdpm.backends.passes import PASS_KERNELS
from mapdpm.backends.paths import PATH_KERNELS
from mapdpm.backends.states import STATE_KERNELS
from mapdpm.protocol import Model
from mapdpm.state import ClusterState

KERNELS: tuple[Callable[..., Any], ...] = (
    *FLAT_KERNELS,
    *GROUPED_KERNELS,
    *STATE_KERNELS,
    *PATH_KERNELS,
    *PASS_KERNELS,
)
"""The functions of a backend that are kernels; ``settle`` is made of two of them."""


class Generic:
    """The generic kernels: as they are (``python``), or compiled (``numba``)."""

    def __init__(self, name: str, *, compile_kernels: bool) -> None:
        self.name = name
        self._compiles = compile_kernels
        for kernel in KERNELS:
            setattr(self, kernel.__name__, jit.compiled(kernel) if compile_kernels else kernel)

    def settle(self, model: Model, state: ClusterState, most: int) -> None:
        """``statistics``, then at most ``most`` sweeps, until no point moves; adds no slot."""
        self.statistics(model, state)  # type: ignore[attr-defined]
        moved = 1
        while moved and most:
            _, moved = self.sweep(model, state, 0, False)  # type: ignore[attr-defined]
            most -= 1

    def implements(self, likelihood: Any) -> bool:  # noqa: ARG002  (every family runs here)
        """True where the kernels can run at all."""
        return not self._compiles or jit.available()


PYTHON: Any = Generic("python", compile_kernels=False)
NUMBA: Any = Generic("numba", compile_kernels=True)
