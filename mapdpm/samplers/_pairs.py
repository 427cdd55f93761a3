"""What split-merge samplers share: two points, the members of their clusters, and whether to split or merge them."""

from __future__ import annotations

from math import exp, log
from typing import Any

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs
from mapdpm.samplers._blocks import count_used, free_slot, log_block
from mapdpm.state import ClusterState


@jitable
def draw_pair(n: int, rng: RngVerbs) -> tuple[int, int]:
    """Two different points, all pairs alike."""
    i = rng.integer(n)
    j = rng.integer(n - 1)
    return i, j + int(j >= i)


@jitable
def gather(labels: Labels, i: int, j: int, members: Labels) -> int:
    """Fill ``members`` with the points other than ``i`` and ``j`` of the clusters of those two; how many. O(N)."""
    n = 0
    for m in range(labels.shape[0]):
        if m != i and m != j and (labels[m] == labels[i] or labels[m] == labels[j]):
            members[n] = m
            n += 1
    return n


@jitable
def set_row(likelihood: LikelihoodVerbs, row: Any, data: Any, i: int) -> None:
    """Make ``row`` that of point ``i`` alone."""
    likelihood.init(row)
    likelihood.add(row, data, i, 1.0)
    likelihood.prepare(row)


@jitable
def side_scores(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, sides: Matrix, i: int
) -> tuple[float, float]:
    """Log probabilities that point ``i`` goes to either of the clusters of which ``sides`` are the rows."""
    first = prior.log_existing(sides[0, 0], 1.0) + likelihood.log_predictive(sides[0], data, i)
    second = prior.log_existing(sides[1, 0], 1.0) + likelihood.log_predictive(sides[1], data, i)
    top = max(first, second)
    total = top + log(exp(first - top) + exp(second - top))
    return first - total, second - total


@jitable
def log_split_ratio(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, sides: Matrix, union: Any, beside: int
) -> float:
    """The log joint of the two clusters of ``sides``, less that of one of all their points; ``beside`` are others.

    ``union`` is scratch.
    """
    union[:] = sides[0]
    likelihood.merge(union, sides[1])
    ratio = log_block(prior, beside, sides[0, 0]) + log_block(prior, beside + 1, sides[1, 0])
    return ratio - log_block(prior, beside, union[0]) - likelihood.log_merge(union, sides[0], sides[1])


@jitable
def split(state: ClusterState, i: int, members: Labels, choices: Labels, sides: Matrix) -> None:
    """Move ``i`` and the members whose choice is 0 into a free slot; ``sides`` are the rows of the two."""
    old, new = state.labels[i], free_slot(state)
    moved = 1
    state.labels[i] = new
    for m in range(members.shape[0]):
        if choices[m] == 0:
            state.labels[members[m]] = new
            moved += 1
    state.counts[new] = moved
    state.counts[old] -= moved
    state.rows[new, :] = sides[0]
    state.rows[old, :] = sides[1]


@jitable
def merge(likelihood: LikelihoodVerbs, state: ClusterState, i: int, j: int) -> None:
    """Put the cluster of ``i`` into that of ``j``; O(N)."""
    gone, kept = state.labels[i], state.labels[j]
    for m in range(state.labels.shape[0]):
        if state.labels[m] == gone:
            state.labels[m] = kept
    likelihood.merge(state.rows[kept], state.rows[gone])
    likelihood.prepare(state.rows[kept])
    likelihood.init(state.rows[gone])
    state.counts[kept] += state.counts[gone]
    state.counts[gone] = 0


@jitable
def others(state: ClusterState, i: int, j: int) -> int:
    """How many clusters there are besides those of ``i`` and ``j``."""
    return count_used(state) - 1 - int(state.labels[i] != state.labels[j])
