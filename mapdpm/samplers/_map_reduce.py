"""Passes over points in chunks: map over chunks, in threads; reduce in the order of chunks.

The chunks, and the random numbers of each, depend on the number of points and not on the number of threads. So a draw
has the same bits whatever ``n_jobs`` is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from mapdpm.jit import fill, jitable
from mapdpm.protocol import LikelihoodVerbs, Matrix
from mapdpm.rng import Rng
from mapdpm.threads import Threads

T = TypeVar("T")

CHUNK = 1 << 14
"""The least number of points in a chunk: its work is many times that of starting it."""
_MOST_CHUNKS = 32  # each has rows of its own
_EVEN = 4  # numbers of chunks are multiples of it, so that a few threads have equal work
_SEEDS = 1 << 53


def over_chunks(function: Callable[[int, int, Any], T], n: int, n_jobs: int | None, rng: Any) -> list[T]:
    """``function(first, last, rng)`` for each chunk of ``n`` points, in order; each chunk has an ``rng`` of its own.

    ``rng`` may be None for a function that draws nothing.
    """
    size = -(-n // n_chunks(n))
    firsts = range(0, n, size)
    with Threads(n_jobs) as threads:
        lasts = [min(first + size, n) for first in firsts]
        return threads.each(function, firsts, lasts, streams(rng, len(firsts)))


def n_chunks(n: int) -> int:
    """The number of chunks of ``n`` points."""
    least = max(1, -(-n // CHUNK))
    return min(_MOST_CHUNKS, least if least <= 2 else -(-least // _EVEN) * _EVEN)  # noqa: PLR2004  (1, 2, 4, 8, ...)


def streams(rng: Any, n: int) -> list[Any]:
    """``n`` independent sources of randomness, which ``rng`` decides; itself if there is one.

    An ``rng`` of a test, which enumerates choices, is all of them: its jobs run in turn.
    """
    if n == 1 or not isinstance(rng, Rng):
        return [rng] * n
    key = rng.integer(_SEEDS)
    return [Rng(np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, c]))) for c in range(n)]


@jitable
def merge_rows(likelihood: LikelihoodVerbs, parts: Any, rows: Matrix) -> None:
    """Merge ``parts`` (chunk, slot, size) into ``rows`` (slot, size) in order, and prepare them."""
    for k in range(rows.shape[0]):
        fill(rows[k], parts[0, k])
        for chunk in range(1, parts.shape[0]):
            if parts[chunk, k, 0] > 0.0:
                likelihood.merge(rows[k], parts[chunk, k])
        likelihood.prepare(rows[k])
