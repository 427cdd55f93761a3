"""The C learner in whole numbers behind the interface of ``Learner``: values of int16, a stated prior, no times."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mapdpm.likelihoods import NormalGamma
from mapdpm.names import AUTO, INT16, WHEN_FULL
from mapdpm.protocol import Labels, Vector
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import Settings, concentration, modules
from mapdpm.stream.records import Clusters
from mapdpm.validation import check_number

_Q8, _Q13, _Q16 = 1 << 8, 1 << 13, 1 << 16
_LEAST, _MOST = -(1 << 15), (1 << 15) - 1
_MOST_WEIGHT = 1 << 22
_NEXT_ID = (1 << 32) - 1  # MAPDPM_NO_ID
_LEAST_HALF_LIFE, _MOST_HALF_LIFE = 2, 1 << 20
_NOT_HERE = "dtype='int16' has no {}; use float32, or leave it out"


class IntegerLearner(Learner):
    """A learner of C in whole numbers; scores are in nats, over whole numbers."""

    def __init__(self, n_bytes: int) -> None:
        self.lib, self.ffi = modules(INT16)
        self.dtype = np.dtype(np.float64)  # of points that come in: they are checked, and made whole, here
        self.stream = self.ffi.from_buffer("mapdpm_stream *", np.zeros(n_bytes // 8, dtype=np.int64))
        self.nbytes = n_bytes
        self.id, self.score = self.ffi.new("uint32_t *"), self.ffi.new("mapdpm_score *")

    @classmethod
    def new(cls, settings: Settings) -> IntegerLearner:
        """A learner that has seen nothing; ValueError where it does not know a setting."""
        _refuse_settings(settings)
        lib, ffi = modules(INT16)
        likelihood, D = settings["likelihood"], settings["n_features"]
        steps = np.maximum(_whole_steps(likelihood.resolution), 1.0)  # no cluster is narrower than a step
        b0 = np.maximum(likelihood.b0, likelihood.a0 * steps**2 / 12.0)
        whole = [np.rint(np.broadcast_to(each, D)) for each in (likelihood.m0, 2 * _Q8 * b0)]
        if not np.all((whole[0] >= _LEAST) & (whole[0] <= _MOST)):
            _refuse_prior("m0", likelihood.m0, f"from {_LEAST} to {_MOST}")
        if not np.all(whole[1] <= 1 << 56):
            _refuse_prior("b0", likelihood.b0, "up to 2**47")
        whole[1] = np.maximum(whole[1], 1.0)
        centre, twice_b0 = whole[0].astype(np.int16), whole[1].astype(np.uint64)
        options = ffi.new("mapdpm_options *")
        options.n_features, options.max_clusters = D, settings["max_clusters"]
        options.when_full = WHEN_FULL.index(settings["when_full"])
        options.half_life = round(settings["half_life"] or 0)
        options.alpha = _scaled("alpha", concentration(settings)[0], _Q16, (1 << 32) - 1)
        options.c0 = _scaled("c0", float(likelihood.c0), _Q16, 255 * _Q16)
        options.twice_a0 = _scaled("a0", float(likelihood.a0), 2 * _Q8, 1 << 24)
        options.centre = ffi.from_buffer("int16_t[]", centre)
        options.twice_b0 = ffi.from_buffer("uint64_t[]", twice_b0)
        n_bytes = lib.mapdpm_stream_bytes(options)
        if not n_bytes:
            msg = f"dtype='int16' takes 1 to 64 features and 1 to 254 clusters, got {D} and {settings['max_clusters']}"
            raise ValueError(msg)
        learner = cls(n_bytes)
        learner.check(lib.mapdpm_init(learner.stream, n_bytes, options))
        return learner

    @classmethod
    def read(cls, dtype: str, data: bytes) -> tuple[Learner | None, str]:
        """The learner in a file and "ok", or None and the C library's name of the error."""
        lib, ffi = modules(dtype)
        options = ffi.new("mapdpm_options *")
        error = lib.mapdpm_snapshot_options(ffi.from_buffer("unsigned char[]", data), len(data), options)
        if error:
            return None, ffi.string(lib.mapdpm_error_name(error)).decode()
        learner = cls(lib.mapdpm_stream_bytes(options))
        problem = learner.read_into(data)
        return (None, problem) if problem else (learner, "ok")

    def read_into(self, data: bytes) -> str:
        """Become the learner in a file; returns the C library's name of the error, or an empty text."""
        file = self.ffi.from_buffer("unsigned char[]", data)
        error = self.lib.mapdpm_snapshot_read(self.stream, self.nbytes, file, len(data))
        return self.name_of(error) if error else ""

    # ---- points ------------------------------------------------------------------------------------------------------

    def learn_scored(self, x: Any, microseconds: int | None = None) -> tuple[int, float]:
        """Learn a point; return its id, and its log density before."""
        if microseconds is not None:
            _refuse("times")
        self.check(self.lib.mapdpm_learn(self.stream, self._whole(x), self.id, self.score), x)
        return self.id[0], self.score[0] / _Q16

    def predict(self, x: Any) -> int | None:
        """The id of the best cluster, or None where there are no clusters."""
        return super().predict(self._whole(x))

    def predict_score(self, x: Any) -> float:
        """The log density of a point."""
        self.check(self.lib.mapdpm_predict(self.stream, self._whole(x), self.ffi.NULL, self.score), x)
        return self.score[0] / _Q16

    def learn_many(
        self,
        points: NDArray[Any],
        microseconds: NDArray[np.int64] | None,
        scores: bool,
        groups: NDArray[np.uint32] | None = None,
    ) -> tuple[Labels, Vector]:
        """Learn points; return their ids, and their log densities before."""
        if microseconds is not None or groups is not None:
            _refuse("times")
        return self._many(self.lib.mapdpm_learn_many, points, (), scores=scores, learns=True)

    def predict_many(
        self,
        points: NDArray[Any],
        ids: bool,
        scores: bool,
        groups: NDArray[np.uint32] | None = None,  # noqa: ARG002
    ) -> tuple[Labels, Vector]:
        """Ids of the best clusters of points, and log densities of the points."""
        return self._many(self.lib.mapdpm_predict_many, points, (), ids, scores)

    def _many(
        self,
        call: Any,
        points: NDArray[Any],
        more: tuple[Any, ...],
        ids: bool = True,
        scores: bool = True,
        learns: bool = False,
    ) -> tuple[Labels, Vector]:
        n, whole = len(points), _whole_numbers(points)
        numbers, densities = np.empty(n if ids else 0, np.uint32), np.empty(n if scores else 0, np.int32)
        done = self.ffi.new("size_t *")
        into_ids = self.ffi.from_buffer("uint32_t[]", numbers, require_writable=True) if ids else self.ffi.NULL
        into = self.ffi.from_buffer("mapdpm_score[]", densities, require_writable=True) if scores else self.ffi.NULL
        error = call(self.stream, self.ffi.from_buffer("mapdpm_real[]", whole), *more, n, into_ids, into, done)
        if error:
            self.fail(error, points[done[0]], int(done[0]), learned=learns)
        return numbers.astype(np.int64), densities / _Q16

    def _whole(self, x: Any) -> list[int]:
        point = np.array([[check_number("x", value) for value in x]])
        return [int(value) for value in _whole_numbers(point)[0]]

    # ---- what it has learned -----------------------------------------------------------------------------------------

    def clusters(self) -> Clusters:
        """All clusters, with their decayed weights."""
        slots, D, cluster = self.slots(), self.n_features, self.ffi.new("mapdpm_cluster *")
        ids, weights = np.empty(len(slots), np.int64), np.empty(len(slots))
        means, squares = np.empty((len(slots), D), np.int32), np.empty((len(slots), D), np.uint64)
        for k, slot in enumerate(slots):
            into = self.ffi.from_buffer("int32_t[]", means[k]), self.ffi.from_buffer("uint64_t[]", squares[k])
            self.lib.mapdpm_get_cluster(self.stream, slot, cluster, *into)
            ids[k], weights[k] = cluster.id, cluster.weight / _Q8
        return Clusters(ids, weights, means / _Q13, squares / _Q8 / weights[:, None])

    def likelihood(self) -> NormalGamma:
        """The family with its prior."""
        D, options = self.n_features, self._settings()
        centre, twice_b0 = np.empty(D, np.int16), np.empty(D, np.uint64)
        into = self.ffi.from_buffer("int16_t[]", centre), self.ffi.from_buffer("uint64_t[]", twice_b0)
        self.check(self.lib.mapdpm_get_prior(self.stream, *into))
        return NormalGamma(
            centre.astype(np.float64), options.c0 / _Q16, options.twice_a0 / (2 * _Q8), twice_b0 / (2.0 * _Q8)
        )

    def _settings(self) -> Any:
        options = self.ffi.new("mapdpm_options *")
        self.check(self.lib.mapdpm_get_options(self.stream, options))
        return options

    def settings(self) -> Settings:
        """The settings of the learner, as the C structure holds them."""
        options = self._settings()
        return {
            "n_features": self.n_features,
            "max_clusters": int(options.max_clusters),
            "when_full": WHEN_FULL[options.when_full],
            "half_life": float(options.half_life) or None,
            "alpha": options.alpha / _Q16,
            "missing": "error",
            "surprise": False,
            "dtype": INT16,
            "likelihood": self.likelihood(),
        }

    def resolution(self) -> Vector:
        """No steps: values are whole numbers as they are."""
        return np.zeros(self.n_features)

    def relevance(self) -> tuple[NDArray[np.bool_], Vector | None]:
        """All features carry clusters."""
        return np.ones(self.n_features, dtype=bool), None

    def resolve(self, number: int) -> int:
        """The current id of the cluster once called ``number``; KeyError where that is unknown."""
        for event in self.events():
            if event.kind == "merged" and event.id == number and event.other is not None:
                number = event.other
        if number not in self.clusters().ids:
            msg = f"no cluster has the id {number}: it was never given, or has ended, or its merge is too long ago"
            raise KeyError(msg)
        return number

    def insert(self, weight: float, mean: Vector, variance: Vector, counts: Vector | None = None) -> None:  # noqa: ARG002
        """Insert a cluster, given by its statistics: the mean less ``anchor``; no values are missing."""
        cluster, inside = self.ffi.new("mapdpm_cluster *"), np.abs(mean + self.anchor()) <= -_LEAST
        if not np.all(inside):
            where = f"a cluster lies at {mean + self.anchor()}, and dtype='int16' takes values from {_LEAST} to {_MOST}"
            msg = f"{where}: give features another unit"
            raise ValueError(msg)
        cluster.id, cluster.weight = _NEXT_ID, round(weight * _Q8)
        if not cluster.weight:
            msg = f"a cluster weighs {weight:.3g} points, and dtype='int16' counts in 256ths: multiply the weights"
            raise ValueError(msg)
        means = np.rint(_Q13 * np.minimum(mean + self.anchor(), _MOST)).astype(np.int32)
        squares = np.rint(variance * cluster.weight).astype(np.uint64)
        into = self.ffi.from_buffer("int32_t[]", means), self.ffi.from_buffer("uint64_t[]", squares)
        self.check(self.lib.mapdpm_insert(self.stream, cluster, *into))

    def share_of(self, weight: float) -> float:
        """As the learner itself halves what weighs too much; with a half-life there is room for its points."""
        most = _MOST_WEIGHT / (2 if self._settings().half_life else 1)
        return min(1.0, 0.5 ** np.ceil(np.log2(weight / most)))

    def anchor(self) -> Vector:
        """The prior mean."""
        return np.asarray(self.likelihood().m0)

    def reduce(self, n: int) -> None:  # noqa: ARG002
        """Not here."""
        _refuse("reduce")


def learner_for(dtype: str) -> type[Learner]:
    """The class of learners of a real type."""
    return IntegerLearner if dtype == INT16 else Learner


def _scaled(name: str, value: float, scale: int, most: int) -> int:
    """A parameter as a whole number; ValueError where it does not fit."""
    found = round(value * scale)
    if not 1 <= found <= most:
        _refuse_prior(name, value, f"from {1 / scale:.3g} to {most / scale:.6g}")
    return found


def _whole_steps(steps: Any) -> Any:
    """The steps of a likelihood; ValueError where values are multiples of what is no whole number."""
    if np.any(steps != np.rint(steps)):
        msg = f"dtype='int16' takes whole numbers, but the likelihood is of values with the steps {steps}; multiply"
        raise ValueError(msg)
    return steps


def _refuse_prior(name: str, value: Any, limits: str) -> NoReturn:
    msg = f"dtype='int16' takes {name} {limits}, got {value}; give data another unit, or use float32"
    raise ValueError(msg)


def _refuse(what: str) -> NoReturn:
    raise ValueError(_NOT_HERE.format(what))


def _refuse_settings(settings: Settings) -> None:
    """ValueError for what the learner does not know."""
    if not isinstance(settings["likelihood"], NormalGamma):
        msg = (
            "dtype='int16' needs a likelihood that is a NormalGamma, got "
            f"{settings['likelihood'] or 'auto'}: that of a learner of floats that has seen some points, as likelihood_"
        )
        raise ValueError(msg)
    if settings["missing"] == "skip":
        _refuse("missing values")
    if settings.get("window"):
        _refuse("window")
    if settings["resolution"] != AUTO and np.any(settings["resolution"]):
        _refuse("resolution but that of whole numbers")
    half_life = settings["half_life"]
    if half_life is not None and not (
        _LEAST_HALF_LIFE <= half_life <= _MOST_HALF_LIFE and half_life == round(half_life)
    ):
        msg = f"dtype='int16' takes a half_life of 2 to {_MOST_HALF_LIFE} points, a whole number, got {half_life}"
        raise ValueError(msg)


def _whole_numbers(points: NDArray[Any]) -> NDArray[np.int16]:
    """Points as int16; ValueError, with the place, where a value is no whole number of 16 bits."""
    rounded = np.rint(points)
    wrong = (points != rounded) | (rounded < _LEAST) | (rounded > _MOST)
    if np.any(wrong):
        i, d = map(int, np.argwhere(wrong)[0])
        where = "x" if len(points) == 1 else f"X, row {i} (counted from 0),"
        msg = (
            f"{where} has {points[i, d]} at feature {d}, and dtype='int16' takes whole numbers from {_LEAST} to "
            f"{_MOST}: give each feature a unit in which a cluster is some 10 to 5,000 wide, and round"
        )
        raise ValueError(msg)
    return np.ascontiguousarray(rounded, dtype=np.int16)
