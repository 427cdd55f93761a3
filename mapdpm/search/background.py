"""The columns that carry no clusters: one cluster of all points, under priors of their own, and constants."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods._product import Product
from mapdpm.likelihoods._restricted import units_of
from mapdpm.likelihoods._rounded import without_cells
from mapdpm.likelihoods._users_columns import shares_of_ones
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.search.units import Mask, Units, log_prior_of_set
from mapdpm.state import Mixture


class Relevance(NamedTuple):
    """The columns that carry the clusters of a fit, and how the others are distributed."""

    columns: Labels
    """Those that the mixture reads: the relevant ones or, in one cluster, all that vary."""
    relevant: Mask
    """Of each column."""
    gains: Vector
    """What each column gains by the clusters, in nats; columns that belong together share their gain."""
    others: Labels
    """The columns of the background: those that vary, and that the mixture does not read."""
    background: Mixture | None
    """One cluster of all points, in ``others``; None without such columns."""
    constants: Vector
    """The value of each column that has one only; NaN for others."""
    moments: tuple[Matrix, Matrix, Matrix] | None
    """``moments_of`` the clusters in all columns; None where the mixture reads all, and has them."""

    @property
    def is_all(self) -> bool:
        """Whether the mixture reads all columns."""
        return len(self.columns) == len(self.relevant)

    @classmethod
    def of(
        cls, units: Units, labels: Labels, gained: Vector, relevant: Mask, columns: Labels, constants: Vector
    ) -> Relevance:
        """That of clusters of all points; ``gained`` and ``relevant`` have the units, the mixture reads ``columns``."""
        n_columns = len(constants)
        marked, gains = np.zeros(n_columns, dtype=bool), np.zeros(n_columns)
        for own, gain, is_relevant in zip(units.columns, gained, relevant, strict=True):
            gains[own] = gain / len(own)
            marked[own] = is_relevant
        found = cls(columns, marked, gains, units.others(columns), units.background(columns), constants, None)
        if found.is_all:
            return found
        mixture, own, steps = units.clusters(labels)
        moments = np.full((3, len(mixture.counts), n_columns), np.nan)
        moments[:, :, own] = moments_of(mixture, steps)
        constant = ~np.isnan(constants)
        moments[0][:, constant] = moments[1][:, constant] = constants[constant]
        moments[2][:, constant] = 0.0
        return found._replace(moments=(moments[0], moments[1], moments[2]))


def moments_of(mixture: Mixture, steps: Vector | None) -> tuple[Matrix, Matrix, Matrix]:
    """Of each cluster and column: the share of ones in flags, means, and variances without the cells of steps."""
    likelihood, rows = mixture.likelihood, mixture.state.rows[:-1]
    means, variances = likelihood.moments(rows)
    shares = shares_of_ones(likelihood, rows) if isinstance(likelihood, Product) else np.full_like(means, np.nan)
    return shares, means + mixture.anchor, without_cells(variances, steps)


def log_prior_of(likelihood: Any, relevance: Relevance) -> float:
    """log p(R), less that of all units of ``likelihood``."""
    searched = np.append(relevance.columns, relevance.others)
    units = [own for own in units_of(likelihood, len(relevance.relevant)) if np.isin(own, searched).any()]
    return log_prior_of_set(np.array([relevance.relevant[own].all() for own in units]))


def constants_of(points: Any) -> Vector:
    """The value of each column that has no other, NaN for those that vary; a column without values is one, too."""
    table = getattr(points, "array", points)
    low, high = np.fmin.reduce(table), np.fmax.reduce(table)
    return np.where(low == high, low, np.where(np.isnan(low), 0.0, np.nan))
