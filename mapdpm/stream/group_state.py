"""The state of a learner of groups: their names and shares, the base that others saw, and files."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any, Self

from mapdpm.files import container
from mapdpm.protocol import Matrix, Vector
from mapdpm.stream import summaries
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import settings_for
from mapdpm.stream.group_numbers import GroupNumbers
from mapdpm.stream.learner_state import LearnerState, restored
from mapdpm.stream.lock import exclusive
from mapdpm.stream.settings import GroupSettings


class GroupState(LearnerState, GroupSettings):
    """The layer between the public methods of a learner of groups and the C library."""

    _kind = container.STREAM_OF_GROUPS
    _numbers: GroupNumbers

    def _begin(self) -> None:
        self._numbers = GroupNumbers()
        super()._begin()

    @property
    @exclusive
    def group_names(self) -> list[Any]:
        """The groups that have a place, in the order of their places."""
        return [] if self._learner is None else self._numbers.names_of(self._learner.group_numbers())

    @property
    @exclusive
    def group_weights(self) -> Matrix:
        """The probability of each cluster for the next point of each group, shape (n_groups, K + 1); last a new one."""
        return self.ready_learner().group_weights()

    @property
    @exclusive
    def shares(self) -> Vector:
        """The common shares of the clusters, shape (K + 1,); last that of a new one."""
        return self.ready_learner().shares()

    # ---- the base, and files -----------------------------------------------------------------------------------------

    @exclusive
    def set_base(self, summary: bytes) -> Self:
        """Replace what the learner knows from others by the clusters of a ``summary`` from a gateway; returns self.

        Each joins the cluster of the learner with which it raises the log joint most; else it takes a free slot, those
        of most tables first. So x joins a cluster of the gateway that has no point here yet with weight alpha beta_k.
        What the learner saw itself stays, and only that is in its own ``summary``. A learner without a prior takes that
        of the summary. O(K K' (D + G)) for K' clusters of the summary. ValueError where with_base is False, the
        warm-up has begun, or the bytes are no summary of such points; the learner is unchanged then.
        """
        if not self.with_base:
            msg = "this learner cannot have a base; make it with with_base=True"
            raise ValueError(msg)
        message = summaries.checked_bytes("summary", summary)
        part, settings = summaries.read(message)
        learner = self._learner
        D = self._known_n_features() if learner is None else learner.n_features
        if D not in {None, part.n_features}:
            msg = f"the summary has {part.n_features} features, but the learner has {D}"
            raise ValueError(msg)
        if learner is None or (learner.stream.warming and not learner.stream.n_seen):
            own = settings_for(self, part.n_features)
            learner = Learner.new(own | {"likelihood": own["likelihood"] or settings["likelihood"]})
        elif learner.stream.warming:
            msg = f"the warm-up has begun: {self.n_seen} of {self.warmup} points were learned; call it before or after"
            raise ValueError(msg)
        summaries.set_base(learner, summaries.converted(message, self.dtype))
        if learner is not self._learner:
            self._adopt(learner)
        return self

    def _take_extras(self, extras: dict[str, Any]) -> None:
        super()._take_extras(extras)
        self._numbers = GroupNumbers.read(extras.get("group_names"), self.ready_learner().group_numbers())

    def _extras(self) -> dict[str, Any]:
        names = self._numbers.written(self._learner.group_numbers() if self._learner else ())
        return super()._extras() | {"group_names": names}

    @exclusive
    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle, copy and joblib: as the bytes of a file, and groups of any name."""
        state = None if self._learner is None else container.with_extras(self._learner.write(), super()._extras())
        return restored, (type(self), self.get_params(deep=False), state, {"_numbers": copy.deepcopy(self._numbers)})

    @contextlib.contextmanager
    def _new_groups(self) -> Iterator[None]:
        """Learning that may add groups; afterwards, the names of those that have no place, or lost it, are forgotten.

        O(G) after an error, or where a group lost its place.
        """
        learned = False
        try:
            yield
            learned = True
        finally:
            if not learned or len(self._numbers.known) > self.max_groups:
                self._numbers.keep(() if self._learner is None else self._learner.group_numbers())
