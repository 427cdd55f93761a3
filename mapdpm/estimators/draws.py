"""Points that are drawn from a fitted mixture, in all columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.estimators.packed import PackedMixture
from mapdpm.protocol import Labels, Vector
from mapdpm.rng import Rng, seeded
from mapdpm.search.background import Relevance
from mapdpm.state import Mixture
from mapdpm.validation import check_count


class DrawnMixture(PackedMixture):
    """A fitted mixture that draws new points."""

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Labels]:
        """New points, drawn from the predictive density, and the cluster of each; -1 is a new cluster.

        The density is that of ``score_samples``. A column without clusters is drawn as one cluster, a constant column
        keeps its value, and rounded columns are drawn before rounding. ``Mixed`` columns are objects. ValueError where
        the family cannot draw points. O(K) a point, and a draw of the parameters of its cluster.

        Examples
        --------
        >>> from mapdpm import MAPDPM
        >>> X = np.concatenate([np.linspace(-1.0, 1.0, 20), np.linspace(9.0, 11.0, 20)])[:, None]
        >>> points, labels = MAPDPM().fit(X).sample(200, random_state=0)
        >>> points.shape, float(np.mean(points[labels == 1]).round())
        ((200, 1), 10.0)
        """
        self._check_fitted()
        rng = seeded(random_state)
        labels = drawn_clusters(self._mixture, check_count("n_samples", n_samples), rng)
        points = drawn_points(self._mixture, self._relevance, labels, rng, each=True)
        if hasattr(self.likelihood_, "columns_from"):
            points = self.likelihood_.columns_from(points)
        return points, np.where(labels == self.n_clusters_, -1, labels)


def drawn_points(mixture: Mixture, relevance: Relevance | None, labels: Labels, rng: Rng, *, each: bool) -> Any:
    """A point of each of these clusters; ``relevance`` says which columns the mixture reads, None all.

    With ``each``, every point has parameters of its own, so it is a draw from the predictive; else those of a cluster
    are drawn once. A column that was constant keeps its value.
    """
    points = _of_mixture(mixture, labels, rng, each)
    if relevance is None or relevance.is_all:
        return points
    whole = np.tile(relevance.constants, (len(labels), 1))
    whole[:, relevance.columns] = points
    if relevance.background is not None:
        whole[:, relevance.others] = _of_mixture(relevance.background, np.zeros_like(labels), rng, each)
    return whole


def _of_mixture(mixture: Mixture, labels: Labels, rng: Rng, each: bool) -> Any:
    likelihood, _, anchor, state = mixture
    if not hasattr(likelihood, "draw_points"):
        msg = f"{type(likelihood).__name__} has no draw_points, so no point can be drawn"
        raise ValueError(msg)
    points: Any = None
    parameters = np.empty(likelihood.n_parameters())
    groups = np.arange(len(labels)) if each else labels
    for own in (np.flatnonzero(groups == k) for k in np.unique(groups)):
        likelihood.draw(state.rows[labels[own[0]]], parameters, rng)
        drawn = likelihood.draw_points(parameters, len(own), rng.generator)
        points = np.empty((len(labels), *drawn.shape[1:]), dtype=drawn.dtype) if points is None else points
        points[own] = drawn
    return points + anchor if np.any(anchor) else points


def drawn_clusters(mixture: Mixture, n_points: int, rng: Rng) -> Labels:
    """The cluster of each of so many new points, by the weights of the clusters and that of a new one, the last."""
    prior, state = mixture.prior, mixture.state
    n_clusters = len(mixture.counts)
    logs = [prior.log_existing(float(row[0]), 1.0) for row in state.rows[:n_clusters]]
    weights: Vector = np.exp([*logs, prior.log_new(n_clusters, 1.0)])
    return rng.generator.choice(n_clusters + 1, n_points, p=weights / weights.sum())
