"""Summaries: the clusters that a learner saw itself, a whole message to its gateway or from it (decision 101)."""

from __future__ import annotations

from typing import Any

from mapdpm.files import container
from mapdpm.files.errors import ModelFileError, refuse_damaged, words_of
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import DTYPES, Settings, modules

_DAMAGED = "the summary is damaged: "
MOST_CLUSTERS = 2048
"""A message has at most so many clusters, so that a forged one costs its reader well below a second."""
MOST_PLACES = 1024
"""A summary may ask for so many places for clusters and groups, or for as many as it has clusters: it may be forged."""


def summary_of(learner: Learner, dtype: str | None = None) -> bytes:
    """The summary of a learner whose warm-up is over, for a reader of a real type; None is the learner's own.

    ValueError where the learner has single precision, and the reader double, where its numbers do not fit float32, or
    where it has more than ``MOST_CLUSTERS``.
    """
    file = _written(learner, learner.dtype.name if dtype is None else dtype)
    if container.n_clusters(file) > MOST_CLUSTERS:
        msg = (
            f"a summary has at most {MOST_CLUSTERS:,} clusters, got {container.n_clusters(file):,}; send to_bytes(), "
            f"or the summary of OnlineMAPDPM.merged([learner], max_clusters={MOST_CLUSTERS})"
        )
        raise ValueError(msg)
    return file


def _written(learner: Learner, dtype: str) -> bytes:
    """The summary of any number of clusters."""
    if not hasattr(learner.lib, "mapdpm_summary_write"):
        msg = "a learner of dtype='int16' writes no summary; send to_bytes()"
        raise ValueError(msg)
    width = DTYPES[dtype].itemsize
    if width > learner.dtype.itemsize:
        msg = "a float32 learner writes float32 summaries, which all learners read; leave dtype out"
        raise ValueError(msg)
    capacity, written = learner.lib.mapdpm_summary_bytes(learner.stream, width), learner.ffi.new("size_t *")
    file = bytearray(capacity)
    into = learner.ffi.from_buffer("unsigned char[]", file, require_writable=True)
    learner.check(learner.lib.mapdpm_summary_write(learner.stream, width, into, capacity, written))
    if width < learner.dtype.itemsize:
        try:
            _read(bytes(file))
        except ModelFileError as problem:
            msg = f"the summary does not fit float32; write it as float64 ({problem})"
            raise ValueError(msg) from None
    return bytes(file)


def checked_bytes(name: str, data: Any) -> bytes:
    """``data`` as bytes; ValueError where it is nothing of that kind."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        msg = f"{name} must be bytes, got {type(data).__name__}"
        raise ValueError(msg)
    return bytes(data)


def pool(part: Learner, into: Learner) -> None:
    """Insert all that a learner saw itself into another one; nothing while its warm-up lasts.

    ValueError where that is too far from the other's prior mean.
    """
    if not part.stream.warming:
        narrower = min(part.dtype, into.dtype, key=lambda dtype: dtype.itemsize)
        _take(into, "mapdpm_pool_summary", _written(part, narrower.name))


def set_base(learner: Learner, data: bytes) -> None:
    """Replace the base of a learner by the clusters of a summary."""
    _take(learner, "mapdpm_set_base", data)


def _take(learner: Learner, call: str, data: bytes) -> None:
    file = learner.ffi.from_buffer("unsigned char[]", data)
    error = getattr(learner.lib, call)(learner.stream, file, len(data))
    if error:
        name = learner.ffi.string(learner.lib.mapdpm_error_name(error)).decode()
        msg = {
            "argument": "the summary has missing values where the learner has missing='error'",
            "range": f"the summary lies too far from the learner's prior mean for {learner.dtype.name}",
            "ids": "all 2**32 - 1 ids of the learner have been given; begin a new one from OnlineHDP.merged([this])",
        }.get(name, _DAMAGED + words_of(name))
        raise ValueError(msg)


def read(data: bytes) -> tuple[Learner, Settings]:
    """A learner of the clusters of a summary, and the settings of the one that wrote it.

    ModelFileError where the bytes are no summary, or damaged, or of more than ``MOST_CLUSTERS``.
    """
    container.check_stream(data, container.SUMMARY)
    if container.n_clusters(data) > MOST_CLUSTERS:
        msg = (
            f"the summary has {container.n_clusters(data):,} clusters, but at most {MOST_CLUSTERS:,} are read from a "
            "message; its sender can merge some before (merged, max_clusters)"
        )
        raise ModelFileError(msg)
    return _read(data)


def _read(data: bytes) -> tuple[Learner, Settings]:
    dtype, _ = container.check_stream(data, container.SUMMARY)
    lib, ffi = modules(dtype)
    options, file = ffi.new("mapdpm_options *"), ffi.from_buffer("unsigned char[]", data)
    error = lib.mapdpm_summary_options(file, len(data), options, ffi.NULL)
    if error:
        refuse_damaged(ffi.string(lib.mapdpm_error_name(error)).decode())
    parameters = ffi.new("mapdpm_real[]", lib.mapdpm_n_parameters(options.family, options.n_features))
    lib.mapdpm_summary_options(file, len(data), options, parameters)
    n, options.parameters = container.n_clusters(data), parameters
    max_clusters, max_groups = max(n, min(options.max_clusters, MOST_PLACES)), min(options.max_groups, MOST_PLACES)
    options.max_clusters, options.max_groups = max(n, 1), min(max_groups, 1)
    learner = Learner(dtype, lib.mapdpm_stream_bytes(options))
    if lib.mapdpm_init(learner.stream, learner.nbytes, options):
        refuse_damaged("its settings are invalid")
    try:
        _take(learner, "mapdpm_pool_summary", data)
        settings = learner.settings()  # the limits of priors are Python's
        return learner, settings | {"max_clusters": max_clusters, "max_groups": max_groups}
    except ValueError as problem:
        refuse_damaged(str(problem).removeprefix(_DAMAGED))


def converted(data: bytes, dtype: str) -> bytes:
    """A summary for a reader of a real type; the same bytes where it can read them."""
    part, _ = read(data)
    if part.dtype.itemsize <= DTYPES[dtype].itemsize:
        return data
    return summary_of(part, dtype)
