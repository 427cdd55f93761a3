"""A fit of DP-means: the published algorithm, and then the moves of ``search`` on the same objective."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mapdpm.backends import resolve
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.partition_priors import ClusterPenalty
from mapdpm.protocol import LARGEST, SMALLEST, Labels, Matrix, Model, Vector, Weights
from mapdpm.search.dp_means import Limits, Passes, dp_means, farthest_first, means_of, objective_of
from mapdpm.search.observed import anchor_of, labels_of_start, present_points, taking_part, with_absent
from mapdpm.search.problem import Problem
from mapdpm.search.runs import Starts, best_of_runs, finished
from mapdpm.search.settings import SearchSettings, reporter
from mapdpm.validation import Points, in_order_of_appearance

SHARE = 0.1
"""The price of a cluster where none is given: this share of the sum of squared distances from the mean."""
_LATER_STARTS = ("best", "random-order")


class MeansSettings(NamedTuple):
    """The price of a cluster, None to be found; the number of clusters that sets it and caps them; the search."""

    lam: float | None
    n_clusters: int | None
    search: SearchSettings
    init: str | Labels = "single"
    """Where the published algorithm starts: one cluster, or one integer label a point."""


class FittedMeans(NamedTuple):
    """The result of a fit of DP-means."""

    labels: Labels | None
    """0..K-1 in order of first appearance; -1 for a point of weight 0. None if the points are elsewhere."""
    centres: Matrix
    sizes: Labels
    lam: float
    history: Vector
    """The objective after each step; its last entry is that of ``centres``."""
    n_sweeps: int
    converged: bool
    backend: str


def fit_means(settings: MeansSettings, points: Points, weights: Weights) -> FittedMeans:
    """Cluster ``points``."""
    search = settings.search
    deadline, report = search.deadline, reporter(search)
    limits = Limits(search.max_sweeps, deadline.expired, report)
    present = present_points(weights)
    taken, positive = taking_part(points, weights, present)
    anchor = anchor_of(taken)
    data = taken.astype(np.float64, copy=False) - anchor
    lam = _price_of(settings, data, positive)
    family = SquaredDistance(np.full(data.shape[1], lam))
    backend = resolve(search.backend, family)  # type: ignore[arg-type]  # no density: the search asks for less
    start = settings.init
    if not isinstance(start, str):
        start = labels_of_start(start, present, "n_clusters", settings.n_clusters)
    passes = _published(data, positive, lam, settings._replace(init=start), limits)
    labels, objectives = passes.labels, passes.objectives
    n_sweeps, converged = len(objectives) - 1, passes.converged and not (search.moves and passes.stopped)
    if search.moves and not passes.stopped:
        model = Model(family, ClusterPenalty(lam), data, positive)
        problem = Problem.of(model, backend, settings.n_clusters, deadline.expired)
        starts, plan = Starts(labels, _LATER_STARTS, search.n_restarts), search.plan()
        run, _ = best_of_runs(problem, starts, plan, search.generator(), report, search.n_jobs)
        run = finished(problem, run, plan)
        labels, converged = run.state.labels, run.converged
        n_sweeps = run.n_sweeps + (n_sweeps if run.restart == 0 else 0)
        objectives = [*(objectives if run.restart == 0 else ()), *(-value for value in run.history)]
    labels = in_order_of_appearance(labels)
    w = np.ones(len(data)) if positive is None else positive
    centres = means_of(data, w, labels)
    # The centres that are returned decide the last digit of the objective; no step raised it.
    history = np.minimum.accumulate([*objectives[:-1], objective_of(data, w, labels, centres, lam)])
    sizes, labels = np.bincount(labels), with_absent(labels, weights, present)
    return FittedMeans(labels, centres + anchor, sizes, lam, history, n_sweeps, converged, backend.name)


def _published(data: Points, weights: Weights, lam: float, settings: MeansSettings, limits: Limits) -> Passes:
    """The published algorithm: once if moves follow, else ``n_restarts`` times, the later ones in random orders.

    Those begin with one cluster.
    """
    search, cap = settings.search, settings.n_clusters
    generator = search.generator()
    first = None if isinstance(settings.init, str) else settings.init
    best = dp_means(data, weights, lam, cap, limits, start=first)
    for restart in range(1, 1 if search.moves else search.n_restarts):
        if limits.expired():
            break
        order = generator.permutation(len(data))
        shuffled = None if weights is None else weights[order]
        found = dp_means(data[order], shuffled, lam, cap, limits, restart)
        if found.objectives[-1] < best.objectives[-1]:
            labels = np.empty_like(found.labels)
            labels[order] = found.labels
            best = found._replace(labels=labels)
    return best


def _price_of(settings: MeansSettings, data: Points, weights: Weights) -> float:
    """Lambda: as given, from the number of clusters, or a tenth of the sum of squared distances from the mean.

    A distance a point does not tell what a cluster is worth where clusters may split: that grows with their points.
    """
    w = np.ones(len(data)) if weights is None else weights
    if settings.lam is not None:
        lam = settings.lam
    elif settings.n_clusters is not None:
        lam = farthest_first(data, w, settings.n_clusters)
    else:
        whole = np.zeros(len(data), dtype=np.int64)
        lam = SHARE * objective_of(data, w, whole, means_of(data, w, whole), 0.0)
    return within_range(lam)


def within_range(lam: float) -> float:
    """A price that can be used: points that all have a centre of their own leave no distance, and any price will do."""
    return min(max(lam, SMALLEST), LARGEST)
