"""A prior as wide as the data's own clusters: the largest evidence, along fits to a sample (decision 131)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.data import point_set
from mapdpm.hashing import mixed_bits
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.protocol import Vector, Weights
from mapdpm.search.fit import FitSettings, Fitted, WarmStart, fit
from mapdpm.search.moves.merge_split import Merge, Split
from mapdpm.search.observed import present_points, taking_part
from mapdpm.search.settings import Deadline
from mapdpm.search.widths import Widths, WidthsOfParts, family_to_fit, widths_of

_STARTS = (None, 1e-2, 1e-4)
"""Starts of the path: the empirical prior, and variances within clusters as shares of that of all points."""

_SAMPLE, _FEWER, _MANY = 4096, 1024, 10_000
"""How many points are searched first; fewer of many, so that the search takes no longer than the fit."""

_FEW = 8  # points a cluster; then a larger sample is searched
_LARGER = 4
_ROUNDS = 5  # at most, from the best start on
_SAME = 0.1  # of a logarithm: a prior that has changed less is the last
_MORE_FITS = 3  # of all points, at most
_GAIN = 1e-3  # nats a point: so much better a prior of the clusters of all points has to be
_SWEEPS = 100  # in a row, where the fit itself makes none
_SHARE_OF_TIME = 0.5  # of a time limit, for the path
_SALT = 26


def fit_with_prior(settings: FitSettings, points: Any, weights: Weights, warm: WarmStart | None = None) -> Fitted:
    """``fit``, with the prior fitted first where ``settings.likelihood`` asks for that.

    Then the result is that of ``fit`` with the prior that was found. If that comes from a sample, or from points
    without their groups or their order, and another prior is far better for the clusters of all points, they are fitted
    again, while the log joint rises.
    """
    family = family_to_fit(settings.likelihood)
    if family is None:
        return fit(settings, points, weights, warm)
    deadline = Deadline(settings.search.time_limit)
    found = fitted_prior(family, points, weights, settings)
    place = found.place
    fitted = fit(_under(settings, found.prior, deadline), points, weights)
    for _ in range(0 if found.share == 1.0 and settings.structure is None else _MORE_FITS):
        place, gain = found.widths.largest(fitted.mixture, fitted.backend, place)
        if gain <= _GAIN * fitted.mixture.counts.sum():
            break
        again = fit(_under(settings, found.widths.prior(place), deadline), points, weights)
        if again.history[-1] <= fitted.history[-1]:
            break
        fitted = again
    return fitted


class FittedPrior(NamedTuple):
    """The prior of largest log joint, its place among the widths of the family, and the sample's share of points."""

    prior: Any
    widths: Widths | WidthsOfParts
    place: Vector
    share: float


def fitted_prior(family: Any, points: Any, weights: Weights, settings: FitSettings) -> FittedPrior:
    """The prior of ``family`` under which log p(x, z) is largest, with clusters z that are found under it.

    The path: fits to a sample of ``points``, under the empirical prior and under two of narrower clusters. Each is
    followed by the parameters of largest evidence for its clusters, and the largest joint wins. From there, fits and
    parameters alternate while the joint rises (docs/maths.md, section 26). ``settings`` say the prior of partitions,
    ``max_clusters`` and the backend; the path has its own seed. It costs four to eight fits to the sample.
    """
    points, weights = taking_part(points, weights, present_points(weights))
    n_points, limit = point_set(points).n_points, settings.search.time_limit
    widths = widths_of(family, empirical_prior(family, points, weights, settings.missing).for_data(points))
    deadline = Deadline(None if limit is None else _SHARE_OF_TIME * limit)
    n_sweeps = settings.search.max_sweeps or _SWEEPS
    search = settings.search._replace(
        moves=(Merge, Split), n_restarts=1, max_sweeps=n_sweeps, n_jobs=1, random_state=None, verbose=0, callback=None
    )
    init = "single" if isinstance(settings.init, str) and settings.init == "single" else "sequential"
    settings = settings._replace(init=init, search=search, structure=None)
    n = _SAMPLE if n_points < _MANY else _FEWER
    starts = [widths.at(width) for width in _STARTS]
    while True:
        sample, kept, share = _sampled(points, weights, n)
        of_sample = settings._replace(prior=settings.prior.of_sample(share))
        best = _followed(_Path(widths, sample, kept, of_sample, deadline), starts)
        if best.n_clusters * _FEW <= n or share == 1.0 or deadline.expired():
            return FittedPrior(widths.prior(best.place), widths, best.place, share)
        n, starts = n * _LARGER, [best.place]


class _Step(NamedTuple):
    """The place of largest evidence for the clusters of a fit, their log joint there, and the fit as a start."""

    log_joint: float
    place: Vector
    n_clusters: int
    warm: WarmStart | None


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
        fitted = fit(settings, self.sample, self.weights, warm)
        place, gain = self.widths.largest(fitted.mixture, fitted.backend, place)
        return _Step(fitted.history[-1] + gain, place, len(fitted.mixture.counts), fitted.warm)


def _followed(path: _Path, starts: list[Vector]) -> _Step:
    """The step of largest joint, from the best of ``starts`` on."""
    best = path.step(starts[0])
    for place in starts[1:]:
        if not path.deadline.expired():
            best = max(best, path.step(place), key=_joint)
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
    return settings._replace(likelihood=prior, search=settings.search._replace(time_limit=deadline.left()))


def _sampled(points: Any, weights: Weights, n: int) -> tuple[Any, Weights, float]:
    """``n`` points with their weights, and their share of all: those of the smallest hashes, in order."""
    n_points = point_set(points).n_points
    if n >= n_points:
        return points, weights, 1.0
    chosen = np.sort(np.argpartition(mixed_bits(np.arange(n_points), _SALT), n)[:n])
    return point_set(points).rows(chosen), None if weights is None else weights[chosen], n / n_points
