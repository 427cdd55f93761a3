"""What split-merge samplers share: two points, the members of their clusters, and whether to split or merge them."""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs
from mapdpm.samplers._blocks import count_used, free_slot, log_block
from mapdpm.state import ClusterState


class Launch(NamedTuple):
    """A pair of points, ``members``: the others of their clusters, and the two clusters that a split would make.

    ``choices[m]`` is 0 where member m goes with ``i``, and 1 where with ``j``; ``sides`` are the rows of both.
    """

    i: int
    j: int
    members: Labels
    choices: Labels
    sides: Matrix


@jitable
def launched(likelihood: LikelihoodVerbs, data: Any, state: ClusterState, rng: RngVerbs) -> Launch:
    """Two points drawn, all pairs alike, each alone on its side; of their members none has chosen. O(N)."""
    i, j = draw_pair(state.labels.shape[0], rng)
    room = np.empty(state.labels.shape[0], dtype=np.int64)
    members = room[: gather(state.labels, i, j, room)]
    sides = np.empty((2, state.rows.shape[1]))
    set_row(likelihood, sides[0], data, i)
    set_row(likelihood, sides[1], data, j)
    return Launch(i, j, members, np.full(members.shape[0], -1), sides)


@jitable
def decided(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    state: ClusterState,
    launch: Launch,
    log_q: float,
    rng: RngVerbs,
) -> int:
    """Split or merge the pair, or leave it, by Metropolis and Hastings; 1 where the partition has changed.

    ``launch`` is the split, proposed with probability exp(``log_q``) if the two are together, as merges are for sure.
    """
    together = state.labels[launch.i] == state.labels[launch.j]
    beside = count_used(state) - (1 if together else 2)
    ratio = log_split_ratio(likelihood, prior, launch.sides, beside) - log_q
    if not rng.accept(ratio if together else -ratio):
        return 0
    if together:
        split(state, launch)
    else:
        merge(likelihood, state, launch.i, launch.j)
    return 1


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
        if m not in (i, j) and (labels[m] == labels[i] or labels[m] == labels[j]):
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
def log_split_ratio(likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, sides: Matrix, beside: int) -> float:
    """The log joint of the two clusters of ``sides``, less that of one of all their points; ``beside`` are others."""
    union = sides[0].copy()
    likelihood.merge(union, sides[1])
    ratio = log_block(prior, beside, sides[0, 0]) + log_block(prior, beside + 1, sides[1, 0])
    return ratio - log_block(prior, beside, union[0]) - likelihood.log_merge(union, sides[0], sides[1])


@jitable
def split(state: ClusterState, launch: Launch) -> None:
    """Move ``i``, and the members that go with it, into a free slot."""
    old, new = state.labels[launch.i], free_slot(state)
    moved = 1
    state.labels[launch.i] = new
    for m in range(launch.members.shape[0]):
        if launch.choices[m] == 0:
            state.labels[launch.members[m]] = new
            moved += 1
    state.counts[new] = moved
    state.counts[old] -= moved
    state.rows[new, :] = launch.sides[0]
    state.rows[old, :] = launch.sides[1]


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
