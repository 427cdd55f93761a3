"""Learning and asking point by point, for learners whose points come alone: no groups."""

from __future__ import annotations

from typing import Any, Self

from mapdpm.protocol import Labels, Vector
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.learner_state import LearnerState
from mapdpm.stream.lock import exclusive
from mapdpm.stream.points import microseconds_of_many


class PointwiseLearner(LearnerState):
    """The methods that ``OnlineMAPDPM`` and ``OnlineHDPHMM`` share."""

    # ---- learning ----------------------------------------------------------------------------------------------------

    def learn_one(self, x: Any, t: float | None = None) -> int:
        """Learn a point, a sequence of n_features numbers, and return the id of its cluster.

        ``t`` is its time in seconds from any origin, or a date (of datetime, numpy or pandas; UTC without a zone),
        never less than that of the point before; ``half_life`` is in seconds then. O(K D). ValueError where x is not
        such a point; the learner is unchanged then.

        Examples
        --------
        >>> from mapdpm import NormalKnownVariance, OnlineMAPDPM
        >>> model = OnlineMAPDPM(likelihood=NormalKnownVariance(0.0, 100.0, 1.0))
        >>> [model.learn_one([x]) for x in (0.1, 20.0, -0.3)]
        [0, 1, 0]
        """
        fast = self._fast_path
        if t is None and type(x) is list and len(x) == fast.width:  # the usual case: one more call would cost time
            try:
                number = fast.learn(x, fast.no_score)
            except (TypeError, OverflowError):
                number = -1
        else:
            number = -1 if t is not None else fast(fast.learn, x, fast.no_score)
        return number if number >= 0 else self._call_on_point(_learn, x, t)[0]

    def learn_scored(self, x: Any, t: float | None = None) -> tuple[int, float]:
        """``score_one`` and ``learn_one`` in one call: the id, and the log density before x was learned, in nats."""
        fast = self._fast_path
        if t is None:
            score = fast.score()
            number = fast(fast.learn, x, score)
            if number >= 0:
                return number, score[0]
        return self._call_on_point(_learn, x, t)

    @exclusive
    def learn_many(self, X: Any, t: Any = None) -> Labels:
        """Learn the points of ``X`` in order, and return the id that each had when it was learned.

        Bit for bit the same as ``learn_one`` in a loop. ``t`` is None or one time for each point. ValueError if X or
        ``t`` is invalid. Some errors show only while it learns (a point is too far away). Then the points before that
        one are learned, and the error says so.
        """
        learner, points = self._checked(X)
        return learner.learn_many(points, microseconds_of_many(t, len(points)), scores=False)[0]

    @exclusive
    def learn_many_scored(self, X: Any, t: Any = None) -> tuple[Labels, Vector]:
        """``learn_many``, and the log predictive density that each point had before it was learned."""
        learner, points = self._checked(X)
        return learner.learn_many(points, microseconds_of_many(t, len(points)), scores=True)

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """``learn_many`` in the form of scikit-learn; returns self."""
        self.learn_many(X)
        return self

    @exclusive
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Forget everything and learn ``X``; if that fails, the learner stays as it was.

        While it learns, it needs the memory of a second learner.
        """
        self._become(self._fresh().partial_fit(X))
        return self

    # ---- asking ------------------------------------------------------------------------------------------------------

    def predict_one(self, x: Any) -> int:
        """The id of the best existing cluster for x; changes nothing. NotFittedError where there are no clusters.

        ``OnlineMAPDPM``: argmax_k log n_k + log p(x | k) (Raykov2014 (18), corrected). ``OnlineHDPHMM``: the most
        probable state of x as the next point, argmax_k log p_k + log p(x | k), where p_k is the probability of state k
        given the points so far: that of ``belief`` and ``transitions``, or ``start`` (docs/maths.md (88)).
        """
        fast = self._fast_path
        number = fast(fast.predict, x, fast.no_score)
        if number < 0:
            number = self._call_on_point(_predict, x)
        if number is None:
            raise self._not_ready()
        return number

    def score_one(self, x: Any) -> float:
        """Log predictive density of x, in nats with all constants; high is normal. Changes nothing.

        ``OnlineMAPDPM``: log (sum_k n_k p(x | k) + alpha p(x)) / (n + alpha), with the decayed weights n_k and their
        total n (Raykov2014 (17)). ``OnlineHDPHMM``: log (sum_k p_k p(x | k) + p_u p(x)) of x as the next point, with
        p_k as in ``predict_one``, and p_u that of a new state (docs/maths.md (88)). nan during the warm-up.
        """
        fast = self._fast_path
        score = fast.score()
        if fast(fast.predict, x, score) >= 0:
            return float(score[0])
        return self._call_on_point(_score, x)


def _learn(learner: Learner, x: Any, *at: int) -> tuple[int, float]:
    return learner.learn_scored(x, *at)


def _predict(learner: Learner, x: Any) -> int | None:
    return learner.predict(x)


def _score(learner: Learner, x: Any) -> float:
    return learner.predict_score(x)
