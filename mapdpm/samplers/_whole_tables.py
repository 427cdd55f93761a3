"""Tables of a franchise as points: their dishes are a partition of them under a Dirichlet process (Teh2004 4.2).

So every sampler of one partition also redraws dishes: Gibbs sampling moves a whole table (Teh2004 (34), with the
parameters integrated out), and split-merge moves whole dishes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Vector
from mapdpm.state import ClusterState, statistics

_COUNT, _REST = 0, 1


class Tables(NamedTuple):
    """The statistics of the points of each table, (tables, size), prepared, and their log marginals."""

    rows: Matrix
    log_marginals: Vector

    @property
    def n_points(self) -> int:
        """The number of tables."""
        return len(self.rows)


class OfTables(NamedTuple):
    """The family whose points are tables of another. A row has the number of tables, then a row of the other family."""

    likelihood: Any

    def size(self) -> int:
        return 1 + int(self.likelihood.size())

    def n_statistics(self) -> int:
        return 1 + int(self.likelihood.n_statistics())

    def init(self, row: Vector) -> None:
        row[_COUNT] = 0.0
        self.likelihood.init(row[_REST:])

    def prepare(self, row: Vector) -> None:
        self.likelihood.prepare(row[_REST:])

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:
        row[_COUNT] += w
        self.likelihood.merge(row[_REST:], data.rows[i])

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:  # noqa: ARG002  (numba compares names)
        """False: rows can be merged, and not parted; the caller makes the row anew from the other tables."""
        return False

    def merge(self, row: Vector, other: Vector) -> None:
        row[_COUNT] += other[_COUNT]
        self.likelihood.merge(row[_REST:], other[_REST:])

    def log_predictive(self, row: Vector, data: Any, i: int) -> float:
        """log p(the points of table i | the points in ``row``): of all at once, not a product over points."""
        table, union = data.rows[i], row[_REST:].copy()
        self.likelihood.merge(union, table)
        return float(self.likelihood.log_merge(union, row[_REST:], table) + data.log_marginals[i])

    def log_marginal(self, row: Vector) -> float:
        return float(self.likelihood.log_marginal(row[_REST:]))

    def log_merge(self, union: Vector, row: Vector, other: Vector) -> float:
        return float(self.likelihood.log_merge(union[_REST:], row[_REST:], other[_REST:]))


@jitable
def tables_of(likelihood: LikelihoodVerbs, data: Any, seats: Labels, n_tables: int) -> Tables:
    """The tables of points with these seats, 0 to ``n_tables`` - 1. O(N D)."""
    rows, log_marginals = np.empty((n_tables, likelihood.size())), np.empty(n_tables)
    statistics(likelihood, data, None, ClusterState(seats, np.empty(n_tables, dtype=np.int64), rows))
    for t in range(n_tables):
        log_marginals[t] = likelihood.log_marginal(rows[t])
    return Tables(rows, log_marginals)
