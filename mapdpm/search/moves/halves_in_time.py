"""Two states of the points of one: found by the means of runs of points, then fitted as a chain (decision 114)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mapdpm.backends.halves import ATOMS, best_cut, projected, widest_direction
from mapdpm.data.standard import standardised
from mapdpm.protocol import Labels, Matrix
from mapdpm.search.moves.merge_split import SAMPLE
from mapdpm.search.sequences import SequenceProblem
from mapdpm.search.sharing import SharingState
from mapdpm.state import ClusterState

_LENGTHS = (64, 16, 4)
"""Points of a window. The means of long ones tell states that overlap; short ones find states that end soon."""
_DIRECTIONS = 4
_ROUNDS = 8
_BLOCK = 256
"""Points in a row of a sample."""


def halves_in_time(part: SequenceProblem, rng: np.random.Generator) -> Iterator[ClusterState]:
    """Two states of all points of ``part``: the best for each length of windows, the most probable ones first.

    Large parts are searched by a sample of blocks of points, whose states are then extended to all points.
    """
    large = part.n_points > 2 * SAMPLE
    sample = part.of_points(_blocks(part.n_points, rng)) if large else part
    Z = standardised(sample.flat.model.data)
    since = np.arange(sample.n_points) - np.repeat(sample.begins[:-1], np.diff(sample.begins))
    found: list[tuple[float, SharingState]] = []
    seen: set[int] = set()
    for length in _LENGTHS:
        begins = np.flatnonzero(since % length == 0)
        if len(begins) < 2 or len(begins) in seen:  # noqa: PLR2004  (two halves)
            continue
        seen.add(len(begins))
        best = _best_of_windows(sample, Z, begins, rng)
        if best is not None:
            found.append((sample.log_joint(best), best))
    for _, state in sorted(found, key=lambda pair: -pair[0]):
        halves = _extended(part, state) if large else state
        if halves is not None:
            yield halves.clusters


def _blocks(n: int, rng: np.random.Generator) -> Labels:
    """A sample of blocks of points, in order."""
    n_blocks = n // _BLOCK
    chosen = np.sort(rng.choice(n_blocks, 2 * SAMPLE // _BLOCK, replace=False))
    return (chosen[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()


def _best_of_windows(part: SequenceProblem, Z: Matrix, begins: Labels, rng: np.random.Generator) -> SharingState | None:
    """The best two states from cuts of windows along several directions; None if none gives two."""
    sizes = np.diff(np.append(begins, part.n_points))
    means = np.add.reduceat(Z, begins, axis=0) / sizes[:, None]
    columns = np.ascontiguousarray(means.T)
    directions = [widest_direction(columns, rng.standard_normal(len(columns)))]
    for _ in range(_DIRECTIONS - 1):
        one, two = rng.choice(len(means), 2, replace=False)
        directions.append(means[one] - means[two])
    best = None
    for direction in directions:
        line = np.repeat(projected(columns, direction), sizes)[None]
        labels = best_cut(part.flat.backend, part.flat.model, line, ATOMS)
        state = _settled(part, labels)
        if state is not None and (best is None or part.log_joint(state) > part.log_joint(best)):
            best = state
    return best


def _settled(part: SequenceProblem, labels: Labels) -> SharingState | None:
    """The states of the best path, again and again, from ``labels`` of two; None if one state is left."""
    clusters = part.flat.empty(0, 2)._replace(labels=labels)
    state = part.state_of(clusters)
    for _ in range(_ROUNDS):
        if state.n_clusters == 1:
            return None
        path = part.best_path(state)
        if np.array_equal(path, state.labels):
            break
        state.labels[:] = path
        part.recount(state)  # shares of two states change little
    state.stale = True
    part.refresh(state)
    return state if state.n_clusters > 1 else None


def _extended(part: SequenceProblem, found: SharingState) -> SharingState | None:
    """The two states of a sample, extended to all points of ``part``, and settled there."""
    clusters = ClusterState(np.zeros(part.n_points, dtype=np.int64), found.clusters.counts, found.clusters.rows)
    return _settled(part, part.best_path(SharingState(clusters, found.table, found.weights, stale=False)))
