"""Assessments of points by the C library: how unusual they are, before they are learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.assessment import Assessment
from mapdpm.stream.c_learner import NO_GROUP, Learner

_NO_ID = NO_GROUP
"""The id of no cluster: MAPDPM_NO_ID."""


def assess(learner: Learner, x: Any, microseconds: int | None = None, *, learns: bool) -> Assessment:
    """Assess a point, and learn it then, or not."""
    _check_surprise(learner)
    at = learner.ffi.NULL if microseconds is None else learner.ffi.new("int64_t *", microseconds)
    found = learner.ffi.new("mapdpm_assessment *")
    ask = learner.lib.mapdpm_learn_assessed if learns else learner.lib.mapdpm_assess
    learner.check(ask(learner.stream, x, at, found), x)
    return assessment_of(found)


def assessment_of(found: Any) -> Assessment:
    """An assessment from the structure of C."""
    number = found.id
    entries = (-1 if number == _NO_ID else number, found.log_density, found.novelty, found.surprise)
    return tuple.__new__(Assessment, entries)  # the class itself takes twice as long


def assess_many(
    learner: Learner, points: NDArray[Any], microseconds: NDArray[np.int64] | None, *, learns: bool
) -> Assessment:
    """Assess points of the learner's real type, each before it is learned, or all as the next point."""
    _check_surprise(learner)
    ffi, real = learner.ffi, learner.dtype.name
    times = ffi.NULL if microseconds is None else ffi.from_buffer("int64_t[]", microseconds)
    fields = [("id", "uint32"), ("log_density", real), ("novelty", real), ("surprise", real)]
    found = np.empty(len(points), dtype=np.dtype(fields, align=True))  # the structure of C
    into = ffi.cast("mapdpm_assessment *", ffi.from_buffer(found, require_writable=True))
    done, values = ffi.new("size_t *"), ffi.from_buffer("mapdpm_real[]", points)
    contributions = np.empty(points.shape, dtype=real)
    told = ffi.from_buffer("mapdpm_real[]", contributions, require_writable=True)
    error = learner.lib.mapdpm_assess_many(learner.stream, values, times, len(points), learns, into, told, done)
    if error:
        learner.fail(error, points[done[0]], int(done[0]), learned=learns)
    ids = found["id"].astype(np.int64)
    ids[ids == _NO_ID] = -1
    reals = [found[name].astype(np.float64) for name in ("log_density", "novelty", "surprise")]
    return Assessment(ids, *reals).with_contributions(contributions.astype(np.float64, copy=False))


def contributions_to(learner: Learner, x: Any, _: int | None = None) -> NDArray[np.float64]:
    """The nats that each feature contributes to how unusual ``x`` is."""
    nats = np.empty(learner.n_features, dtype=learner.dtype)
    into = learner.ffi.from_buffer("mapdpm_real[]", nats, require_writable=True)
    learner.check(learner.lib.mapdpm_contributions(learner.stream, x, into), x)
    return nats.astype(np.float64, copy=False)


def _check_surprise(learner: Learner) -> None:
    """ValueError where the library of the learner assesses nothing."""
    if not hasattr(learner.lib, "mapdpm_assess"):
        msg = "dtype='int16' assesses no points; use float32, or the log density of score_one"
        raise ValueError(msg)
