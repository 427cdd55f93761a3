"""MAPDPM: batch clustering at the mode of a Dirichlet process mixture. No mathematics here: it runs the loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.backends import Backend, resolve
from mapdpm.data import point_set, read_by
from mapdpm.data.frames import column_names
from mapdpm.estimators.base import Estimator
from mapdpm.files import container
from mapdpm.files.batch_models import extras_of, revived
from mapdpm.likelihoods import FAMILY_NUMBERS
from mapdpm.names import STARTS
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, Vector
from mapdpm.search.ascent import FitProgress
from mapdpm.search.checks import check_search
from mapdpm.search.fit import FitSettings, WarmStart, fit
from mapdpm.state import ClusterState, Mixture
from mapdpm.validation import check_count, check_start, check_weights

# Numbers, and points, that are looked at at once.
_ENTRIES, _FEWEST, _MOST = 2**16, 256, 8192


class MAPDPM(Estimator):
    r"""Clusters at a mode of the posterior of a Dirichlet process mixture (MAP-DPM, Raykov2014).

    Finds a partition z of the points that maximises the log joint log p(x, z) = log p(z | alpha) + sum_k log p(x_{c_k})
    by moving single points: point i goes to the cluster of largest log N_k + log p(x_i | x_{c_k} without i), or to a
    new one of log alpha + log p(x_i) (Raykov2014 (15)); and by merging and splitting clusters. The number of clusters
    is found, not given.

    Parameters
    ----------
    alpha : float > 0
        Concentration: the expected number of clusters grows as alpha log N.
    likelihood : Likelihood or None
        The family with its prior; None is the empirical Normal-Gamma of the paper (``NormalGamma.empirical``).
    discount : float in [0, 1)
        Discount of a Pitman-Yor process; 0 is the Dirichlet process. With a discount, alpha > -discount.
    max_clusters : int or None
        A hard cap: with as many clusters, a point that would open another joins the best there is. None: no cap.
    init : {"sequential", "random-order", "single"} or array of shape (n_points,)
        The start: one pass in which points join clusters in order of the data, or in random order (with ``moves``, one
        cluster of all points, where that is better); one cluster of all points; or given integer labels.
    moves : tuple of {"merge", "split", "permutation", "regroup"}
        Moves of many points at once, in the order to try them: they escape modes that single points cannot. The empty
        tuple is the paper's algorithm.
    n_restarts : int
        Runs in all; the best log joint wins. The first starts as ``init`` says, the others after a few Gibbs sweeps
        from the best so far or in random order, with "regroup" besides; with ``moves=()``, all in random order.
    max_sweeps : int
        A run ends after that many sweeps in a row, none of the moves between, if points still move.
    time_limit : float or None
        Seconds after which the search ends with the best it has; a sweep under way is finished first. Results then
        depend on the speed of the machine.
    backend : {"auto", "c", "numba", "python"}
        Who computes. "auto" is C where it implements the family, else numba, else python. Labels agree.
    n_jobs : int or None
        Threads over restarts, and over points that are scored; None is 1. Results do not depend on it.
    random_state : int, numpy Generator, RandomState or None
        Source of all randomness: that of splits, restarts and random orders. With None every fit draws the same, so
        that equal data gives equal clusters; a Generator draws on.
    verbose : int
        1 prints a line a sweep, and a line for each move that gained.
    callback : callable or None
        Called after each sweep, and each move that gained, with a ``FitProgress(restart, sweep, moved, n_clusters,
        log_joint, move)``; returning True ends that run.

    Attributes
    ----------
    labels_ : ndarray of shape (n_points,)
        Cluster of each point, 0..K-1 in order of first appearance; -1 for a point of weight 0, which took no part.
    n_clusters_ : int
        K.
    cluster_sizes_ : ndarray of shape (K,)
        Points in each cluster.
    means_, variances_ : ndarray of shape (K, n_features)
        Sample mean and variance (ddof 0, weighted) of each cluster; only where the family has them.
    log_joint_ : float
        log p(x, z) in nats, all constants included.
    history_ : ndarray
        Log joint after the start, after each sweep and after each move that gained, of the winning run; never falls.
    n_sweeps_ : int
        Sweeps of the winning run, the last of which moved no point if ``converged_``.
    converged_ : bool
        Whether no single point could move any more, and no move gained (a split is not tried again on a cluster that
        has kept 98 % of its points since it was tried in vain).
    likelihood_ : Likelihood
        The likelihood with the prior that was used.
    backend_ : str
        What ran.
    n_features_in_ : int
        Features of the data it was fitted on.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where it was fitted on a DataFrame whose columns have names that are text.

    Notes
    -----
    O(N K D) a sweep; moves cost a few sweeps more, for they work on statistics, and on samples of large clusters.
    Data is shifted by a typical point before anything else, so an offset of 1e8 costs no digits.
    float32 data is read as it is, with statistics and decisions in float64. The mode underestimates K: see
    docs/maths.md, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> X = np.array([[0.0], [0.2], [-0.1], [9.0], [9.3]])
    >>> model = MAPDPM(likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1)).fit(X)
    >>> model.labels_.tolist(), model.predict([[8.8]]).tolist()
    ([0, 0, 0, 1, 1], [1])
    """

    labels_: Labels
    n_clusters_: int
    cluster_sizes_: Labels
    means_: Matrix
    variances_: Matrix
    log_joint_: float
    history_: Vector
    n_sweeps_: int
    converged_: bool
    likelihood_: Any
    backend_: str

    def __init__(  # noqa: PLR0913  (the public signature; everything but alpha by name)
        self,
        alpha: float = 1.0,
        *,
        likelihood: Any = None,
        discount: float = 0.0,
        max_clusters: int | None = None,
        init: Any = "sequential",
        moves: tuple[str, ...] = ("merge", "split"),
        n_restarts: int = 1,
        max_sweeps: int = 100,
        time_limit: float | None = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[FitProgress], object] | None = None,
    ) -> None:
        self.alpha = alpha
        self.likelihood = likelihood
        self.discount = discount
        self.max_clusters = max_clusters
        self.init = init
        self.moves = moves
        self.n_restarts = n_restarts
        self.max_sweeps = max_sweeps
        self.time_limit = time_limit
        self.backend = backend
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MAPDPM:  # noqa: ARG002
        """Cluster the points of ``X``.

        Parameters
        ----------
        X : array-like or DataFrame (pandas, polars) of shape (n_points, n_features)
            Finite numbers; for ``DirichletMultinomial`` counts, and a sparse matrix of scipy's will do. Not changed.
        y : ignored
        sample_weight : array-like of shape (n_points,), optional
            Weights; an integer weight counts as repetition, in the log joint of a partition and in an empirical prior.
            (Not in a whole fit: copies of a point may part.) A point of weight 0 takes no part.

        Returns
        -------
        MAPDPM
            self.

        Raises
        ------
        ValueError
            A parameter or the data is not what it must be; the message says what was got, and where.
        """
        names, points = column_names(X), read_by(self.likelihood, X)
        self._fit_points(points, sample_weight)
        self._remember(point_set(points).n_features, names)
        return self

    def _fit_points(self, points: Any, sample_weight: Any = None, warm: WarmStart | None = None) -> WarmStart:
        """``fit`` to points in the form that the likelihood reads, from a warm start; returns that of the next fit."""
        n_points = point_set(points).n_points
        settings = self._settings(n_points)
        fitted = fit(settings, points, check_weights(sample_weight, n_points, self.discount), warm)
        self._adopt(fitted.mixture, fitted.likelihood, fitted.backend)
        self._remember(len(fitted.mixture.anchor), None)
        self.labels_ = fitted.labels
        self.log_joint_ = fitted.history[-1]
        self.history_ = np.array(fitted.history)
        self.n_sweeps_ = fitted.n_sweeps
        self.converged_ = fitted.converged
        return fitted.warm

    def predict(self, X: Any, novelty: bool = False) -> Labels:
        """The best existing cluster of each point; with ``novelty``, -1 where a new cluster would win.

        argmax_k log N_k + log p(x | cluster k) (Raykov2014 (18), its sign corrected). O(N K D); changes nothing.
        """

        def best(backend: Backend, model: Model, state: ClusterState) -> Labels:
            slots = np.empty(point_set(model.data).n_points, dtype=np.int64)
            backend.best_slots(model, state, novelty, slots)
            slots[slots == self.n_clusters_] = -1
            return slots

        return self._in_parts(X, best)

    def predict_proba(self, X: Any) -> Matrix:
        """Posterior probability of each cluster for each point, shape (N, K + 1); the last column is a new cluster."""

        def shares(backend: Backend, model: Model, state: ClusterState) -> Matrix:
            scores = np.empty((point_set(model.data).n_points, state.capacity))
            backend.score(model, state, scores)
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            return scores

        return self._in_parts(X, shares)

    def transform(self, X: Any) -> Any:
        """``predict_proba``, in the container that ``set_output`` chose, for the next step of a pipeline."""
        return self._framed(self.predict_proba(X), X)

    def score_samples(self, X: Any) -> Vector:
        """Log predictive density of each point (Raykov2014 (17)), in nats with all constants; high is normal."""

        def density(backend: Backend, model: Model, state: ClusterState) -> Vector:
            densities = np.empty(point_set(model.data).n_points)
            backend.log_densities(model, state, densities)
            return densities

        return self._in_parts(X, density)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Mean log predictive density of the points of ``X``, in nats a point."""
        return float(self.score_samples(X).mean())

    def save(self, path: str | os.PathLike[str], dtype: str = "float64") -> None:
        """Write the model to ``path``, at once or not at all; ``mapdpm.load`` reads it. No pickle.

        With ``dtype="float32"`` reals take 4 bytes, for chips; scores then carry seven digits.
        """
        container.write_file(path, self.to_bytes(dtype))

    def to_bytes(self, dtype: str = "float64") -> bytes:
        """The model in the container of docs/format.md: what scoring needs, and all fitted attributes behind it."""
        self._check_fitted()
        return container.pack(self._mixture, extras_of(self), dtype)

    @classmethod
    def from_bytes(cls, data: bytes) -> MAPDPM:
        """The model that ``to_bytes`` wrote; ValueError where it is not one, or is damaged.

        A file that a device wrote holds what scoring needs; ``labels_`` and the like are then missing.
        """
        mixture, extras = container.unpack(data)
        estimator: MAPDPM = revived(cls, mixture, extras)
        return estimator

    def __getstate__(self) -> dict[str, Any]:
        """For pickle, copy and joblib: what scoring needs crosses as the bytes of a model file, checked on arrival."""
        state = dict(self.__dict__)
        mixture = state.get("_mixture")
        if mixture is not None and type(mixture.likelihood) in FAMILY_NUMBERS:
            state["_mixture"] = container.pack(mixture, {})
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state.get("_mixture"), bytes):
            self._mixture, _ = container.unpack(state["_mixture"])

    def _read(self, X: Any) -> Any:
        return read_by(self.likelihood_, X)

    def _settings(self, n_points: int) -> FitSettings:
        """The parameters, checked."""
        search = check_search(self)
        prior = partition_prior(self.alpha, self.discount)
        cap = None if self.max_clusters is None else check_count("max_clusters", self.max_clusters)
        return FitSettings(self.likelihood, prior, cap, check_start(self.init, n_points, STARTS), search)

    def _adopt(self, mixture: Mixture, likelihood: Likelihood, backend: str) -> None:
        """Take over what scoring needs, and what it shows of the clusters."""
        self._mixture = mixture
        self.likelihood_ = likelihood
        self.backend_ = backend
        self.n_clusters_ = len(mixture.counts)
        self.cluster_sizes_ = mixture.counts.copy()
        if hasattr(likelihood, "moments"):
            means, variances = likelihood.moments(mixture.state.rows[:-1])
            self.means_, self.variances_ = means + mixture.anchor, variances

    def _in_parts(self, X: Any, found: Callable[[Backend, Model, ClusterState], NDArray[Any]]) -> NDArray[Any]:
        """What is ``found`` of the points of ``X``; as many points at a time as a cache holds."""
        points = self._points(X)
        every = point_set(points)
        self.likelihood_.for_data(points)
        likelihood, prior, anchor, state = self._mixture
        backend = resolve(self.backend_, likelihood)
        size = min(max(_ENTRIES // (state.capacity + every.n_features), _FEWEST), _MOST)

        def between(first: int, last: int) -> NDArray[Any]:
            room = np.empty((size, len(anchor)))
            chunks = (every.part(at, min(at + size, last)) for at in range(first, last, size))
            near = (point_set(chunk).subtract_anchor(anchor, room) for chunk in chunks)
            return np.concatenate([found(backend, Model(likelihood, prior, each), state) for each in near])

        n = every.n_points
        n_jobs = 1 if self.n_jobs is None else min(check_count("n_jobs", self.n_jobs), -(-n // size))
        if n_jobs == 1:
            return between(0, n)
        edges = [n * job // n_jobs for job in range(n_jobs + 1)]
        with ThreadPoolExecutor(n_jobs) as pool:
            return np.concatenate(list(pool.map(between, edges[:-1], edges[1:])))

    def _names_out(self, prefix: str) -> list[str]:
        return [*(f"{prefix}{k}" for k in range(self.n_clusters_)), f"{prefix}_new"]
