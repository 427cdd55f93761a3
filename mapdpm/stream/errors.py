"""What the errors of the C stream learner mean to a user."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class StreamFullError(RuntimeError):
    """A point wants a cluster of its own, all slots are taken, and ``when_full="error"``."""


class Told(NamedTuple):
    """What a message says: of the learner, and of the point that it is about, and where that stood."""

    dtype: str
    max_clusters: int
    skips_missing: bool
    x: Any
    row: int | None
    learned: bool


def meant(error: str, told: Told) -> Exception:
    """The exception that the C library's word for an error stands for."""
    where = "x" if told.row is None else f"X, row {told.row} (counted from 0)"
    after = f"; the {told.row} rows before it were learned" if told.learned and told.row else ""
    kind, message = {
        "number": (ValueError, _not_a_number),
        "range": (ValueError, _too_far),
        "full": (StreamFullError, _full),
        "ids": (OverflowError, _no_ids),
        "time": (ValueError, _time),
    }.get(error, (RuntimeError, _refused))
    return kind(message(told).format(where=where, error=error) + after)


def _not_a_number(told: Told) -> str:
    if told.skips_missing and np.all(np.isnan(told.x)):
        return "{where} has no value at all; leave such points out"
    feature = int(np.flatnonzero(~np.isfinite(told.x))[0])
    skip = "" if told.skips_missing else ", or set missing='skip' for NaN"
    what = "NaN" if np.isnan(told.x[feature]) else "infinity"
    return f"{{where}} contains {what} at feature {feature}; remove or impute it{skip}"


def _too_far(told: Told) -> str:
    return f"{{where}} lies too far from the prior mean for sums of squares in {told.dtype}: {told.x}; rescale"


def _full(told: Told) -> str:
    return (
        f"all {told.max_clusters} clusters are taken and {{where}} wants another; raise max_clusters, or set when_full "
        "to another policy"
    )


def _refused(_: Told) -> str:
    return "the C library refused a call: {error}"


def _no_ids(_: Told) -> str:
    return "all 2**32 - 1 ids have been given; begin a new stream from OnlineMAPDPM.merged([this])"


def _time(_: Told) -> str:
    return "t went backwards at {where}, or some points had a time and some had none"
