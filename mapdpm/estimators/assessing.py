"""Outliers of a table: how unusual points are, ranked among those of the fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.assessment import Assessment
from mapdpm.data import point_set
from mapdpm.estimators.background import expected_depths_of_others, have_new_values, log_densities_of_others
from mapdpm.estimators.calibration import Calibration, rare_clusters
from mapdpm.estimators.chunks import in_chunks
from mapdpm.estimators.grouping import GroupingMixture
from mapdpm.files.batch_models import Restored
from mapdpm.likelihoods._expected_depths import expected_depths
from mapdpm.protocol import Labels, Model, Vector, Weights
from mapdpm.search.leave_one_out import are_points_of_fit
from mapdpm.search.observed import relative
from mapdpm.search.widths import family_to_fit
from mapdpm.state import ClusterState, Mixture
from mapdpm.validation import check_number, check_weights, refuse_value

_MOST_POINTS = 16_384  # that calibrate


class _Densities(NamedTuple):
    """Log densities of points: of all and a new cluster, of those that are not rare, and of a new one alone.

    That without rare clusters ranks points: it is beyond ``expected_depths``.
    """

    of_all: Vector
    of_usual: Vector
    of_new: Vector


class AssessingMixture(GroupingMixture):
    """A fitted mixture that says how unusual points are."""

    discount: float
    _points_of_fit: Any = None
    _calibration: Calibration | None = None

    def assess(self, X: Any, sample_weight: Any = None) -> Assessment:
        """How unusual points are: ``id``, ``log_density``, ``novelty`` and ``surprise``, an array each.

        Where ``X`` (with ``sample_weight``) are the points of the fit, each is left out of its own cluster first, else
        outliers would make each other usual. ``id`` is that of ``predict``. ``log_density`` is that of
        ``score_samples``, in nats; ``novelty`` the probability of a new cluster. ``surprise`` is a tail probability:
        the share of ordinary points that are expected to be as unusual (maths, section 30), the rank of the density
        without rare clusters (a tenth of the points at most, in clusters below three quarters of the mean) among the
        points of all others. O(N K D); the first call ranks up to 16,384 points of the fit, which the model refers to
        (in memory, not in files and pickles).

        ValueError where these are not there: of a fit on Dask, and of a file from a device.

        Examples
        --------
        >>> import numpy as np
        >>> from mapdpm import MAPDPM
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> X[:9] += 7.0  # a knot
        >>> found = MAPDPM().fit(X).assess(X)
        >>> bool(found.surprise[:9].max() < 1e-4 < 1e-3 < found.surprise[9:].min())
        True
        """
        return self._assessed(self._read_to_score(X), sample_weight)[0]

    def log_surprises(self, X: Any) -> Vector:
        """The log of the surprise of each point, shape (N,): finite where the surprise is too small for a float."""
        return self._assessed(self._read_to_score(X), None)[1]

    def outlier_labels(self, rate: float = 0.05, X: Any = None) -> Labels:
        """1 for each point whose surprise is at most ``rate``, else 0; ``X`` None is the points of the fit.

        ``rate`` is the share of ordinary points that may be called outliers. ValueError without ``X`` where the points
        are not here any more, as in a model from a file.
        """
        self._check_fitted()
        if not 0.0 <= check_number("rate", rate) <= 1.0:
            refuse_value("rate must be between 0 and 1", rate)
        if X is not None:
            return (self.assess(X).surprise <= rate).astype(np.int64)
        if self._points_of_fit is None:
            msg = "the points of the fit are not here (a file, a pickle and a fit on Dask have none): give X"
            raise ValueError(msg)
        return (self._assessed(*self._points_of_fit)[0].surprise <= rate).astype(np.int64)

    def _assessed(self, points: Any, sample_weight: Any) -> tuple[Assessment, Vector]:
        """The assessment of points, and the log of their surprise."""
        weights = self._weights_of(check_weights(sample_weight, point_set(points).n_points, self.discount))
        labels = self.components_ if "labels_" in vars(self) else None
        is_own = labels is not None and are_points_of_fit(
            self._mixture_of_fit, self._backend, labels, self._clustered(points), weights
        )
        found = self._densities(points, labels if is_own else None, weights if is_own else None)
        calibration = self._calibrated(points if is_own else None, weights)
        novelty = np.exp(found.of_new - found.of_all)
        if self._relevance is not None:
            novelty[have_new_values(self._relevance, points)] = 1.0
        surprises = calibration.log_surprises(-found.of_usual, own=is_own)
        ids = self.labels_.copy() if is_own else self._named(self._clusters_of(points, novelty=False))
        densities = found.of_all if is_own else self._log_densities(points)
        return Assessment(ids, densities, novelty, np.exp(surprises)), surprises

    def _calibrated(self, points: Any = None, weights: Weights = None) -> Calibration:
        """The calibration; made now of ``points``, or of those of the fit, where there is none."""
        if self._calibration is None:
            if points is None and self._points_of_fit is not None:
                points, weights = self._points_of_fit[0], self._weights_of(self._points_of_fit[1])
            if points is None:
                msg = (
                    "this model does not know the points of its fit (a fit on Dask, or a file without them), which "
                    "surprises are ranked among: give it those first, assess(X of the fit)"
                )
                raise ValueError(msg)
            numbers = np.flatnonzero(self.components_ >= 0)
            if len(numbers) > _MOST_POINTS:
                numbers = np.sort(np.random.default_rng(0).choice(numbers, _MOST_POINTS, replace=False))
            labels = self.components_[numbers]
            own = None if weights is None else weights[numbers]
            found = self._densities(point_set(points).rows(numbers), labels, own)
            self._calibration = Calibration.of(-found.of_usual[~rare_clusters(self.weights_)[labels]])
        return self._calibration

    def _weights_of(self, weights: Weights) -> Weights:
        """The weights as the fit counts them: relative to their mean under a fitted prior."""
        return weights if family_to_fit(self.likelihood) is None else relative(self._mixture.prior, weights)[1]

    def _densities(self, points: Any, labels: Labels | None, weights: Weights) -> _Densities:
        """Densities of points, each without itself where ``labels`` say which cluster it is in."""
        mixture, backend = self._mixture_of_fit, self._backend
        usual = np.append(~rare_clusters(self.weights_), False)

        def of_chunk(model: Model, state: ClusterState, first: int) -> Any:
            n = point_set(model.data).n_points
            scores = np.empty((n, state.capacity))
            backend.score(model, state, scores)
            if labels is not None:
                part = slice(first, first + n)
                own = None if weights is None else weights[part]
                _leave_out(model._replace(weights=own), state, labels[part], backend, scores)
            of_usual = np.logaddexp.reduce(scores[:, usual], axis=1)
            of_usual = np.where(np.isfinite(of_usual), of_usual, scores[:, -1])  # a point that is all there is
            of_usual += expected_depths(model.likelihood, model.data)
            return np.stack([np.logaddexp.reduce(scores, axis=1), of_usual, scores[:, -1]], axis=1)

        found = in_chunks(self._clustered(points), mixture, self.n_jobs, of_chunk)
        if self._relevance is not None:
            found += log_densities_of_others(self._relevance, self._n_fitted, points, self.n_jobs)[:, None]
            found[:, 1] += expected_depths_of_others(self._relevance, points)
        return _Densities(*found.T)

    def _log_densities(self, points: Any) -> Vector:
        def of_chunk(backend: Any, model: Model, state: ClusterState) -> Vector:
            densities = np.empty(point_set(model.data).n_points)
            backend.log_densities(model, state, densities)
            return densities

        found: Vector = self._in_chunks(points, of_chunk)
        if self._relevance is not None:
            found += log_densities_of_others(self._relevance, self._n_fitted, points, self.n_jobs)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """State for pickle and copy: with the calibration, and without the points of the fit."""
        if self._points_of_fit is not None:
            self._calibrated()
        return super().__getstate__() | {"_points_of_fit": None}

    def _restore(self, mixture: Mixture, restored: Restored, extras: dict[str, Any]) -> None:
        super()._restore(mixture, restored, extras)
        if "depths" in extras:
            self._calibration = Calibration(extras["depths"], extras["above"].astype(np.int64))


def _leave_out(model: Model, state: ClusterState, labels: Labels, backend: Any, scores: Any) -> None:
    """Let ``scores`` of points be those of the mixture without the point; -1 is one that is in no cluster."""
    there = np.flatnonzero(labels >= 0)
    own = labels[there]
    weights = np.ones(len(there)) if model.weights is None else model.weights[there]
    model = model._replace(
        data=model.data if len(there) == len(labels) else point_set(model.data).rows(there),
        weights=None if model.weights is None else weights,
    )
    gains, prior = np.empty(len(there)), model.prior
    backend.left_out(model, state._replace(labels=own), gains)
    left = np.where(state.counts[own] == 1, 0.0, state.rows[own, 0] - weights)
    sizes, places = np.unique(left, return_inverse=True)
    logs = np.array([prior.log_existing(size, 1.0) if size > 0.0 else -np.inf for size in sizes.tolist()])
    total = float(state.rows[:-1, 0].sum())
    scores[there, own] = logs[places] + gains / weights + prior.log_normaliser(total, 1.0)
    rest, places = np.unique(total - weights, return_inverse=True)
    grown = [prior.log_normaliser(each, 1.0) - prior.log_normaliser(total, 1.0) for each in rest.tolist()]
    scores[there] += np.array(grown)[places][:, None]
