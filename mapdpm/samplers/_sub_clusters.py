"""Sub-clusters beside the clusters, and the splits and merges of Chang2013 as printed: a biased sampler.

Each cluster has two sub-clusters, whose labels, weights and parameters are drawn like those of clusters. Where the
paper leaves a choice open, this is what the code of its authors does; docs/maths.md, section 17.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from mapdpm.jit import fill, jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Model, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.samplers._pairs import log_split_ratio, merge, split_off
from mapdpm.samplers._restricted_sweep import CLOSED, Candidates, Flags
from mapdpm.samplers._whole_clusters import Chosen, gathered
from mapdpm.samplers.random_split_merge import drawn_sides, log_dirichlet_multinomial
from mapdpm.special import log_rising
from mapdpm.state import ClusterState, count_used

_RANDOM_SPLITS = 100
"""All clusters are split at random in one step of so many."""


class SubClusters(NamedTuple):
    """The sub-clusters of each cluster: side s of slot k has number 2 k + s."""

    sides: Flags
    """Of each point."""
    rows: Matrix
    splittable: Flags
    """1 for a cluster whose sub-clusters have burned in."""
    last: Vector
    """The mean log density of the points of a cluster given their sub-clusters, one step ago."""


def toss_empty(labels: Labels, capacity: int, sides: Flags, rng: RngVerbs) -> None:
    """Toss coins for the sides of all points in clusters that have no point on one side. O(N)."""
    counts = np.zeros((capacity, 2), dtype=np.int64)
    for i in range(labels.shape[0]):
        counts[labels[i], sides[i]] += 1
    for i in range(labels.shape[0]):
        if min(counts[labels[i], 0], counts[labels[i], 1]) == 0:
            sides[i] = rng.integer(2)


def draw_sub_clusters(
    likelihood: LikelihoodVerbs, share: float, state: ClusterState, counts: Labels, rows: Matrix, rng: RngVerbs
) -> Candidates:
    """Draw weights Dir(N_s + ``share``), but for their sum, and parameters; those of a cluster are one group."""
    K, n_slots = count_used(state), counts.shape[0]
    slots, group_of = np.empty(2 * K, dtype=np.int64), np.full(n_slots, CLOSED)
    log_weights, parameters = np.empty(2 * K), np.empty((2 * K, likelihood.n_parameters()))
    c = 0
    for k in range(n_slots):
        if state.counts[k // 2] > 0:
            slots[c], group_of[k] = k, c // 2
            log_weights[c] = rng.log_gamma(counts[k] + share)
            likelihood.draw(rows[k], parameters[c], rng)
            c += 1
    return Candidates(slots, log_weights, parameters, 2 * np.arange(K + 1), group_of)


def join_sides(likelihood: LikelihoodVerbs, state: ClusterState, counts: Labels, rows: Matrix) -> None:
    """Make the number and the row of each cluster from those of its sub-clusters."""
    for k in range(state.counts.shape[0]):
        state.counts[k] = counts[2 * k] + counts[2 * k + 1]
        fill(state.rows[k], rows[2 * k])
        likelihood.merge(state.rows[k], rows[2 * k + 1])
        likelihood.prepare(state.rows[k])


def note_burn_in(state: ClusterState, sub: SubClusters, log_densities: Vector, deferred: bool) -> None:
    """A cluster is splittable once the mean log density given its sub-clusters does not rise, or at once."""
    for k in range(state.counts.shape[0]):
        if state.counts[k] == 0:
            forget(sub, k)
        else:
            mean = (log_densities[2 * k] + log_densities[2 * k + 1]) / state.counts[k]
            sub.splittable[k] |= int(not deferred or mean <= sub.last[k])
            sub.last[k] = mean


def split_and_merge(model: Model, state: ClusterState, sub: SubClusters, a: float, rng: RngVerbs) -> tuple[int, int]:
    """Splits at random, seldom; merges of all pairs; splits along sub-clusters. There must be a free slot for each.

    Returns how many were proposed, and accepted.
    """
    capacity, proposed, accepted = state.counts.shape[0], 0, 0
    if rng.integer(_RANDOM_SPLITS) == 0:
        used = state.counts > 0
        for k in range(capacity):
            if used[k]:
                accepted += split_at_random(model, state, sub, k, a, rng)
                proposed += 1
    for k in range(capacity):
        for other in range(k):
            if state.counts[k] > 0 and state.counts[other] > 0:
                accepted += merge_at_random(model, state, sub, other, k, a, rng)
                proposed += 1
    for k in range(capacity):
        if sub.splittable[k] == 1:  # not so for those that were just split or merged
            accepted += split_along(model, state, sub, k, rng)
            proposed += 1
    return proposed, accepted


@jitable
def split_at_random(model: Model, state: ClusterState, sub: SubClusters, k: int, a: float, rng: RngVerbs) -> int:
    """Propose to split cluster k by sides from DM(a, a); return 1 if it was accepted."""
    chosen, sides = drawn_sides(model, state, k, a, rng)
    if not (sides[0, 0] > 0.0 and sides[1, 0] > 0.0):
        return 0
    if not rng.accept(log_random_ratio(model.likelihood, model.prior, sides, count_used(state) - 1, a)):
        return 0
    part(state, sub, k, chosen, sides, rng)
    return 1


@jitable
def merge_at_random(
    model: Model, state: ClusterState, sub: SubClusters, kept: int, gone: int, a: float, rng: RngVerbs
) -> int:
    """Propose to merge two clusters, which become the sub-clusters; return 1 if it was accepted."""
    likelihood, prior = model.likelihood, model.prior
    sides = state.rows[np.array([kept, gone])]
    if not rng.accept(-log_random_ratio(likelihood, prior, sides, count_used(state) - 2, a)):
        return 0
    for i in range(state.labels.shape[0]):
        if state.labels[i] in (kept, gone):
            sub.sides[i] = int(state.labels[i] == gone)
    merge(likelihood, state, gone, kept)
    forget(sub, kept)
    forget(sub, gone)
    return 1


@jitable
def log_random_ratio(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, sides: Matrix, n_others: int, a: float
) -> float:
    """The log ratio by which a random split is accepted in the code of the authors; a merge has the opposite.

    An exact one would have neither the last two terms, nor leave out the choice of clusters.
    """
    n, m = sides[0, 0], sides[1, 0]
    exact = log_split_ratio(likelihood, prior, sides, n_others) - log_dirichlet_multinomial(n, m, a)
    return float(exact + log_rising(n, a) + log_rising(m, a) + log(float(_RANDOM_SPLITS)))


@jitable
def split_along(model: Model, state: ClusterState, sub: SubClusters, k: int, rng: RngVerbs) -> int:
    """Propose to split cluster k along its sub-clusters, as if nothing undid that; return 1 if it was accepted."""
    sides = sub.rows[2 * k : 2 * k + 2]
    if not (sides[0, 0] > 0.0 and sides[1, 0] > 0.0):
        return 0
    if not rng.accept(log_split_ratio(model.likelihood, model.prior, sides, count_used(state) - 1)):
        return 0
    chosen = gathered(state, k, k)
    for m in range(chosen.members.shape[0]):
        chosen.choices[m] = sub.sides[chosen.members[m]]
    part(state, sub, k, chosen, sides, rng)
    return 1


@jitable
def part(state: ClusterState, sub: SubClusters, k: int, chosen: Chosen, sides: Matrix, rng: RngVerbs) -> None:
    """Split cluster k; the sides of all of its points are coins again."""
    new = split_off(state, k, chosen.members, chosen.choices, sides)
    for m in range(chosen.members.shape[0]):
        sub.sides[chosen.members[m]] = rng.integer(2)
    forget(sub, k)
    forget(sub, new)


@jitable
def forget(sub: SubClusters, k: int) -> None:
    """The sub-clusters of slot k have not burned in."""
    sub.splittable[k], sub.last[k] = 0, -np.inf
