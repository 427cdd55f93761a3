"""The pipeline of the C library, through cffi: its steps, its memory, its calls, its errors as exceptions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.protocol import Labels
from mapdpm.stream.c_options import DTYPES, modules

JOIN = 8
"""The kind of step that puts two results side by side; all other kinds have classes."""
MOST_STEPS = 64
_ALIGNMENT = 8
_MOST_COLUMNS = 256
"""Columns of principal components: MOST_AXES in C."""


class Step(NamedTuple):
    """A step of a pipeline: the structure mapdpm_step. ``source`` 0 is the point, i that of step i (decision 141)."""

    kind: int
    source: int
    second: int = 0
    n: int = 0
    first: int = 0
    end: int = 0
    offset: int = 0
    centred: int = 0
    half_life: float = 0.0


class CPipeline:
    """A pipeline in a fixed block of memory, which holds one. Its caller lets one thread at a time change it."""

    def __init__(self, dtype: str, memory: NDArray[np.int64]) -> None:
        self.lib, self.ffi = modules(dtype)
        self.dtype = DTYPES[dtype]
        self._memory = memory
        self.head = self.ffi.from_buffer("mapdpm_features *", memory)  # and keeps it alive
        self.nbytes = memory.nbytes
        self.n_features, self.width = int(self.head.n_features), int(self.head.width)
        self._out = self.ffi.new("mapdpm_real[]", self.width)
        self._time = self.ffi.new("int64_t *")

    @classmethod
    def new(cls, dtype: str, steps: list[Step], n_features: int) -> CPipeline:
        """A pipeline that has seen nothing; ValueError where it would be too large."""
        lib, ffi = modules(dtype)
        given = _structures(ffi, steps)
        n_bytes = lib.mapdpm_features_bytes(given, len(steps), n_features)
        if not n_bytes:
            _refuse_components(dtype, steps, n_features)
            msg = (
                f"the features are too many or too long for one pipeline: {len(steps)} steps of {n_features} columns; "
                f"at most {MOST_STEPS} steps, 65536 columns and 2 GB are possible"
            )
            raise ValueError(msg)
        memory = np.zeros(n_bytes // _ALIGNMENT, dtype=np.int64)
        head = ffi.from_buffer("mapdpm_features *", memory)
        lib.mapdpm_features_init(head, n_bytes, given, len(steps), n_features)
        return cls(dtype, memory)

    @classmethod
    def read(cls, dtype: str, data: bytes) -> tuple[CPipeline | None, str]:
        """The pipeline in a file and "ok", or None and the C library's name of the error."""
        lib, ffi = modules(dtype)
        file, n_bytes = ffi.from_buffer("unsigned char[]", data), ffi.new("size_t *")
        error = lib.mapdpm_features_memory(file, len(data), n_bytes)
        if not error:
            memory = np.zeros(n_bytes[0] // _ALIGNMENT, dtype=np.int64)
            head = ffi.from_buffer("mapdpm_features *", memory)
            error = lib.mapdpm_features_read(head, n_bytes[0], file, len(data))
        if error:
            return None, ffi.string(lib.mapdpm_error_name(error)).decode()
        return cls(dtype, memory), "ok"

    def copy(self) -> CPipeline:
        """Another pipeline in the same state."""
        return CPipeline(self.dtype.name, self._memory.copy())

    def become(self, other: CPipeline) -> None:
        """Take over the state of ``other``, a copy of this pipeline."""
        self._memory[:] = other._memory

    def reset(self) -> None:
        """Forget all points."""
        self.lib.mapdpm_features_reset(self.head)

    def steps(self) -> list[Step]:
        """The steps, as the C structures hold them."""
        step = self.ffi.new("mapdpm_step *")
        found = []
        for i in range(self.head.n_steps):
            self.lib.mapdpm_features_get_step(self.head, i, step)
            found.append(Step(*(getattr(step, name) for name in Step._fields)))
        return found

    def period(self) -> int | None:
        """The period that a step has found, the first such step; None where there is none."""
        found = (int(self.lib.mapdpm_features_period(self.head, i)) for i in range(self.head.n_steps))
        return next((period for period in found if period), None)

    def matches(self, steps: list[Step]) -> bool:
        """Whether these are its steps, with reals rounded to its type."""
        own = [step._replace(half_life=float(self.dtype.type(step.half_life))) for step in steps]
        return self.steps() == own

    def one(self, x: Any, microseconds: int | None) -> list[float] | None:
        """The result for a point, a list or tuple of numbers; None where nothing came out."""
        time = self.ffi.NULL
        if microseconds is not None:
            self._time[0] = microseconds
            time = self._time
        came = self.lib.mapdpm_features_step(self.head, x, time, self._out)
        if came < 0:
            raise self._error(came, np.array(x, dtype=self.dtype), None)
        return self.ffi.unpack(self._out, self.width) if came else None

    def many(self, points: NDArray[Any], microseconds: NDArray[np.int64] | None) -> tuple[NDArray[Any], Labels]:
        """The results for points of the real type, and the numbers of the points at which they came out."""
        n = len(points)
        out, rows = np.empty((n, self.width), dtype=self.dtype), np.empty(n, dtype=np.uintp)
        done = self.ffi.new("size_t *")
        error = self.lib.mapdpm_features_many(
            self.head,
            self.ffi.from_buffer("mapdpm_real[]", points),
            self.ffi.NULL if microseconds is None else self.ffi.from_buffer("int64_t[]", microseconds),
            n,
            self.ffi.from_buffer("mapdpm_real[]", out, require_writable=True),
            self.ffi.from_buffer("size_t[]", rows, require_writable=True),
            done,
        )
        if error:
            raise self._error(error, points[done[0]], int(done[0]))
        return out[: done[0]].copy(), rows[: done[0]].astype(np.int64)

    def write(self) -> bytes:
        """The pipeline as the bytes of a file."""
        capacity = self.lib.mapdpm_features_file_bytes(self.head)
        file, written = bytearray(capacity), self.ffi.new("size_t *")
        into = self.ffi.from_buffer("unsigned char[]", file, require_writable=True)
        self.lib.mapdpm_features_write(self.head, into, capacity, written)
        return bytes(file)

    def _error(self, error: int, x: NDArray[Any], row: int | None) -> Exception:
        """The exception for an error number, at a point."""
        where = "x" if row is None else f"X, row {row} (counted from 0)"
        if error == self.lib.MAPDPM_E_TIME:
            what = "is beyond any clock" if self.head.timed else "goes with a t that is beyond any clock"
            return ValueError(f"the time of {where} {what}; t is in seconds since 1970, UTC")
        wrong = np.flatnonzero(~(np.abs(x) <= _limit(self.dtype)) & ~np.isnan(x))
        d = int(wrong[0]) if len(wrong) else 0
        if error == self.lib.MAPDPM_E_NUMBER:
            return ValueError(f"{where} contains infinity at feature {d}; remove or impute it")
        if error == self.lib.MAPDPM_E_RANGE:
            most = f"{_limit(self.dtype):.3g}, the largest value of {self.dtype.name} features"
            return ValueError(f"{where} has {x[d]:g} at feature {d}, beyond {most}; rescale")
        return RuntimeError(f"the C library refused a call: {error}")


def _refuse_components(dtype: str, steps: list[Step], n_features: int) -> None:
    """ValueError where principal components have too few or too many columns."""
    lib, _ = modules(dtype)
    for step in steps:
        if step.kind != lib.MAPDPM_STEP_PCA:
            continue
        D = CPipeline.new(dtype, steps[: step.source], n_features).width if step.source else n_features
        if not step.first <= D <= _MOST_COLUMNS:
            msg = f"PCA needs {step.first} to {_MOST_COLUMNS} columns, but gets {D}; m is {step.first}"
            raise ValueError(msg)


def _limit(dtype: np.dtype[Any]) -> float:
    return 2.0**50 if dtype.itemsize == np.dtype(np.float32).itemsize else 2.0**480


def _structures(ffi: Any, steps: list[Step]) -> Any:
    given = ffi.new("mapdpm_step[]", max(len(steps), 1))
    for each, step in zip(given, steps, strict=False):
        for name, value in step._asdict().items():
            setattr(each, name, value)
    return given
