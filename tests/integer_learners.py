"""The learner in whole numbers, as C has it and as Python defines it, from the same options; and streams for both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import _c16
from mapdpm.integers.clusters import Prior
from mapdpm.integers.learner import FULL, Learner
from mapdpm.integers.slots import NONE, Options

LIB, FFI = _c16.lib, _c16.ffi


class InC:
    """The learner of C."""

    def __init__(self, options: Options) -> None:
        made, D = FFI.new("mapdpm_options *"), len(options.centre)
        self._centre, self._b0 = (
            FFI.new("int16_t[]", list(options.centre)),
            FFI.new("uint64_t[]", options.prior.twice_b0),
        )
        made.n_features, made.max_clusters, made.when_full = D, options.max_clusters, options.when_full
        made.half_life, made.alpha, made.c0 = options.half_life, options.alpha, options.prior.c0
        made.twice_a0, made.centre, made.twice_b0 = options.prior.twice_a0, self._centre, self._b0
        n = LIB.mapdpm_stream_bytes(made)
        self.memory = np.zeros(n // 8, dtype=np.uint64)
        self.stream = FFI.cast("mapdpm_stream *", FFI.from_buffer(self.memory))
        assert LIB.mapdpm_init(self.stream, n, made) == 0

    def learn(self, x: Any) -> tuple[int, int]:
        """The id and the score; (NONE, FULL) where there is no room."""
        id_, score = FFI.new("uint32_t *"), FFI.new("mapdpm_score *")
        error = LIB.mapdpm_learn(self.stream, FFI.new("int16_t[]", list(x)), id_, score)
        return (NONE, error) if error else (id_[0], score[0])

    def insert(self, number: int, weight: int, means: list[int], squares: list[int]) -> None:
        """Insert a cluster."""
        cluster = FFI.new("mapdpm_cluster *", [number, weight])
        assert LIB.mapdpm_insert(self.stream, cluster, FFI.new("int32_t[]", means), FFI.new("uint64_t[]", squares)) == 0

    def learn_many(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids and the scores, in nats."""
        points = np.ascontiguousarray(X, dtype=np.int16)
        ids, scores = np.empty(len(X), np.uint32), np.empty(len(X), np.int32)
        buffers = FFI.from_buffer("uint32_t[]", ids), FFI.from_buffer("mapdpm_score[]", scores)
        error = LIB.mapdpm_learn_many(
            self.stream, FFI.from_buffer("int16_t[]", points), len(X), *buffers, FFI.new("size_t *")
        )
        assert error == 0
        return ids, scores / 65536

    def clusters(self) -> list[tuple[int, int, list[int], list[int]]]:
        """(id, weight, means in Q13, squares in Q8) of each slot that is used."""
        D, found = self.stream.n_features, []
        for k in range(self.stream.max_clusters):
            cluster, mean, squares = FFI.new("mapdpm_cluster *"), FFI.new("int32_t[]", D), FFI.new("uint64_t[]", D)
            if LIB.mapdpm_get_cluster(self.stream, k, cluster, mean, squares) == 1:
                found.append((cluster.id, cluster.weight, list(mean), list(squares)))
        return found

    def events(self) -> list[tuple[int, int, int, int]]:
        """The latest events."""
        event, n = FFI.new("mapdpm_event *"), LIB.mapdpm_n_events(self.stream)
        found = []
        for i in range(max(0, n - 2 * self.stream.max_clusters), n):
            assert LIB.mapdpm_get_event(self.stream, i, event) == 0
            found.append((event.kind, event.id, event.other, event.when))
        return found


class Drawn(NamedTuple):
    """Options, points of several clusters with outliers, and the numbers of their clusters."""

    options: Options
    points: np.ndarray
    labels: np.ndarray


def drawn(seed: int, n: int = 1500) -> Drawn:
    """Anything that a sensor may give, and any settings: narrow, wide, rounded, cut, drifting, far from the centre."""
    rng = np.random.default_rng(seed)
    D, scale = int(rng.integers(1, 6)), float(rng.choice([0.3, 2, 50, 400, 3000]))
    twice_a0 = int(rng.choice([100, 256, 512, 5000]))
    b0 = [max(int(scale**2 * twice_a0 * rng.choice([0.01, 1, 4])), 1) for _ in range(D)]
    labels = rng.integers(0, 6, n)
    X = (
        rng.normal(0, 5, (6, D))[labels]
        + rng.standard_t(2, size=(n, D))
        + np.arange(n)[:, None] * rng.choice([0, 0.01])
    )
    points = np.clip(np.rint(X * scale), -32768, 32767).astype(np.int16)
    centre = np.full(D, 32767) if rng.random() < 0.2 else rng.integers(-300, 300, D)
    options = Options(
        Prior(int(rng.choice([1, 3277, 65536, 255 << 16])), twice_a0, tuple(b0)),
        centre.tolist(),
        alpha=int(rng.choice([1, 655, 65536, 6553600])),
        max_clusters=int(rng.choice([1, 2, 3, 8, 16])),
        half_life=int(rng.choice([0, 0, 2, 20, 300, 5000])),
        when_full=int(rng.integers(0, 5)),
    )
    return Drawn(options, points, labels)


__all__ = ["FULL", "Drawn", "InC", "Learner", "drawn"]
