"""The settings of a stream as the structure of the C library, and back; the library of each real type."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from mapdpm import names
from mapdpm.backends.c_calls import NOT_BUILT, is_built, library
from mapdpm.likelihoods import FAMILY_NUMBERS
from mapdpm.likelihoods._parameters import flat_parameters
from mapdpm.protocol import Vector
from mapdpm.stream.kinds import LARGEST_NUMBER, LEAST_NUMBER
from mapdpm.stream.settings import ROWS, checked_settings

DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in names.DTYPES}

Settings: TypeAlias = dict[str, Any]
"""Checked settings by name; ``likelihood`` is None where the warm-up sets it."""

_FOUND, _GIVEN = 1, 2  # where steps are from

# Where log alpha is lower, the C library takes log alpha instead of alpha.
_LEAST_LOG_ALPHA = {"float64": math.log(1e-29), "float32": math.log(1e-8)}


def modules(dtype: str) -> tuple[Any, Any]:
    """The C library of a real type, and its cffi object; RuntimeError where it was not built."""
    if not is_built():
        raise RuntimeError(NOT_BUILT)
    return library(np.dtype(dtype))


def settings_for(model: Any, n_features: int) -> Settings:
    """The settings of a learner of ``n_features`` features; ValueError where its prior has another number."""
    found = checked_settings(model) | {"n_features": n_features}
    likelihood = found["likelihood"]
    if likelihood is not None:
        origin = likelihood.m0 if len(likelihood.m0) in {1, n_features} else 0.0
        found["likelihood"] = likelihood.for_data(np.broadcast_to(origin, (1, n_features)))
    if found["resolution"] != names.AUTO and len(found["resolution"]) not in {1, n_features}:
        msg = f"resolution must be one step, or one for each of {n_features} features, got {found['resolution']}"
        raise ValueError(msg)
    return found


def concentration(settings: Settings) -> tuple[float, float]:
    """(alpha, 0), or (0, log alpha) where alpha is too small for the real type."""
    log_alpha = settings.get("log_alpha")
    if log_alpha is None:
        return settings["alpha"], 0.0
    if log_alpha > _LEAST_LOG_ALPHA[settings["dtype"]]:
        return math.exp(min(log_alpha, math.log(LARGEST_NUMBER))), 0.0
    return 0.0, log_alpha


def options_of(ffi: Any, settings: Settings) -> tuple[Any, Any]:
    """The C structure of options, and the arrays that it points to, which must live as long."""
    options, likelihood = ffi.new("mapdpm_options *"), settings["likelihood"]
    for name, value in settings.items():
        if ROWS[name].c:
            setattr(options, ROWS[name].c, ROWS[name].kind.to_c(value))
    options.alpha, options.log_alpha = concentration(settings)
    kept = []

    def reals(values: Any) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            kept.append(np.array(values, dtype=DTYPES[settings["dtype"]]))
        return ffi.from_buffer("mapdpm_real[]", kept[-1])

    steps = settings["resolution"]
    if likelihood is None:
        options.family = 1
        options.relevance *= not options.with_base
    else:
        options.family, options.warmup, options.relevance = FAMILY_NUMBERS[type(likelihood)], 0, 0
        options.parameters = reals(flat_parameters(likelihood))
        steps = likelihood.resolution if steps == names.AUTO else steps
    if isinstance(steps, str):
        options.resolution = _FOUND
    elif np.any(steps):
        options.resolution, options.steps = _GIVEN, reals(np.broadcast_to(steps, settings["n_features"]))
    return options, kept


def settings_in(options: Any, dtype: str, steps: Vector) -> Settings:
    """The settings of all learners that a C structure holds, but for the likelihood; ``steps`` are the learner's."""
    real = DTYPES[dtype].type
    found = {name: row.kind.from_c(getattr(options, row.c), real) for name, row in ROWS.items() if row.c}
    unused = [] if options.warmup else ["warmup"]
    unused += ["relevance"] * (not options.warmup or options.with_base)
    unused.append("log_alpha" if found["alpha"] >= LEAST_NUMBER else "alpha")
    are_given = options.warmup and options.resolution != _FOUND
    resolution = tuple(steps.tolist()) if are_given else names.AUTO
    return found | {name: ROWS[name].default for name in unused} | {"dtype": dtype, "resolution": resolution}
