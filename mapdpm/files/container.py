"""The container of model files: a part that chips read too, and behind it extras for Python (docs/format.md).

Little-endian. A header of 40 bytes, then reals of 4 or 8 bytes (alpha, discount, anchor, parameters of the family),
counts, the statistics of each cluster; then extras, which C skips; last a CRC-32 of all before. The twin of this file
is ``c_kernels/files/snapshot.c`` (decision 10). Every field is checked on load, whatever the CRC says.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.files import families
from mapdpm.files.errors import ModelFileError, refuse_damaged
from mapdpm.files.extras import pack_extras, unpack_extras
from mapdpm.files.statistics import Moments, check, check_body, check_reach
from mapdpm.likelihoods._skipping import skips
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hierarchy import hierarchy
from mapdpm.partition_priors.transitions import transitions
from mapdpm.protocol import Labels, Vector
from mapdpm.state import Mixture, empty, mixture_of
from mapdpm.validation import refuse_value

MAGIC = b"MDPM"
FORMAT = 1
BATCH = 1
STREAM = 2
GROUPED = 3
STREAM_OF_GROUPS = 4
SUMMARY = 5
STATES = 6
STREAM_OF_STATES = 7
FEATURES = 12
STREAM_OF_INTEGERS = 13
_KINDS = {
    BATCH: "a batch model, which MAPDPM reads",
    STREAM: "a stream learner, which OnlineMAPDPM reads",
    GROUPED: "a model of groups, which HDPMixture reads",
    STREAM_OF_GROUPS: "a stream learner of groups, which OnlineHDP reads",
    STATES: "a model of states in time, which HDPHMM reads",
    STREAM_OF_STATES: "a stream learner of states in time, which OnlineHDPHMM reads",
    FEATURES: "the state of features, which mapdpm.features reads",
    STREAM_OF_INTEGERS: "a stream learner in whole numbers, which OnlineMAPDPM reads",
    SUMMARY: "a summary of a stream learner, which OnlineHDP.merged and set_base read",
}
_STREAMS = {STREAM, STREAM_OF_GROUPS, STREAM_OF_STATES, STREAM_OF_INTEGERS, SUMMARY, FEATURES}

MISSING, SURPRISE, QUEUE, RELEVANCE, RESOLUTION = 1, 2, 4, 8, 48
"""Flags: of a batch model whose statistics count each feature; of a stream learner with surprises, with a queue."""
_FLAGS = {
    STREAM: SURPRISE | QUEUE | RELEVANCE | RESOLUTION,
    STREAM_OF_GROUPS: QUEUE | RELEVANCE | RESOLUTION,
    STREAM_OF_STATES: QUEUE | RELEVANCE | RESOLUTION,
    STREAM_OF_INTEGERS: 7,  # the policy
}
_HEADER = struct.Struct("<4sHBBHHIIIIIQ")
_CRC = struct.Struct("<I")
_PIECE = 1 << 20  # bytes read at once: memory is taken for bytes that are there, not for those that are announced
_INTEGER = 2  # bytes of a value in whole numbers
_REALS: dict[int, np.dtype[Any]] = {4: np.dtype("<f4"), 8: np.dtype("<f8")}


def pack(mixture: Mixture, extras: dict[str, Any], dtype: str = "float64", kind: int = BATCH) -> bytes:
    """The container of a model of ``kind`` BATCH, GROUPED or STATES; ``dtype`` "float32" is for chips with such reals.

    ValueError where the family has no number in the format, or a number of the model is too large for float32.
    """
    family = families.number_of(mixture.likelihood)
    try:
        real = {"float64": _REALS[8], "float32": _REALS[4]}[dtype]
    except (KeyError, TypeError):
        refuse_value("dtype must be 'float64' or 'float32'", dtype)
    if real.itemsize < mixture.anchor.itemsize and families.number_of(mixture.likelihood) == families.MIXED:
        msg = "dtype must be 'float64' for a model of Mixed columns"
        raise ValueError(msg)
    mixture = _with_anchor(mixture, mixture.anchor.astype(real).astype(np.float64))
    parameters = families.parameters_of(mixture.likelihood)
    statistics = mixture.statistics[:, families.statistics_columns(mixture.likelihood)]
    n_clusters, n_statistics = statistics.shape
    tail = pack_extras(families.structure_of(mixture.likelihood) | extras)
    prior = mixture.prior
    concentrations = (prior.alpha, prior.discount) if kind == BATCH else (prior.numbers[0], prior.gamma)
    body = b"".join(
        (
            _reals(np.concatenate([concentrations, mixture.anchor, parameters]), real),
            mixture.counts.astype("<u8").tobytes(),
            _reals(statistics, real),
            tail,
        )
    )
    sizes = (len(mixture.anchor), n_clusters, len(parameters), n_statistics, len(tail))
    total = _HEADER.size + len(body) + _CRC.size
    flags = MISSING if skips(mixture.likelihood) else 0
    head = _HEADER.pack(MAGIC, FORMAT, kind, real.itemsize, family, flags, *sizes, total)
    data = head + body + _CRC.pack(zlib.crc32(head + body))
    if dtype == "float32":
        try:
            unpack(data)
        except ModelFileError as error:
            msg = f"the model does not fit float32; save it as float64 ({error})"
            raise ValueError(msg) from None
    return data


def unpack(data: bytes, wanted: int = BATCH) -> tuple[Mixture, dict[str, Any]]:
    """The model in ``data``, of kind ``wanted``, every field checked; ModelFileError says what is wrong."""
    header = _checked_header(data, wanted)
    _, _, _, real_size, family, flags, D, K, n_parameters, n_statistics, n_extras, _ = header
    reader = _Reader(data, _HEADER.size, _REALS[real_size])
    concentrations = reader.reals(2)
    anchor, parameters = reader.reals(D), reader.reals(n_parameters)
    counts = reader.counts(K)
    statistics = reader.reals(K * n_statistics).reshape(K, n_statistics)
    extras = unpack_extras(data[reader.position : reader.position + n_extras], len(data))
    try:
        prior = _prior_of(wanted, concentrations)
        likelihood = families.restored(family, extras, parameters, D, flags == MISSING)
    except (ValueError, TypeError) as error:
        refuse_damaged(error)
    columns = families.statistics_columns(likelihood)
    check(n_statistics == len(columns), "length of its statistics is wrong")
    rows = empty(likelihood, 0, K).rows
    rows[:, columns] = statistics
    check_body(likelihood, anchor, counts, rows)
    try:
        check_reach(likelihood, anchor, counts, rows, prior.discount if wanted == BATCH else 0.0)
        with np.errstate(all="ignore"):
            mixture = mixture_of(likelihood, prior, anchor, counts, rows[:, : likelihood.n_statistics()])
        check(bool(np.all(np.isfinite(mixture.state.rows))), "its densities are not finite")
    except ModelFileError:
        raise
    except (ValueError, ArithmeticError) as error:
        refuse_damaged(f"its clusters are not those of any data ({error})")
    return mixture, extras


def _prior_of(kind: int, concentrations: Vector) -> Any:
    """The prior of a model of a kind, from the first two numbers of its body; ValueError where they are invalid."""
    if kind == GROUPED:
        return hierarchy(*concentrations)
    if kind == STATES:
        return transitions(concentrations[0], concentrations[1], 0.0)
    return partition_prior(*concentrations)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a model file; at most one more than its header announces, so that a device has an end."""
    with Path(path).open("rb") as file:
        data = file.read(_HEADER.size)
        if len(data) < _HEADER.size or not data.startswith(MAGIC):
            return data
        left = _HEADER.unpack(data)[-1] - len(data) + 1
        pieces = [data]
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


def kind_of(data: bytes) -> int:
    """The kind of the model in a file, by its seventh byte; nothing else is checked."""
    return data[6] if len(data) >= _HEADER.size else BATCH


def check_stream(data: bytes, wanted: int = STREAM) -> tuple[str, dict[str, Any]]:
    """The dtype and the extras of the stream learner or the summary in ``data``; C checks the body when it reads it."""
    if wanted == STREAM and kind_of(data) == STREAM_OF_INTEGERS:
        wanted = STREAM_OF_INTEGERS
    header = _checked_header(data, wanted)
    n_extras = header[10]
    end = len(data) - _CRC.size
    if n_extras > end - _HEADER.size:
        refuse_damaged("its extras are longer than it")
    return {2: "int16", 4: "float32", 8: "float64"}[header[3]], unpack_extras(data[end - n_extras : end], len(data))


def n_clusters(data: bytes) -> int:
    """The number of clusters in a file whose header was checked."""
    return int(_HEADER.unpack_from(data)[7])


def points_seen(data: bytes) -> int:
    """The number of points that the writer of a summary had seen; its header was checked."""
    return int.from_bytes(data[_HEADER.size : _HEADER.size + 8], "little")


def with_extras(data: bytes, extras: dict[str, Any]) -> bytes:
    """The file of a stream learner, with ``extras`` added to those that it has."""
    if not extras:
        return data
    header = list(_HEADER.unpack_from(data))
    end = len(data) - _CRC.size - header[10]
    tail = pack_extras(unpack_extras(data[end : -_CRC.size], len(data)) | extras)
    header[10], header[11] = len(tail), end + len(tail) + _CRC.size
    whole = _HEADER.pack(*header) + data[_HEADER.size : end] + tail
    return whole + _CRC.pack(zlib.crc32(whole))


def _checked_header(data: bytes, wanted: int) -> tuple[Any, ...]:
    if data[:4] != MAGIC:
        msg = f"not a mapdpm model: it starts with {data[:4]!r} instead of {MAGIC!r}"
        raise ModelFileError(msg)
    if len(data) < _HEADER.size + _CRC.size:
        msg = f"the model file is truncated: {len(data)} bytes are less than any model has"
        raise ModelFileError(msg)
    header = _HEADER.unpack_from(data)
    _, version, kind, real_size, _, _, D, K, n_parameters, n_statistics, n_extras, total = header
    sound = _CRC.unpack(data[-_CRC.size :])[0] == zlib.crc32(data[: -_CRC.size])
    if not sound and total > len(data):
        msg = f"the model file is truncated: {len(data)} of {total} bytes are there"
        raise ModelFileError(msg)
    if not sound:
        refuse_damaged("its CRC does not match its contents")
    if version > FORMAT:
        msg = f"the model file has format {version}, newer than format {FORMAT} that this mapdpm reads; upgrade mapdpm"
        raise ModelFileError(msg)
    _check_fields(header)
    if kind != wanted:
        more = "" if SUMMARY in {kind, wanted} else "; mapdpm.load reads all kinds"
        msg = f"the model file holds {_KINDS[kind]}{more}"
        raise ModelFileError(msg)
    reals = 2 + D + n_parameters + K * n_statistics
    whole = kind in _STREAMS or total == _HEADER.size + real_size * reals + 8 * K + n_extras + _CRC.size
    if total != len(data) or not whole:
        refuse_damaged(f"{len(data)} bytes do not hold what the header announces")
    return header


def _check_fields(header: tuple[Any, ...]) -> None:
    """ModelFileError where a field of the header has an invalid value."""
    _, version, kind, real_size, family, flags, D, K, *_ = header
    fields = (
        ("format", version, version == FORMAT),
        ("kind", kind, kind in _KINDS),
        ("size of a real", real_size, real_size in _REALS if kind != STREAM_OF_INTEGERS else real_size == _INTEGER),
        ("family", family, family in families.NUMBERS if kind != FEATURES else family == 0),
        (
            "field of flags",
            flags,
            flags & ~_FLAGS.get(kind, 0) == 0 or (flags == MISSING and kind == BATCH and family in families.WITH_GAPS),
        ),
        ("number of features", D, D >= 1),
        ("number of clusters", K, K >= 1 or kind == SUMMARY),
    )
    for name, value, fine in fields:
        check(fine, f"{name} is {value}")


class _Reader:
    """Reads the body from front to back; its lengths were checked against the header before."""

    def __init__(self, data: bytes, position: int, real: np.dtype[Any]) -> None:
        self.position = position
        self._data, self._real = data, real

    def reals(self, n: int) -> Vector:
        with np.errstate(invalid="ignore"):  # a NaN that signals
            values = np.frombuffer(self._data, self._real, n, self.position).astype(np.float64)
        self.position += n * self._real.itemsize
        return values

    def counts(self, n: int) -> Labels:
        values = np.frombuffer(self._data, "<u8", n, self.position).astype(np.int64)
        self.position += 8 * n
        return values


def _with_anchor(mixture: Mixture, anchor: Vector) -> Mixture:
    """The same mixture relative to another anchor, which the real type of the file holds exactly."""
    lag = mixture.anchor - anchor
    if not np.any(lag):
        return mixture
    statistics = mixture.statistics.copy()
    moments = Moments.of(mixture.likelihood, statistics)
    moments.means[:] += lag * (moments.of_features > 0.0)
    return mixture_of(mixture.likelihood.shifted(-lag), mixture.prior, anchor, mixture.counts, statistics)


def _reals(values: NDArray[np.float64], real: np.dtype[Any]) -> bytes:
    with np.errstate(over="ignore", under="ignore"):
        return np.ascontiguousarray(values, dtype=real).tobytes()
