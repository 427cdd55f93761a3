"""Permutation: the best clustering consistent with an order of the points replaces the present one (Liang2007)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapdpm.data.standard import standardised
from mapdpm.objective import is_gain, within_tolerance
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState

_ATOMS = 2000
_BEAM = 200
_LEAST_BEAM = 16
_WORK = 200_000_000
"""Atoms times beam times entries of a row: a second or two."""
_PROJECTIONS = 3
_MORE_LAYERS = 16
"""Under a cap, or if log_new depends on K, at most 2 K plus this many clusters are tried; K is the present number."""


class Permutation:
    """Along a random projection, clusters are sorted by their mean and points within clusters (Liang2007 section 4.2).

    The present clustering is consistent with that order, and dynamic programming finds the best one that is, by the
    factors of the joint itself (docs/maths.md (22)). It is exact for up to 200 points. For more points, it keeps 200
    possible starts of a cluster (section 3.3), fewer if there are many features. Beyond 2,000 points, runs of
    neighbours stay together. O(N D), and O(atoms beam (D + K)), which is bounded.
    """

    name = "permutation"

    def __init__(self, problem: Problem, rng: np.random.Generator, expired: Callable[[], bool]) -> None:
        self.problem = problem
        self.rng = rng
        self._expired = expired
        self._Z = standardised(problem.model.data)

    def __call__(self, state: ClusterState) -> tuple[ClusterState, int]:
        """Try some orders; returns the best state found, and the number of orders that gained."""
        gained = 0
        for _ in range(_PROJECTIONS):
            if self._expired():
                break
            projection = self._Z @ self.rng.standard_normal(self._Z.shape[1])
            labels = best_consistent(self.problem, *sorted_by(projection, state.labels), state.n_clusters)
            other = self.problem.from_labels(labels)
            before = self.problem.log_joint(state)
            if is_gain(self.problem.log_joint(other) - before, before):
                state = other
                gained += 1
        return state, gained


def sorted_by(projection: Vector, labels: Labels) -> tuple[Labels, Labels]:
    """An order of points, clusters by mean projection and points within clusters by their own; and their atoms."""
    _, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=projection) / sizes
    rank = np.argsort(np.argsort(means, kind="stable"), kind="stable")
    order = np.lexsort((projection, rank[inverse])).astype(np.int64)
    # Runs end where a cluster does, or the present clustering would not be among those that are compared.
    n = len(order)
    new_run = np.diff(chunks(n, _ATOMS), prepend=-1) > 0
    new_run |= np.diff(rank[inverse][order], prepend=-1) > 0
    return order, np.cumsum(new_run) - 1


def best_consistent(problem: Problem, order: Labels, atoms: Labels, n_clusters: int) -> Labels:
    """Labels of the best clustering whose clusters are runs of ``order``; those of one atom stay together."""
    rows = rows_of(problem, order, atoms)
    prior, cap = problem.model.prior, problem.max_clusters
    counted = cap is not None or prior.log_new(1, 1.0) != prior.log_new(2, 1.0)
    layers = min(len(rows), cap or len(rows), 2 * n_clusters + _MORE_LAYERS) if counted else 0
    beam = min(_BEAM, max(_LEAST_BEAM, _WORK // (len(rows) * (rows.shape[1] + layers))))
    best, came_from = best_segments(problem, rows, beam, layers)
    firsts = boundaries(came_from, int(np.argmax(within_tolerance(best[-1]))))
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = np.searchsorted(firsts, atoms, side="right") - 1
    return labels


def chunks(n: int, most: int) -> Labels:
    """Divide n positions into at most ``most`` runs of nearly equal length; the run of each position, shape (n,)."""
    return np.arange(n) * min(n, most) // n


def rows_of(problem: Problem, order: Labels, atoms: Labels) -> Matrix:
    """One row for each atom: the statistics of the points ``order[p]`` with ``atoms[p]`` = 0, 1, ...; O(N D)."""
    state = problem.empty(problem.n_points, int(atoms[-1]) + 1)
    state.labels[order] = atoms
    problem.refresh(state)
    return state.rows


def best_segments(problem: Problem, rows: Matrix, beam: int, layers: int) -> tuple[Matrix, Labels]:
    """The tables ``best`` and ``came_from`` of ``backends.generic.segments``, for up to ``layers`` clusters.

    With 0 layers the number of clusters is free, which asks for a prior whose log_new does not depend on it.
    """
    best = np.empty((len(rows) + 1, layers + 1))
    came_from = np.zeros(best.shape, dtype=np.int64)  # where no score is a number, a segment starts at the first atom
    problem.backend.segments(problem.model.likelihood, problem.model.prior, rows, min(beam, len(rows)), best, came_from)
    return best, came_from


def boundaries(came_from: Labels, n_clusters: int) -> Labels:
    """The first atom of each segment of the clustering that ends in the last line, column ``n_clusters``."""
    up = int(came_from.shape[1] > 1)
    firsts, r, j = [], len(came_from) - 1, n_clusters * up
    while r > 0:
        r, j = int(came_from[r, j]), j - up
        firsts.append(r)
    return np.array(firsts[::-1], dtype=np.int64)
