"""What is to be clustered, under which model, and by what."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm import objective
from mapdpm.backends import Backend
from mapdpm.data import point_set
from mapdpm.likelihoods import NormalGamma
from mapdpm.protocol import Labels, Likelihood, Matrix, PartitionPrior, Vector, Weights
from mapdpm.state import ClusterState, empty, resized

_FIRST_CAPACITY = 16
_ANCHOR_SAMPLE = 1023


class Problem(NamedTuple):
    """The arguments that all moves share; ``max_clusters`` is a hard cap, or None."""

    likelihood: Likelihood
    prior: PartitionPrior
    data: Any
    weights: Weights
    backend: Backend
    max_clusters: int | None
    blank: Vector | None = None
    """The row of an empty cluster: made once, for parts of a problem are many and may be small."""

    @property
    def n_points(self) -> int:
        """How many points."""
        return point_set(self.data).n_points

    def empty(self, n_points: int, capacity: int) -> ClusterState:
        """A state of ``n_points`` points, all out, and ``capacity`` free slots."""
        return empty(self.likelihood, n_points, capacity, self.blank)

    def capacity(self, n_clusters: int) -> int:
        """Slots for a state of ``n_clusters``, with room to grow where that is allowed."""
        wanted = max(_FIRST_CAPACITY, 2 * n_clusters)
        return wanted if self.max_clusters is None else min(wanted, self.max_clusters)

    def may_grow(self, state: ClusterState) -> bool:
        """Whether more slots are allowed."""
        return self.max_clusters is None or state.capacity < self.max_clusters

    def grown(self, state: ClusterState) -> ClusterState:
        """``state`` with twice the slots."""
        return resized(self.likelihood, state, self.capacity(state.capacity))

    def refresh(self, state: ClusterState) -> None:
        """Make the rows of ``state`` anew from its labels, so that rounding does not add up."""
        self.backend.statistics(self.likelihood, self.data, self.weights, state)

    def log_joint(self, state: ClusterState) -> float:
        """log p(x, z), in nats."""
        return objective.log_joint(self.prior, state, self.backend.log_marginals(self.likelihood, state))

    def part(self, points: Labels, beside: int) -> Problem:
        """The problem of how ``points`` are parted, while ``beside`` clusters hold all others.

        Its log joint differs from that of the whole by a constant, so what it gains the whole gains.
        """
        return self._replace(
            prior=self.prior.given_other_clusters(beside),
            data=point_set(self.data).rows(points),
            weights=None if self.weights is None else self.weights[points],
            max_clusters=None if self.max_clusters is None else self.max_clusters - beside,
        )


class Observed(NamedTuple):
    """Points under a family: as the user gave it, and both moved so that the data lie near 0."""

    likelihood: Likelihood
    model: Likelihood
    data: Any
    anchor: Vector


def observed(likelihood: Any, points: Any, weights: Weights = None) -> Observed:
    """``points`` under ``likelihood``, None the empirical Normal-Gamma; ValueError where it is none or not for them."""
    likelihood = NormalGamma.empirical(points, weights) if likelihood is None else likelihood
    if isinstance(likelihood, type) or not hasattr(likelihood, "log_predictive"):
        got = f"the class {likelihood.__name__} itself" if isinstance(likelihood, type) else repr(likelihood)
        msg = f"likelihood must be one with its prior, such as NormalGamma.empirical(X), got {got}"
        raise ValueError(msg)
    if weights is not None and not hasattr(likelihood, "log_predictive_weighted"):
        msg = f"{type(likelihood).__name__} takes no sample_weight"
        raise ValueError(msg)
    likelihood = likelihood.for_data(points)
    # float32 resolves no more than float64 rows keep, at any offset: it needs no anchor, and no copy.
    if not hasattr(likelihood, "shifted") or points.dtype != np.float64:
        return Observed(likelihood, likelihood, points, np.zeros(point_set(points).n_features))
    anchor = anchor_of(points)
    return Observed(likelihood, likelihood.shifted(anchor), points - anchor, anchor)


def anchor_of(points: Matrix) -> Vector:
    """A typical point: the median of each column over a thousand or two of the rows.

    Subtracting it is exact near it (Sterbenz), so an offset costs no digits; a mean would follow outliers.
    """
    step = max(1, len(points) // _ANCHOR_SAMPLE)
    sample = np.sort(points[::step], axis=0)
    middle: Vector = sample[len(sample) // 2].copy()
    return middle
