"""Empirical Bayes: parameters of the prior at the largest marginal likelihood of a fixed partition."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.backends.evidence import Box, largest, log_evidence
from mapdpm.likelihoods import NormalGamma
from mapdpm.likelihoods._skipping import named
from mapdpm.protocol import Labels, Vector
from mapdpm.search.chunks import Frame, sums_of
from mapdpm.search.observed import Observed, less_anchor
from mapdpm.selection.grid import Setting, changed_likelihood
from mapdpm.validation import check_number

_UNDETERMINED = (NormalGamma, "a0")  # it trades off against b0: a few clusters do not tell, and here it has no range

REACH = np.log(1e4)
"""Largest distance of a parameter from its start, in log."""

_TOLERANCE = 1e-7  # of a logarithm: about the root of rounding; a maximum looks flat below it
_GAIN = 1e-10  # relative, of the log joint: the last cycle gains less


def searched(family: Any) -> list[str]:
    """The parameters that are searched where the caller names none."""
    names = getattr(family, "widths", ())
    return [f"{name}_scale" for name in names if (family, name) != _UNDETERMINED]


def start_of(setting: Setting, family: type) -> Setting:
    """``setting``, checked; or the defaults of the family where it is empty."""
    if not setting:
        if not searched(family):
            msg = f"name the parameters of {named(family)} to choose: alphas=[{{'NAME_scale': 1.0}}]"
            if hasattr(family, "blocks"):
                msg = "the priors of the parts of Mixed are fitted with the clusters; choose alpha by method='map'"
            raise ValueError(msg)
        return dict.fromkeys(searched(family), 1.0)
    for name, value in setting.items():
        if not check_number(name, value) > 0.0:
            msg = f"{name} must be > 0 to be chosen by empirical Bayes, got {value}"
            raise ValueError(msg)
    return setting


def largest_marginal(observed: Observed, labels: Labels, start: Setting, current: Setting) -> Setting:
    """The setting of largest sum_k log p(x_{c_k}) for the fixed clusters ``labels``, by a search from ``current``.

    Each parameter stays within a factor of 10,000 of its ``start``. The settings change the likelihood of ``observed``.
    O(N D), and O(K D) for each value that is tried.
    """
    backend = resolve("auto", observed.shifted)
    frame = Frame(observed.shifted, None, observed.anchor, backend.name)
    clusters = sums_of(frame, observed.data, None, labels, int(labels.max()) + 1)

    def objective(setting: Setting) -> float:
        try:
            likelihood = changed_likelihood(observed.likelihood, setting, None)
        except ValueError:  # outside the domain of the parameter
            return -np.inf
        likelihood = less_anchor(likelihood, observed.anchor).for_data(observed.data)
        return log_evidence(backend, likelihood, observed.shifted, *clusters)

    names = list(current)
    centre = np.log([start[name] for name in names])
    box = Box(centre - REACH, centre + REACH, _TOLERANCE, _GAIN)

    def at(place: Vector) -> float:
        return objective(dict(zip(names, np.exp(place).tolist(), strict=True)))

    logs = largest(at, np.log([current[name] for name in names]), box)
    return dict(zip(names, np.exp(logs).tolist(), strict=True))


def warn_of_edges(start: Setting, current: Setting) -> None:
    """UserWarning for each parameter that ended at the edge of its range."""
    for name, value in current.items():
        if abs(np.log(value / start[name])) > REACH - 1e-3:
            msg = (
                f"{name} ended at {value:.3g}, the edge of the search range: these clusters do not determine it; "
                "leave it out of the grid and give the likelihood a value, or start elsewhere"
            )
            warnings.warn(msg, UserWarning, stacklevel=5)
