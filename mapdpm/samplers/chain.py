"""Where a chain is: the model that it samples under, and the partition that it has reached."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm import objective
from mapdpm import state as states
from mapdpm.backends.generic import log_marginals
from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import Labels, Likelihood, Vector
from mapdpm.state import ClusterState

_FIRST_CAPACITY = 16
_SPARSE = 4  # slots for each cluster in use, above which free ones are dropped: they double where they are short


class Adapted(NamedTuple):
    """What a burn-in has fixed: typical number of clusters, and how often each part of a hybrid runs in a step."""

    n_clusters: float
    counts: tuple[int, ...] = ()


class Chain:
    """A partition of the points of ``data``, and the model: what a step of a sampler reads, and edits.

    A step changes ``state``, and ``prior`` where alpha or a discount is drawn; ``likelihood`` and ``data`` stay.
    ``adapted`` is None during a burn-in, when samplers may tune themselves; afterwards they must not.
    """

    __slots__ = ("adapted", "data", "likelihood", "prior", "seconds", "state")

    _statistics = staticmethod(compiled_if_possible(states.statistics))
    _log_marginals = staticmethod(compiled_if_possible(log_marginals))

    def __init__(
        self,
        likelihood: Likelihood,
        prior: Any,  # with its parameters: those that are drawn are replaced
        data: Any,
        labels: Labels,
        adapted: Adapted | None = None,
    ) -> None:
        self.likelihood, self.prior, self.data, self.adapted = likelihood, prior, data, adapted
        self.seconds: Vector = np.zeros(0)
        self.become(labels)

    @property
    def n_points(self) -> int:
        """How many points there are."""
        return len(self.state.labels)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return self.state.n_clusters

    @property
    def sizes(self) -> Vector:
        """Of the clusters."""
        return self.state.counts[self.state.counts > 0].astype(np.float64)

    def become(self, labels: Labels) -> None:
        """Take over another partition, 0 to K - 1 in any order; rows are made anew. O(N D)."""
        capacity = max(_FIRST_CAPACITY, 2 * (int(labels.max()) + 1))
        state = states.empty(self.likelihood, 0, min(capacity, len(labels) + 1))
        self.state = state._replace(labels=labels.astype(np.int64))
        self._statistics(self.likelihood, self.data, None, self.state)

    def clear(self) -> None:
        """Take all points out of the partition: to be put back before anything else."""
        self.state = states.empty(self.likelihood, self.n_points, min(_FIRST_CAPACITY, self.n_points + 1))

    def reserve(self) -> ClusterState:
        """The state, with a slot free at least: N + 1 are always enough."""
        if self.n_clusters == self.state.capacity:
            self.state = states.resized(self.likelihood, self.state, min(2 * self.state.capacity, self.n_points + 1))
        return self.state

    def trim(self) -> None:
        """Drop slots where a start of many clusters has left most of them free: kernels look at every slot."""
        if self.state.capacity > max(_FIRST_CAPACITY, _SPARSE * (self.n_clusters + 1)):
            self.refresh()

    def refresh(self) -> None:
        """Make the state anew from its labels, named in order of appearance: nothing else of the past stays. O(N D)."""
        self.become(states.compacted(self.likelihood, self.state).labels)

    def log_joint(self) -> float:
        """log p(x, z), in nats, given alpha."""
        return objective.log_joint(self.prior, self.state, self._log_marginals(self.likelihood, self.state))
