"""Points in chunks, and sums over them: what goes to whoever makes a pass, and what comes back.

Sums of chunks are joined in the order of chunks, so they do not depend on who makes which, or when.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import BACKENDS, Backend
from mapdpm.data import point_set
from mapdpm.protocol import Labels, Matrix, Model, Vector, Weights
from mapdpm.search.observed import less_anchor
from mapdpm.state import ClusterState, empty

PART = 1 << 15
"""Points that are computed at a time; a larger chunk is passed part by part."""


class Chunk(NamedTuple):
    """Some of the points, in the form that verbs read; ``first`` is the number of the first one among all points."""

    points: Any
    weights: Weights
    first: int

    @property
    def n_points(self) -> int:
        """How many there are."""
        return point_set(self.points).n_points

    def parts(self) -> list[Chunk]:
        """The chunk in parts of at most ``PART`` points."""
        edges = [*range(0, max(self.n_points, 1), PART), self.n_points]
        return [self._part(first, last) for first, last in itertools.pairwise(edges)]

    def _part(self, first: int, last: int) -> Chunk:
        weights = None if self.weights is None else self.weights[first:last]
        return Chunk(point_set(self.points).part(first, last), weights, self.first + first)

    def numbers(self) -> Labels:
        """The number of each point among all points."""
        return np.arange(self.first, self.first + self.n_points)


class Frame(NamedTuple):
    """The model, for points less ``anchor``, and the backend that computes."""

    likelihood: Any
    prior: Any
    anchor: Vector
    backend_name: str

    @property
    def backend(self) -> Backend:
        """The backend; its name crosses from one process to another."""
        return BACKENDS[self.backend_name]

    def shifted(self, points: Any) -> Any:
        """``points`` less the anchor."""
        if not np.any(self.anchor):
            return points
        data = point_set(points)
        return data.subtract_anchor(self.anchor, np.empty((data.n_points, data.n_features)))


class Held(NamedTuple):
    """Points that tangents do not label: their numbers, ascending, and their slots."""

    numbers: Labels
    slots: Labels

    def only(self, which: Any) -> Held:
        """Those where ``which`` is True."""
        return Held(self.numbers[which], self.slots[which])

    def and_also(self, numbers: Labels, slots: Labels) -> Held:
        """These points, and others."""
        numbers, slots = np.append(self.numbers, numbers), np.append(self.slots, slots)
        order = np.argsort(numbers)
        return Held(numbers[order], slots[order])


class Labelling(NamedTuple):
    """The rule by which all points have labels: the slot of the best tangent, but for points that are held."""

    constants: Vector
    """The slope of log p(z) by the size of each slot, shape (K,)."""
    parameters: Matrix
    """The parameters that ``tangent`` fills for each slot, shape (K, P)."""
    held: Held


class Sums(NamedTuple):
    """Clusters as sums over points: counts (K,) and statistics (K, S)."""

    counts: Labels
    statistics: Matrix

    def only(self, slots: Any) -> Sums:
        """The clusters in ``slots``."""
        return Sums(self.counts[slots], self.statistics[slots])

    def parted(self, slot: int, parts: Sums) -> Sums:
        """These clusters with the first of ``parts`` in ``slot``, and the others behind all."""
        counts, statistics = self.counts.copy(), self.statistics.copy()
        counts[slot], statistics[slot] = parts.counts[0], parts.statistics[0]
        return Sums(np.append(counts, parts.counts[1:]), np.concatenate([statistics, parts.statistics[1:]]))


class Picked(NamedTuple):
    """Points that a pass returns: numbers, slots, the points less the anchor, and their weights.

    ``is_complete`` says whether all are there that the exact rule would move, where that was asked.
    """

    numbers: Labels
    slots: Labels
    points: Any
    weights: Weights
    is_complete: bool = True


class Quota(NamedTuple):
    """How many points of a part are picked at most, and by how much their second best slot is worse at most."""

    most: int
    band: float


class Passed(NamedTuple):
    """The result of a pass over some points; results of chunks are joined in the order of chunks."""

    sums: tuple[Sums, ...]
    points: Picked | None = None

    @property
    def picked(self) -> Picked:
        """The points, of a pass that picks some."""
        assert self.points is not None  # noqa: S101  (a fault of this package)
        return self.points


NOTHING = Passed(())
"""The result of a pass over no points."""

NOBODY = Held(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def frame_of(likelihood: Any, prior: Any, anchor: Vector, backend_name: str) -> Frame:
    """The frame of a model for points less ``anchor``; ``likelihood`` is that of the points as they are."""
    return Frame(less_anchor(likelihood, anchor), prior, anchor, backend_name)


def state_of(frame: Frame, sums: Sums, n_free: int = 0) -> ClusterState:
    """The clusters of ``sums`` as a state without points, with ``n_free`` free slots behind them."""
    K = len(sums.counts)
    state = empty(frame.likelihood, 0, K + n_free)
    state.counts[:K] = sums.counts
    live = ClusterState(state.labels, state.counts[:K], state.rows[:K])
    frame.backend.join_rows(frame.likelihood, np.ascontiguousarray(sums.statistics[None]), live)
    return state


def labelling_of(frame: Frame, sums: Sums, held: Held = NOBODY) -> Labelling:
    """The labelling by the tangents of the log joint at ``sums``."""
    K = len(sums.counts)
    constants, parameters = np.empty(K), np.empty((K, frame.likelihood.n_parameters()))
    frame.backend.tangents(frame.likelihood, frame.prior, state_of(frame, sums), constants, parameters)
    return Labelling(constants, parameters, held)


def sums_in(frame: Frame, state: ClusterState) -> Sums:
    """The sums of the clusters of ``state``."""
    live = state.counts > 0
    return Sums(state.counts[live], state.rows[live, : frame.likelihood.n_statistics()].copy())


def joined(frame: Frame, results: Sequence[Passed]) -> Passed:
    """The result of a pass over several chunks, from those of each, in order."""
    results = [result for result in results if result.sums or result.points is not None]
    if len(results) < 2:  # noqa: PLR2004
        return results[0] if results else NOTHING
    sums = tuple(_joined_sums(frame, each) for each in zip(*(result.sums for result in results), strict=True))
    return Passed(sums, _joined_points([result.points for result in results if result.points is not None]))


def _joined_sums(frame: Frame, parts: Sequence[Sums]) -> Sums:
    counts = np.sum([part.counts for part in parts], axis=0)
    state = empty(frame.likelihood, 0, len(counts))
    if len(counts):
        frame.backend.join_rows(frame.likelihood, np.stack([part.statistics for part in parts]), state)
    return Sums(counts, state.rows[:, : frame.likelihood.n_statistics()].copy())


def _joined_points(parts: Sequence[Picked]) -> Picked | None:
    if len(parts) < 2:  # noqa: PLR2004
        return parts[0] if parts else None
    numbers, slots = (np.concatenate([part[column] for part in parts]) for column in (0, 1))
    points = point_set(parts[0].points).joined([part.points for part in parts[1:]])
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    return Picked(numbers, slots, points, weights, all(part.is_complete for part in parts))


def sums_of(frame: Frame, points: Any, weights: Weights, labels: Labels, n_slots: int) -> Sums:
    """The sums of ``points``, less the anchor; those of label -1 are left out. O(n D)."""
    state = empty(frame.likelihood, 0, max(n_slots, 1))._replace(labels=labels)
    frame.backend.statistics(Model(frame.likelihood, frame.prior, points, weights), state)
    return Sums(state.counts[:n_slots], state.rows[:n_slots, : frame.likelihood.n_statistics()].copy())
