"""The best clustering whose clusters are segments of an order of the points (Liang2007 section 3)."""

from __future__ import annotations

import numpy as np

from mapdpm.protocol import Labels, Matrix
from mapdpm.search.problem import Problem


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
