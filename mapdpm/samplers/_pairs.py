"""Helpers of split-merge samplers: a pair of points, the launch state, and the Metropolis-Hastings decision."""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import fill, jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Model, PartitionPriorVerbs, RngVerbs
from mapdpm.samplers._blocks import free_slot, log_block
from mapdpm.state import ClusterState, count_used


class Launch(NamedTuple):
    """The launch state (Jain and Neal 2004): a pair of points, and the two clusters that a split would make.

    ``members`` are the other points of the pair's clusters. ``choices[m]`` is 0 if member m goes with ``i``, and 1 if
    it goes with ``j``. ``sides`` are the rows of the two clusters.
    """

    i: int
    j: int
    members: Labels
    choices: Labels
    sides: Matrix


@jitable
def draw_launch(likelihood: LikelihoodVerbs, data: Any, state: ClusterState, rng: RngVerbs) -> Launch:
    """Draw a pair of points uniformly; each is alone on its side, and no member has chosen yet. O(N)."""
    i, j = draw_pair(state.labels.shape[0], rng)
    room = np.empty(state.labels.shape[0], dtype=np.int64)
    members = room[: gather(state.labels, i, j, room)]
    sides = np.empty((2, state.rows.shape[1]))
    set_row(likelihood, sides[0], data, i)
    set_row(likelihood, sides[1], data, j)
    return Launch(i, j, members, np.full(members.shape[0], -1), sides)


@jitable
def accept_split_or_merge(model: Model, state: ClusterState, launch: Launch, log_q: float, rng: RngVerbs) -> int:
    """Split or merge the pair, or leave it, by Metropolis-Hastings; return 1 if the partition has changed.

    ``launch`` is the split. From the merged state it is proposed with probability exp(``log_q``); from the split state
    the merge is proposed with probability 1.
    """
    together = state.labels[launch.i] == state.labels[launch.j]
    n_others = count_used(state) - (1 if together else 2)
    ratio = log_split_ratio(model.likelihood, model.prior, launch.sides, n_others) - log_q
    if not rng.accept(ratio if together else -ratio):
        return 0
    if together:
        split(state, launch)
    else:
        merge(model.likelihood, state, state.labels[launch.i], state.labels[launch.j])
    return 1


@jitable
def draw_pair(n: int, rng: RngVerbs) -> tuple[int, int]:
    """Two different points, uniform over ordered pairs."""
    i = rng.integer(n)
    j = rng.integer(n - 1)
    return i, j + int(j >= i)


@jitable
def gather(labels: Labels, i: int, j: int, members: Labels) -> int:
    """Fill ``members`` with the other points of the clusters of ``i`` and ``j``; return their number. O(N)."""
    n = 0
    for m in range(labels.shape[0]):
        if m not in (i, j) and (labels[m] == labels[i] or labels[m] == labels[j]):
            members[n] = m
            n += 1
    return n


@jitable
def set_row(likelihood: LikelihoodVerbs, row: Any, data: Any, i: int) -> None:
    """Make ``row`` the row of point ``i`` alone."""
    likelihood.init(row)
    likelihood.add(row, data, i, 1.0)
    likelihood.prepare(row)


@jitable
def side_scores(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, sides: Matrix, i: int
) -> tuple[float, float]:
    """Log probabilities that point ``i`` goes to each of the two clusters with rows ``sides``."""
    first = prior.log_existing(sides[0, 0], 1.0) + likelihood.log_predictive(sides[0], data, i)
    second = prior.log_existing(sides[1, 0], 1.0) + likelihood.log_predictive(sides[1], data, i)
    top = max(first, second)
    total = top + log(exp(first - top) + exp(second - top))
    return first - total, second - total


@jitable
def log_split_ratio(likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, sides: Matrix, n_others: int) -> float:
    """Log joint with the two clusters of ``sides`` minus that with their union, given ``n_others`` other clusters."""
    union = sides[0].copy()
    likelihood.merge(union, sides[1])
    ratio = log_block(prior, n_others, sides[0, 0]) + log_block(prior, n_others + 1, sides[1, 0])
    return ratio - log_block(prior, n_others, union[0]) - likelihood.log_merge(union, sides[0], sides[1])


@jitable
def split(state: ClusterState, launch: Launch) -> None:
    """Move ``i`` and the members that go with it into a free slot."""
    new = split_off(state, state.labels[launch.i], launch.members, launch.choices, launch.sides)
    state.counts[state.labels[launch.i]] -= 1
    state.counts[new] += 1
    state.labels[launch.i] = new


@jitable
def split_off(state: ClusterState, old: int, members: Labels, choices: Labels, sides: Matrix) -> int:
    """Move the members of choice 0 from slot ``old`` into a free slot, which is returned; take over both rows."""
    new, moved = free_slot(state), 0
    for m in range(members.shape[0]):
        if choices[m] == 0:
            state.labels[members[m]] = new
            moved += 1
    state.counts[new] = moved
    state.counts[old] -= moved
    fill(state.rows[new], sides[0])
    fill(state.rows[old], sides[1])
    return new


@jitable
def merge(likelihood: LikelihoodVerbs, state: ClusterState, gone: int, kept: int) -> None:
    """Merge the cluster of slot ``gone`` into that of slot ``kept``. O(N)."""
    for m in range(state.labels.shape[0]):
        if state.labels[m] == gone:
            state.labels[m] = kept
    likelihood.merge(state.rows[kept], state.rows[gone])
    likelihood.prepare(state.rows[kept])
    likelihood.init(state.rows[gone])
    state.counts[kept] += state.counts[gone]
    state.counts[gone] = 0
