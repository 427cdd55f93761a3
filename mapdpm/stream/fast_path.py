"""The fast path, which learns, predicts or assesses one point with one C call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mapdpm.assessment import Assessment
from mapdpm.stream.assessing import assessment_of
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.lock import Lock


class FastPath:
    """Learns, predicts or assesses one point, at little more than the cost of C, which takes the lock itself.

    It returns the id, or -1: the lock is taken, or the point is wrong. Nothing has changed then, and the caller uses
    the methods of the learner, which wait for their turn and report the error. Without a learner it always returns -1,
    and with one in whole numbers; so does ``learn`` of a learner that replaces groups, for another thread may just
    replace this one.
    """

    def __init__(self, learner: Learner | None, lock: Lock) -> None:
        self.width: int = -1
        self.learn: Callable[..., Any] = _no_learner
        self.predict: Callable[..., Any] = _no_learner
        self.no_score: Any = None
        self.score: Callable[[], Any] = list
        self.assess: Callable[..., Any] = _no_learner
        self.learn_assessed: Callable[..., Any] = _no_learner
        self.assessment: Callable[[], Any] = list
        if learner is None or not hasattr(learner.lib, "mapdpm_one"):
            return
        ffi, has_groups = learner.ffi, learner.stream.max_groups > 0
        one = learner.lib.mapdpm_one_of if has_groups else learner.lib.mapdpm_one
        self.width = learner.n_features
        if not (has_groups and learner.settings()["when_groups_full"] == "replace"):
            self.learn = partial(one, learner.stream, lock.busy, 1)
        self.predict = partial(one, learner.stream, lock.busy, 0)
        self.no_score = ffi.NULL
        self.score = partial(ffi.new, ffi.typeof("mapdpm_real *"))
        self.assess, self.learn_assessed = (
            partial(learner.lib.mapdpm_one_assessed, learner.stream, lock.busy, learns) for learns in (0, 1)
        )
        self.assessment = partial(ffi.new, ffi.typeof("mapdpm_assessment *"))

    def __call__(self, ask: Any, x: Any, score: Any, *group: int) -> int:
        """The id of ``x`` by ``ask``, one of the functions above. What it says beside goes to ``score``, if any.

        ``group`` is the number of the group, for a learner of groups.
        """
        if type(x) is not list and isinstance(x, np.ndarray):
            x = x.tolist()
        try:
            return ask(*group, x, score) if len(x) == self.width else -1
        except (TypeError, OverflowError):
            return -1

    def assessed(self, ask: Any, x: Any) -> Assessment | None:
        """The assessment of ``x`` by ``ask``: ``assess`` or ``learn_assessed``; None as -1 above."""
        found = self.assessment()
        return assessment_of(found) if self(ask, x, found) >= 0 else None


def _no_learner(*_: object) -> int:
    return -1
