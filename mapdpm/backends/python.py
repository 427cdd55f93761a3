"""The generic backends: one source, run as plain Python or compiled by numba, for every likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mapdpm import jit
from mapdpm.backends.composed import Composed
from mapdpm.backends.generic import FLAT_KERNELS
from mapdpm.backends.grouped import GROUPED_KERNELS
from mapdpm.backends.passes import PASS_KERNELS
from mapdpm.backends.paths import PATH_KERNELS
from mapdpm.backends.states import STATE_KERNELS

KERNELS: tuple[Callable[..., Any], ...] = (
    *FLAT_KERNELS,
    *GROUPED_KERNELS,
    *STATE_KERNELS,
    *PATH_KERNELS,
    *PASS_KERNELS,
)
"""The functions of a backend that are kernels; those of ``Composed`` are made of them."""


class Generic(Composed):
    """The generic kernels: as they are (``python``), or compiled (``numba``)."""

    def __init__(self, name: str, *, compile_kernels: bool) -> None:
        self.name = name
        self._compiles = compile_kernels
        for kernel in KERNELS:
            setattr(self, kernel.__name__, jit.compiled(kernel) if compile_kernels else kernel)

    def implements(self, likelihood: Any) -> bool:  # noqa: ARG002  (every family runs here)
        """True where the kernels can run at all."""
        return not self._compiles or jit.available()


PYTHON: Any = Generic("python", compile_kernels=False)
NUMBA: Any = Generic("numba", compile_kernels=True)
