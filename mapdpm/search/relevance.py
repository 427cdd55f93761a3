"""Which columns carry clusters: the set R of columns and the partition z of largest J(z, R), maths section 35.

J(z, R) = log p(z) + sum_{d in R} sum_k L_d(c_k) + sum_{d not in R} L0_d(all points) + log p(R): a column that is not
relevant has one cluster of all points, under a prior of its own. Sets of columns have the probability p(R) = 1 / ((D +
1) C(D, |R|)). Given z, the best R is found column by column; given R, z is that of a fit to |R| columns. Both steps
raise J. A column that does not vary is never relevant (decision 159).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.backends import BACKENDS
from mapdpm.data import point_set
from mapdpm.likelihoods._completed import completed
from mapdpm.likelihoods._restricted import restricted, restricted_points, units_of
from mapdpm.likelihoods._shape import full_of, normal_columns
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.protocol import Labels, Matrix, Vector, Weights
from mapdpm.search.background import Relevance, constants_of
from mapdpm.search.exhaustive import MOST_POINTS
from mapdpm.search.fit import FitSettings, Fitted, WarmStart, fit
from mapdpm.search.fitted_prior import (
    FittedPrior,
    Sample,
    first_size,
    fit_with_prior,
    prior_of_sample,
    sampled,
)
from mapdpm.search.moves.merge_split import Merge, Split
from mapdpm.search.observed import fitting, present_points, relative, relative_in_sample, taking_part
from mapdpm.search.settings import Deadline
from mapdpm.search.shape import is_better, linked, may_be_full
from mapdpm.search.units import Mask, Units, best_set, gain_enough, log_prior_of_set
from mapdpm.search.widths import family_to_fit

_ROUNDS = 6
_CLEAR = 3.0  # nats that are no chance
_WEAK = 0.1  # of the median gain: without such a column others may have better clusters
_FEW_UNITS = 5  # of few points all sets are tried
_FAR = 8.0  # standard deviations of a column, which no normal column of points has


class _Found:
    """A set of units, the shape of clusters, J of the sample, and what was found there."""

    def __init__(
        self, relevant: Mask, log_joint: float, labels: Labels, prior: FittedPrior | None, *, is_full: bool = False
    ) -> None:
        self.relevant, self.log_joint, self.labels, self.prior = relevant, log_joint, labels, prior
        self.is_full = is_full


class _Search:
    """The search for the set of units, by fits to a sample; and the fits to all points."""

    def __init__(self, settings: FitSettings, points: Any, weights: Weights, columns: list[Labels]) -> None:
        self.settings, self.points, self.weights, self.columns = settings, points, weights, columns
        self.deadline = settings.search.deadline
        self.of_sample = self.deadline.of_sample()
        self.is_open = family_to_fit(settings.likelihood) is not None
        if self.is_open:
            self.sample = sampled(points, weights, first_size(points))
        else:
            self.sample = Sample(*taking_part(points, weights, present_points(weights)), is_all=True)
        self.units = self._units_of(self.sample.points, self.sample.weights, relative_in_sample)
        self._known: dict[tuple[bytes, bool], _Found] = {}
        self._diagonal: Labels | None = None

    def _units_of(self, points: Any, weights: Weights, scaled: Callable[[Any, Weights], tuple[Any, Weights]]) -> Units:
        if self.is_open:
            weights = scaled(self.settings.prior, weights)[1]
        settings = self.settings
        return Units(settings.likelihood, self.columns, points, weights, settings.missing, self.deadline.expired)

    def of_all(self) -> Units:
        """The units, of all points that take part."""
        taken, weights = taking_part(self.points, self.weights, present_points(self.weights))
        if self.sample.n_points == point_set(taken).n_points and (weights is None or not self.is_open):
            return self.units
        return self._units_of(taken, weights, relative)

    def columns_of(self, relevant: Mask) -> Labels:
        """The columns of some units; of all, where none is relevant."""
        chosen = relevant if relevant.any() else ~relevant
        return np.sort(np.concatenate(list(itertools.compress(self.columns, chosen))))

    def best(self) -> _Found:
        """The units that carry clusters; none where one cluster explains the sample as well."""
        found = self._best()
        if self._has_clusters(found):
            return found
        if not self.of_sample.expired() and self._has_clusters(other := self._climbed(self._of_wide_prior())):
            return other
        return self.at(np.zeros_like(found.relevant))

    def _of_wide_prior(self) -> Mask:
        """The units that the clusters of a wide prior make relevant: it hides none by a cluster for each point."""
        of_sample = self.settings.search._replace(deadline=self.of_sample)
        wide = _alone(self.settings._replace(likelihood=self.units.prior, init="sequential", search=of_sample))
        return best_set(self.units.gains(fit(wide, self.sample.points, self.units.weights).present_labels))

    def _has_clusters(self, found: _Found) -> bool:
        """Whether clusters are better than one cluster whose prior knows its mean and its variance.

        A fitted prior knows those of all points, and so does one with a cluster for each point, the more so the more
        columns there are (decision 166).
        """
        relevant, units = found.relevant, self.units
        if not self.is_open or not found.labels.any():
            return True
        partition = self.settings.prior.log_partition
        sizes = np.bincount(found.labels, units.weights).astype(float)
        gain = units.gains(found.labels)[relevant].sum() + log_prior_of_set(relevant)
        gain += partition(sizes) - partition(np.array([units.weight()]))
        n_parameters = sum(len(own) * (len(own) + 3) // 2 for own in self.columns)  # means, variances, covariances
        if gain > 0.5 * n_parameters * np.log1p(units.weight()):  # more than the price of them all
            return True
        return bool(gain > (units.certain - units.together)[relevant].sum())

    def _best(self) -> _Found:
        """From all units; from those that have clusters alone, gain much, or are nearly relevant."""
        n = len(self.columns)
        if self.sample.n_points <= MOST_POINTS and n <= _FEW_UNITS:
            sets = itertools.product((True, False), repeat=n)
            best = max((self.at(np.array(each)) for each in sets), key=_joint)
            return best if best.labels.any() else self.at(np.zeros(n, dtype=bool))
        best = self._climbed(np.ones(n, dtype=bool))
        if self.of_sample.expired():
            return best
        gains = self.units.gains(best.labels)
        strong = gains > _WEAK * np.median(gains[best.relevant] if best.relevant.any() else gains)
        if strong.all() and gains.min() > _CLEAR:
            return best
        alone = self.units.gains_alone()
        if np.any(alone > gains + _CLEAR):
            best = max(best, self._climbed(alone > _CLEAR), key=self._worth)
        if strong.any() and not self.of_sample.expired():
            best = max(best, self._climbed(strong), key=self._worth_without)
        if self.of_sample.expired():
            return best
        nearly = best.relevant | (self.units.gains(best.labels) > 0.0)
        return max(best, self._climbed(nearly), key=self._worth)

    def _climbed(self, relevant: Mask) -> _Found:
        """The best of a fit, the set of units that its clusters make relevant, and so on in turn."""
        best = found = self.at(relevant)
        for _ in range(_ROUNDS):
            if self.of_sample.expired():
                break
            wanted = best_set(self.units.gains(found.labels))
            if np.array_equal(wanted, found.relevant):
                break
            found = self.at(wanted)
            if best.labels.any() and self._worth(found) <= self._worth(best):
                break
            best = found
        return best

    def _worth(self, found: _Found) -> tuple[bool, float]:
        """J, and before it whether each relevant unit gains enough."""
        return gain_enough(self.units.gains(found.labels), found.relevant), found.log_joint

    def _worth_without(self, found: _Found) -> tuple[bool, float]:
        """``_worth``, less what units gain that are left out: the others must gain more without them."""
        gains = self.units.gains(found.labels)
        enough, log_joint = self._worth(found)
        return enough, log_joint - float(gains[best_set(gains) & ~found.relevant].sum())

    def shaped(self, found: _Found) -> _Found:
        """``found``, or what is better: full covariances of the columns that carry clusters, or of all linked ones."""
        self._diagonal, relevant = found.labels, found.relevant
        found = self._or_full(found, relevant)
        return self._or_full(found, relevant | self._linked_units(found.labels))

    def _or_full(self, found: _Found, relevant: Mask) -> _Found:
        """``found``, or full covariances of these units where they are better."""
        if not self._can_be_full(relevant) or self.of_sample.expired():
            return found
        full = self.at(relevant, is_full=True)
        n = 0 if found.is_full else self.sample.n_points
        return full if is_better(full.log_joint, found.log_joint, n) else found

    def with_far_values(self, found: _Found) -> _Found:
        """``found``, and the units of numbers with values far from the others: a sample may miss a rare cluster."""
        table = getattr(self.points, "array", self.points)
        have_far = np.array([bool(_have_far(table[:, own]).any()) for own in self.columns])
        return self.at(found.relevant | (have_far & self._normal_units()), is_full=found.is_full)

    def _normal_units(self) -> Mask:
        normal = normal_columns(self.settings.likelihood, point_set(self.points).n_features)
        return np.array([bool(normal[own].all()) for own in self.columns])

    def _linked_units(self, labels: Labels) -> Mask:
        """The normal units whose columns correlate with those of another."""
        normal = self._normal_units()
        if self._can_be_full(normal):
            at = np.flatnonzero(normal)
            own = np.concatenate([self.columns[unit] for unit in at.tolist()])
            table = getattr(self.sample.points, "array", self.sample.points)
            normal[at] = linked(table[:, own], self.sample.weights, labels)
        return normal

    def _can_be_full(self, relevant: Mask) -> bool:
        columns = self.columns_of(relevant)
        own = restricted(self.settings.likelihood, columns)
        return bool(relevant.any()) and may_be_full(self.settings, own, len(columns))

    def at(self, relevant: Mask, *, is_full: bool = False) -> _Found:
        key = relevant.tobytes(), is_full
        if key not in self._known:
            self._known[key] = self._of_sample(relevant, is_full=is_full)
        return self._known[key]

    def _of_sample(self, relevant: Mask, *, is_full: bool) -> _Found:
        """A fit to the sample, of these units."""
        if not relevant.any():
            joint = self.settings.prior.log_partition(np.array([self.units.weight()]))
            labels = np.zeros(self.sample.n_points, dtype=np.int64)
            return _Found(relevant, self.units.log_joint(joint, relevant), labels, None)
        settings, columns = self._of(relevant, self.of_sample, is_full=is_full)
        points, weights = restricted_points(self.points, columns), self.weights
        sample = self.sample._replace(points=restricted_points(self.sample.points, columns))
        family = family_to_fit(settings.likelihood)
        if family is not None:
            sample = sample._replace(labels=self._diagonal if is_full else None)
            prior = prior_of_sample(family, points, weights, settings, sample, self.of_sample)
            log_joint = self.units.log_joint(prior.log_joint, relevant)
            return _Found(relevant, log_joint, prior.labels, prior, is_full=is_full)
        if self.is_open:  # these have their priors, and others not
            settings, points, weights = settings._replace(init="sequential"), sample.points, sample.weights
        fitted = fit(settings if settings.structure is None else _alone(settings), points, weights)
        return _Found(relevant, self.units.log_joint(fitted.history[-1], relevant), fitted.present_labels, None)

    def _of(self, relevant: Mask, deadline: Deadline, *, is_full: bool) -> tuple[FitSettings, Labels]:
        columns = self.columns_of(relevant)
        search = self.settings.search._replace(deadline=deadline)
        likelihood = restricted(self.settings.likelihood, columns)
        likelihood = full_of(likelihood) if is_full else likelihood
        return self.settings._replace(likelihood=likelihood, search=search), columns

    def fitted(self, found: _Found, warm: WarmStart | None) -> Fitted:
        """The fit to all points, of these units; its history is that of J."""
        settings, columns = self._of(found.relevant, self.deadline, is_full=found.is_full)
        points = restricted_points(self.points, columns)
        if not found.relevant.any():
            settings = settings._replace(max_clusters=1, init="single")
        return fit_with_prior(settings, points, self.weights, warm, found.prior)

    def whole(self, fitted: Fitted, found: _Found, units: Units, constants: Vector) -> Fitted:
        """``fitted`` with what it says of all columns: their relevance, the likelihood, J."""
        relevant, columns, labels = found.relevant, self.columns_of(found.relevant), fitted.present_labels
        gains = self._gains_together(fitted, relevant, units) if found.is_full else units.gains(labels)
        relevance = Relevance.of(units, labels, gains, relevant, columns, constants)
        likelihood = fitted.likelihood
        if not relevance.is_all:
            prior = self._full_prior() if found.is_full else units.prior
            likelihood = completed(prior, likelihood, columns) if self.is_open else prior
        rest = units.rest(relevant, columns)
        return fitted._replace(
            likelihood=likelihood, history=[each + rest for each in fitted.history], relevance=relevance, warm=None
        )

    def _gains_together(self, fitted: Fitted, relevant: Mask, units: Units) -> Vector:
        """The gain of each unit; columns with full covariances gain together, and have equal shares."""
        gains = units.gains(fitted.present_labels)
        mixture, backend = fitted.mixture, BACKENDS[fitted.backend]
        together = float(backend.log_marginals(mixture.likelihood, mixture.state).sum())
        block, others = relevant & self._normal_units(), relevant & ~self._normal_units()
        gained = together - units.together[relevant].sum() - gains[others].sum()
        return np.where(block, gained / block.sum(), gains)

    def _full_prior(self) -> Any:
        """The empirical prior of all columns, with full covariances."""
        taken, weights = taking_part(self.points, self.weights, present_points(self.weights))
        return empirical_prior(full_of(self.settings.likelihood), taken, weights).for_data(taken)


def _alone(settings: FitSettings) -> FitSettings:
    """The settings of a fit to points without their groups or their order, by moves that need none, unheard."""
    search = settings.search._replace(moves=(Merge, Split), n_restarts=1, verbose=0, callback=None)
    init = "sequential" if isinstance(settings.init, str) else settings.init
    return settings._replace(init=init, search=search, structure=None)


def _joint(found: _Found) -> float:
    return found.log_joint


def fit_relevant(
    settings: FitSettings,
    points: Any,
    weights: Weights,
    warm: WarmStart | None = None,
    constants: Vector | None = None,
) -> Fitted:
    """``fit_with_prior``, of the columns that carry clusters; ``Fitted.relevance`` says which those are.

    ``constants`` are those of ``constants_of``, where ``points`` are some of all.
    """
    taken, positive = taking_part(points, weights, present_points(weights))
    family = family_to_fit(settings.likelihood)
    likelihood = fitting(settings.likelihood, taken, positive, settings.missing) if family is None else family
    settings = settings._replace(likelihood=likelihood)
    constants = constants_of(taken) if constants is None else constants.copy()
    own = units_of(settings.likelihood, len(constants))
    columns = [each for each in own if np.isnan(constants[each]).any() and not np.isin(each, settings.left_out).any()]
    if not columns:
        return fit_with_prior(settings, points, weights, warm)
    constants[np.concatenate(columns)] = np.nan  # one that belongs to columns that vary is in their density
    search = _Search(settings, points, weights, columns)
    found = search.best()
    if settings.structure is not None and not found.relevant.any():  # groups or an order may show more
        found = search.at(np.ones(len(columns), dtype=bool))
    found = search.shaped(found)
    fitted = search.fitted(found, warm)
    search.of_sample = search.deadline
    every = search.of_all()
    is_last = search.sample.is_all and settings.structure is None
    wider = found if is_last or search.deadline.expired() else search.with_far_values(found)
    if wider is not found:
        other = search.fitted(wider, None)
        if every.log_joint(other.history[-1], wider.relevant) > every.log_joint(fitted.history[-1], found.relevant):
            fitted, found = other, wider
    for _ in range(0 if is_last or found.is_full else _ROUNDS):
        if search.deadline.expired():
            break
        wanted = best_set(every.gains(fitted.present_labels))
        if np.array_equal(wanted, found.relevant):
            break
        again = search.at(wanted)
        other = search.fitted(again, None)
        is_higher = every.log_joint(other.history[-1], wanted) > every.log_joint(fitted.history[-1], found.relevant)
        if not is_higher and gain_enough(every.gains(fitted.present_labels), found.relevant):
            break
        fitted, found = other, again
    return search.whole(fitted, found, every, constants)


def _have_far(columns: Matrix) -> Mask:
    """Whether each column has a value far from its mean."""
    return np.asarray(
        np.nanmax(np.abs(columns - np.nanmean(columns, axis=0)), axis=0) > _FAR * np.nanstd(columns, axis=0)
    )
