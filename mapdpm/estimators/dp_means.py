"""DPMeans: k-means where the number of clusters is paid for, not given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data.frames import column_names
from mapdpm.estimators.base import Estimator
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.partition_priors import ClusterPenalty
from mapdpm.protocol import LARGEST, SMALLEST, Labels, Matrix, Vector, Weights
from mapdpm.search.ascent import Progress
from mapdpm.search.checks import Watch, check_search, generator_of, plan_of, searched, taking_part, with_absent
from mapdpm.search.dp_means import (
    Limits,
    Passes,
    distances_from,
    dp_means,
    farthest_first,
    means_of,
    nearest_centres,
    objective_of,
)
from mapdpm.search.problem import Problem, anchor_of
from mapdpm.validation import (
    Points,
    check_count,
    check_number,
    check_points,
    check_weights,
    in_order_of_appearance,
)

_SHARE = 0.1
_AGAIN = ("best", "random-order")


class DPMeans(Estimator):
    r"""Clusters that minimise sum_i w_i ||x_i - mean||^2 + lam K (DP-means, Kulis and Jordan 2012).

    The small-variance limit of MAP-DPM (Raykov2014 (7)). The published algorithm comes first: passes like those of
    k-means, in which a point farther than ``lam`` from all centres opens a cluster. Then points move one by one, and
    clusters merge and split, each of it lowering the same objective.

    Parameters
    ----------
    lam : float > 0 or None
        What a cluster costs, in squared data units. None takes it from ``n_clusters``; without that it is a tenth of
        the sum of squared distances from the mean of all, so that a cluster must explain a tenth of them.
    n_clusters : int or None
        Sets ``lam`` by farthest-first (Kulis and Jordan 2012), unless that is given, and caps the number of clusters.
        There may be fewer.
    moves : tuple of {"merge", "split", "permutation", "regroup"}
        Moves after the published algorithm, which is all there is with the empty tuple.
    n_restarts, max_sweeps, time_limit, backend, n_jobs, random_state, verbose
        As in ``MAPDPM``; the first run starts from the published algorithm, of at most ``max_sweeps`` passes, the
        others by regrouping the best so far, or from points that join in random order.
    callback : callable or None
        As in ``MAPDPM``; ``log_joint`` is minus the objective.

    Attributes
    ----------
    labels_ : ndarray of shape (n_points,)
        Cluster of each point, 0..K-1 in order of first appearance; -1 for a point of weight 0, which took no part.
    cluster_centers_ : ndarray of shape (K, n_features)
        Means of the clusters.
    n_clusters_, cluster_sizes_
        K, and the points in each cluster.
    objective_ : float
        sum_i w_i ||x_i - mean||^2 + lam K, in squared data units.
    history_ : ndarray
        The objective from the start on, after each pass, sweep and move that gained, of the winning run; never rises.
    lam_ : float
        The lambda that was used.
    n_sweeps_ : int
        Passes and sweeps of the winning run.
    converged_ : bool
        Whether no single point could move any more, and no move gained.
    backend_ : str
        What ran the moves.
    n_features_in_, feature_names_in_
        Features of the data, and their names where it was a DataFrame.

    Notes
    -----
    O(N K D) a pass or sweep. As the number of points grows the objective wants ever more clusters: lam does not grow
    with them, the squared distances do. ``MAPDPM`` knows no such drift.

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

    def __init__(  # noqa: PLR0913  (the public signature; everything but lam by name)
        self,
        lam: float | None = None,
        *,
        n_clusters: int | None = None,
        moves: tuple[str, ...] = ("merge", "split"),
        n_restarts: int = 1,
        max_sweeps: int = 100,
        time_limit: float | None = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[Progress], object] | None = None,
    ) -> None:
        self.lam = lam
        self.n_clusters = n_clusters
        self.moves = moves
        self.n_restarts = n_restarts
        self.max_sweeps = max_sweeps
        self.time_limit = time_limit
        self.backend = backend
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DPMeans:  # noqa: ARG002
        """Cluster the points of ``X``, an array-like or DataFrame (n_points, n_features) of finite numbers.

        ``sample_weight``, one number a point, multiplies squared distances; a point of weight 0 takes no part.
        ValueError where a parameter or the data is not what it must be.
        """
        names, points = column_names(X), check_points(X)
        check_search(self)
        watch = Watch(self)
        given = check_weights(sample_weight, len(points), 0.0)
        points, weights, _ = taking_part(points, given, "")
        cap = self._cap(len(points))
        anchor = anchor_of(points)
        data = points.astype(np.float64, copy=False) - anchor
        lam = self._lambda(data, weights)
        family = SquaredDistance(np.full(data.shape[1], lam))
        problem = Problem(family, ClusterPenalty(lam), data, weights, resolve(self.backend, family), cap)  # type: ignore[arg-type]
        passes = self._published(data, weights, lam, cap, watch)
        labels, objectives = passes.labels, passes.objectives
        n_sweeps, converged = len(objectives) - 1, passes.converged and not (self.moves and passes.stopped)
        if self.moves and not passes.stopped:
            run = searched(self, watch, plan_of(self, watch), problem, labels, _AGAIN)
            labels, converged = run.state.labels, run.converged
            n_sweeps = run.n_sweeps + (n_sweeps if run.restart == 0 else 0)
            objectives = [*(objectives if run.restart == 0 else ()), *(-value for value in run.history)]
        self.lam_, self.n_sweeps_, self.converged_ = lam, n_sweeps, converged
        self._adopt(data, weights, labels, anchor)
        self._remember(data.shape[1], names)
        self.labels_ = with_absent(self.labels_, given)
        # Centres as they are stand for the last digit of the objective; no step raised it.
        self.history_ = np.minimum.accumulate([*objectives[:-1], self.objective_])
        self.objective_ = float(self.history_[-1])
        self.backend_ = problem.backend.name
        return self

    def predict(self, X: Any) -> Labels:
        """The cluster of the nearest centre to each point, the first of equals; O(N K D)."""
        points = self._points(X)
        return nearest_centres(points, self.cluster_centers_)[0]

    def transform(self, X: Any) -> Any:
        """Distances of each point from each centre, shape (N, K), in the container that ``set_output`` chose."""
        points = self._points(X)
        return self._framed(distances_from(points, self.cluster_centers_), X)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Minus the sum of squared distances to the nearest centre, as k-means has it; says nothing of ``lam``."""
        points = self._points(X)
        return -float(nearest_centres(points, self.cluster_centers_)[1].sum())

    def _published(self, data: Points, weights: Weights, lam: float, cap: int | None, watch: Watch) -> Passes:
        """The published algorithm: once if moves follow, else ``n_restarts`` times, later in random orders."""
        generator = generator_of(self)
        limits = Limits(self.max_sweeps, watch.expired, watch.report)
        best = dp_means(data, weights, lam, cap, limits)
        for restart in range(1, 1 if self.moves else self.n_restarts):
            if watch.expired():
                break
            order = generator.permutation(len(data))
            shuffled = None if weights is None else weights[order]
            found = dp_means(data[order], shuffled, lam, cap, limits, restart)
            if found.objectives[-1] < best.objectives[-1]:
                labels = np.empty_like(found.labels)
                labels[order] = found.labels
                best = found._replace(labels=labels)
        return best

    def _cap(self, n_points: int) -> int | None:
        if self.n_clusters is None:
            return None
        n_clusters = check_count("n_clusters", self.n_clusters)
        if n_clusters > n_points:
            msg = f"n_clusters must be at most the number of points, {n_points}, got {n_clusters}"
            raise ValueError(msg)
        return n_clusters

    def _lambda(self, data: Points, weights: Weights) -> float:
        w = np.ones(len(data)) if weights is None else weights
        if self.lam is not None:
            lam = check_number("lam", self.lam)
            if not lam > 0.0:
                msg = f"lam must be > 0, in squared data units, got {self.lam!r}"
                raise ValueError(msg)
            if not SMALLEST <= lam <= LARGEST:
                msg = f"lam must be between {SMALLEST:.0e} and {LARGEST:.0e}, got {lam}: rescale the data"
                raise ValueError(msg)
        elif self.n_clusters is not None:
            lam = farthest_first(data, w, int(self.n_clusters))
        else:
            whole = np.zeros(len(data), dtype=np.int64)
            lam = _SHARE * objective_of(data, w, whole, means_of(data, w, whole), 0.0)
        # Points that all have a centre of their own leave no distance: any price of a cluster will do.
        return min(max(lam, SMALLEST), LARGEST)

    def _adopt(self, data: Points, weights: Weights, labels: Labels, anchor: Vector) -> None:
        w = np.ones(len(data)) if weights is None else weights
        self.labels_ = in_order_of_appearance(labels)
        centres = means_of(data, w, self.labels_)
        self.objective_ = objective_of(data, w, self.labels_, centres, self.lam_)
        self.cluster_centers_ = centres + anchor
        self.cluster_sizes_ = np.bincount(self.labels_)
        self.n_clusters_ = len(centres)

    def _names_out(self, prefix: str) -> list[str]:
        return [f"{prefix}{k}" for k in range(self.n_clusters_)]
