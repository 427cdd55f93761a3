"""Attributes that a fit sets: those of all estimators, and those of a mixture, which is pickled as a file's bytes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends import Backend, resolve
from mapdpm.compat import scikit_learn
from mapdpm.data import read_by
from mapdpm.data.columns import kinds_differ
from mapdpm.data.frames import Names, column_names
from mapdpm.data.table import Table
from mapdpm.estimators.base import Estimator
from mapdpm.estimators.covariances import covariances_of
from mapdpm.files import container
from mapdpm.files.batch_models import RESULTS, Restored
from mapdpm.files.families import has_format
from mapdpm.kinds.likelihood import Plan, read_columns
from mapdpm.likelihoods._as_given import of_users_columns
from mapdpm.likelihoods._parameters import RESOLUTION, steps_of
from mapdpm.likelihoods._restricted import has_columns, restricted_points
from mapdpm.likelihoods._rounded import with_resolution
from mapdpm.likelihoods._skipping import skips
from mapdpm.names import COVARIANCE, MISSING, RELEVANCE
from mapdpm.protocol import Labels, Likelihood, Matrix, Vector, Weights
from mapdpm.search.background import Relevance, moments_of
from mapdpm.search.fit import FitSettings, Fitted, WarmStart, fit
from mapdpm.search.relevance import fit_relevant
from mapdpm.search.shape import fit_shaped
from mapdpm.search.widths import asks_for_prior, family_to_fit
from mapdpm.state import Mixture


class FittedEstimator(Estimator):
    """An estimator whose fit sets labels and names of features."""

    def _remember(self, n_features: int, names: Names | None) -> None:
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):  # from an earlier fit
            del self.feature_names_in_

    def _set_labels(self, labels: Labels | None) -> None:
        """Set ``labels_``; None if the points are elsewhere, and then those of an earlier fit go."""
        if labels is not None:
            self.labels_ = labels
        elif "labels_" in vars(self):
            del self.labels_

    def _warn_unless(self, converged: bool) -> None:
        """Warn of a fit that ended early, unless the user asked for no sweep."""
        if not converged and getattr(self, "max_sweeps", True):
            scikit_learn.warn_of_early_end()


class PackedMixture(FittedEstimator):
    """A fitted mixture, for estimators that score by it; ``_kind`` is its kind of model file."""

    _kind: ClassVar[int]
    _mixture: Mixture
    likelihood: Any
    kinds: Any
    covariance: str
    relevance: str
    likelihood_: Any
    backend_: str
    n_clusters_: int
    cluster_sizes_: Labels
    means_: Matrix
    variances_: Matrix
    relevant_: NDArray[np.bool_]
    relevance_: Vector
    _relevance: Relevance | None = None
    labels_: Labels
    log_joint_: float
    history_: Vector
    n_sweeps_: int
    converged_: bool

    def __getstate__(self) -> dict[str, Any]:
        """State for pickle, copy and joblib: the mixture as the bytes of a model file, checked on reading."""
        state = dict(self.__dict__)
        mixture = state.get("_mixture")
        if mixture is not None and has_format(mixture.likelihood):
            state["_mixture"] = container.pack(mixture, {}, kind=self._kind)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state.get("_mixture"), bytes):
            self._mixture, _ = container.unpack(state["_mixture"], self._kind)

    def _restore(self, mixture: Mixture, restored: Restored, extras: dict[str, Any]) -> None:
        """Set the attributes of a fit that were read from a file; a file from a device has few."""
        self._adopt(mixture, restored.likelihood, resolve("auto", mixture.likelihood).name, restored.relevance)
        self._remember(len(self.relevant_), restored.names)
        for name in (*RESULTS, "history_"):
            if name in extras:
                setattr(self, name, extras[name])
        if "labels_" in extras:
            self.labels_ = extras["labels_"].astype(np.int64)

    def _take(self, fitted: Fitted, names: Names | None) -> None:
        """Set the attributes of a fit; ``names`` are those of the features."""
        self._adopt(fitted.mixture, fitted.likelihood, fitted.backend, fitted.relevance)
        self._remember(len(self.relevant_), names)
        self._set_labels(fitted.labels)
        self.log_joint_ = fitted.history[-1]
        self.history_ = np.array(fitted.history)
        self.n_sweeps_ = fitted.n_sweeps
        self.converged_ = fitted.converged
        self._warn_unless(fitted.converged)

    def _read_to_fit(
        self, X: Any, missing: str | None = None, sample_weight: Any = None
    ) -> tuple[Names | None, Any, Plan]:
        """The names of the columns of ``X``, its points in the form that the likelihood reads, and the likelihood."""
        names = None if type(X) is np.ndarray else column_names(X)
        likelihood, kinds = self.likelihood, self.kinds
        if _is_given(likelihood) and kinds is None and self.covariance == COVARIANCE[0]:
            return names, read_by(likelihood, X, missing), Plan(likelihood)
        if (kinds is not None or isinstance(likelihood, (str, type))) and not kinds_differ(X):
            checked = read_by(family_to_fit(likelihood) or likelihood, X, missing)
            X = checked if names is None else X
        looked = X
        if sample_weight is not None and isinstance(X, np.ndarray):
            positive = np.asarray(sample_weight) != 0  # the others take no part
            looked = X[positive] if positive.shape == (len(X),) and positive.any() else X
        is_read = isinstance(X, Table) and kinds is None
        plan = Plan(likelihood) if is_read else read_columns(likelihood, looked, kinds, self.covariance)
        family = family_to_fit(plan.likelihood) if asks_for_prior(plan.likelihood) else plan.likelihood
        points = read_by(family, X, missing)
        return names, points, plan.for_points(points)

    def _fit(
        self, settings: FitSettings, points: Any, weights: Weights = None, warm: WarmStart | None = None
    ) -> Fitted:
        """The fit of ``settings``, with its prior fitted first where ``likelihood`` asks for that."""
        if _is_given(settings.likelihood) and self.relevance != RELEVANCE[2]:
            return fit(settings, points, weights, warm)
        is_open = asks_for_prior(settings.likelihood)
        if has_columns(points) and (self.relevance == RELEVANCE[2] or (is_open and self.relevance == RELEVANCE[0])):
            return fit_relevant(settings, points, weights, warm)
        search = fit_shaped if is_open else fit
        return search(settings, points, weights, warm)

    def _read(self, X: Any) -> Any:
        return read_by(self.likelihood_, X, MISSING[1] if skips(self._mixture.likelihood) else None)

    def _read_to_score(self, X: Any) -> Any:
        """The points of ``X``, within the range of the likelihood."""
        points = self._points(X)
        self.likelihood_.for_data(points)
        return points

    def _n_features_read(self) -> int:
        relevance = self._relevance
        return len(self._mixture.anchor) if relevance is None else len(relevance.relevant)

    def _adopt(
        self, mixture: Mixture, likelihood: Likelihood, backend: str, relevance: Relevance | None = None
    ) -> None:
        """Set the mixture, the likelihood, the backend, and the attributes that describe the clusters."""
        self._mixture = mixture
        self._relevance = relevance
        self.likelihood_ = likelihood
        self.backend_ = backend
        self.n_clusters_ = len(mixture.counts)
        self.cluster_sizes_ = mixture.counts.copy()
        weights = mixture.state.rows[:-1, 0]
        self.weights_ = weights / weights.sum()
        mixed: Any = likelihood if hasattr(likelihood, "blocks") else None
        self.relevant_ = np.ones(len(mixture.anchor) if mixed is None else mixed.n_columns, dtype=bool)
        if relevance is not None:
            self.relevant_ = of_users_columns(likelihood, relevance.relevant) > 0.0
            self.relevance_ = of_users_columns(likelihood, relevance.gains)
        elif hasattr(self, "relevance_"):  # from an earlier fit
            del self.relevance_
        if hasattr(likelihood, "moments"):
            moments = None if relevance is None else relevance.moments
            if moments is None and mixed is None and not np.any(getattr(likelihood, RESOLUTION, 0.0)):
                means, self.variances_ = mixture.likelihood.moments(mixture.state.rows[:-1])
                self.means_ = means + mixture.anchor
            else:
                moments = moments or moments_of(mixture, steps_of(likelihood))
                self.means_, self.variances_ = moments[1:] if mixed is None else mixed.moments_of_columns(*moments)

    def _clustered(self, points: Any) -> Any:
        """The columns of points that the mixture reads."""
        relevance = self._relevance
        return points if relevance is None or relevance.is_all else restricted_points(points, relevance.columns)

    @property
    def _mixture_of_fit(self) -> Mixture:
        """The mixture for the points of the fit, which may be rounded; its constants are those for other points."""
        mixture, steps = self._mixture, steps_of(self.likelihood_)
        if steps is None:
            return mixture
        own = steps if self._relevance is None else steps[self._relevance.columns]
        return mixture._replace(likelihood=with_resolution(mixture.likelihood, own))

    @property
    def _n_fitted(self) -> int:
        """The number of points of the fit."""
        return int(self._mixture.counts.sum())

    @property
    def _backend(self) -> Backend:
        return resolve(self.backend_, self._mixture.likelihood)

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """Sample covariance of each cluster (ddof 0, weighted), shape (K, n_features, n_features).

        0 between columns that are independent in a cluster. Families without ``variances_`` have none. O(K D^3).
        """
        return covariances_of(self._mixture, self.likelihood_, self._relevance, self.variances_)

    def _names_out(self, prefix: str) -> list[str]:
        return [*(f"{prefix}{k}" for k in range(self.n_clusters_)), f"{prefix}_new"]


def _is_given(likelihood: Any) -> bool:
    """Whether it is a family with its prior, or None: then nothing is looked for in columns, unless asked."""
    return likelihood is None or (isinstance(likelihood, tuple) and not hasattr(likelihood, "is_open"))
