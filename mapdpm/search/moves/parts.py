"""Part of a state: take some clusters out, cluster their points anew, put them back."""

from __future__ import annotations

import numpy as np

from mapdpm.data import point_set
from mapdpm.objective import within_tolerance
from mapdpm.protocol import Labels
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState, compacted


def members(state: ClusterState) -> list[Labels]:
    """The points of each slot, in order; O(N)."""
    # numpy's stable sort of short integers is a radix sort.
    short = state.labels.astype(np.uint16) if state.capacity <= np.iinfo(np.uint16).max else state.labels
    order = np.argsort(short, kind="stable")
    return np.split(order, np.cumsum(state.counts)[:-1])


def points_of(state: ClusterState, slots: Labels) -> Labels:
    """The points of some slots, in order; O(N)."""
    wanted = np.zeros(state.capacity, dtype=np.bool_)
    wanted[slots] = True
    return np.flatnonzero(wanted[state.labels])


def nearest(
    problem: Problem, state: ClusterState, places: list[Labels], most: int, rng: np.random.Generator
) -> list[Labels]:
    """For the points of each of some clusters: its slot, and up to ``most - 1`` others that score a random point best.

    The best go first. O(K D) a cluster.
    """
    points = np.array([at[rng.integers(len(at))] for at in places], dtype=np.int64)
    scores = np.empty((len(points), state.capacity))
    problem.backend.score(problem.model._replace(data=point_set(problem.model.data).rows(points)), state, scores)
    scores[:, state.counts == 0] = -np.inf
    found = []
    for own, row in zip(state.labels[points].tolist(), scores, strict=True):
        group = [own]
        for _ in range(1, min(most, state.n_clusters)):
            row[group[-1]] = -np.inf
            group.append(int(np.argmax(within_tolerance(row))))
        found.append(np.array(group, dtype=np.int64))
    return found


def put_back(problem: Problem, state: ClusterState, slots: Labels, points: Labels, part: ClusterState) -> ClusterState:
    """``state``, edited or its larger successor, whose ``slots`` now hold ``points`` as ``part`` clusters them.

    ``slots`` are emptied; the clusters of ``part`` go to them, in order of first appearance, and to the lowest free
    slots. The caller keeps to the cap.
    """
    part = compacted(problem.model.likelihood, part, problem.blank)
    wanted = part.capacity - 1
    state.counts[slots] = 0
    state.rows[slots] = problem.blank
    while wanted > state.capacity - state.n_clusters:
        state = problem.grown(state)
    free = np.flatnonzero(state.counts == 0)
    places = np.concatenate((slots, free[~np.isin(free, slots)]))[:wanted]
    state.labels[points] = places[part.labels]
    state.counts[places] = part.counts[:wanted]
    state.rows[places] = part.rows[:wanted]
    return state
