"""A learner of float64 as one of float32, for a chip: the same file with reals of 4 bytes (docs/format.md, kind 2).

So ids, events, counts of surprise, kept points and the points seen stay; only reals are rounded.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.files.errors import ModelFileError
from mapdpm.likelihoods import FAMILY_NUMBERS, NormalGamma
from mapdpm.stream.online import OnlineMAPDPM

HEADER_BYTES = 40
_BINS, _WORDS = 40, 5  # of surprise
_CRC, _SURPRISE, _RELEVANCE, _RESOLUTION = 4, 2, 8, 48  # bytes; flags
_COUNTERS = (("<u8", 2), ("<i8", 1), ("<u4", 6))
_NEAR = 1e-4  # of a spread: by more, numbers do not fit float32


class _Shape(NamedTuple):
    """The numbers that say how long the parts of a file are."""

    n_features: int
    slots: int
    parameters: int
    statistics: int
    warmup: int
    window: int
    missing: bool
    surprise: bool
    relevance: bool
    resolution: bool

    def parts(self, real: str) -> Iterator[tuple[str, str, int]]:
        """Name, type and length of each part behind the options; ``real`` is the type of reals."""
        D, K, B = self.n_features, self.slots, max(self.warmup, self.window)
        yield "parameters", real, self.parameters
        for kind, n in _COUNTERS:
            yield "", kind, n
        yield "", "<i8", K + B
        yield "slots", real, K * self.statistics
        yield "", real, B * D
        yield "", "<u4", 4 * K + 4 * 2 * K + self.warmup + self.window
        if self.surprise:
            yield "", real, _BINS
            yield "", "<u4", K + _WORDS
        if self.relevance:
            yield "background", real, 1 + (3 if self.missing else 2) * D
            yield "", "<u4", D
        if self.resolution:
            yield "", real, 2 * D


def in_single_precision(model: OnlineMAPDPM) -> OnlineMAPDPM | None:
    """The learner in float32; None where its numbers do not fit, or the two do not agree.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 2)) + 9.0 * (np.arange(400)[:, None] % 2)
    >>> model = OnlineMAPDPM(8).partial_fit(X)
    >>> chip = in_single_precision(model)
    >>> chip.dtype, chip.ids.tolist() == model.ids.tolist(), chip.n_seen, chip.events == model.events
    ('float32', True, 400, True)
    """
    learner = model.ready_learner()
    settings = learner.settings() | {"dtype": "float32"}
    try:
        empty = OnlineMAPDPM._of_settings(settings, learner.n_features).ready_learner().write()  # noqa: SLF001
        made = OnlineMAPDPM.from_bytes(in_float32(learner.write(), empty))
    except (ModelFileError, ValueError):
        return None
    if hasattr(model, "feature_names_in_"):
        made.feature_names_in_ = model.feature_names_in_
    return made if _are_near(made, model) else None


def in_float32(data: bytes, empty: bytes) -> bytes:
    """The file ``data`` of a learner of float64, in float32; ``empty`` is that of an empty one with its settings.

    ValueError where they do not fit each other, or a number does not fit float32.
    """
    shape, narrow = _shape_of(data), _shape_of(empty)
    if shape._replace(statistics=narrow.statistics) != narrow:
        msg = "the files are of other settings"
        raise ValueError(msg)
    begin, out = HEADER_BYTES + _options_bytes(8, shape.surprise), HEADER_BYTES + _options_bytes(4, shape.surprise)
    made, at = [empty[:out]], begin
    shift = np.zeros(shape.n_features)
    for name, kind, n in shape.parts("<f8"):
        values: Any = np.frombuffer(data, kind, n, at)
        at += values.nbytes
        if kind == "<f8":
            if name == "parameters":
                shift = _shift(values, shape.n_features, _is_gamma(data))
            if name == "slots":
                values = _slots(values, shape, shift)
            else:
                values = _moments(values[None], shape, shift) if name == "background" else _narrow(values)
        made.append(values.tobytes())
    whole = b"".join(made)
    if at != len(data) - _CRC or len(whole) + _CRC != len(empty):
        msg = "the files are of other lengths"
        raise ValueError(msg)
    return whole + struct.pack("<I", zlib.crc32(whole))


def _shape_of(data: bytes) -> _Shape:
    real, flags, D, K, P, S = struct.unpack_from("<xxxxxxxBxxHIIII", data)
    warmup, window, _, missing = struct.unpack_from("<IIII", data, HEADER_BYTES)
    if flags & ~(_SURPRISE | _RELEVANCE | _RESOLUTION) or real not in {4, 8}:
        msg = "the file has parts that are not known here"
        raise ValueError(msg)
    parts = (bool(flags & each) for each in (_SURPRISE, _RELEVANCE, _RESOLUTION))
    return _Shape(D, K, P, S, warmup, window, bool(missing), *parts)


def _options_bytes(real: int, surprise: bool) -> int:
    return 4 * 4 + (3 + surprise) * real


def _is_gamma(data: bytes) -> bool:
    (family,) = struct.unpack_from("<H", data, 8)
    return bool(family == FAMILY_NUMBERS[NormalGamma])


def _shift(parameters: NDArray[np.float64], D: int, is_gamma: bool) -> NDArray[np.float64]:
    """By what means move because the prior mean, from which they are counted, is rounded; in units of the learner."""
    m0, variances = parameters[:D], parameters[D + 2 :] if is_gamma else parameters[2 * D :]
    if not np.all(variances > 0.0):  # in the warm-up
        return np.zeros(D)
    mantissa, exponent = np.frexp(variances)
    exponent = exponent - (mantissa < np.sqrt(0.5))
    unit = np.exp2(-np.floor_divide(exponent, 2))
    moved: NDArray[np.float64] = (m0 - _narrow(m0).astype(np.float64)) * unit
    return moved


def _slots(values: NDArray[np.float64], shape: _Shape, shift: NDArray[np.float64]) -> NDArray[np.float32]:
    """The slots: moments of a cluster, and in float32 what rounding leaves of them; of its halves; a loss."""
    half = 1 + (3 if shape.missing else 2) * shape.n_features
    rows = values.reshape(shape.slots, shape.statistics)
    halves = [_moved(rows[:, first : first + half], shape, shift) for first in (half, 2 * half)]
    own = _moments(rows[:, :half], shape, shift)
    return np.concatenate([own, *map(_narrow, halves), _narrow(rows[:, 3 * half :])], axis=1)


def _moments(rows: NDArray[np.float64], shape: _Shape, shift: NDArray[np.float64]) -> NDArray[np.float32]:
    """Moments, and what rounding leaves of them."""
    moved = _moved(rows, shape, shift)
    high = _narrow(moved)
    return np.concatenate([high, _narrow(moved - high)], axis=1)


def _moved(rows: NDArray[np.float64], shape: _Shape, shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moments whose means are counted from the new prior mean."""
    D, moved = shape.n_features, rows.copy()
    seen = moved[:, 1 : 1 + D] if shape.missing else np.repeat(moved[:, :1], D, axis=1)
    means = moved[:, -2 * D :][:, :D]
    means += np.where(seen > 0.0, shift, 0.0)
    return moved


def _narrow(values: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore", under="ignore"):
        found = values.astype("<f4")
    if not np.array_equal(np.isfinite(found), np.isfinite(values)):
        msg = "a number is beyond float32"
        raise ValueError(msg)
    return found


def _are_near(made: OnlineMAPDPM, model: OnlineMAPDPM) -> bool:
    """Whether the clusters of two learners are the same, up to rounding to float32."""
    spread = np.sqrt(model.variances) + 1e-6 * np.abs(model.means) + np.finfo(np.float32).tiny
    if not np.array_equal(made.ids, model.ids) or not np.allclose(made.weights, model.weights, rtol=_NEAR):
        return False
    return bool(np.all(np.abs(made.means - model.means) <= _NEAR * spread))
