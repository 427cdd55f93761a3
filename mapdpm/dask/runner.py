"""Passes over chunks that workers of Dask hold, make or read: a task each, and sums of eight (decision 125)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import numpy as np

from mapdpm.dask.delayed_chunks import Recipe
from mapdpm.dask.marks import Mark
from mapdpm.data import point_set, read_by
from mapdpm.data.frames import Names, column_names
from mapdpm.kinds.ends import Ends
from mapdpm.likelihoods._parameters import joined_moments, moments_of
from mapdpm.likelihoods._restricted import as_table, has_columns, restricted_points
from mapdpm.protocol import Labels, Vector
from mapdpm.search import chunks, passes
from mapdpm.search.chunks import Chunk, Frame, Passed
from mapdpm.search.observed import present_points, taking_part
from mapdpm.search.widths import asks_for_prior
from mapdpm.validation import check_weights

_FAN_IN = 8
_RETRIES = 2  # of a task whose worker is lost
_LOOK = 5.0  # seconds between two looks whether workers are left
_PATIENCE = 60.0  # seconds without any worker


class Counted(NamedTuple):
    """A first look at a chunk: how many points take part, their features, and moments where there are any.

    ``error`` says what is wrong with the chunk; a worker that raised it would be asked again.
    """

    n_points: int
    n_features: int
    is_float32: bool
    names: Names | None
    moments: Vector | None
    mark: Mark = Mark()
    ends: Ends | None = None
    """The ends of each column, where there are columns."""
    error: str | None = None


class Read(NamedTuple):
    """How a worker turns a chunk into points: the likelihood or family that reads it (None: normal), discount and unit.

    Points are multiplied by ``scale``, a power of two. With ``columns`` they have these only.
    """

    likelihood: Any
    discount: float
    scale: float = 1.0
    columns: Labels | None = None
    is_table: bool = False
    """Whether points become rows of a ``Table``, as a product reads them."""

    def marked(self, pair: Any, first: int) -> tuple[Chunk, Mark]:
        """The points of ``pair``, which is points and weights, that take part; and the mark of all of them."""
        X, given = pair
        points = read_by(self.likelihood, X)
        mark = Mark.of(points, given)
        points = points if self.scale == 1.0 else points * self.scale
        points = points if self.columns is None else restricted_points(points, self.columns)
        points = as_table(points) if self.is_table else points
        weights = check_weights(given, point_set(points).n_points, self.discount)
        points, kept = taking_part(points, weights, present_points(weights))
        if kept is None and given is not None:  # all chunks have weights, or none has
            kept = np.ones(point_set(points).n_points)
        return Chunk(points, kept, first), mark


class Client:
    """Computes what is delayed: on the workers of a ``distributed.Client``, or by Dask's scheduler in this process."""

    def __init__(self, client: Any) -> None:
        self._client = _current_client() if client is None else client
        if self._client is not None and self._client.status != "running":
            msg = f"the client of Dask is {self._client.status}; give one that is running, or none"
            raise ValueError(msg)

    def compute(self, *delayed: Any) -> list[Any]:
        """The values, in order."""
        if self._client is None:
            return list(dask.compute(*delayed))
        try:
            futures = self._client.compute(delayed, retries=_RETRIES)
            return [self._result(future) for future in futures]
        except Exception as error:
            if self._client.status == "running":
                raise
            msg = "the client of Dask was closed during the fit"
            raise RuntimeError(msg) from error

    def _result(self, future: Any) -> Any:
        """The value, or the error of a worker; RuntimeError where none is left, or one died again and again."""
        waited = 0.0
        while waited < _PATIENCE and self._client.status == "running":
            with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                return self._value(future)
            if future.done():  # the error is that of the task
                return future.result()
            waited = 0.0 if self._client.nthreads() else waited + _LOOK
        msg = f"for {_PATIENCE:.0f} seconds there was no worker of Dask"
        raise RuntimeError(msg)

    @staticmethod
    def _value(future: Any) -> Any:
        from distributed.scheduler import KilledWorker  # noqa: PLC0415  (loaded with the client)

        try:
            return future.result(timeout=_LOOK)
        except KilledWorker as error:
            msg = "a task killed its worker several times, perhaps for lack of memory: use smaller chunks"
            raise RuntimeError(msg) from error


class OnDask:
    """Passes over chunks, pairs of points and weights. Nothing stays on workers between passes."""

    def __init__(self, client: Client, delayed: list[Any], read: Read) -> None:
        self._client, self._delayed, self._read = client, delayed, read
        name, count = f"counted-{uuid.uuid4().hex}", dask.delayed(_counted, pure=False)
        looks = self._client.compute(*(count(pair, read, dask_key_name=(name, j)) for j, pair in enumerate(delayed)))
        _check(looks)
        self._marks = [look.mark for look in looks]
        sizes = np.array([look.n_points for look in looks])
        self._firsts = np.cumsum(sizes) - sizes
        self.n_points = int(sizes.sum())
        self.n_parts = int(np.maximum(-(-sizes // chunks.PART), 1).sum())
        known = [look for look in looks if look.n_points]
        self.n_features, self.is_float32, self.names = known[0].n_features, known[0].is_float32, known[0].names
        moments = [look.moments for look in known if look.moments is not None]
        self.moments = joined_moments(moments) if moments else None
        ends = [look.ends for look in known if look.ends is not None]
        self.ends = Ends.joined(ends) if ends else None

    def of_columns(self, columns: Labels, *, is_table: bool = False) -> OnDask:
        """Passes over the same points, of these columns only."""
        run, D = copy.copy(self), self.n_features
        run._read = self._read._replace(columns=columns, is_table=is_table)  # noqa: SLF001  (of this class)
        run.n_features = len(columns)
        if self.moments is not None:
            run.moments = self.moments[[0, *(1 + columns), *(1 + D + columns)]]
        return run

    def scale(self, scale: float) -> None:
        """Multiply all points by ``scale``, a power of two, from now on."""
        self._read = self._read._replace(scale=scale)
        if self.moments is not None:
            D = self.n_features
            self.moments = self.moments * np.repeat([1.0, scale, scale * scale], [1, D, D])

    def __call__(self, frame: Frame, function: Callable[..., Passed], *arguments: Any) -> Passed:
        """``function(frame, chunk, *arguments)`` of all chunks, joined in the order of chunks, eight at a time."""
        shared = dask.delayed((frame, function, arguments), traverse=False, pure=False)
        one, many = dask.delayed(_passed, pure=False), dask.delayed(_joined, pure=False)
        name = f"{function.__name__}-{uuid.uuid4().hex}"  # one name for all, so that workers do not run ahead
        tasks = [
            one(pair, self._read, int(first), (j, mark), shared, dask_key_name=(name, j))
            for j, (pair, first, mark) in enumerate(zip(self._delayed, self._firsts, self._marks, strict=True))
        ]
        while len(tasks) > 1:  # a tree of fixed shape: sums do not depend on who is first
            tasks = [many(shared, tasks[at : at + _FAN_IN]) for at in range(0, len(tasks), _FAN_IN)]
        return self._client.compute(tasks[0])[0]

    def map(self, function: Callable[[Any], Any], jobs: list[Any]) -> list[Any]:
        """``function`` of each job, in order."""
        if not jobs:
            return []
        given = [dask.delayed(job, traverse=False, pure=False) for job in jobs]
        return self._client.compute(*(dask.delayed(function, pure=False)(job) for job in given))


def n_rows(X: Any) -> int:
    """How many points a chunk has; a sparse matrix has no len."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _made(pair: Any) -> Any:
    return pair.made() if isinstance(pair, Recipe) else pair


def _takes_part(pair: Any) -> bool:
    """Whether the chunk has a point, and one whose weight is not 0."""
    X, weights = pair
    return n_rows(X) > 0 and (weights is None or bool(np.any(np.asarray(weights))))


def _current_client() -> Any:
    try:
        from distributed import default_client  # noqa: PLC0415  (one of the two packages may do)

        return default_client()
    except (ImportError, ValueError):
        return None


def _counted(pair: Any, read: Read) -> Counted:
    pair = _made(pair)
    X, _ = pair
    try:
        if not _takes_part(pair):
            return Counted(0, 0, False, None, None)
        names = column_names(X)
        chunk, mark = read.marked(pair, 0)
        if read.likelihood is not None and not asks_for_prior(read.likelihood):
            read.likelihood.for_data(chunk.points)
        has_moments, table = isinstance(chunk.points, np.ndarray), getattr(chunk.points, "array", chunk.points)
        moments = moments_of(chunk.points, chunk.weights) if has_moments and chunk.n_points else None
        n_features, is_float32 = point_set(chunk.points).n_features, getattr(chunk.points, "dtype", None) == np.float32
        ends = Ends.of(table) if has_columns(chunk.points) and chunk.n_points else None
        return Counted(chunk.n_points, n_features, is_float32, names, moments, mark, ends)
    except (ValueError, TypeError) as error:
        return Counted(0, 0, False, None, None, error=str(error))


def _check(looks: list[Counted]) -> None:
    """ValueError for a chunk that is wrong, or unlike the first one."""
    for number, look in enumerate(looks):
        if look.error is not None:
            msg = f"chunk {number} (counted from 0): {look.error}"
            raise ValueError(msg)
    known = [(number, look) for number, look in enumerate(looks) if look.n_points]
    if not known:
        msg = "no chunk has a point that takes part"
        raise ValueError(msg)
    first, like = known[0]
    for number, look in known:
        for what in ("n_features", "is_float32"):
            if getattr(look, what) != getattr(like, what):
                got, wanted = (_described(each, what) for each in (look, like))
                msg = f"chunk {number} has {got}, but chunk {first} has {wanted}; make all chunks alike"
                raise ValueError(msg)
        if (None if look.names is None else list(look.names)) != (None if like.names is None else list(like.names)):
            msg = f"chunk {number} has the columns {look.names}, but chunk {first} has {like.names}"
            raise ValueError(msg)


def _described(look: Counted, what: str) -> str:
    if what == "n_features":
        return f"{look.n_features} feature{'s' * (look.n_features != 1)}"
    return "float32 points" if look.is_float32 else "float64 points"


def _passed(pair: Any, read: Read, first: int, known: tuple[int, Mark], shared: Any) -> Passed:
    frame, function, arguments = shared
    number, before = known
    pair = _made(pair)
    if not _takes_part(pair):
        before.check(number, Mark())
        return chunks.NOTHING
    chunk, mark = read.marked(pair, first)
    before.check(number, mark)
    return passes.over_parts(function, frame, chunk, *arguments)


def _joined(shared: Any, results: list[Passed]) -> Passed:
    return chunks.joined(shared[0], results)
