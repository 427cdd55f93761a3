"""The best of all partitions, where there are few points: no local mode is left to end in."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.objective import is_gain
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.search.ascent import Ascent, SearchProblem

MOST_POINTS = 8
"""8 points have 4,140 partitions of 255 clusters; 12 points would have four million."""


def best_of_all(problem: SearchProblem, found: Ascent) -> Ascent:
    """``found``, or the best of all partitions of at most ``MOST_POINTS`` points if that has a higher objective.

    The log marginal of each subset of the points is computed once. Then each partition costs a sum, and what
    ``problem.log_priors`` does.
    """
    flat, n, before = problem.flat, problem.n_points, found.history[-1]
    every = partitions(n)
    likelihoods = log_marginals(flat)[every].sum(axis=1)
    if flat.max_clusters is not None:
        likelihoods[np.count_nonzero(every, axis=1) > flat.max_clusters] = -np.inf
    joints = likelihoods + problem.log_priors(every, likelihoods, before)
    state = problem.from_labels(labels_of(every[np.argmax(joints)]))
    after = problem.log_joint(state)
    return found._replace(state=state, history=[*found.history, after]) if is_gain(after - before, before) else found


def labels_of(partition: Labels) -> Labels:
    """The label of each point in a partition, given as the numbers of its clusters."""
    return np.argmax(MEMBERS[partition, : len(partition)], axis=0)


MEMBERS = (np.arange(2**MOST_POINTS)[:, None] >> np.arange(MOST_POINTS)) & 1
"""Whether the subset of a number has the point of that bit."""


@functools.cache
def partitions(n: int) -> Labels:
    """All partitions of n points: the numbers of their clusters, which are subsets, filled up with 0, the empty one."""
    found: list[list[int]] = [[]]
    for point in range(n):
        bit = 1 << point
        found = [
            [*masks[:k], bit if k == len(masks) else masks[k] | bit, *masks[k + 1 :]]
            for masks in found
            for k in range(len(masks) + 1)
        ]
    whole = np.zeros((len(found), n), dtype=np.int64)
    for row, masks in zip(whole, found, strict=True):
        row[: len(masks)] = masks
    return whole


@functools.lru_cache(16)
def shapes_of(weights: tuple[float, ...]) -> tuple[Matrix, Labels]:
    """The different sizes of clusters that partitions of points have, and which of them each partition has."""
    n = len(weights)
    sizes = MEMBERS[: 2**n, :n] @ np.array(weights)
    shapes, shape_of = np.unique(np.sort(sizes[partitions(n)], axis=1), axis=0, return_inverse=True)
    return shapes, shape_of.ravel()


def log_marginals(problem: Any) -> Vector:
    """The log marginal of each subset of points that are each on its own; 0 of the empty one."""
    likelihood, _, data, weights = problem.model
    subsets, points = np.nonzero(MEMBERS[: 2**problem.n_points])
    state = problem.empty(len(points), 2**problem.n_points)
    state.labels[:] = subsets
    rows = point_set(data).rows(points)
    repeated = problem.model._replace(data=rows, weights=None if weights is None else weights[points])
    problem.backend.statistics(repeated, state)
    return problem.backend.log_marginals(likelihood, state)
