"""The best clustering whose clusters are segments of an order of the points (Liang2007 section 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.objective import is_gain
from mapdpm.protocol import Labels, Matrix
from mapdpm.search.problem import Problem

_ROUNDING = 1e-12
"""A column is constant if its standard deviation is at most this share of its largest entry."""


def standardised(data: Any) -> Matrix:
    """Points as vectors with mean 0 and standard deviation 1 in each column (0 in a constant one).

    A missing value is at the mean of its column.
    """
    vectors = point_set(data).as_vectors()
    columns = np.array(vectors.T, dtype=np.float64, order="C")  # numpy is slow along the first of two axes
    absent = np.isnan(columns)
    if absent.any():
        columns[absent] = 0.0
        sums, n_values = columns.sum(axis=1), np.maximum(np.count_nonzero(~absent, axis=1), 1)
        columns += absent * (sums / n_values)[:, None]
    largest = np.abs(columns).max(axis=1)
    columns -= columns.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.einsum("dn,dn->d", columns, columns) / columns.shape[1])
    varies = scale > _ROUNDING * largest
    columns *= (varies / np.where(varies, scale, 1.0))[:, None]
    return np.ascontiguousarray(columns.T)


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


def best_cut(problem: Problem, projections: Matrix, most_atoms: int) -> Labels:
    """Labels 0 and 1 of the best two clusters, one all below the other in one of ``projections`` (N, n of them).

    O(N log N + N D) each. Cuts are tried between at most ``most_atoms`` runs of points.
    """
    best, best_joint = np.zeros(len(projections), dtype=np.int64), -np.inf
    for projection in projections.T:
        order = np.argsort(projection, kind="stable").astype(np.int64)
        first, joint = problem.backend.cut(problem.model, order, min(most_atoms, len(order)))
        if best_joint == -np.inf or is_gain(joint - best_joint, best_joint):
            best[order[:first]], best[order[first:]], best_joint = 0, 1, joint
    return best
