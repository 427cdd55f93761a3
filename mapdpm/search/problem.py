"""The problem of a search: the points to cluster, the model and the backend."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm import objective
from mapdpm.backends import Backend
from mapdpm.backends.parts import part_of
from mapdpm.data import point_set
from mapdpm.likelihoods import NormalGamma
from mapdpm.likelihoods._skipping import skipping
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, Vector, Weights
from mapdpm.state import ClusterState, blank_row, empty, resized

_FIRST_CAPACITY = 16
_ANCHOR_SAMPLE = 1023


ABSENT = -1
"""The label of a point of weight 0."""


class Problem(NamedTuple):
    """The arguments that all moves share; ``max_clusters`` is a hard cap, or None."""

    model: Model
    backend: Backend
    max_clusters: int | None
    blank: Vector
    """The row of an empty cluster. It is made once: a search makes many parts, and they may be small."""

    @classmethod
    def of(cls, model: Model, backend: Backend, max_clusters: int | None) -> Problem:
        """The problem of clustering the points of ``model``."""
        return cls(model, backend, max_clusters, blank_row(model.likelihood))

    @property
    def n_points(self) -> int:
        """The number of points."""
        return point_set(self.model.data).n_points

    def empty(self, n_points: int, capacity: int) -> ClusterState:
        """A state of ``n_points`` points, all out, and ``capacity`` free slots."""
        return empty(self.model.likelihood, n_points, capacity, self.blank)

    def capacity(self, n_clusters: int) -> int:
        """Slots for a state of ``n_clusters``, with some to spare if more clusters are allowed."""
        wanted = max(_FIRST_CAPACITY, 2 * n_clusters)
        return wanted if self.max_clusters is None else min(wanted, self.max_clusters)

    def may_grow(self, state: ClusterState) -> bool:
        """Whether more slots are allowed."""
        return self.max_clusters is None or state.capacity < self.max_clusters

    def grown(self, state: ClusterState) -> ClusterState:
        """``state`` with twice the slots."""
        return resized(self.model.likelihood, state, self.capacity(state.capacity))

    def refresh(self, state: ClusterState) -> None:
        """Compute the rows of ``state`` anew from its labels, so that rounding does not add up."""
        self.backend.statistics(self.model, state)

    def swept(self, state: ClusterState) -> tuple[ClusterState, int]:
        """The state after one sweep (Raykov2014 (15)), and how many points moved.

        Each point in turn moves to the slot that raises the log joint most. Edits ``state``, or replaces it when it
        grows. O(N K D).
        """
        position, moved = 0, 0
        while True:
            position, more = self.backend.sweep(self.model, state, position, self.may_grow(state))
            moved += int(more)
            if position == len(state.labels):
                return state, moved
            state = self.grown(state)

    def log_joint(self, state: ClusterState) -> float:
        """log p(x, z), in nats."""
        log_marginals = self.backend.log_marginals(self.model.likelihood, state)
        return objective.log_joint(self.model.prior, state, log_marginals)

    def part(self, points: Labels, n_others: int) -> Problem:
        """The problem of how ``points`` are clustered, while ``n_others`` clusters hold all other points.

        Its log joint differs from that of the whole by a constant, so gains are equal.
        """
        model = part_of(self.model, points, n_others)
        return self._replace(
            model=model, max_clusters=None if self.max_clusters is None else self.max_clusters - n_others
        )


class Observed(NamedTuple):
    """Points and their family: as the user gave it, and shifted with the data to lie near 0, as kernels read it."""

    likelihood: Likelihood
    shifted: Likelihood
    data: Any
    anchor: Vector


def observed(likelihood: Any, points: Any, weights: Weights = None, missing: str = "error") -> Observed:
    """``points`` under ``likelihood`` (None: the empirical Normal-Gamma); ValueError if it does not fit the points.

    With ``missing`` "skip", the shifted one takes NaN for a missing value.
    """
    likelihood = fitting(likelihood, points, weights, missing)
    anchor = anchor_for(likelihood, points)
    less = points - anchor if np.any(anchor) else points
    return Observed(likelihood, skipping(less_anchor(likelihood, anchor), missing), less, anchor)


def fitting(likelihood: Any, points: Any, weights: Weights = None, missing: str = "error") -> Likelihood:
    """``likelihood`` (None: the empirical Normal-Gamma) for ``points``; ValueError if it does not fit them."""
    likelihood = NormalGamma.empirical(points, weights, missing=missing) if likelihood is None else likelihood
    check_likelihood(likelihood, weights is not None)
    return likelihood.for_data(points)


def check_likelihood(likelihood: Any, weighted: bool) -> None:
    """ValueError where it is no likelihood with its prior, or takes no weights though points have some."""
    if isinstance(likelihood, type) or not hasattr(likelihood, "log_predictive"):
        got = f"the class {likelihood.__name__} itself" if isinstance(likelihood, type) else repr(likelihood)
        msg = f"likelihood must be one with its prior, such as NormalGamma.empirical(X), got {got}"
        raise ValueError(msg)
    if weighted and not hasattr(likelihood, "log_predictive_weighted"):
        msg = f"{type(likelihood).__name__} takes no sample_weight"
        raise ValueError(msg)


def less_anchor(likelihood: Any, anchor: Vector) -> Any:
    """``likelihood`` for points less ``anchor``."""
    return likelihood.shifted(anchor) if np.any(anchor) else likelihood


def anchor_for(likelihood: Any, points: Any) -> Vector:
    """``anchor_of`` the points, or zeros where the family has no location, or the points are float32.

    float64 rows keep all digits of float32 points at any offset, so these need no anchor and no copy.
    """
    if not hasattr(likelihood, "shifted") or points.dtype != np.float64:
        return np.zeros(point_set(points).n_features)
    return anchor_of(points)


def anchor_of(points: Matrix) -> Vector:
    """A typical point: the median of each column over one or two thousand rows; 0 where they have no value.

    Subtraction is exact near it (Sterbenz), so an offset costs no digits. A mean would follow outliers.
    """
    step = max(1, len(points) // _ANCHOR_SAMPLE)
    sample = np.sort(points[::step], axis=0)  # NaN comes last
    n_values = len(sample) - np.isnan(sample).sum(axis=0)
    middle: Vector = sample[n_values // 2, np.arange(sample.shape[1])]
    middle[n_values == 0] = 0.0
    return middle


def present_points(weights: Weights) -> Labels | None:
    """The points whose weight is not 0; None if all points take part."""
    return None if weights is None or np.all(weights) else np.flatnonzero(weights)


def taking_part(points: Any, weights: Weights, present: Labels | None) -> tuple[Any, Weights]:
    """The points and weights of ``present``; the weights are None if all of them are 1."""
    if present is None or weights is None:
        return points, weights
    kept = weights[present]
    return point_set(points).rows(present), None if np.all(kept == 1.0) else kept


def with_absent(labels: Labels, weights: Weights, present: Labels | None) -> Labels:
    """The labels of all points: ``labels`` of those present, and -1."""
    if present is None or weights is None:
        return labels
    spread = np.full(len(weights), ABSENT)
    spread[present] = labels
    return spread
