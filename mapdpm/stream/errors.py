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


_MESSAGES: dict[str, tuple[type[Exception], str]] = {
    "number": (ValueError, "{where} contains {what} at feature {feature}; remove or impute it{skip}"),
    "range": (ValueError, "{where} lies too far from the prior mean for sums of squares in {dtype}: {x}; rescale"),
    "full": (
        StreamFullError,
        (
            "all {max_clusters} clusters are taken and {where} wants another; raise max_clusters, or set when_full to "
            "another policy"
        ),
    ),
    "ids": (OverflowError, "all 2**32 - 1 ids have been given; begin a new stream from OnlineMAPDPM.merged([this])"),
    "time": (ValueError, "t went backwards at {where}, or some points had a time and some had none"),
    "group": (
        StreamFullError,
        (
            "all {max_groups} groups are taken and that of {where} is new; raise max_groups, or set "
            "when_groups_full='replace'"
        ),
    ),
}


def exception_for(error: str, context: ErrorContext) -> Exception:
    """The exception for the C library's name of an error."""
    kind, message = _MESSAGES.get(error, (RuntimeError, "the C library refused a call: {error}"))
    where = "x" if context.row is None else f"X, row {context.row} (counted from 0)"
    more: dict[str, Any] = {"where": where, "error": error}
    if error == "number":
        if context.skips_missing and np.all(np.isnan(context.x)):
            message = "{where} has no value at all; leave such points out"
        more["feature"] = feature = int(np.flatnonzero(~np.isfinite(context.x))[0])
        more["what"] = "NaN" if np.isnan(context.x[feature]) else "infinity"
        more["skip"] = "" if context.skips_missing else ", or set missing='skip' for NaN"
    after = f"; the {context.row} rows before it were learned" if context.learned and context.row else ""
    return kind(message.format(**context._asdict(), **more) + after)
