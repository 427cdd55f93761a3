"""The stream learner of the C library, through cffi: its memory, its calls, its errors as exceptions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.likelihoods import FAMILY_NUMBERS
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.stream.c_options import DTYPES, Settings, concentration, modules, options_of, settings_in
from mapdpm.stream.errors import ErrorContext, exception_for
from mapdpm.stream.points import check_point
from mapdpm.stream.records import Clusters, Event

_KINDS = dict(
    enumerate(("created", "split", "merged", "evicted", "aged out", "prior revisited", "relevant", "irrelevant"), 1)
)
_NO_CLUSTER = 6  # the kind of an event that is of no cluster
_ALIGNMENT = 8
NO_GROUP = 2**32 - 1
"""The number of no group: MAPDPM_NO_ID."""
_MEMORY_OF_A_FILE, _HEAD = 4, 4096
"""Memory of a learner per byte of its file, and besides: more than twice the file is a forged size."""


class Learner:
    """A stream learner in a fixed block of memory, which Python owns or which is part of a bank's."""

    def __init__(self, dtype: str, n_bytes: int, stream: Any = None) -> None:
        self.lib, self.ffi = modules(dtype)
        self.dtype = DTYPES[dtype]
        if stream is None:
            memory = np.zeros(-(-n_bytes // _ALIGNMENT), dtype=np.int64)
            stream = self.ffi.from_buffer("mapdpm_stream *", memory)  # and keeps it alive
        self.stream = stream
        self.nbytes = n_bytes
        self.id = self.ffi.new("uint32_t *")
        self.score = self.ffi.new("mapdpm_real *")

    @classmethod
    def new(cls, settings: Settings) -> Learner:
        """A learner that has seen nothing; ValueError where the C library refuses the settings."""
        dtype = settings["dtype"]
        lib, ffi = modules(dtype)
        options, kept = options_of(ffi, settings)
        n_bytes = lib.mapdpm_stream_bytes(options)
        learner = cls(dtype, n_bytes)
        error = lib.mapdpm_init(learner.stream, n_bytes, options) if n_bytes else lib.MAPDPM_E_ARGUMENT
        del kept
        if error:
            msg = (
                f"a parameter is beyond what {dtype} streams can hold: features {options.n_features}, clusters "
                f"{options.max_clusters}, alpha {concentration(settings)[0]!r}, half-life "
                f"{settings['half_life'] or 0.0!r}, likelihood {settings['likelihood']!r}; rescale the data"
                + (", or use float64" if dtype == "float32" else "")
            )
            raise ValueError(msg)
        return learner

    @classmethod
    def read(cls, dtype: str, data: bytes) -> tuple[Learner | None, str]:
        """The learner in a file and "ok", or None and the C library's name of the error."""
        lib, ffi = modules(dtype)
        options = ffi.new("mapdpm_options *")
        error = lib.mapdpm_snapshot_options(ffi.from_buffer("unsigned char[]", data), len(data), options)
        n_bytes = lib.mapdpm_stream_bytes(options)
        if not error and n_bytes > _MEMORY_OF_A_FILE * len(data) + _HEAD:
            error = lib.MAPDPM_E_DAMAGED
        if error:
            return None, ffi.string(lib.mapdpm_error_name(error)).decode()
        learner = cls(dtype, n_bytes)
        problem = learner.read_into(data)
        return (None, problem) if problem else (learner, "ok")

    def read_into(self, data: bytes) -> str:
        """Become the learner in a file; returns the C library's name of the error, or an empty text."""
        file = self.ffi.from_buffer("unsigned char[]", data)
        error = self.lib.mapdpm_snapshot_read(self.stream, self.nbytes, file, len(data))
        if error:
            return self.name_of(error)
        error = self.lib.mapdpm_settle_all(self.stream)  # the queue of a chip
        if error:
            warnings.warn(f"a point of the file's queue could not be learned: {self.name_of(error)}", stacklevel=2)
        self.nbytes = int(self.stream.bytes)
        return ""

    def reals(self, array: NDArray[Any]) -> Any:
        """The numbers of an array of the learner's real type, for C to read or write."""
        return self.ffi.from_buffer("mapdpm_real[]", array, require_writable=True)

    def name_of(self, error: int) -> str:
        """The C library's name of an error number."""
        return str(self.ffi.string(self.lib.mapdpm_error_name(error)).decode())

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.stream.n_features)

    def point(self, x: Any) -> Any:
        """``x`` as a list or tuple of n_features numbers, for cffi; ValueError where x is no such point."""
        if type(x) is not list and type(x) is not tuple:
            if not isinstance(x, np.ndarray) or x.ndim != 1:
                check_point(x)
            x = np.asarray(x).tolist()
        if len(x) != self.n_features:
            msg = f"x has {check_point(x)} features, but the learner expects {self.n_features}"
            raise ValueError(msg)
        return x

    def learn_scored(self, x: Any, microseconds: int | None = None) -> tuple[int, float]:
        """Learn a point, with its time if given; return its id, and its log density before."""
        if microseconds is None:
            self.check(self.lib.mapdpm_learn(self.stream, x, self.id, self.score), x)
        else:
            self.check(self.lib.mapdpm_learn_at(self.stream, x, microseconds, self.id, self.score), x)
        return self.id[0], self.score[0]

    def predict(self, x: Any) -> int | None:
        """The id of the best cluster, or None where there are no clusters."""
        error = self.lib.mapdpm_predict(self.stream, x, self.id, self.ffi.NULL)
        if error == self.lib.MAPDPM_E_WARMING:
            return None
        self.check(error, x)
        return self.id[0]

    def predict_score(self, x: Any) -> float:
        """The log density of a point."""
        self.check(self.lib.mapdpm_predict(self.stream, x, self.ffi.NULL, self.score), x)
        return self.score[0]

    def check(self, error: int, x: Any = None) -> None:
        """Raise the exception for the error number ``error``, at a point if any; 0 is no error."""
        if error:
            self.fail(error, None if x is None else np.array(x, dtype=self.dtype))

    def write(self) -> bytes:
        """The learner as the bytes of a file."""
        capacity = self.lib.mapdpm_snapshot_bytes(self.stream)
        file, written = bytearray(capacity), self.ffi.new("size_t *")
        into = self.ffi.from_buffer("unsigned char[]", file, require_writable=True)
        self.check(self.lib.mapdpm_snapshot_write(self.stream, into, capacity, written))
        return bytes(file)

    def settings(self) -> Settings:
        """The settings of the learner, as the C structure holds them, and of learners of other classes."""
        options = self.ffi.new("mapdpm_options *")
        self.lib.mapdpm_get_options(self.stream, options)
        likelihood = None if options.warmup else self.likelihood()
        return settings_in(options, self.dtype.name, self.resolution()) | {"likelihood": likelihood}

    def learn_many(
        self,
        points: NDArray[Any],
        microseconds: NDArray[np.int64] | None,
        scores: bool,
        groups: NDArray[np.uint32] | None = None,
    ) -> tuple[Labels, Vector]:
        """Learn points of the learner's real type; return their ids, and their log densities before."""
        times = self.ffi.NULL if microseconds is None else self.ffi.from_buffer("int64_t[]", microseconds)
        if groups is None:
            return self._many(self.lib.mapdpm_learn_many, points, (times,), scores=scores, learns=True)
        numbers = self.ffi.from_buffer("uint32_t[]", groups)
        return self._many(self.lib.mapdpm_learn_groups, points, (numbers, times), scores=scores, learns=True)

    def predict_many(
        self, points: NDArray[Any], ids: bool, scores: bool, groups: NDArray[np.uint32] | None = None
    ) -> tuple[Labels, Vector]:
        """Ids of the best clusters of points of the learner's real type, and log densities of the points."""
        if groups is None:
            return self._many(self.lib.mapdpm_predict_many, points, (), ids, scores)
        numbers = self.ffi.from_buffer("uint32_t[]", groups)
        return self._many(self.lib.mapdpm_predict_groups, points, (numbers,), ids, scores)

    def _many(
        self,
        call: Any,
        points: NDArray[Any],
        more: tuple[Any, ...],
        ids: bool = True,
        scores: bool = True,
        learns: bool = False,
    ) -> tuple[Labels, Vector]:
        n = len(points)
        numbers = np.empty(n if ids else 0, dtype=np.uint32)
        densities = np.empty(n if scores else 0, dtype=self.dtype)
        done = self.ffi.new("size_t *")
        into_ids = self.ffi.from_buffer("uint32_t[]", numbers, require_writable=True) if ids else self.ffi.NULL
        into = self.reals(densities) if scores else self.ffi.NULL
        error = call(self.stream, self.ffi.from_buffer("mapdpm_real[]", points), *more, n, into_ids, into, done)
        if error:
            self.fail(error, points[done[0]], int(done[0]), learned=learns)
        return numbers.astype(np.int64), densities.astype(np.float64)

    def clusters(self) -> Clusters:
        """All clusters, with their decayed weights."""
        slots, D, cluster = self.slots(), self.n_features, self.ffi.new("mapdpm_cluster *")
        ids, weights = np.empty(len(slots), np.int64), np.empty(len(slots))
        means, variances = np.empty((2, len(slots), D), self.dtype)
        for k, slot in enumerate(slots):
            places = self.reals(means[k]), self.reals(variances[k])
            self.lib.mapdpm_get_cluster_relative(self.stream, slot, cluster, *places)
            ids[k], weights[k] = cluster.id, float(cluster.weight) + float(cluster.weight_low)
        return Clusters(ids, weights, self.anchor() + means, variances.astype(np.float64))

    def slots(self) -> list[int]:
        """The slots of the clusters, in the order of their ids."""
        lib, null, cluster = self.lib, self.ffi.NULL, self.ffi.new("mapdpm_cluster *")
        found = [
            (int(cluster.id), slot)
            for slot in range(self.stream.max_clusters)
            if lib.mapdpm_get_cluster(self.stream, slot, cluster, null, null) == 1
        ]
        return [slot for _, slot in sorted(found)]

    # ---- groups ------------------------------------------------------------------------------------------------------

    def set_group(self, number: int) -> None:
        """Set the group of the points that follow; ``NO_GROUP`` is none."""
        self.lib.mapdpm_set_group(self.stream, number)

    def group_numbers(self) -> list[int]:
        """The numbers of the groups, in the order of their rows."""
        number, null = self.ffi.new("uint32_t *"), self.ffi.NULL
        found: list[int] = []
        while len(found) < self.stream.max_groups:
            if self.lib.mapdpm_get_group(self.stream, len(found), number, null) != 1:
                break
            found.append(int(number[0]))
        return found

    def group_weights(self) -> Matrix:
        """A row for each group: the shares of the clusters in the order of their ids, last of a new one."""
        number, n_groups = self.ffi.new("uint32_t *"), len(self.group_numbers())
        weights = np.empty((n_groups, self.stream.max_clusters + 1), self.dtype)
        for row in range(n_groups):
            self.lib.mapdpm_get_group(self.stream, row, number, self.reals(weights[row]))
        return weights[:, [*self.slots(), int(self.stream.max_clusters)]].astype(np.float64)

    def shares(self) -> Vector:
        """The shares that all groups have in common: of clusters in the order of their ids, last of a new one."""
        shares = np.empty(self.stream.max_clusters + 1, self.dtype)
        self.lib.mapdpm_get_shares(self.stream, self.reals(shares))
        return shares[[*self.slots(), int(self.stream.max_clusters)]].astype(np.float64)

    # ---- gateways, the prior, events ---------------------------------------------------------------------------------

    def insert(self, weight: float, mean: Vector, variance: Vector, counts: Vector | None = None) -> None:
        """Insert a cluster, given by its statistics: the mean less ``anchor``, and the counts of values, if any."""
        cluster = self.ffi.new("mapdpm_cluster *")
        cluster.weight = weight
        cluster.weight_low = weight - float(cluster.weight)
        with np.errstate(over="ignore"):
            given = [None if each is None else np.array(each, dtype=self.dtype) for each in (counts, mean, variance)]
        views = [self.ffi.NULL if each is None else self.reals(each) for each in given]
        self.check(self.lib.mapdpm_insert_counted(self.stream, cluster, *views))

    def share_of(self, weight: float) -> float:  # noqa: ARG002
        """By what clusters that weigh ``weight`` together are multiplied before they are inserted."""
        return 1.0

    def reduce(self, n: int) -> None:
        """Merge clusters while that raises the log joint, and then until at most ``n`` are left."""
        self.check(self.lib.mapdpm_reduce(self.stream, n))

    def anchor(self) -> Vector:
        """The anchor, which is subtracted from data: the prior mean, or zeros until there is a prior."""
        parameters = self._prior()
        return np.zeros(self.n_features) if parameters is None else parameters[: self.n_features]

    def likelihood(self) -> Any:
        """The family with its prior; None until the warm-up has set it."""
        parameters = self._prior()
        if parameters is None:
            return None
        D = self.n_features
        kind = next(kind for kind, number in FAMILY_NUMBERS.items() if number == self.stream.family)
        is_gamma = self.stream.family == self.lib.MAPDPM_NORMAL_GAMMA
        middle = (parameters[D], parameters[D + 1]) if is_gamma else (parameters[D : 2 * D],)
        return kind(parameters[:D], *middle, parameters[-D:], resolution=self.resolution())

    def _prior(self) -> Vector | None:
        D = self.n_features
        anchor = np.empty(D, self.dtype)
        parameters = np.empty(self.lib.mapdpm_n_parameters(self.stream.family, D), self.dtype)
        error = self.lib.mapdpm_get_prior(self.stream, self.reals(anchor), self.reals(parameters))
        return None if error else parameters.astype(np.float64)

    def resolution(self) -> Vector:
        """The step of each feature, 0 where its values are exact, or the warm-up looks for steps yet."""
        steps = np.zeros(self.n_features, self.dtype)
        self.lib.mapdpm_get_resolution(self.stream, self.reals(steps))
        return steps.astype(np.float64)

    def relevance(self) -> tuple[NDArray[np.bool_], Vector | None]:
        """Which features carry clusters; and the nats that each gains by them, where the learner follows that."""
        D = self.n_features
        relevant, nats = np.ones(D, dtype=np.uint8), np.empty(D, self.dtype)
        if not self.stream.relevance:
            return relevant.astype(bool), None
        into = self.ffi.from_buffer("unsigned char[]", relevant, require_writable=True)
        self.check(self.lib.mapdpm_get_relevance(self.stream, into, self.reals(nats)))
        return relevant.astype(bool), nats.astype(np.float64)

    def events(self) -> list[Event]:
        """The events that the ring buffer still holds, the oldest first."""
        total, ring = int(self.stream.n_events), 2 * int(self.stream.max_clusters)  # MAPDPM_EVENTS
        event, found = self.ffi.new("mapdpm_event *"), []
        for i in range(max(0, total - ring), total):
            if self.lib.mapdpm_get_event(self.stream, i, event) == 0:
                other = int(event.other) if event.kind in (2, 3) else None
                number = -1 if event.kind == _NO_CLUSTER else int(event.id)
                found.append(Event(_KINDS[event.kind], number, other, int(event.when)))
        return found

    def resolve(self, number: int) -> int:
        """The current id of the cluster once called ``number``; KeyError where that is unknown."""
        error = self.lib.mapdpm_resolve(self.stream, number, self.id)
        if error:
            why = "it was never given, or has ended, or its merge is beyond the events kept"
            msg = f"no cluster has the id {number}: {why}"
            raise KeyError(msg)
        return int(self.id[0])

    def fail(self, error: int, x: Any = None, row: int | None = None, learned: bool = False) -> None:
        """Raise the exception for ``error``; ``x`` is the point at fault, ``row`` its row."""
        slots, groups = int(self.stream.max_clusters), int(self.stream.max_groups)
        context = ErrorContext(self.dtype.name, slots, groups, bool(self.stream.missing), x, row, learned)
        raise exception_for(self.name_of(error), context)
