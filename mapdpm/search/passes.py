"""Passes over a chunk of the points: pure functions of the chunk and of a few rows (docs/maths.md, section 25).

A worker keeps nothing from one pass to the next. So a chunk that is lost is computed again, to the same bits, and
results do not depend on who computes which chunk, or when. Points are labelled by tangents of the log joint: moving
all points at once to their best slot never lowers it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import BACKENDS, Backend
from mapdpm.data import point_set
from mapdpm.protocol import Labels, Matrix, Model, Vector, Weights
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


class Labelling(NamedTuple):
    """What labels all points: the slot of the best tangent, but for points that are held."""

    constants: Vector
    """The slope of log p(z) by the size of each slot, shape (K,)."""
    parameters: Matrix
    """What ``tangent`` fills for each slot, shape (K, P)."""
    held: Held


class Sums(NamedTuple):
    """Clusters as sums over points: counts (K,) and statistics (K, S)."""

    counts: Labels
    statistics: Matrix


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
    picked: Picked | None


NOTHING = Passed((), None)
"""Of no points."""

NOBODY = Held(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


# ---- clusters --------------------------------------------------------------------------------------------------------


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
    results = [result for result in results if result.sums or result.picked is not None]
    if len(results) < 2:  # noqa: PLR2004
        return results[0] if results else NOTHING
    sums = tuple(_joined_sums(frame, each) for each in zip(*(result.sums for result in results), strict=True))
    return Passed(sums, _joined_points([result.picked for result in results if result.picked is not None]))


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


# ---- a pass ----------------------------------------------------------------------------------------------------------


def uniforms(numbers: Labels, salt: int) -> Vector:
    """A number in [0, 1) for each point, a hash of its number (SplitMix64): whoever asks, and whenever."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(salt) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


class _Labelled(NamedTuple):
    """A chunk less the anchor, labels, by how much the second best slot of each point is worse, and who is held."""

    chunk: Chunk
    labels: Labels
    margins: Vector
    held: Labels

    def picked(self, at: Labels) -> Picked:
        """The points at these places."""
        chunk = self.chunk
        weights = None if chunk.weights is None else chunk.weights[at]
        return Picked(chunk.first + at, self.labels[at], point_set(chunk.points).rows(at), weights)


def labelled(frame: Frame, chunk: Chunk, labelling: Labelling) -> _Labelled:
    """The points of ``chunk`` with their labels; O(n K D)."""
    points = frame.shifted(chunk.points)
    n = chunk.n_points
    labels, margins = np.empty(n, dtype=np.int64), np.empty(n)
    model = Model(frame.likelihood, frame.prior, points)
    frame.backend.tangent_slots(model, labelling.constants, labelling.parameters, labels, margins)
    begin, end = np.searchsorted(labelling.held.numbers, [chunk.first, chunk.first + n])
    held = labelling.held.numbers[begin:end] - chunk.first
    labels[held] = labelling.held.slots[begin:end]
    return _Labelled(Chunk(points, chunk.weights, chunk.first), labels, margins, held)


def sums_of(frame: Frame, points: Any, weights: Weights, labels: Labels, n_slots: int) -> Sums:
    """The sums of ``points``, less the anchor; those of label -1 are left out. O(n D)."""
    state = empty(frame.likelihood, 0, max(n_slots, 1))._replace(labels=labels)
    frame.backend.statistics(Model(frame.likelihood, frame.prior, points, weights), state)
    return Sums(state.counts[:n_slots], state.rows[:n_slots, : frame.likelihood.n_statistics()].copy())


def _sums(frame: Frame, found: _Labelled, labels: Labels, n_slots: int) -> Sums:
    return sums_of(frame, found.chunk.points, found.chunk.weights, labels, n_slots)


def over_parts(function: Callable[..., Passed], frame: Frame, chunk: Chunk, *arguments: Any) -> Passed:
    """A pass over a chunk, part by part, so that each fits a cache."""
    return joined(frame, [function(frame, part, *arguments) for part in chunk.parts()])


def plain(frame: Frame, chunk: Chunk, labelling: Labelling) -> Passed:
    """The sums of all points by their labels."""
    found = labelled(frame, chunk, labelling)
    return Passed((_sums(frame, found, found.labels, len(labelling.constants)),), None)


def near(frame: Frame, chunk: Chunk, labelling: Labelling, quota: Quota) -> Passed:
    """Pick the points of smallest margin, and those held; the sums of the others."""
    found = labelled(frame, chunk, labelling)
    return _without(frame, found, len(labelling.constants), found.margins, quota)


def restless(
    frame: Frame, chunk: Chunk, labelling: Labelling, clusters: Sums, may_open: bool, quota: Quota, salt: int
) -> Passed:
    """As ``near``, but points that the exact rule would move from ``clusters`` go first.

    They may be all that move, or draw points near them along. Of more than the quota the pass that has this ``salt``
    picks some at random, and says that they are not all.
    """
    found = labelled(frame, chunk, labelling)
    state = state_of(frame, clusters, n_free=int(may_open))._replace(labels=found.labels)
    wants = np.empty(chunk.n_points, dtype=np.bool_)
    model = Model(frame.likelihood, frame.prior, found.chunk.points, found.chunk.weights)
    frame.backend.restless(model, state, wants)
    wants[found.held] = False
    keys = np.where(wants, uniforms(chunk.numbers(), salt) - 1.0, found.margins)
    passed = _without(frame, found, len(labelling.constants), keys, quota)
    assert passed.picked is not None  # noqa: S101  (points are picked)
    return passed._replace(picked=passed.picked._replace(is_complete=int(np.count_nonzero(wants)) <= quota.most))


def _without(frame: Frame, found: _Labelled, n_slots: int, keys: Vector, quota: Quota) -> Passed:
    """Pick the points of smallest keys within the quota, and those held. The sums of the others."""
    keys[found.held] = -np.inf
    at = np.flatnonzero(keys < quota.band)
    most = quota.most + len(found.held)
    if len(at) > most:
        at = np.sort(at[np.argsort(keys[at], kind="stable")[:most]])
    others = found.labels.copy()
    others[at] = -1
    return Passed((_sums(frame, found, others, n_slots),), found.picked(at))


def sampled(frame: Frame, chunk: Chunk, labelling: Labelling, shares: Vector, salt: int) -> Passed:
    """Pick a random share of the points of each slot; the sums of all."""
    found = labelled(frame, chunk, labelling)
    at = np.flatnonzero(uniforms(chunk.numbers(), salt) < shares[found.labels])
    return Passed((_sums(frame, found, found.labels, len(labelling.constants)),), found.picked(at))


def members(frame: Frame, chunk: Chunk, labelling: Labelling, slots: Labels) -> Passed:
    """Pick all points of ``slots``; no sums."""
    found = labelled(frame, chunk, labelling)
    return Passed((), found.picked(np.flatnonzero(np.isin(found.labels, slots))))


def farthest(frame: Frame, chunk: Chunk, labelling: Labelling) -> Passed:
    """Pick the point that is farthest from the nearest of the centres; the family is ``SquaredDistance``. No sums."""
    found = labelled(frame, chunk, labelling)
    centres = labelling.parameters[:, 1 : 1 + len(frame.anchor)]
    squares = ((found.chunk.points - centres[found.labels]) ** 2).sum(axis=1)
    return Passed((), found.picked(np.array([np.argmax(squares)])))


def firsts(frame: Frame, chunk: Chunk, labelling: Labelling) -> Passed:
    """Pick the first point of each slot; the sums of all."""
    found = labelled(frame, chunk, labelling)
    at = np.unique(found.labels, return_index=True)[1]
    return Passed((_sums(frame, found, found.labels, len(labelling.constants)),), found.picked(np.sort(at)))


def drawn(frame: Frame, chunk: Chunk, share: float) -> Passed:
    """Pick a random share of the points; no sums."""
    at = np.flatnonzero(uniforms(chunk.numbers(), 0) < share)
    nowhere = np.zeros(chunk.n_points, dtype=np.int64)
    shifted = Chunk(frame.shifted(chunk.points), chunk.weights, chunk.first)
    return Passed((), _Labelled(shifted, nowhere, np.empty(0), nowhere[:0]).picked(at))


def halves(frame: Frame, chunk: Chunk, labelling: Labelling, tries: Sequence[dict[int, Labelling]]) -> Passed:
    """The sums of all points, and for each of ``tries``, slots with two tangents each, of the halves of these slots.

    Halves 2 j and 2 j + 1 of a try are those of its j-th slot.
    """
    found = labelled(frame, chunk, labelling)
    sums = [_sums(frame, found, found.labels, len(labelling.constants))]
    for tried in tries:
        parted = np.full(chunk.n_points, -1)
        for j, (slot, two) in enumerate(tried.items()):
            at = np.flatnonzero(found.labels == slot)
            mine = Chunk(point_set(found.chunk.points).rows(at), None, 0)
            unshifted = frame._replace(anchor=np.zeros_like(frame.anchor))
            parted[at] = 2 * j + labelled(unshifted, mine, two).labels
        sums.append(_sums(frame, found, parted, 2 * len(tried)))
    return Passed(tuple(sums), None)
