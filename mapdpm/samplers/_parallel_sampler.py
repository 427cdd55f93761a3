"""The base class of samplers whose passes over points run in chunks and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import Labels, Matrix, RngVerbs, Vector
from mapdpm.samplers._map_reduce import merge_rows, over_chunks
from mapdpm.samplers._restricted_sweep import TILE, Candidates, Flags, Points, add_up, choose_labels, hold
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Sampler
from mapdpm.validation import check_jobs

T = TypeVar("T")


class Sums(NamedTuple):
    """The number and the row of each slot; the rows are prepared in the sums of all chunks."""

    counts: Labels
    rows: Matrix


class Redrawn(NamedTuple):
    """How many points changed their label, the sums of log densities of free points for each slot, and all sums."""

    moved: int
    log_densities: Vector
    sums: Sums


class ParallelSampler(Sampler):
    """A sampler with ``n_jobs`` threads: None is 1. Its draws do not depend on their number."""

    _hold = staticmethod(compiled_if_possible(hold))
    _choose_labels = staticmethod(compiled_if_possible(choose_labels))
    _add_up = staticmethod(compiled_if_possible(add_up))
    _merge_rows = staticmethod(compiled_if_possible(merge_rows))

    def __init__(self, alpha: float = 1.0, *, n_jobs: int | None = None, **model: Any) -> None:
        super().__init__(alpha, **model)
        self.n_jobs = None if n_jobs is None else check_jobs(n_jobs)

    def over_chunks(self, function: Callable[[int, int, Any], T], n: int, rng: RngVerbs | None) -> list[T]:
        """``function(first, last, rng)`` for chunks of ``n`` points, in order, by the threads of this sampler."""
        return over_chunks(function, n, self.n_jobs, rng)

    def hold(self, chain: Chain, rng: RngVerbs) -> tuple[Flags, Labels]:
        """Toss a coin for each point: 1 where it is free to move; and the number of held points in each slot."""
        state, free = chain.state, np.empty(chain.n_points, dtype=np.int8)

        def held(first: int, last: int, rng: RngVerbs) -> Labels:
            return self._hold(state.labels[first:last], state.capacity, free[first:last], rng)

        return free, np.sum(self.over_chunks(held, chain.n_points, rng), axis=0)

    def redraw(self, chain: Chain, labels: Labels, free: Flags, candidates: Candidates, rng: RngVerbs) -> Redrawn:
        """Draw the labels of free points among the candidates, in place. O(K D) a point."""
        n_slots, in_tiles = len(candidates.group_of), hasattr(chain.likelihood, "log_likelihoods")
        n_features = chain.data.shape[1] if in_tiles else 0

        def redrawn(first: int, last: int, rng: RngVerbs) -> Redrawn:
            points, log_densities = Points(first, labels[first:last], free[first:last]), np.empty(n_slots)
            tile = np.zeros((n_features, min(TILE, last - first))) if in_tiles else None
            moved = self._choose_labels(chain.model, points, candidates, log_densities, tile, rng)
            return Redrawn(moved, log_densities, self._sums_of(chain, labels[first:last], first, n_slots))

        moved, log_densities, sums = zip(*self.over_chunks(redrawn, chain.n_points, rng), strict=True)
        return Redrawn(sum(moved), np.sum(log_densities, axis=0), self._merged(chain, sums))

    def summed(self, chain: Chain, labels: Labels, n_slots: int) -> Sums:
        """The number and the row of each slot. O(D) a point."""

        def sums(first: int, last: int, _: None) -> Sums:
            return self._sums_of(chain, labels[first:last], first, n_slots)

        return self._merged(chain, self.over_chunks(sums, chain.n_points, None))

    def merged_rows(self, chain: Chain, parts: Any) -> Matrix:
        """Rows of slots, prepared, from those of chunks."""
        rows = np.empty_like(parts[0])
        self._merge_rows(chain.likelihood, np.array(parts), rows)
        return rows

    def _sums_of(self, chain: Chain, labels: Labels, first: int, n_slots: int) -> Sums:
        sums = Sums(np.empty(n_slots, dtype=np.int64), np.empty((n_slots, chain.likelihood.size())))
        self._add_up(chain.likelihood, chain.data, first, labels, *sums)
        return sums

    def _merged(self, chain: Chain, parts: Iterable[Sums]) -> Sums:
        counts, rows = zip(*parts, strict=True)
        return Sums(np.sum(counts, axis=0), self.merged_rows(chain, rows))
