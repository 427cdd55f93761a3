"""Empirical Bayes: parameters of the prior at their largest marginal likelihood, while the partition stays."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.likelihoods import NormalGamma, NormalKnownVariance
from mapdpm.model_files import prepared
from mapdpm.selection.settings import Setting, changed
from mapdpm.validation import check_number

DEFAULTS = {
    NormalGamma: ("c0_scale", "b0_scale"),  # a0 trades off against b0, and few clusters tell little of it
    NormalKnownVariance: ("prior_variance_scale", "variance_scale"),
}
"""What is sought where the caller names nothing."""

REACH = np.log(1e4)
"""How far from its start a parameter is sought, in log."""

_TOLERANCE = 1e-7  # of a logarithm: about the root of rounding, closer than which a maximum looks flat
_GAIN = 1e-10  # of the log joint, relative: a cycle that gains less is the last
_MOST_CYCLES = 50
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def start_of(setting: Setting, family: type) -> Setting:
    """``setting``, checked; where it names no parameter of the likelihood, with those that are sought then."""
    if not setting:
        if family not in DEFAULTS:
            msg = f"name the parameters of {family.__name__} to choose: alphas=[{{'NAME_scale': 1.0}}]"
            raise ValueError(msg)
        return dict.fromkeys(DEFAULTS[family], 1.0)
    for name, value in setting.items():
        if not check_number(name, value) > 0.0:
            msg = f"{name} must be > 0 to be chosen by empirical Bayes, got {value}"
            raise ValueError(msg)
    return setting


def largest_marginal(model: Any, likelihood: Any, start: Setting, sought: Setting) -> Setting:
    """``sought``, moved to where sum_k log p(x_{c_k}) of the fitted ``model`` is largest; its partition stays.

    One parameter after the other by golden section, each within a factor of 10,000 of its ``start``, until a cycle
    gains nothing. ``likelihood`` is that to which the changes are made. O(K D) for each of some hundred values tried.
    """
    fitted = model._model  # noqa: SLF001  (clusters as statistics, which no prior changes)
    n_features = len(fitted.anchor)

    def objective(setting: Setting) -> float:
        candidate = changed(likelihood, setting, None).for_data(np.zeros((1, n_features)) + fitted.anchor)
        candidate = candidate.shifted(fitted.anchor)
        state = prepared(fitted._replace(likelihood=candidate))
        return float(resolve(model.backend_, candidate).log_marginals(candidate, state).sum())

    def along(setting: Setting, name: str, t: float) -> float:
        return objective(setting | {name: float(np.exp(t))})

    best = objective(sought)
    for _ in range(_MOST_CYCLES):
        before = best
        for name in sought:
            low, high = np.log(start[name]) - REACH, np.log(start[name]) + REACH
            at = golden_section(functools.partial(along, sought, name), low, high)
            if (value := along(sought, name, at)) > best:
                sought, best = sought | {name: float(np.exp(at))}, value
        if best - before <= _GAIN * (1.0 + abs(best)):
            break
    return sought


def warn_of_edges(start: Setting, sought: Setting) -> None:
    """UserWarning of each parameter that ended at the edge of where it was sought."""
    for name, value in sought.items():
        if abs(np.log(value / start[name])) > REACH - 1e-3:
            msg = (
                f"{name} ended at {value:.3g}, the edge of where it was sought: these clusters do not bound it; "
                "leave it out of the grid and give the likelihood a value, or start elsewhere"
            )
            warnings.warn(msg, UserWarning, stacklevel=5)


def golden_section(function: Callable[[float], float], low: float, high: float) -> float:
    """Where ``function``, of one maximum between ``low`` and ``high``, is largest (Kiefer 1953)."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > _TOLERANCE:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return 0.5 * (low + high)
