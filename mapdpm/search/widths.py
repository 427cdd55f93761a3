"""The parameters of a prior that say how wide clusters are: their ranges, and those of largest evidence for clusters.

A place in the search is the logarithm of each parameter, as a multiple of that of the family's empirical prior.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.backends import BACKENDS, evidence
from mapdpm.backends.evidence import Box, Climbed, Part
from mapdpm.likelihoods import FAMILIES, NormalGamma
from mapdpm.likelihoods._product import parts_of
from mapdpm.names import AUTO
from mapdpm.protocol import LARGEST, SMALLEST, Vector
from mapdpm.search.ascent import NEVER
from mapdpm.search.observed import less_anchor
from mapdpm.state import Mixture

_CERTAIN = 1e5  # points that a prior counts as, where it may know all
_TOLERANCE = 0.03  # of a logarithm: the evidence is flat there
_GAIN_OF_CYCLE = 1e-5  # relative, of the evidence
_MOST_OF_FULL = 512  # columns of full covariances, for a fit costs the cube of them


def asks_for_prior(likelihood: Any) -> bool:
    """Whether it is "auto", the class of a family, or a product with a part that is one."""
    return isinstance(likelihood, (str, type)) or getattr(likelihood, "is_open", False)


def family_to_fit(likelihood: Any) -> Any:
    """The family whose prior is to be fitted, where ``likelihood`` asks for that; else None."""
    if isinstance(likelihood, str):
        if likelihood != AUTO:
            msg = f"likelihood must be {AUTO!r}, None, a family, or one with its prior, got {likelihood!r}"
            raise ValueError(msg)
        return NormalGamma
    if not isinstance(likelihood, type):
        return likelihood if asks_for_prior(likelihood) else None
    if not getattr(likelihood, "widths", None):
        known = ", ".join(family.__name__ for family in FAMILIES if family.widths)
        msg = f"there is no rule to fit the prior of {likelihood.__name__}: give one with its prior, or one of {known}"
        raise ValueError(msg)
    return likelihood


class Widths:
    """The parameters of a family that are fitted, from those of its ``empirical`` prior on.

    With ``is_certain`` a prior may know the mean and the variance, as that of one cluster can: what it counts as has a
    far limit.
    """

    def __init__(self, empirical: Any, *, is_certain: bool = False) -> None:
        self._empirical, self._is_certain = empirical, is_certain
        self._rule = empirical.widths
        if any(rule.above_dimension for rule in self._rule.values()) and len(empirical.m0) > _MOST_OF_FULL:
            msg = (
                f"a fit of full covariances costs the cube of the number of columns, and {len(empirical.m0)} are more "
                f"than {_MOST_OF_FULL}: use covariance='diagonal' (or NormalGamma), or the first principal components"
            )
            raise ValueError(msg)
        ranges = [self._range(name) for name in self._rule]
        low, high = np.array([[math.log(ends[side]) for ends in ranges] for side in (0, 1)])
        self._widths = evidence.Widths(empirical, tuple(self._rule), Box(low, high, _TOLERANCE, _GAIN_OF_CYCLE))
        self._anchor, self._anchored = np.empty(0), self._widths

    def _range(self, name: str) -> tuple[float, float]:
        """The range of the multiple, which keeps every entry within what a parameter may be."""
        rule, unit = self._rule[name], self._unit(name)
        entries = np.atleast_1d(getattr(self._empirical, name))
        entries = entries[entries > 0.0]  # a matrix has zeros beside its diagonal
        most = _CERTAIN if self._is_certain and rule.absolute else rule.high
        low, high = rule.low / unit, most / unit
        if rule.above_dimension:
            D = len(self._empirical.m0)
            low, high = (rule.low + D - 1.0) / unit, (most * D + D - 1.0) / unit
        return max(low, SMALLEST / entries.min()), min(high, LARGEST / entries.max())

    def _unit(self, name: str) -> float:
        return float(getattr(self._empirical, name)) if self._rule[name].absolute else 1.0

    def at(self, width: float | None) -> Vector:
        """The place where clusters have ``width`` times the variance of all points; None is that of the empirical."""
        if width is None:
            return np.zeros(len(self._rule))
        factors = [width / self._unit(name) if each.follows else 1.0 for name, each in self._rule.items()]
        return np.clip([math.log(factor) for factor in factors], *self._widths.box[:2])

    def certain(self) -> Vector:
        """The place of a prior that knows the mean and the variance of all points."""
        rules = self._rule.items()
        if not any(each.absolute for _, each in rules):
            return np.zeros(len(self._rule))
        factors = [_CERTAIN / (self._unit(name) if each.absolute else 1.0) for name, each in rules]
        return np.clip(np.log(factors), *self._widths.box[:2])

    def prior(self, place: Vector) -> Any:
        """The prior of a place."""
        return self._empirical._make(self._widths.at(place))

    def largest(
        self, mixture: Mixture, backend: str, place: Vector, expired: Callable[[], bool] = NEVER
    ) -> tuple[Vector, float]:
        """The place of largest evidence, sum_k log p(x_{c_k}), for the clusters of ``mixture``; and its gain.

        The gain is that on ``place``, from where the search begins, and where it ends if time is up. O(K D) for each
        place that is tried.
        """
        part = Part(mixture.likelihood, slice(0, None), self.anchored(mixture.anchor), place)
        (found,) = BACKENDS[backend].largest_evidence(mixture.state, [part], expired)
        return found.place, found.gain

    def anchored(self, anchor: Vector) -> evidence.Widths:
        """The widths for points less ``anchor``."""
        # a search asks often for the same points, and checks take their time
        if not np.array_equal(self._anchor, anchor):
            likelihood = less_anchor(self._widths.likelihood, anchor)
            self._anchor, self._anchored = anchor, self._widths._replace(likelihood=likelihood)
        return self._anchored


class WidthsOfParts:
    """The same of a product: its evidence is a sum over the parts, so each part has a search of its own."""

    def __init__(self, given: Any, empirical: Any, *, is_certain: bool = False) -> None:
        """``given`` says by classes which parts are fitted; ``empirical`` has the priors where that begins."""
        self._empirical = empirical
        families = [block.family for block in empirical.blocks]
        fitted = [block.is_open for block in given.blocks]
        self._parts = [
            Widths(each, is_certain=is_certain) if fits and each.widths else None
            for each, fits in zip(families, fitted, strict=True)
        ]
        ends = np.cumsum([0, *(0 if part is None else len(part.at(None)) for part in self._parts)])
        self._slices = [slice(*pair) for pair in itertools.pairwise(ends.tolist())]

    def at(self, width: float | None) -> Vector:
        """The places of all parts, one after the other, as ``Widths.at``."""
        return np.concatenate([np.empty(0), *(part.at(width) for part in self._parts if part is not None)])

    def certain(self) -> Vector:
        """The places of all parts, one after the other, as ``Widths.certain``."""
        return np.concatenate([np.empty(0), *(part.certain() for part in self._parts if part is not None)])

    def prior(self, place: Vector) -> Any:
        """The prior of a place."""
        blocks = [
            block if part is None else block._replace(family=part.prior(place[own]))
            for block, part, own in zip(self._empirical.blocks, self._parts, self._slices, strict=True)
        ]
        return self._empirical.of_blocks(tuple(blocks))

    def largest(
        self, mixture: Mixture, backend: str, place: Vector, expired: Callable[[], bool] = NEVER
    ) -> tuple[Vector, float]:
        """As ``Widths.largest``: the best place of each part, and the sum of the gains."""
        found = self._climbed(mixture, backend, place, expired)
        return np.concatenate([each.place for each in found]), math.fsum(each.gain for each in found)

    def evidence(self, mixture: Mixture, backend: str, expired: Callable[[], bool] = NEVER) -> tuple[Vector, Vector]:
        """The largest evidence of each part, for the clusters of ``mixture``, and its place.

        ``mixture`` has the priors where the search begins, and those that are given; where time is up, the evidence is
        that under these.
        """
        found = self._climbed(mixture, backend, self.at(None), expired)
        return np.array([each.after for each in found]), np.concatenate([each.place for each in found])

    def _climbed(self, mixture: Mixture, backend: str, place: Vector, expired: Callable[[], bool]) -> list[Climbed]:
        """The best place of each part, by the backend where it knows the family, else by Python."""
        parts = [
            Part(family, row, None if widths is None else widths.anchored(mixture.anchor[columns]), place[own])
            for widths, own, (family, columns, row) in zip(
                self._parts, self._slices, parts_of(mixture.likelihood), strict=True
            )
        ]
        found: list[Climbed] = []
        for is_known, some in itertools.groupby(parts, lambda part: BACKENDS[backend].implements(part.made_by)):
            able = BACKENDS[backend if is_known else "python"]
            found += able.largest_evidence(mixture.state, list(some), expired)
        return found


def widths_of(given: Any, empirical: Any) -> Widths | WidthsOfParts:
    """The widths of a family or of a product, ``given`` as the user gave it, from its ``empirical`` prior on."""
    return WidthsOfParts(given, empirical) if hasattr(empirical, "blocks") else Widths(empirical)
