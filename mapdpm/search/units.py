"""Columns that are relevant together, each as a part of a product: its gain by clusters over one of all points."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends import resolve
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._restricted import as_table, joined, restricted, restricted_points
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.partition_priors import DirichletProcess
from mapdpm.protocol import Labels, Model, Vector, Weights
from mapdpm.search.alone import gains_alone
from mapdpm.search.ascent import NEVER
from mapdpm.search.observed import Observed, observed
from mapdpm.search.widths import WidthsOfParts, family_to_fit
from mapdpm.state import Mixture, empty, mixture_of

Mask = NDArray[np.bool_]

ENOUGH = 2.0
"""Nats that a relevant column gains: p(R) asks for less where most are relevant, and chance gives more."""

_PRIOR = DirichletProcess(1.0)


class Units:
    """The units of a problem: the columns of each, and what each is worth as one cluster of all points."""

    def __init__(
        self,
        likelihood: Any,
        columns: list[Labels],
        points: Any,
        weights: Weights,
        missing: str,
        expired: Callable[[], bool] = NEVER,
    ) -> None:
        """``columns`` of each; all ``points`` take part. Where time is up, all keep the prior of the points."""
        self.columns, self.weights, self._missing = columns, weights, missing
        self._expired = expired
        is_open = family_to_fit(likelihood) is not None
        whole = empirical_prior(likelihood, points, weights, missing) if is_open else likelihood
        self.prior = whole.for_data(points)
        given = [restricted(likelihood, own) for own in columns]
        priors = [restricted(self.prior, own) for own in columns]
        self._n_parts = [len(joined([each], [own]).blocks) for each, own in zip(priors, columns, strict=True)]
        self._first_parts = np.cumsum([0, *self._n_parts])[:-1]
        self._table = as_table(restricted_points(points, np.concatenate(columns)))
        self._seen = observed(joined(priors, columns), self._table, weights, missing)
        self._backend = resolve("auto", self._seen.shifted)
        self._given = joined(given, columns)
        self._widths = WidthsOfParts(self._given, self._seen.likelihood)
        one = np.zeros(self.n_points, dtype=np.int64)
        self._last, (self.together, self._place) = one, self._evidence(one)
        self._gains = np.zeros(len(columns))

    @property
    def n_points(self) -> int:
        """How many points there are."""
        return self._table.n_points

    def weight(self) -> float:
        """The weight of all points."""
        return float(self.n_points if self.weights is None else self.weights.sum())

    def gains(self, labels: Labels) -> Vector:
        """What each unit gains by these clusters, in nats, over one of all points; each under its best prior.

        Where time is up before, clusters keep the prior of the points, and it may be more.
        """
        if not np.array_equal(labels, self._last):
            self._last, self._gains = labels, self._evidence(labels)[0] - self.together
        return self._gains

    def gains_alone(self) -> Vector:
        """What each unit gains by clusters of its own, those of one column; in nats."""
        return np.add.reduceat(gains_alone(self._seen.shifted, self._seen.data), self._first_parts)

    @functools.cached_property
    def certain(self) -> Vector:
        """The worth of each unit as one cluster whose prior may know its mean and variance; in nats."""
        widths = WidthsOfParts(self._given, self._seen.likelihood, is_certain=True)
        prior = widths.prior(widths.certain())
        seen = observed(prior, self._table, self.weights, self._missing)
        one = self._clusters(np.zeros(self.n_points, dtype=np.int64), seen)
        return self._best_of(one, WidthsOfParts(self._given, prior, is_certain=True))[0]

    def log_joint(self, log_joint: float, relevant: Mask) -> float:
        """J(z, R), less log p(R) of all units, from the log joint of the relevant ones."""
        return log_joint + float(self.together[~relevant].sum()) + log_prior_of_set(relevant)

    def rest(self, relevant: Mask, columns: Labels) -> float:
        """The same without the log joint, that of a mixture that reads ``columns``."""
        return float(self.together[self._apart(columns)].sum()) + log_prior_of_set(relevant)

    def others(self, columns: Labels) -> Labels:
        """The columns of the units that have none of ``columns``."""
        away = itertools.compress(self.columns, self._apart(columns))
        return np.concatenate([np.empty(0, dtype=np.int64), *away])

    def background(self, columns: Labels) -> Mixture | None:
        """One cluster of all points in ``others``, each unit under the prior of its own; None without others."""
        others = self._apart(columns)
        if not others.any():
            return None
        whole = self._widths.prior(self._place)
        parts = np.repeat(others, self._n_parts)
        likelihood = whole.of_blocks(tuple(itertools.compress(whole.blocks, parts)))
        at = np.concatenate([np.arange(s.start, s.stop) for s in itertools.compress(whole.slices(), parts)])
        seen = observed(likelihood, restricted_points(self._table, at), self.weights, self._missing)
        one = self._clusters(np.zeros(self.n_points, dtype=np.int64), seen)
        return mixture_of(one.likelihood, _PRIOR, one.anchor, one.counts, one.statistics)

    def clusters(self, labels: Labels) -> tuple[Mixture, Labels, Vector | None]:
        """The clusters in the columns of all units, which columns these are, and their steps."""
        return self._clusters(labels, self._seen), np.concatenate(self.columns), steps_of(self._seen.likelihood)

    def _apart(self, columns: Labels) -> Mask:
        taken = np.isin(np.concatenate(self.columns), columns)
        return ~np.logical_or.reduceat(taken, np.cumsum([0, *map(len, self.columns)])[:-1])

    def _clusters(self, labels: Labels, seen: Observed) -> Mixture:
        """Clusters of the points, as ``seen`` describes them: statistics, with constants for points of the fit."""
        state = empty(seen.shifted, 0, int(labels.max()) + 2)._replace(labels=labels)
        self._backend.statistics(Model(seen.shifted, _PRIOR, seen.data, self.weights), state)
        return Mixture(seen.shifted, _PRIOR, seen.anchor, state)

    def _evidence(self, labels: Labels) -> tuple[Vector, Vector]:
        """sum_k L(c_k) of each unit, under the prior for which it is largest, or the one given; and its place."""
        return self._best_of(self._clusters(labels, self._seen), self._widths)

    def _best_of(self, clusters: Mixture, widths: WidthsOfParts) -> tuple[Vector, Vector]:
        parts, place = widths.evidence(clusters, self._backend.name, self._expired)
        return np.add.reduceat(parts, self._first_parts), place


def log_prior_of_set(relevant: Mask) -> float:
    """log p(R) less that of all units."""
    n, m = len(relevant), int(relevant.sum())
    return lgamma(m + 1.0) + lgamma(n - m + 1.0) - lgamma(n + 1.0)


def gain_enough(gains: Vector, relevant: Mask) -> bool:
    """Whether each relevant unit gains what a relevant one must."""
    return bool(np.all(gains[relevant] > ENOUGH))


def best_set(gains: Vector) -> Mask:
    """The set R of largest sum of gains + log p(R)."""
    order = np.argsort(-gains, kind="stable")
    sets = np.zeros((len(gains) + 1, len(gains)), dtype=bool)
    for m, unit in enumerate(order):
        sets[m + 1 :, unit] = True
    values = [float(gains[each].sum()) + log_prior_of_set(each) for each in sets]
    best: Mask = sets[int(np.argmax(values))] & (gains > ENOUGH)
    return best
