"""MAPDPM: batch clustering at a mode of a Dirichlet process mixture. No mathematics here: ``search.fit`` does it."""

from __future__ import annotations

import os
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from mapdpm.data import point_set
from mapdpm.data.frames import Names
from mapdpm.estimators.assessing import AssessingMixture
from mapdpm.estimators.background import pseudo_of_all
from mapdpm.estimators.base import WeightedEstimator
from mapdpm.estimators.stretched import warn_where_stretched
from mapdpm.files import container, disk
from mapdpm.files.batch_models import extras_of, restored_estimator
from mapdpm.kinds.likelihood import Plan
from mapdpm.likelihoods._shape import MOST_COLUMNS
from mapdpm.merging.groups import check_groups
from mapdpm.names import AUTO, COVARIANCE, MISSING, STARTS
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Vector
from mapdpm.search.fit import FitSettings, WarmStart
from mapdpm.search.settings import ColumnParameters, SearchParameters, SearchSettings, check_init, check_search
from mapdpm.search.widths import asks_for_prior, family_to_fit
from mapdpm.validation import caller_level, check_count, check_weights

_MANY, _FEW_OF_EACH = 1000, 20
"""From so many points on, clusters of fewer points on average say that a fit of more points may take far longer."""


@dataclass(eq=False, repr=False)
class _Model:
    alpha: float = 1.0
    _: KW_ONLY
    likelihood: Any = AUTO
    discount: float = 0.0
    max_clusters: int | None = None
    missing: str = "error"
    groups: str | int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class _Parameters(ColumnParameters, SearchParameters, _Model):  # the fields of the last base come first
    _starts_known: ClassVar[tuple[str, ...]] = STARTS


class MAPDPM(_Parameters, AssessingMixture, WeightedEstimator):
    r"""Clusters at a mode of the posterior of a Dirichlet process mixture (MAP-DPM, Raykov2014).

    Finds a partition z of the points at a local maximum of the log joint log p(x, z) = log p(z | alpha) + sum_k log
    p(x_{c_k}). Single points move: point i joins the cluster of largest log N_k + log p(x_i | x_{c_k} without i), or a
    new one if log alpha + log p(x_i) is larger (Raykov2014 (15)). Then clusters merge and split. The number of clusters
    is found, not given.

    Parameters
    ----------
    alpha : float > 0
        Concentration: the expected number of clusters grows as alpha log N.
    likelihood : "auto", Likelihood, a family, or None
        The family with its prior. "auto": what the kinds of the columns ask for (``mapdpm.columns``), ``NormalGamma``
        or a ``Mixed``, with a prior fitted to the data's own clusters, by the log joint of both (maths, section 26).
        The class of a family, ``GammaPoisson`` say: the same for that family. None: the empirical Normal-Gamma of the
        paper (``NormalGamma.empirical``), which expects clusters as wide as the data.
    discount : float in [0, 1)
        Discount of a Pitman-Yor process; 0 is the Dirichlet process. With a discount, alpha > -discount.
    max_clusters : int or None
        Largest number of clusters: then a point that would open another joins the best existing one. None: no limit.
    missing : {"error", "skip"}
        "skip": NaN is a missing value, and is integrated out: exact, for families of independent features and for
        ``Mixed``. A point needs one value at least. "error": NaN is an error.
    kinds : mapping or None
        For "auto", what columns are, by name or place, as in ``mapdpm.columns``: ``{"relay": "flag", "wind":
        "circular:360", "id": "constant"}``; "constant" leaves a column out. None: as found.
    covariance : {"auto", "diagonal", "full"}
        For "auto", the shape of clusters in columns of numbers: features are independent there, or have full
        covariances (``NormalInverseWishart``). "auto": whichever has the higher log joint (maths, section 37).
    relevance : {"auto", "all", "search"}
        Which columns carry clusters. "auto": searched where the prior is fitted, so that columns of noise and constant
        ones hide no clusters (maths, section 35). "all": all do. "search": also under a given prior.
    init : {"sequential", "random-order", "single"} or array of shape (n_points,)
        The start. "sequential": one pass in which points join clusters in the order of the data; "random-order": in
        random order; "single": one cluster (so do both of these with ``moves``, where it is better); an array: labels.
    moves : tuple of {"merge", "split", "permutation", "regroup"}
        Moves of many points at once, in the order in which they are tried. () is the paper's algorithm.
    groups : {None, "auto"} or int
        Clusters are components: a class that is not normal takes several. "auto": ``labels_``, ``predict`` and
        ``predict_proba`` are of groups of clusters that overlap, with a gap to all others and no valley of density
        between them; each cluster by itself where the data show no such groups (maths, section 27). A number: so many
        groups, by overlap. None: of clusters.
    n_restarts : int
        Number of runs; the best log joint wins. The first starts from ``init``. The others "regroup" the best result so
        far, start from it after a few Gibbs sweeps, from many cells, or in random order; with ``moves=()`` all in that.
    max_sweeps : int
        Most sweeps in a row, with no other move between. ``init=labels, moves=(), max_sweeps=0``: J of these labels.
    time_limit : float or None
        Seconds from the call of ``fit`` after which it ends, within a second or a fifth, with the best result so far.
    backend : {"auto", "c", "numba", "python"}
        Implementation. "auto" is C, for a family of your own by the C compiler; else numba, else python. Labels agree.
    n_jobs : int or None
        Threads, over restarts, passes and scored points; None is 1, -1 one a processor. They change no result.
    random_state : int, numpy Generator, RandomState or None
        Source of all randomness. With None or an int every fit draws the same numbers; a Generator continues.
    verbose : int
        1 prints a line for each sweep, and for each move that gained.
    callback : callable or None
        Called after each sweep, and each move that gained, with a ``FitProgress``; returning True ends that run.

    Attributes
    ----------
    labels_ : ndarray of shape (n_points,)
        Cluster of each point, 0..K-1 in order of first appearance, or its group; -1 for a point of weight 0, which is
        ignored.
    components_ : ndarray of shape (n_points,)
        Cluster of each point, also where labels are of groups.
    groups_, n_groups_ : ndarray of shape (K,), int
        Group of each cluster, and the number of groups. All attributes below are of clusters.
    n_clusters_ : int
        K.
    cluster_sizes_, weights_ : ndarray of shape (K,)
        Number of points in each cluster, and its share of the weight of all.
    means_, variances_ : ndarray of shape (K, n_features)
        Sample mean and variance (ddof 0, weighted) of each cluster, where the family has them; without values the
        prior mean and 0, as in a stream. ``covariances_`` are the matrices, (K, n_features, n_features).
    relevant_ : ndarray of shape (n_features,)
        Whether each column carries clusters. Scores are densities of all columns, whichever do.
    relevance_ : ndarray of shape (n_features,)
        What each column gains by the clusters over one cluster of all points, in nats; where that was searched.
    log_joint_ : float
        log p(x, z) in nats, all constants included; with columns that carry no clusters J(z, R), less log p(all).
    history_ : ndarray
        Log joint of the winning run after the start, each sweep and each move that gained. It never falls.
    n_sweeps_ : int
        Sweeps of the winning run, the last of which moved no point if ``converged_``.
    converged_ : bool
        True if the last sweep moved no point, and no move gained.
    likelihood_ : Likelihood
        The likelihood with the prior that was used.
    backend_ : str
        The backend that was used.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the training data was a DataFrame whose column names are text.

    Notes
    -----
    O(N K D) a sweep. The sequential start costs as much, with the K that it reaches: with alpha larger than N, that may
    be a cluster for each point. ``init="single"`` avoids this, and may end in another mode.

    From 262,144 points on, a fit by merges and splits is made in *passes* (docs/large-data.md): all points move at
    once, in threads, and never lower the log joint. ``init`` and ``n_restarts`` are then those of a sample of 65,536
    points, and ``n_sweeps_`` counts passes. A fit that ends before it converges warns (``ConvergenceWarning``).

    A fitted prior costs four to eight fits to a sample, of 1,024 points from 10,000 on and of up to 4,096 below, and
    twice that with full covariances; more where clusters have few points in it, or beside columns without clusters.
    Copies of rows count once there, weights are relative, and neither ``callback`` nor ``verbose`` is called.

    Offsets cost no digits. float32 data is not converted. The mode underestimates K: docs/maths.md, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> X = np.array([[0.0], [0.2], [-0.1], [9.0], [9.3]])
    >>> model = MAPDPM(likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1)).fit(X)
    >>> model.labels_.tolist(), model.predict([[8.8]]).tolist()
    ([0, 0, 0, 1, 1], [1])
    """

    _kind: ClassVar[int] = container.BATCH

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MAPDPM:  # noqa: ARG002
        """Cluster the points of ``X``.

        Parameters
        ----------
        X : array-like or DataFrame (pandas, polars) of shape (n_points, n_features)
            Finite numbers; for ``DirichletMultinomial`` counts, dense or as a sparse matrix of scipy. With
            ``missing="skip"`` NaN is a missing value. Not changed.
        y : ignored
        sample_weight : array-like of shape (n_points,), optional
            Weights. An integer weight counts as that many copies of the point, in the log joint of a partition and in
            an empirical prior. (A fit may differ: copies of a point may join different clusters.) Points of weight 0
            are ignored. Under a fitted prior weights are relative: only their ratios count.

        Returns
        -------
        MAPDPM
            self.

        Raises
        ------
        ValueError
            A parameter or the data is invalid; the message says where, and what was got.
        """
        search = check_search(self)
        names, points, plan = self._read_to_fit(X, self.missing, sample_weight)
        self._fit_points(points, sample_weight, names=names, plan=plan, search=search)
        return self

    def _fit_points(
        self,
        points: Any,
        sample_weight: Any = None,
        warm: WarmStart | None = None,
        names: Names | None = None,
        plan: Plan | None = None,
        search: SearchSettings | None = None,
    ) -> WarmStart | None:
        """``fit`` to points in the form that the likelihood reads; returns the warm start of the next fit.

        ``plan`` has the likelihood of the estimator where it depends on the columns.
        """
        n_points = point_set(points).n_points
        settings = self._settings(n_points, search)
        if plan is not None:
            settings = settings._replace(**plan._asdict())
        weights = check_weights(sample_weight, n_points, self.discount)
        fitted = self._fit(settings, points, weights, warm)
        self._groups = self._components = self._calibration = None
        self._points_of_fit = points, weights
        self._take(fitted, names)
        if n_points >= _MANY and self.max_clusters is None and self.time_limit is None:
            self._warn_of_many_clusters()
        if settings.covariance == COVARIANCE[0] and (self.missing != MISSING[0] or self.n_features_in_ > MOST_COLUMNS):
            warn_where_stretched(settings, points, fitted, names)
        if self.groups is not None and (self.n_clusters_ > 1 or self.groups != AUTO):
            self._group_points(points, weights)
        return fitted.warm

    def _warn_of_many_clusters(self) -> None:
        """UserWarning where time grows with N K, and both may grow together."""
        K, n = self.n_clusters_, int(np.count_nonzero(self.labels_ >= 0))
        if n >= _MANY and n < _FEW_OF_EACH * K and asks_for_prior(self.likelihood):
            msg = (
                f"{K} clusters were found in {n} points, more than one for each {_FEW_OF_EACH}: the time of a fit "
                "grows with points times clusters; bound it by max_clusters or time_limit"
            )
            warnings.warn(msg, UserWarning, stacklevel=caller_level())

    def score_samples(self, X: Any) -> Vector:
        """Log predictive density of each point (Raykov2014 (17)), in nats with all constants; high is normal.

        With ``missing="skip"`` that of the values that are there: compare points with the same missing features only.
        """
        return self._log_densities(self._read_to_score(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Mean log predictive density of the points of ``X``, in nats a point; with ``sample_weight`` weighted."""
        scores = self.score_samples(X)
        return float(np.average(scores, weights=check_weights(sample_weight, len(scores), 0.0)))

    def pseudo_log_likelihood(self, X: Any, sample_weight: Any = None) -> float:
        """log p(z) + sum_i log p(x_i | the other points of its cluster), in nats: Raykov2014 (16), maths (145).

        A report beside ``log_joint_``: sweeps do not always raise it. ``X`` and ``sample_weight`` are those of the fit;
        ValueError for others. A point is left out with all of its weight. Columns that carry no clusters are those of
        one cluster of all points. O(N D).
        """
        points = self._points(X)
        weights = check_weights(sample_weight, point_set(points).n_points, self.discount)
        return pseudo_of_all(self, points, weights, family_to_fit(self.likelihood) is not None)

    def save(self, path: str | os.PathLike[str], dtype: str = "float64") -> None:
        """Write the model to ``path``, wholly or not at all; ``mapdpm.load`` reads it. No pickle.

        With ``dtype="float32"`` reals take 4 bytes, for chips; scores then have seven digits.
        """
        disk.write_file(path, self.to_bytes(dtype))

    def to_bytes(self, dtype: str = "float64") -> bytes:
        """The model in the format of docs/format.md: the data for scoring, and behind it all fitted attributes."""
        self._check_fitted()
        if self._points_of_fit is not None:
            self._calibrated()
        return container.pack(self._mixture, extras_of(self), dtype)

    @classmethod
    def from_bytes(cls, data: bytes) -> MAPDPM:
        """The model that ``to_bytes`` wrote; ValueError where the bytes are another file, or damaged.

        A file from a device holds only the data for scoring: ``labels_`` and the like are then missing.
        """
        mixture, extras = container.unpack(data)
        restored = restored_estimator(cls, mixture, extras)
        estimator: MAPDPM = restored.estimator
        estimator._restore(mixture, restored, extras)
        return estimator

    def _settings(self, n_points: int, search: SearchSettings | None = None) -> FitSettings:
        """The parameters, checked; those of the ``search`` may have been before."""
        search = check_search(self) if search is None else search
        if self.groups is not None:
            check_groups(self.groups)
        prior = partition_prior(self.alpha, self.discount)
        cap = None if self.max_clusters is None else check_count("max_clusters", self.max_clusters)
        return FitSettings(self.likelihood, prior, cap, check_init(self, n_points), search, self.missing)
