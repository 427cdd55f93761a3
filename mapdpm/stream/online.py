"""OnlineMAPDPM: clustering an endless stream in fixed memory. No mathematics here: C does all the learning."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from mapdpm.assessment import Assessment
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.files import container
from mapdpm.likelihoods import NormalKnownVariance
from mapdpm.merging.make import tree_of_mixture
from mapdpm.merging.tree import MergeTree
from mapdpm.names import DTYPES
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Labels, Vector
from mapdpm.state import mixture_of
from mapdpm.stream import assessing, from_batch, pooling
from mapdpm.stream.c_options import Settings, concentration, settings_for
from mapdpm.stream.lock import exclusive
from mapdpm.stream.points import microseconds_of_many
from mapdpm.stream.pointwise import PointwiseLearner
from mapdpm.stream.settings import ClusterSettings
from mapdpm.validation import check_choice, check_count, check_number, refuse_value

# The DP-means limit: the variance within clusters, in units of lambda, and the variance of the prior of the means, in
# units of that one. They differ as much as the real type allows.
_DP_MEANS_LIMIT = {"float64": (1e-9, 1e18), "float32": (1e-5, 1e9)}

_UNUSUAL = 0.01  # MD_UNUSUAL of C: from there on contributions are told


class OnlineMAPDPM(PointwiseLearner, ClusterSettings):
    r"""Clusters of a stream in one pass and fixed memory: MAP-DPM that splits, merges and forgets.

    A point x joins the cluster of largest log n_k + log p(x | cluster k), or opens one if log alpha + log p(x) is
    larger (Raykov2014 (15), with the counts so far). Each cluster keeps the statistics of two halves of itself (after
    Chang2013): it splits where two clusters explain the halves better, and two clusters merge where one explains both
    better. Points are not kept. The same C code runs on a microcontroller, with the same bits.

    Parameters
    ----------
    {settings}

    Attributes
    ----------
    ids, weights, means, variances : ndarray
        The current clusters in the order of their ids: ids (K,), decayed weights (K,), sample means and variances
        M2 / n (K, n_features).
    n_clusters, n_seen, nbytes : int
        Number of clusters; number of points learned; bytes of the learner, which never change.
    events : list of Event
        The latest events, up to 2 ``max_clusters``.
    likelihood_ : NormalGamma, NormalKnownVariance or None
        The likelihood with its prior; None until the warm-up is over.
    n_features_in_, feature_names_in_
        Features of the data, and their names where it was a DataFrame.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Notes
    -----
    O(K D) a point, also in the worst case. Only the point that ends the warm-up takes longer: tens of milliseconds
    (some hundreds with a half-life, or with thousands of points). Ids rise and are never used twice. Calls from several
    threads wait for each other. See docs/streams.md.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)) + rng.choice([0.0, 9.0], size=(2000, 1))
    >>> model = OnlineMAPDPM(max_clusters=8)
    >>> ids = model.learn_many(X)
    >>> model.n_clusters, model.n_seen, bool(model.score_one([50.0, 50.0]) < model.score_one([9.0, 9.0]))
    (2, 2000, True)
    """

    @classmethod
    def dp_means(  # noqa: PLR0913  (of the class's parameters, those that have a meaning here)
        cls,
        lam: float,
        max_clusters: int = 16,
        *,
        n_features: int | None = None,
        half_life: float | None = None,
        when_full: str = "least-loss",
        missing: str = "error",
        dtype: str = "float64",
        centre: Any = 0.0,
    ) -> OnlineMAPDPM:
        """Online DP-means: each cluster costs ``lam``, in squared data units, and each point its squared distance.

        The limit of ``NormalKnownVariance`` as its variance s2 goes to 0, with alpha = (1 + rho / s2)^(D/2) exp(-lam /
        (2 s2)) (Raykov2014 (7), corrected). A point joins the nearest cluster if n / (n + 1) times the squared distance
        is below ``lam``, else it opens one. Clusters merge and split where sum of squares + lam K falls. ``centre`` is
        subtracted from data first; set it where float32 data lies far from 0. Scores are densities of a model whose
        variance vanishes: only their order has a meaning.

        Examples
        --------
        >>> model = OnlineMAPDPM.dp_means(4.0, n_features=1)
        >>> model.learn_many([[0.0], [1.0], [9.0], [9.5], [0.5]]).tolist()
        [0, 0, 1, 1, 0]
        """
        return cls(
            max_clusters,
            half_life=half_life,
            when_full=when_full,
            missing=missing,
            surprise=False,
            **_dp_means_settings(lam, centre, n_features, dtype),
        )

    @classmethod
    def from_model(cls, model: MAPDPM, *, max_clusters: int | None = None, **settings: Any) -> OnlineMAPDPM:
        """A learner that goes on where a fit has ended: its clusters, prior, alpha and names; ``model`` is unchanged.

        Clusters go by their statistics: weight n_k, mean and M2 of each feature. Ids are the labels 0..K-1, and
        ``n_seen`` is the number of points fitted (the weights of a cluster, rounded). ``predict`` and
        ``score_samples`` are then those of ``model`` up to rounding. Halves are empty: a cluster of the fit splits only
        by points that come later. ``max_clusters`` None is max(16, 2 K). ``settings`` are those of the class, but for
        alpha, likelihood, n_features and missing, which the model has; ``dtype="int16"`` takes a fit of whole numbers.
        O(K D).

        NotFittedError where ``model`` is not fitted. ValueError where it is no MAPDPM, has a discount or a family that
        streams do not know, has more clusters than ``max_clusters`` (``merged`` merges clusters), or reads some of the
        columns only: streams learn all, so fit it on those that it reads.

        Examples
        --------
        >>> import numpy as np
        >>> from mapdpm import MAPDPM
        >>> X = np.random.default_rng(0).normal(size=(400, 2)) + 12.0 * (np.arange(400)[:, None] % 2)
        >>> fitted = MAPDPM().fit(X)
        >>> stream = OnlineMAPDPM.from_model(fitted, half_life=1000)
        >>> stream.weights.tolist(), stream.n_seen, stream.learn_one([0.0, 0.0]), fitted.predict([[0.0, 0.0]]).tolist()
        ([200.0, 200.0], 400, 0, [0])
        """
        return from_batch.stream_of(cls, model, max_clusters, settings)

    # ---- many points, each on its own --------------------------------------------------------------------------------

    @exclusive
    def predict(self, X: Any) -> Labels:
        """``predict_one`` of each point of ``X``."""
        learner, points = self._checked(X)
        if learner.stream.warming or not learner.stream.n_clusters:
            raise self._not_ready()
        return learner.predict_many(points, ids=True, scores=False)[0]

    @exclusive
    def score_samples(self, X: Any) -> Vector:
        """``score_one`` of each point of ``X``, shape (N,)."""
        learner, points = self._checked(X)
        return learner.predict_many(points, ids=False, scores=True)[1]

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Mean log predictive density of the points of ``X``, in nats a point."""
        return float(self.score_samples(X).mean())

    # ---- anomalies ---------------------------------------------------------------------------------------------------

    def assess_one(self, x: Any, t: float | None = None) -> Assessment:
        """How unusual x would be as the next point, at the time ``t``: id, log density, novelty, surprise.

        ``novelty`` is P(new cluster | x) = alpha p(x) / (sum_k n_k p(x | k) + alpha p(x)). ``surprise`` is a tail
        probability: an independent point like those so far has a surprise of at most p with probability p. It compares
        the log density of x under all clusters that are not rare with a draw from them (docs/maths.md (116)), and then
        with the points so far (119). Changes nothing; O(K D). All are nan during the warm-up.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(2000, 2))
        >>> model = OnlineMAPDPM(max_clusters=8).partial_fit(X)
        >>> near, far = model.assess_one([1.0, 0.0]), model.assess_one([6.0, 0.0])
        >>> near.surprise > 0.1, far.surprise < 1e-5, bool(far.novelty > near.novelty)
        (True, True, True)
        """
        fast = self._fast_path
        found = fast.assessed(fast.assess, x) if t is None else None
        return self._told(found or self._call_on_point(partial(assessing.assess, learns=False), x, t), x)

    def learn_assessed(self, x: Any, t: float | None = None) -> Assessment:
        """``assess_one`` and ``learn_one`` in one call; ``id`` is the cluster that has learned x."""
        fast = self._fast_path
        found = fast.assessed(fast.learn_assessed, x) if t is None else None
        return self._told(found or self._call_on_point(partial(assessing.assess, learns=True), x, t), x)

    def _told(self, found: Assessment, x: Any) -> Assessment:
        """With the contributions of the columns, where the point is unusual."""
        if not found.surprise <= _UNUSUAL:
            return found
        return found.with_contributions(self._call_on_point(assessing.contributions_to, x, None))

    @exclusive
    def assess_many(self, X: Any, t: Any = None) -> Assessment:
        """``assess_one`` of each point of ``X``: an ``Assessment`` of arrays, shape (N,). Changes nothing."""
        learner, points = self._checked(X)
        return assessing.assess_many(learner, points, microseconds_of_many(t, len(points)), learns=False)

    @exclusive
    def learn_many_assessed(self, X: Any, t: Any = None) -> Assessment:
        """``learn_assessed`` of each point of ``X`` in order: an ``Assessment`` of arrays, shape (N,)."""
        learner, points = self._checked(X)
        return assessing.assess_many(learner, points, microseconds_of_many(t, len(points)), learns=True)

    @exclusive
    def merge_tree(self, criterion: str = "log-joint", *, prior: Any = None) -> MergeTree:
        """How the clusters merge, two at a time, from their statistics; see ``MAPDPM.merge_tree``.

        Leaves are the clusters in the order of ``ids``, and ``groups(n)`` has one group for each. There are no labels
        of points: they are gone. Exact where no feature was missing. RuntimeError during the warm-up, ValueError where
        ``log_alpha`` is below the smallest alpha.
        """
        learner = self._with_clusters()
        clusters = learner.clusters()
        alpha, _ = concentration({"alpha": self.alpha} | settings_for(self, learner.n_features))
        if not alpha > 0.0 and criterion == "log-joint":
            msg = f"log_alpha={self.log_alpha:g} has no alpha that is a number > 0; use criterion='overlap'"
            raise ValueError(msg)
        counts = np.maximum(np.rint(clusters.weights), 1.0).astype(np.int64)
        anchor, family = np.zeros(learner.n_features), learner.likelihood()
        mixture = mixture_of(family, partition_prior(alpha or 1.0, 0.0), anchor, counts, clusters.rows(family))
        return tree_of_mixture(mixture, criterion, prior, None, None)

    # ---- files, gateways ---------------------------------------------------------------------------------------------

    @classmethod
    def merged(
        cls, states: Iterable[Any], *, likelihood: Any = None, max_clusters: int | None = None, dtype: str | None = None
    ) -> OnlineMAPDPM:
        """One learner from those of many devices: all their clusters, merged where that raises the log joint.

        ``states`` are learners, their bytes, or their summaries; their order has no effect. Statistics are
        pooled, not posteriors, so each prior counts once. ``likelihood`` names the prior of the result; None is that of
        the state that has seen most points. Merging a merged learner again changes nothing. Halves, kept points and
        times are not taken over.

        Examples
        --------
        >>> from mapdpm import NormalKnownVariance
        >>> prior = NormalKnownVariance(0.0, 100.0, 1.0)
        >>> devices = [OnlineMAPDPM(likelihood=prior).partial_fit([[0.0], [float(x)]]) for x in (1, 30)]
        >>> OnlineMAPDPM.merged(devices).weights.tolist()
        [3.0, 1.0]
        """

        def make(settings: Settings) -> OnlineMAPDPM:
            return cls._of_settings(settings | {"dtype": dtype or settings["dtype"]}, settings["n_features"])

        parts = [pooling.part_of(state, {container.STREAM: cls}) for state in states]
        return pooling.merged(make, parts, likelihood, max_clusters)


def _dp_means_settings(lam: float, centre: Any, n_features: int | None, dtype: str) -> dict[str, Any]:
    """The settings at the DP-means limit: docs/maths.md, section 10."""
    number = check_number("lam", lam)
    if not number > 0.0:
        refuse_value("lam must be > 0, in squared data units", lam)
    check_choice("dtype", dtype, DTYPES)
    middle = np.atleast_1d(np.asarray(centre, dtype=np.float64))
    if n_features is None and np.ndim(centre) == 0:
        msg = "dp_means needs n_features (or a centre with one entry a feature): alpha depends on it"
        raise ValueError(msg)
    D = len(middle) if n_features is None else check_count("n_features", n_features)
    share, wider = _DP_MEANS_LIMIT[dtype]
    variance = number * share
    return {
        "likelihood": NormalKnownVariance(middle, variance * wider, variance),
        "n_features": D,
        "dtype": dtype,
        "log_alpha": 0.5 * D * math.log1p(wider) - 0.5 / share,
    }
