"""The settings of a stream as the structure of the C library, and the library of each real type."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends.c_calls import NOT_BUILT, is_built, library
from mapdpm.likelihoods import FAMILY_NUMBERS
from mapdpm.likelihoods._parameters import flat_parameters
from mapdpm.stream.settings import DTYPES, WHEN_FULL, WHEN_GROUPS_FULL, StreamSettings


def modules(dtype: str) -> tuple[Any, Any]:
    """The C library of a real type, and its cffi object; RuntimeError where it was not built."""
    if not is_built():
        raise RuntimeError(NOT_BUILT)
    return library(DTYPES[dtype])


def options_of(ffi: Any, setting: StreamSettings) -> tuple[Any, Any]:
    """The C structure of options, and the array that it points to, which must live as long."""
    options = ffi.new("mapdpm_options *")
    options.family = 1 if setting.likelihood is None else FAMILY_NUMBERS[type(setting.likelihood)]
    options.n_features, options.max_clusters = setting.n_features, setting.max_clusters
    options.warmup = setting.warmup if setting.likelihood is None else 0
    options.window = setting.window
    options.when_full = WHEN_FULL[setting.when_full]
    options.missing = setting.missing
    options.alpha, options.log_alpha, options.half_life = setting.alpha, setting.log_alpha, setting.half_life
    options.max_groups, options.gamma = setting.max_groups, setting.gamma
    options.with_base = setting.with_base
    options.lag, options.kappa = setting.lag, setting.kappa
    options.surprise, options.rare = setting.surprise, setting.rare
    options.when_groups_full = WHEN_GROUPS_FULL[setting.when_groups_full]
    parameters = None
    if setting.likelihood is not None:
        with np.errstate(over="ignore", under="ignore"):
            parameters = flat_parameters(setting.likelihood).astype(DTYPES[setting.dtype])
        options.parameters = ffi.from_buffer("mapdpm_real[]", parameters)
    return options, parameters
