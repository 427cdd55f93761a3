"""A prior as wide as the data's own clusters: the largest evidence, along fits to a sample (decision 131)."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data import point_set
from mapdpm.data.copies import originals_of, without_copies
from mapdpm.hashing import mixed_bits
from mapdpm.likelihoods._shape import MOST_COLUMNS, diagonal_of, is_full
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.protocol import Labels, Vector, Weights
from mapdpm.search.fit import MANY, FitSettings, Fitted, WarmStart, fit
from mapdpm.search.moves.merge_split import Merge, Split
from mapdpm.search.observed import present_points, relative, relative_in_sample, taking_part, with_absent
from mapdpm.search.over_split import from_cells, is_free
from mapdpm.search.settings import Deadline
from mapdpm.search.widths import Widths, WidthsOfParts, family_to_fit, widths_of

_STARTS = (None, 1e-2, 1e-4)
"""Starts of the path: the empirical prior, and variances within clusters as shares of that of all points."""

_SAMPLE, _FEWER, _MANY = 4096, 1024, 10_000
"""How many points are searched first; fewer of many, so that the search takes no longer than the fit."""

_FEW, _LARGER = 8, 4  # points a cluster; then a sample so many times as large is searched
_STATES = 10  # points a row, on average: so many copies are what the data consist of
_ROUNDS = 5  # at most, from the best start on
_SAME = 0.1  # of a logarithm: a prior that has changed less is the last
_MORE_FITS = 3  # of all points, at most
_LEAST_GAIN = 1.0  # nats, of another start
_GAIN_OF_MORE = 5.0  # nats, of a start from cells on a sample, for which all points have one, too
_GAIN = 1e-3  # nats a point: so much better a prior of the clusters of all points has to be
_FEW_CLUSTERS, _A_DIMENSION = 50, 4  # of full covariances: at most, and of points a feature of each
_SWEEPS = 100  # in a row, where the fit itself makes none
_SALT = 26


def fit_with_prior(
    settings: FitSettings,
    points: Any,
    weights: Weights,
    warm: WarmStart | None = None,
    found: FittedPrior | None = None,
) -> Fitted:
    """``fit``, with the prior fitted first where ``settings.likelihood`` asks for that, and with ``relative`` weights.

    It may start from what the path to that prior has found. If the prior comes from a sample, or from points without
    their groups or their order, and another prior is far better for the clusters of all points, they are fitted again,
    while the log joint rises. Copies go to the clusters of the rows that they copy, except in passes, which hold no
    table. ``found`` is a prior that is known.
    """
    family = family_to_fit(settings.likelihood)
    if family is None:
        return fit(settings, points, weights, warm)
    found = fitted_prior(family, points, weights, settings, found)
    prior, weights = relative(settings.prior, weights)
    of_all, present = settings._replace(prior=prior), present_points(weights)
    taken, positive = taking_part(points, weights, present)
    is_free = settings.structure is None and isinstance(settings.init, str) and point_set(taken).n_points < MANY
    originals = originals_of(taken) if found.has_copies and is_free else None
    if originals is None or len(np.unique(originals)) * _STATES < len(originals):
        fitted = _of_all(of_all, found, points, weights)
    else:
        fitted = _of_rows(of_all, found, taken, positive, originals)
        fitted = fitted._replace(labels=with_absent(fitted.labels, weights, present), warm=None)  # type: ignore[arg-type]
    if prior is settings.prior:
        return fitted
    return fitted._replace(mixture=fitted.mixture._replace(prior=settings.prior))  # new points have the weight 1


def _of_all(settings: FitSettings, found: FittedPrior, points: Any, weights: Weights) -> Fitted:
    """The fit of all points, under the prior that was found or a better one."""
    deadline, place = settings.search.deadline, found.place
    under = _under(settings, found.prior, deadline)
    fitted = fit(under, points, weights)
    is_last = found.has_copies or (found.is_of_all and settings.structure is None)
    for _ in range(0 if is_last else _MORE_FITS):
        place, gain = found.widths.largest(fitted.mixture, fitted.backend, place, deadline.expired)
        if gain <= _GAIN * fitted.mixture.counts.sum():
            break
        other = _under(settings, found.widths.prior(place), deadline)
        again = fit(other, points, weights)
        if again.history[-1] <= fitted.history[-1]:
            break
        fitted, under = again, other
    return _better(fitted, found, under, points, weights, deadline)


def _of_rows(settings: FitSettings, found: FittedPrior, points: Any, weights: Weights, originals: Labels) -> Fitted:
    """The clusters of the rows without their copies, with the statistics of all; the history ends at J of all."""
    under = _under(settings, found.prior, settings.search.deadline)
    kept, places = np.unique(originals, return_inverse=True)
    rows, own = _rows(points, weights, kept)
    once = _better(fit(under, rows, own), found, under, rows, own, settings.search.deadline)
    still = under.search._replace(moves=(), max_sweeps=0, n_restarts=1, verbose=0, callback=None)
    start = once.labels[places]  # type: ignore[index]  # the points are here
    of_all = fit(under._replace(init=start, search=still), points, weights)
    history = [each - once.history[-1] + of_all.history[-1] for each in once.history]
    return of_all._replace(history=history, n_sweeps=once.n_sweeps, converged=once.converged)


def _better(
    fitted: Fitted, found: FittedPrior, under: FitSettings, points: Any, weights: Weights, deadline: Deadline
) -> Fitted:
    """``fitted``, or a fit from what the path has found, if its log joint is higher.

    A sample of all points gives its clusters as a start. Another one says whether cells are a better start. No callback
    is called.
    """
    present = present_points(weights)
    taken, positive = taking_part(points, weights, present)
    n_points = point_set(taken).n_points
    start = None
    if found.is_of_all and positive is None and len(found.labels) == n_points and under.structure is None:
        is_known = found.log_joint <= fitted.history[-1] + _LEAST_GAIN or not is_free(under)
        start = None if is_known else under._replace(init=found.labels)
    elif found.gain_of_cells > _GAIN_OF_MORE and not deadline.expired():
        start = from_cells(under, taken, len(fitted.mixture.counts), deadline.expired)
    if start is None:
        return fitted
    search = start.search._replace(n_restarts=1, verbose=0, callback=None)
    other = fit(start._replace(search=search), taken, positive)
    assert other.labels is not None  # noqa: S101  (the points are here)
    if other.history[-1] <= fitted.history[-1]:
        return fitted
    return other._replace(labels=with_absent(other.labels, weights, present), warm=None)


class Sample(NamedTuple):
    """Points whose prior is fitted: some of all, without copies."""

    points: Any
    weights: Weights
    is_all: bool
    """Whether they are all points, but for copies."""
    has_copies: bool = False
    """Whether copies were left out."""
    labels: Labels | None = None
    """Clusters of them with diagonal covariances, where full ones are searched; None where they are not known."""

    @property
    def n_points(self) -> int:
        """How many there are."""
        return point_set(self.points).n_points


class FittedPrior(NamedTuple):
    """The prior of largest log joint, its place among the widths of the family, and what was found on the way."""

    prior: Any
    widths: Widths | WidthsOfParts
    place: Vector
    log_joint: float
    """Of the sample, with the clusters below."""
    labels: Labels
    """Of the sample."""
    n_clusters: int
    is_of_all: bool
    """Whether the sample is all points."""
    has_copies: bool
    """Whether copies were left out: the clusters of all points would say that they are narrower."""
    gain_of_cells: float
    """By how many nats a start from cells was better than others."""

    def is_enough(self, n: int) -> bool:
        """Whether a sample of ``n`` points has enough of each cluster."""
        return self.is_of_all or self.n_clusters * _FEW <= n


def fitted_prior(
    family: Any, points: Any, weights: Weights, settings: FitSettings, known: FittedPrior | None = None
) -> FittedPrior:
    """The prior of ``family`` under which log p(x, z) is largest, with clusters z that are found under it.

    The path: fits to a sample of ``points``, under the empirical prior and under two of narrower clusters. Each is
    followed by the parameters of largest evidence for its clusters, and the largest joint wins. From there, fits and
    parameters alternate while the joint rises (docs/maths.md, section 26). ``settings`` say the prior of partitions,
    ``max_clusters`` and the backend; the path has its own seed. It costs four to eight fits to the sample.
    """
    deadline = settings.search.deadline.of_sample()
    n, found = first_size(points), known
    while True:
        if found is not None:
            if found.is_enough(n) or deadline.expired():
                return found
            n *= _LARGER
        found = prior_of_sample(family, points, weights, settings, sampled(points, weights, n), deadline, found)


def first_size(points: Any) -> int:
    """How many points the first sample has."""
    return _SAMPLE if point_set(points).n_points < _MANY else _FEWER


def sampled(points: Any, weights: Weights, n: int) -> Sample:
    """``n`` points with their weights: those of the smallest hashes, in order, less copies."""
    points, weights = taking_part(points, weights, present_points(weights))
    n_points = point_set(points).n_points
    is_all = n >= n_points
    if not is_all:
        chosen = np.sort(np.argpartition(mixed_bits(np.arange(n_points), _SALT), n)[:n])
        points, weights = _rows(points, weights, chosen)
    kept = without_copies(points)
    if kept is not None:
        points, weights = _rows(points, weights, kept)
    return Sample(points, weights, is_all, kept is not None)


def prior_of_sample(
    family: Any,
    points: Any,
    weights: Weights,
    settings: FitSettings,
    sample: Sample,
    deadline: Deadline,
    known: FittedPrior | None = None,
) -> FittedPrior:
    """``fitted_prior``, from fits to this ``sample`` of the points; the path begins at a prior that is ``known``."""
    taken, own = taking_part(points, weights, present_points(weights))
    own = relative(settings.prior, own)[1]
    whole = empirical_prior(family, *_with_values(taken, own), settings.missing)
    widths = widths_of(family, whole.for_data(taken))
    prior, kept = relative_in_sample(settings.prior, sample.weights)
    search = settings.search._replace(
        moves=(Merge, Split),
        n_restarts=1,
        max_sweeps=settings.search.max_sweeps or _SWEEPS,
        n_jobs=1,
        random_state=None,
        verbose=0,
        callback=None,
    )
    init = "single" if isinstance(settings.init, str) and settings.init == "single" else "sequential"
    share = 1.0 if sample.is_all else sample.n_points / point_set(taken).n_points
    settings = settings._replace(init=init, search=search, structure=None, prior=prior.of_sample(share))
    starts = [widths.at(width) for width in _STARTS] if known is None else [known.place]
    labels = sample.labels
    if is_full(whole) and known is None:
        diagonal = diagonal_of(family)
        if labels is None and not is_full(diagonal):
            labels = prior_of_sample(diagonal, points, weights, settings, sample, deadline).labels
        # each merger costs O(D^3), and a narrow start would have a cluster for each point
        D, K = point_set(taken).n_features, 0 if labels is None else int(labels.max()) + 1
        most = max(_FEW_CLUSTERS, _A_DIMENSION * sample.n_points // D, K)
        settings = settings._replace(max_clusters=min(most, settings.max_clusters or most))
        starts = [] if D > MOST_COLUMNS and labels is not None and labels.any() else starts
    best = _followed(_Path(widths, sample.points, kept, settings, deadline), starts, labels)
    clusters, of_sample = (best.labels, best.n_clusters), (sample.is_all, sample.has_copies)
    prior = widths.prior(best.place)
    return FittedPrior(prior, widths, best.place, best.log_joint, *clusters, *of_sample, best.gain_of_cells)


class _Step(NamedTuple):
    """The place of largest evidence for the clusters of a fit, their log joint there, and the fit as a start."""

    log_joint: float
    place: Vector
    n_clusters: int
    labels: Labels
    warm: WarmStart | None
    gain_of_cells: float = 0.0


class _Path(NamedTuple):
    """Fits to a sample, each followed by the place of largest evidence."""

    widths: Widths | WidthsOfParts
    sample: Any
    weights: Weights
    settings: FitSettings
    deadline: Deadline

    def step(self, place: Vector, warm: WarmStart | None = None) -> _Step:
        """A fit under the prior of ``place``, and then a better place."""
        settings = _under(self.settings, self.widths.prior(place), self.deadline)
        return self._better_place(fit(settings, self.sample, self.weights, warm), place)

    def step_from(self, labels: Labels) -> _Step:
        """A fit from these clusters, under the prior that is best for them."""
        place = self.widths.at(None)
        still = _under(self.settings, self.widths.prior(place), self.deadline)._replace(init=labels)
        still = still._replace(search=still.search._replace(moves=(), max_sweeps=0))
        place = self._better_place(fit(still, self.sample, self.weights), place).place
        settings = _under(self.settings, self.widths.prior(place), self.deadline)._replace(init=labels)
        return self._better_place(fit(settings, self.sample, self.weights), place)

    def step_from_cells(self, best: _Step) -> _Step:
        """The same at the place of ``best``, from cells finer than its clusters; itself where there are none."""
        settings = _under(self.settings, self.widths.prior(best.place), self.deadline)
        start = from_cells(settings, self.sample, best.n_clusters, self.deadline.expired)
        if start is None:
            return best
        return self._better_place(fit(start, self.sample, self.weights), best.place)

    def _better_place(self, fitted: Fitted, place: Vector) -> _Step:
        place, gain = self.widths.largest(fitted.mixture, fitted.backend, place, self.deadline.expired)
        assert fitted.labels is not None  # noqa: S101  (the points are here)
        return _Step(fitted.history[-1] + gain, place, len(fitted.mixture.counts), fitted.labels, fitted.warm)


def _followed(path: _Path, starts: list[Vector], labels: Labels | None = None) -> _Step:
    """The step of largest joint, from the best of ``starts`` and of clusters on."""
    begun = [functools.partial(path.step, place) for place in starts]
    if labels is not None and labels.any():
        begun.append(functools.partial(path.step_from, labels))
    best = begun[0]()
    for step in begun[1:]:
        if not path.deadline.expired():
            best = max(best, step(), key=_joint)
    best = _in_turn(path, best)
    if path.deadline.expired():
        return best
    other = path.step_from_cells(best)
    gain = other.log_joint - best.log_joint
    return _in_turn(path, other)._replace(gain_of_cells=gain) if gain > _LEAST_GAIN else best


def _in_turn(path: _Path, best: _Step) -> _Step:
    """Fits and places in turn, while the joint rises."""
    for _ in range(_ROUNDS):
        if path.deadline.expired():
            break
        before, best = best, max(best, path.step(best.place, best.warm), key=_joint)
        if np.abs(best.place - before.place).max() <= _SAME:
            break
    return best


def _joint(step: _Step) -> float:
    return step.log_joint


def _under(settings: FitSettings, prior: Any, deadline: Deadline) -> FitSettings:
    """``settings`` with this prior, in the time that is left."""
    return settings._replace(likelihood=prior, search=settings.search._replace(deadline=deadline))


def _with_values(points: Any, weights: Weights) -> tuple[Any, Weights]:
    """The points that have a value in these columns: those of others may be in columns that are not here."""
    if not isinstance(points, np.ndarray) or not (empty := np.isnan(points).all(axis=1)).any():
        return points, weights
    return _rows(points, weights, np.flatnonzero(~empty))


def _rows(points: Any, weights: Weights, chosen: Labels) -> tuple[Any, Weights]:
    return point_set(points).rows(chosen), None if weights is None else weights[chosen]
