"""Empirical Bayes: parameters of the prior at their largest marginal likelihood, while the partition stays."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from mapdpm.backends import resolve
from mapdpm.likelihoods import (
    BetaBernoulli,
    DirichletMultinomial,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from mapdpm.protocol import Labels, Model, Vector
from mapdpm.search.problem import Observed
from mapdpm.selection.settings import Setting, changed
from mapdpm.state import empty
from mapdpm.validation import check_number

DEFAULTS = {
    NormalGamma: ("c0_scale", "b0_scale"),  # a0 trades off against b0, and few clusters tell little of it
    NormalKnownVariance: ("prior_variance_scale", "variance_scale"),
    NormalInverseWishart: ("c0_scale", "psi0_scale"),
    DirichletMultinomial: ("beta_scale",),
    GammaPoisson: ("a0_scale", "b0_scale"),
    BetaBernoulli: ("a0_scale", "b0_scale"),
}
"""What is sought where the caller names nothing."""

REACH = np.log(1e4)
"""How far from its start a parameter is sought, in log."""

_TOLERANCE = 1e-7  # of a logarithm: about the root of rounding, closer than which a maximum looks flat
_GAIN = 1e-10  # of the log joint, relative: a cycle that gains less is the last
_MOST_CYCLES = 50
_MOST_SECTIONS = 60  # of twice the reach these leave less than the tolerance
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


def largest_marginal(seen: Observed, labels: Labels, start: Setting, sought: Setting) -> Setting:
    """``sought``, moved to where sum_k log p(x_{c_k}) of the clusters ``labels`` is largest; they stay.

    One parameter after the other by golden section, then along the way they went together, each within a factor of
    10,000 of its ``start``, until a cycle gains nothing (Hooke and Jeeves 1961). The changes are to the likelihood of
    ``seen``. O(N D) for each of some hundred values tried.
    """
    K = int(labels.max()) + 1

    def objective(setting: Setting) -> float:
        try:
            likelihood = changed(seen.likelihood, setting, None)
        except ValueError:  # outside of its domain
            return -np.inf
        if hasattr(likelihood, "shifted"):
            likelihood = likelihood.shifted(seen.anchor)
        likelihood = likelihood.for_data(seen.data)
        state = empty(likelihood, 0, K)._replace(labels=labels)
        backend = resolve("auto", likelihood)
        backend.statistics(Model(likelihood, None, seen.data), state)  # whose form a prior may enter
        return float(backend.log_marginals(likelihood, state).sum())

    names = list(sought)
    centre = np.log([start[name] for name in names])
    logs = np.log([sought[name] for name in names])

    def at(place: Vector) -> float:
        return objective(dict(zip(names, np.exp(place).tolist(), strict=True)))

    best = at(logs)
    for _ in range(_MOST_CYCLES):
        before, first = best, logs
        for direction in (*np.eye(len(names)), None):
            way = logs - first if direction is None else direction  # along a ridge, the way that the others have gone
            far = float(np.abs(way).max())
            if far > _TOLERANCE:
                way = way / far
                place = _best_along(at, logs, way, centre)
                if (value := at(place)) > best:
                    logs, best = place, value
        if best - before <= _GAIN * (1.0 + abs(best)):
            break
    return dict(zip(names, np.exp(logs).tolist(), strict=True))


def _best_along(at: Callable[[Vector], float], place: Vector, way: Vector, centre: Vector) -> Vector:
    """The best place along a way, within ``REACH`` of the centre."""
    moving = way != 0.0
    ends = ((centre + np.outer((-REACH, REACH), np.ones(len(way))) - place)[:, moving]) / way[moving]
    low, high = ends.min(axis=0).max(), ends.max(axis=0).min()
    t = golden_section(lambda t: at(place + t * way), low, high)
    found: Vector = place + t * way
    return found


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
    for _ in range(_MOST_SECTIONS):
        if high - low <= _TOLERANCE:
            break
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return 0.5 * (low + high)
