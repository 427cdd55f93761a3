"""The errors of the C stream learner as exceptions with a message for the user."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class StreamFullError(RuntimeError):
    """No room: for a cluster with ``when_full="error"``, or for a group with ``when_groups_full="error"``."""


class ErrorContext(NamedTuple):
    """The facts for an error message: real type and sizes of the learner, the point at fault, and its row."""

    dtype: str
    max_clusters: int
    max_groups: int
    skips_missing: bool
    x: Any
    row: int | None
    learned: bool


def exception_for(error: str, context: ErrorContext) -> Exception:
    """The exception for the C library's name of an error."""
    where = "x" if context.row is None else f"X, row {context.row} (counted from 0)"
    after = f"; the {context.row} rows before it were learned" if context.learned and context.row else ""
    kind, message = {
        "number": (ValueError, _not_a_number),
        "range": (ValueError, _too_far),
        "full": (StreamFullError, _full),
        "ids": (OverflowError, _no_ids),
        "time": (ValueError, _time),
        "group": (StreamFullError, _no_groups),
    }.get(error, (RuntimeError, _refused))
    return kind(message(context).format(where=where, error=error) + after)


def _not_a_number(context: ErrorContext) -> str:
    if context.skips_missing and np.all(np.isnan(context.x)):
        return "{where} has no value at all; leave such points out"
    feature = int(np.flatnonzero(~np.isfinite(context.x))[0])
    skip = "" if context.skips_missing else ", or set missing='skip' for NaN"
    what = "NaN" if np.isnan(context.x[feature]) else "infinity"
    return f"{{where}} contains {what} at feature {feature}; remove or impute it{skip}"


def _too_far(context: ErrorContext) -> str:
    return f"{{where}} lies too far from the prior mean for sums of squares in {context.dtype}: {context.x}; rescale"


def _full(context: ErrorContext) -> str:
    return (
        f"all {context.max_clusters} clusters are taken and {{where}} wants another; raise max_clusters, or set "
        "when_full to another policy"
    )


def _no_groups(context: ErrorContext) -> str:
    return (
        f"all {context.max_groups} groups are taken and that of {{where}} is new; raise max_groups, or set "
        "when_groups_full='replace'"
    )


def _refused(_: ErrorContext) -> str:
    return "the C library refused a call: {error}"


def _no_ids(_: ErrorContext) -> str:
    return "all 2**32 - 1 ids have been given; begin a new stream from OnlineMAPDPM.merged([this])"


def _time(_: ErrorContext) -> str:
    return "t went backwards at {where}, or some points had a time and some had none"
