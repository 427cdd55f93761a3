"""Passes over a chunk of the points: pure functions of the chunk and of a few rows (docs/maths.md, section 25).

A worker keeps nothing from one pass to the next. So a chunk that is lost is computed again, to the same bits. Points
are labelled by tangents of the log joint: moving all points at once to their best slot never lowers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data import point_set
from mapdpm.hashing import mixed_bits
from mapdpm.protocol import Labels, Model, Vector
from mapdpm.search.chunks import Chunk, Frame, Labelling, Passed, Picked, Quota, Sums, joined, state_of, sums_of


def uniforms(numbers: Labels, salt: int) -> Vector:
    """A number in [0, 1) for each point, a hash of its number."""
    return (mixed_bits(numbers, salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53


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


def _sums(frame: Frame, found: _Labelled, labels: Labels, n_slots: int) -> Sums:
    return sums_of(frame, found.chunk.points, found.chunk.weights, labels, n_slots)


def over_parts(function: Callable[..., Passed], frame: Frame, chunk: Chunk, *arguments: Any) -> Passed:
    """A pass over a chunk, part by part, so that each fits a cache."""
    return joined(frame, [function(frame, part, *arguments) for part in chunk.parts()])


def plain(frame: Frame, chunk: Chunk, labelling: Labelling) -> Passed:
    """The sums of all points by their labels."""
    found = labelled(frame, chunk, labelling)
    return Passed((_sums(frame, found, found.labels, len(labelling.constants)),))


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
    return passed._replace(points=passed.picked._replace(is_complete=int(np.count_nonzero(wants)) <= quota.most))


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
    points = frame.shifted(point_set(chunk.points).rows(at))
    weights = None if chunk.weights is None else chunk.weights[at]
    return Passed((), Picked(chunk.first + at, np.zeros(len(at), dtype=np.int64), points, weights))


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
    return Passed(tuple(sums))
