"""DPMeans: k-means in which each cluster has a cost, and the number of clusters is found."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from mapdpm.data.frames import Names, column_names
from mapdpm.estimators.base import WeightedEstimator
from mapdpm.estimators.packed import FittedEstimator
from mapdpm.protocol import LARGEST, SMALLEST, Labels, Matrix, Vector
from mapdpm.search.dp_means import distances_from, nearest_centres
from mapdpm.search.fit_means import FittedMeans, MeansSettings, fit_means
from mapdpm.search.observed import present_points, taking_part
from mapdpm.search.settings import SearchParameters, check_init, check_search
from mapdpm.validation import check_count, check_number, check_points, check_weights, refuse_value

_ALL = 1e4
"""So many times the variance of all others together, a column decides distances alone."""


@dataclass(eq=False, repr=False)
class _Model:
    lam: float | None = None
    _: KW_ONLY
    n_clusters: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class _Parameters(SearchParameters, _Model):  # the fields of the last base come first
    init: Any = "single"

    _starts_known: ClassVar[tuple[str, ...]] = ("single",)


class DPMeans(_Parameters, FittedEstimator, WeightedEstimator):
    r"""Clusters that minimise sum_i w_i ||x_i - mean||^2 + lam K (DP-means, Kulis and Jordan 2012).

    The small-variance limit of MAP-DPM (Raykov2014 (7)). The published algorithm runs first: passes like those of
    k-means, in which a point farther than ``lam`` from all centres opens a cluster. Then points move one by one, and
    clusters merge and split; each step lowers the same objective.

    Parameters
    ----------
    lam : float > 0 or None
        Cost of a cluster, in squared data units. None derives it from ``n_clusters``; without ``n_clusters`` it is a
        tenth of the sum of squared distances from the mean of all points.
    n_clusters : int or None
        Largest number of clusters; there may be fewer. It also sets ``lam`` by farthest-first (Kulis and Jordan 2012),
        unless ``lam`` is given.
    init : "single" or array of shape (n_points,)
        The start of the published algorithm: one cluster of all points, or these integer labels.
    moves : tuple of {"merge", "split", "permutation", "regroup"}
        Moves after the published algorithm. The empty tuple is the published algorithm alone.
    n_restarts, max_sweeps, time_limit, backend, n_jobs, random_state, verbose
        As in ``MAPDPM``. The first run starts from the published algorithm, with at most ``max_sweeps`` passes; the
        others regroup the best result so far, or start from points that join in random order.
    callback : callable or None
        As in ``MAPDPM``; ``log_joint`` is minus the objective.

    Attributes
    ----------
    labels_ : ndarray of shape (n_points,)
        Cluster of each point, 0..K-1 in order of first appearance; -1 for a point of weight 0, which is ignored.
    cluster_centers_ : ndarray of shape (K, n_features)
        Means of the clusters.
    n_clusters_, cluster_sizes_
        K, and the number of points in each cluster.
    objective_ : float
        sum_i w_i ||x_i - mean||^2 + lam K, in squared data units.
    history_ : ndarray
        The objective of the winning run: at the start, after each pass and sweep, and after each move that gained. It
        never rises.
    lam_ : float
        The lambda that was used.
    n_sweeps_ : int
        Passes and sweeps of the winning run.
    converged_ : bool
        True if the last sweep moved no point, and no move gained.
    backend_ : str
        The backend that ran the moves.
    n_features_in_, feature_names_in_
        Features of the data, and their names where it was a DataFrame.

    Notes
    -----
    O(N K D) a pass or sweep. Where nothing separates clusters, passes and sweeps go on to the limit: 1e5 standard
    normal points in two features take 100 passes and then 100 sweeps with lam = 5. ``max_sweeps`` and ``time_limit``
    bound both.

    More points give more clusters: the sum of squared distances grows with the number of points, and lam does not.
    ``MAPDPM`` has no such drift.

    Distances are in the units of the columns, and each column counts by its variance: a constant one changes nothing. A
    column with 10,000 times the variance of all others together warns (``UserWarning``), for then they hardly count.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.5], [9.0], [9.5]])
    >>> model = DPMeans(lam=2.0).fit(X)
    >>> model.labels_.tolist(), model.cluster_centers_.ravel().tolist(), model.objective_
    ([0, 0, 1, 1], [0.25, 9.25], 4.25)
    """

    labels_: Labels
    cluster_centers_: Matrix
    n_clusters_: int
    cluster_sizes_: Labels
    objective_: float
    history_: Vector
    lam_: float
    n_sweeps_: int
    converged_: bool
    backend_: str

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DPMeans:  # noqa: ARG002
        """Cluster the points of ``X``, an array-like or DataFrame (n_points, n_features) of finite numbers.

        ``sample_weight``, one number for each point, multiplies squared distances; points of weight 0 are ignored.
        ValueError where a parameter or the data is invalid.
        """
        search = check_search(self)
        names, points = column_names(X), check_points(X)
        init = check_init(self, len(points))
        settings = MeansSettings(*self._cluster_cost(len(points)), search, init)
        weights = check_weights(sample_weight, len(points), 0.0)
        taken, _ = taking_part(points, weights, present_points(weights))
        with np.errstate(over="ignore"):
            warn_of_scale(taken.var(axis=0, dtype=np.float64), names)
        self._take(fit_means(settings, points, weights), names)
        return self

    def _take(self, fitted: FittedMeans, names: Names | None) -> None:
        """Set the attributes of a fit; ``names`` are those of the features."""
        self._set_labels(fitted.labels)
        self.cluster_centers_, self.cluster_sizes_ = fitted.centres, fitted.sizes
        self.n_clusters_, self.lam_ = len(fitted.centres), fitted.lam
        self.n_sweeps_, self.converged_ = fitted.n_sweeps, fitted.converged
        self.history_, self.objective_ = fitted.history, float(fitted.history[-1])
        self.backend_ = fitted.backend
        self._remember(fitted.centres.shape[1], names)
        self._warn_unless(fitted.converged)

    def predict(self, X: Any) -> Labels:
        """The cluster whose centre is nearest to each point, the first in a tie; O(N K D)."""
        points = self._points(X)
        return nearest_centres(points, self.cluster_centers_)[0]

    def transform(self, X: Any) -> Any:
        """Distances of each point from each centre, shape (N, K), in the container that ``set_output`` chose."""
        points = self._points(X)
        return self._framed(distances_from(points, self.cluster_centers_), X)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Minus the sum of squared distances to the nearest centre, as in k-means; ``lam`` has no part in it."""
        points = self._points(X)
        return -float(nearest_centres(points, self.cluster_centers_)[1].sum())

    def _cluster_cost(self, n_points: int) -> tuple[float | None, int | None]:
        """``lam`` and ``n_clusters``, checked."""
        n_clusters = None if self.n_clusters is None else check_count("n_clusters", self.n_clusters)
        if n_clusters is not None and n_clusters > n_points:
            msg = f"n_clusters must be at most the number of points, {n_points}, got {n_clusters}"
            raise ValueError(msg)
        if self.lam is None:
            return None, n_clusters
        lam = check_number("lam", self.lam)
        if not lam > 0.0:
            refuse_value("lam must be > 0, in squared data units", self.lam)
        if not SMALLEST <= lam <= LARGEST:
            msg = f"lam must be between {SMALLEST:.0e} and {LARGEST:.0e}, got {lam}: rescale the data"
            raise ValueError(msg)
        return lam, n_clusters

    def _names_out(self, prefix: str) -> list[str]:
        return [f"{prefix}{k}" for k in range(self.n_clusters_)]


def warn_of_scale(variances: Vector, names: Names | None) -> None:
    """UserWarning where one column has nearly all of the variance; ``variances`` are those of columns, or multiples."""
    widest = int(np.argmax(variances))
    others = float(np.delete(variances, widest).sum())
    if 0.0 < others < np.inf and variances[widest] >= _ALL * others:
        which = widest if names is None else repr(names[widest])
        msg = (
            f"column {which} has {variances[widest] / others:.0e} times the variance of all others together, so "
            "distances are those of this column; divide columns by their standard deviations, or leave it out"
        )
        warnings.warn(msg, UserWarning, stacklevel=3)
