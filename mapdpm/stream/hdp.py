"""OnlineHDP: a stream whose points have groups that share clusters. No mathematics here: C does all the learning."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.groups import Groups, read_groups
from mapdpm.estimators.grouped import chosen_groups
from mapdpm.files import container
from mapdpm.protocol import Labels, Vector
from mapdpm.stream import pooling
from mapdpm.stream.c_learner import NO_GROUP, Learner
from mapdpm.stream.c_options import Settings
from mapdpm.stream.group_numbers import of_group
from mapdpm.stream.group_state import GroupState
from mapdpm.stream.lock import exclusive
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.stream.points import microseconds_of_many
from mapdpm.stream.settings import ROWS

__all__ = ["OnlineHDP"]


class OnlineHDP(GroupState):
    r"""Clusters of a stream whose points have groups: a hierarchical Dirichlet process in one pass and fixed memory.

    Sensors, devices or sessions share clusters, each in shares of its own. A point x of group g joins the cluster of
    largest log(n_gk + alpha beta_k) + log p(x | cluster k), or opens one if log(alpha beta_u) + log p(x) is larger
    (Teh2004 (37), with the counts n_gk so far). The common shares are beta_k = M_k / (gamma + M) and beta_u = gamma /
    (gamma + M). M_k is the expected number of tables of cluster k: it grows by a / (a + n_gk) with each point, where a
    = alpha beta_k. So a new group expects what the others have seen. All else is as in ``OnlineMAPDPM``: clusters
    split, merge and are forgotten, and the same C code runs on a microcontroller, with the same bits.

    Parameters
    ----------
    {settings}

    Attributes
    ----------
    group_names : list
        The groups that have a place, in the order of their places.
    group_weights : ndarray of shape (n_groups, K + 1)
        For each group, the probability of each cluster for its next point, in the order of ``ids``; the last column is
        a new cluster.
    shares : ndarray of shape (K + 1,)
        The common shares beta_k, and last beta_u; a new group has these probabilities.
    ids, weights, means, variances, n_clusters, n_seen, nbytes, events, likelihood_, n_features_in_, feature_names_in_
        As in ``OnlineMAPDPM``.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Notes
    -----
    O(K D) a point; a merge that is tried, a split, and with ``half_life`` each point, cost O(G) more, for G groups.
    Memory is that of ``OnlineMAPDPM`` and 3 K G reals (4 in float32). See docs/groups.md.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = rng.choice(["kitchen", "cellar"], size=1000)
    >>> X = rng.normal(size=(1000, 1)) + np.where(group == "kitchen", 20.0, 5.0)[:, None]
    >>> model = OnlineHDP()
    >>> ids = model.learn_many(X, group)
    >>> model.n_clusters, model.predict_one([20.0], "kitchen") == model.predict_one([20.0], "attic")
    (2, True)
    >>> model.score_one([20.0], "kitchen") > model.score_one([20.0], "attic") > model.score_one([20.0], "cellar")
    True
    """

    # ---- learning ----------------------------------------------------------------------------------------------------

    def learn_one(self, x: Any, group: Any, t: float | None = None) -> int:
        """Learn a point of a group, any hashable label, and return the id of its cluster.

        ``x`` and ``t`` as in ``OnlineMAPDPM.learn_one``. O(K D). ValueError where x is no point or the group is None or
        NaN, ``StreamFullError`` where there is no place for a new group; the learner is unchanged then.

        Examples
        --------
        >>> from mapdpm import NormalKnownVariance
        >>> model = OnlineHDP(likelihood=NormalKnownVariance(0.0, 100.0, 1.0))
        >>> [model.learn_one([x], g) for x, g in ((0.1, "a"), (20.0, "a"), (-0.3, "b"))]
        [0, 1, 0]
        """
        fast = self._fast_path
        if t is None and type(x) is list and len(x) == fast.width:  # the usual case: one more call would cost time
            try:
                number: int = fast.learn(self._numbers.known[group], x, fast.no_score)
            except (KeyError, TypeError, OverflowError):
                number = -1
            if number >= 0:
                return number
        return self._learn_in_turn(x, group, t)[0]

    def learn_scored(self, x: Any, group: Any, t: float | None = None) -> tuple[int, float]:
        """``score_one`` and ``learn_one`` in one call: the id, and the log density before x was learned, in nats."""
        fast = self._fast_path
        number = self._numbers.of(group)
        if t is None and number != NO_GROUP:
            score = fast.score()
            found = fast(fast.learn, x, score, number)
            if found >= 0:
                return found, score[0]
        return self._learn_in_turn(x, group, t)

    @exclusive
    def _learn_in_turn(self, x: Any, group: Any, t: float | None) -> tuple[int, float]:
        number = self._numbers.of(group)
        if number != NO_GROUP:
            return self._on_point(of_group(number, Learner.learn_scored), x, t)
        with self._new_groups():
            number = self._numbers.add(group)
            return self._on_point(of_group(number, Learner.learn_scored), x, t)

    @exclusive
    def learn_many(self, X: Any, groups: Any, t: Any = None) -> Labels:
        """Learn the points of ``X`` in order, of the groups ``groups`` (N,); the id that each had when learned.

        Bit for bit the same as ``learn_one`` in a loop. Errors as in ``OnlineMAPDPM.learn_many``.
        """
        return self._learn_many(X, groups, t, scores=False)[0]

    @exclusive
    def learn_many_scored(self, X: Any, groups: Any, t: Any = None) -> tuple[Labels, Vector]:
        """``learn_many``, and the log predictive density that each point had before it was learned."""
        return self._learn_many(X, groups, t, scores=True)

    def _learn_many(self, X: Any, groups: Any, t: Any, scores: bool) -> tuple[Labels, Vector]:
        given = _read(groups, X)
        learner, points = self._checked(X)
        times = microseconds_of_many(t, len(points))
        with self._new_groups():
            numbers = self._numbers.of_many(given, adds=True)
            return learner.learn_many(points, times, scores, numbers)

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """``learn_many`` in the form of scikit-learn; returns self. The groups may stand in the place of y.

        Without groups all points are one group, and a UserWarning says so.
        """
        chosen = chosen_groups(y, groups)
        if chosen is None:
            warnings.warn("OnlineHDP has no groups: all points are one group", UserWarning, stacklevel=2)
        self.learn_many(X, chosen)
        return self

    @exclusive
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Forget everything and learn ``X``; if that fails, the learner stays as it was."""
        self._become(self._fresh().partial_fit(X, y, groups))
        return self

    # ---- asking ------------------------------------------------------------------------------------------------------

    def predict_one(self, x: Any, group: Any = None) -> int:
        """The id of the best existing cluster for x; changes nothing.

        A group that is new, or None, weighs by the common shares. NotFittedError where there are no clusters.
        """
        fast = self._fast_path
        number = NO_GROUP if group is None else self._numbers.of(group)
        found: int | None = fast(fast.predict, x, fast.no_score, number)
        if found is None or found < 0:
            found = self._call_on_point(of_group(number, Learner.predict), x)
        if found is None:
            raise self._not_ready()
        return found

    def score_one(self, x: Any, group: Any = None) -> float:
        """Log predictive density of x in a group, in nats with all constants; high is normal. Changes nothing.

        log [(sum_k (n_gk + alpha beta_k) p(x | k) + alpha beta_u p(x)) / (n_g + alpha)]; nan during the warm-up. A
        group that is new, or None, has n_g = 0.
        """
        fast = self._fast_path
        number = NO_GROUP if group is None else self._numbers.of(group)
        score = fast.score()
        if fast(fast.predict, x, score, number) >= 0:
            return float(score[0])
        return self._call_on_point(of_group(number, Learner.predict_score), x)

    @exclusive
    def predict(self, X: Any, groups: Any = None) -> Labels:
        """``predict_one`` of each point of ``X``, of the groups ``groups`` (N,) or of none."""
        learner, points, numbers = self._asked(X, groups)
        if learner.stream.warming or not learner.stream.n_clusters:
            raise self._not_ready()
        return learner.predict_many(points, ids=True, scores=False, groups=numbers)[0]

    @exclusive
    def score_samples(self, X: Any, groups: Any = None) -> Vector:
        """``score_one`` of each point of ``X``, shape (N,)."""
        learner, points, numbers = self._asked(X, groups)
        return learner.predict_many(points, ids=False, scores=True, groups=numbers)[1]

    def score(self, X: Any, y: Any = None, groups: Any = None) -> float:
        """Mean log predictive density of the points of ``X``, in nats a point."""
        return float(self.score_samples(X, chosen_groups(y, groups)).mean())

    def _asked(self, X: Any, groups: Any) -> tuple[Learner, Any, NDArray[np.uint32]]:
        given = None if groups is None else _read(groups, X)
        learner, points = self._checked(X)
        if given is None:
            return learner, points, np.full(len(points), NO_GROUP, dtype=np.uint32)
        return learner, points, self._numbers.of_many(given, adds=False)

    # ---- devices and a gateway ---------------------------------------------------------------------------------------

    @classmethod
    def merged(
        cls,
        states: Iterable[Any],
        *,
        likelihood: Any = None,
        max_clusters: int | None = None,
        max_groups: int | None = None,
        alpha: float | None = None,
        gamma: float | None = None,
        dtype: str | None = None,
    ) -> OnlineHDP:
        """One learner from those of many devices: what each saw itself, merged where that raises the log joint.

        ``states`` are learners of either class, their bytes, or their summaries; their order has no effect. A cluster
        of a device counts for its tables, which are one in an ``OnlineMAPDPM``; so ``shares`` is the distribution over
        clusters that a new device expects. The result has no groups. A parameter that is None is that of the state that
        has seen most points, or the default. All else is as in ``OnlineMAPDPM.merged``.

        Examples
        --------
        >>> from mapdpm import NormalKnownVariance, OnlineMAPDPM
        >>> prior = NormalKnownVariance(0.0, 100.0, 1.0)
        >>> devices = [OnlineMAPDPM(likelihood=prior).partial_fit([[0.0]] * 9 + [[x]]) for x in (20.0, 1.0, 0.5)]
        >>> gateway = OnlineHDP.merged(devices)
        >>> gateway.weights.tolist(), gateway.shares.tolist()
        ([29.0, 1.0], [0.6, 0.2, 0.2])
        """
        given = {"alpha": alpha, "gamma": gamma, "max_groups": max_groups, "dtype": dtype}
        known: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

        def make(settings: Settings) -> OnlineHDP:
            if alpha is None and settings["log_alpha"] is not None:
                msg = f"the state that has seen most has log_alpha={settings['log_alpha']:g}, not alpha; give alpha="
                raise ValueError(msg)
            absent = () if settings["max_groups"] else ("max_groups", "gamma")
            of_groups = settings | {name: ROWS[name].default for name in absent}
            return cls._of_settings(of_groups | known, settings["n_features"])

        readers = {container.STREAM_OF_GROUPS: cls, container.STREAM: OnlineMAPDPM}
        return pooling.merged(make, [pooling.part_of(each, readers) for each in states], likelihood, max_clusters)


def _read(groups: Any, X: Any) -> Groups:
    n_points = len(X) if hasattr(X, "__len__") and not hasattr(X, "__array__") else np.shape(X)[0]
    return read_groups(groups, n_points)
