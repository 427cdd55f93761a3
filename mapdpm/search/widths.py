"""The parameters of a prior that say how wide clusters are: their ranges, and those of largest evidence for clusters.

A place in the search is the logarithm of each parameter, as a multiple of that of the family's empirical prior.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.backends import BACKENDS, evidence
from mapdpm.backends.evidence import Box
from mapdpm.likelihoods import FAMILIES, NormalGamma
from mapdpm.names import AUTO
from mapdpm.protocol import LARGEST, SMALLEST, Vector
from mapdpm.search.observed import less_anchor
from mapdpm.state import Mixture

_TOLERANCE = 0.03  # of a logarithm: the evidence is flat there
_GAIN_OF_CYCLE = 1e-5  # relative, of the evidence


def family_to_fit(likelihood: Any) -> Any:
    """The family whose prior is to be fitted, where ``likelihood`` asks for that; else None."""
    if isinstance(likelihood, str):
        if likelihood != AUTO:
            msg = f"likelihood must be {AUTO!r}, None, a family, or one with its prior, got {likelihood!r}"
            raise ValueError(msg)
        return NormalGamma
    if not isinstance(likelihood, type):
        return None
    if not getattr(likelihood, "widths", None):
        known = ", ".join(family.__name__ for family in FAMILIES if family.widths)
        msg = f"there is no rule to fit the prior of {likelihood.__name__}: give one with its prior, or one of {known}"
        raise ValueError(msg)
    return likelihood


class Widths:
    """The parameters of a family that are fitted, from those of its ``empirical`` prior on."""

    def __init__(self, empirical: Any) -> None:
        self._empirical = empirical
        self._rule = empirical.widths
        ranges = [self._range(name) for name in self._rule]
        low, high = np.array([[math.log(ends[side]) for ends in ranges] for side in (0, 1)])
        self._widths = evidence.Widths(empirical, tuple(self._rule), Box(low, high, _TOLERANCE, _GAIN_OF_CYCLE))

    def _range(self, name: str) -> tuple[float, float]:
        """The range of the multiple, which keeps every entry within what a parameter may be."""
        rule, unit = self._rule[name], self._unit(name)
        entries = np.atleast_1d(getattr(self._empirical, name))
        entries = entries[entries > 0.0]  # a matrix has zeros beside its diagonal
        return max(rule.low / unit, SMALLEST / entries.min()), min(rule.high / unit, LARGEST / entries.max())

    def _unit(self, name: str) -> float:
        return float(getattr(self._empirical, name)) if self._rule[name].absolute else 1.0

    def at(self, width: float | None) -> Vector:
        """The place where clusters have ``width`` times the variance of all points; None is that of the empirical."""
        if width is None:
            return np.zeros(len(self._rule))
        factors = [width / self._unit(name) if each.follows else 1.0 for name, each in self._rule.items()]
        return np.clip([math.log(factor) for factor in factors], *self._widths.box[:2])

    def prior(self, place: Vector) -> Any:
        """The prior of a place."""
        return self._empirical._make(self._widths.at(place))

    def largest(self, mixture: Mixture, backend: str, place: Vector) -> tuple[Vector, float]:
        """The place of largest evidence, sum_k log p(x_{c_k}), for the clusters of ``mixture``; and its gain.

        The gain is that on ``place``, from where the search begins. O(K D) for each place that is tried.
        """
        anchored = self._widths._replace(likelihood=less_anchor(self._widths.likelihood, mixture.anchor))
        return BACKENDS[backend].largest_evidence(mixture.likelihood, mixture.state, anchored, place)
