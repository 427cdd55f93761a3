"""A fit: from checked settings and points to the mode that was found. It changes none of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.likelihoods._skipping import has_verb, in_kernels
from mapdpm.names import COVARIANCE
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels, Likelihood, Model, PartitionPrior, Weights
from mapdpm.search.ascent import ascend
from mapdpm.search.chunks import frame_of, state_of
from mapdpm.search.concentrations import with_concentrations
from mapdpm.search.fit_in_passes import InThreads, climbed, has_passes, sample_of
from mapdpm.search.moves.merge_split import Memory
from mapdpm.search.observed import (
    anchor_for,
    fitting,
    labels_of_start,
    observed,
    present_points,
    taking_part,
    with_absent,
)
from mapdpm.search.problem import Problem
from mapdpm.search.runs import finished, remembering, searched
from mapdpm.search.settings import SearchSettings, reporter
from mapdpm.state import ClusterState, Mixture, mixture_of, slots_in_order
from mapdpm.validation import in_order_of_appearance

MANY = 1 << 18  # decision 128
"""With at least so many points a fit is made in passes."""


class Structure(NamedTuple):
    """Points that have more than values: groups, or an order in time."""

    problem_of: Callable[[Problem], Any]
    """The problem with shares, from that of the points each on its own, where they stand in ``order``."""
    order: Labels | None
    """That in which kernels read the points; None: the order that they have."""
    hyperpriors: tuple[GammaPrior | None, ...]
    """One for each concentration of the problem; None where it is known."""
    what: str
    """The word for its clusters."""


class FitSettings(NamedTuple):
    """The model and the search of a fit, checked; ``init`` is the name of a start, or one integer label a point."""

    likelihood: Likelihood | None
    prior: PartitionPrior
    """The prior of partitions of points each on its own."""
    max_clusters: int | None
    init: str | Labels
    search: SearchSettings
    missing: str = "error"
    """One of ``names.MISSING``: with "skip", NaN is a missing value."""
    structure: Structure | None = None
    covariance: str = COVARIANCE[1]
    """"auto" tries full ones, too, in place of the diagonal ones of the likelihood."""
    left_out: tuple[int, ...] = ()
    """Columns of the points that say nothing, whatever they hold; a search for relevant columns knows them."""


class WarmStart(NamedTuple):
    """The start of the next fit of the same points."""

    likelihood: Likelihood
    max_clusters: int | None
    state: ClusterState
    memory: Memory


class Fitted(NamedTuple):
    """The result of a fit."""

    likelihood: Likelihood
    """As the user gave it, with one entry a feature."""
    mixture: Mixture
    """The clusters, ready to score."""
    labels: Labels | None
    """0..K-1 in order of first appearance; -1 for a point of weight 0. None if the points are elsewhere."""
    history: list[float]
    n_sweeps: int
    converged: bool
    backend: str
    warm: WarmStart | None = None
    counted: Any = None
    """With a structure, a pair: the counts that the prior reads, as ``SharingProblem.table_of`` makes them, of K slots;
    and the shares of clusters at each inner node, (inner nodes, K + 1), the last that of a new cluster."""
    relevance: Any = None
    """The ``Relevance`` of the columns, where that was searched; then the mixture reads some of them."""

    @property
    def present_labels(self) -> Labels:
        """The labels of the points that take part, which are here."""
        assert self.labels is not None  # noqa: S101
        labels: Labels = self.labels[self.labels >= 0]
        return labels


def fit(settings: FitSettings, points: Any, weights: Weights, warm: WarmStart | None = None) -> Fitted:
    """Cluster ``points``, in the form that the likelihood reads.

    With ``warm``, from a fit of the same points, the search climbs once from the clusters found there; ``init`` and
    ``n_restarts`` do not matter. That costs little if the two have nearby modes: sweeps move few points. If the two
    differ in alpha alone, a futile split is tried again only if the new alpha would let it gain.
    """
    search, structure = settings.search, settings.structure
    deadline, report = search.deadline, reporter(search)
    present = present_points(weights)
    taken, positive = taking_part(points, weights, present)
    if warm is None and _is_for_passes(settings, taken):
        return _fit_in_passes(settings, taken, positive, lambda labels: with_absent(labels, weights, present))
    seen = observed(settings.likelihood, taken, positive, settings.missing)
    backend = resolve(search.backend, seen.shifted)
    start, order, data = settings.init, None if structure is None else structure.order, seen.data
    if not isinstance(start, str):
        what = "clusters" if structure is None else structure.what
        start = labels_of_start(start, present, f"max_{what}", settings.max_clusters)
    if order is not None:
        data = point_set(data).rows(order)
        start = start if isinstance(start, str) else in_order_of_appearance(start[order])
    model = Model(seen.shifted, settings.prior, data, positive)
    problem: Any = Problem.of(model, backend, settings.max_clusters, deadline.expired)
    if structure is not None:
        problem = structure.problem_of(problem)
    plan = search.plan()
    if warm is not None and warm.max_clusters == settings.max_clusters:
        memory = warm.memory if warm.likelihood == seen.likelihood else Memory(problem.n_points)
        found = ascend(problem, warm.state, remembering(plan, memory), search.generator(), report)
        found = finished(problem, found, plan)
    else:
        found, memory = searched(problem, start, search, plan, report)
    if structure is not None and any(each is not None for each in structure.hyperpriors):
        problem, found = with_concentrations(problem, found, structure.hyperpriors, search, plan)
    clusters = found.state.clusters
    if order is not None:
        labels = np.empty_like(clusters.labels)
        labels[order] = clusters.labels
        clusters = clusters._replace(labels=labels)
    slots, labels = slots_in_order(clusters)
    rows = clusters.rows[slots, : seen.shifted.n_statistics()]
    fitted = Fitted(
        seen.likelihood,
        mixture_of(seen.shifted, problem.prior, seen.anchor, clusters.counts[slots], rows),
        with_absent(labels, weights, present),
        found.history,
        found.n_sweeps,
        found.converged,
        backend.name,
    )
    if structure is None:
        return fitted._replace(warm=WarmStart(seen.likelihood, settings.max_clusters, clusters, memory))
    shares = found.state.weights[:, np.append(slots, -1)] / problem.concentrations()[:, None]
    return fitted._replace(counted=(problem.of_slots(found.state.table, slots), shares))


def _is_for_passes(settings: FitSettings, points: Any) -> bool:
    """Whether passes are faster than sweeps, at the same joint: for many points, from no given labels."""
    return (
        settings.structure is None
        and point_set(points).n_points >= MANY
        and isinstance(settings.init, str)
        and has_passes(settings.search.moves)
        and (settings.likelihood is None or has_verb(settings.likelihood, "tangent"))
    )


def _fit_in_passes(
    settings: FitSettings, points: Any, weights: Weights, with_others: Callable[[Labels], Labels]
) -> Fitted:
    """``fit`` in passes; ``with_others`` adds the labels of points that do not take part."""
    search, prior = settings.search, settings.prior
    likelihood = fitting(settings.likelihood, points, weights, settings.missing)
    reader = in_kernels(likelihood, settings.missing)
    backend = resolve(search.backend, reader)
    frame = frame_of(reader, prior, anchor_for(likelihood, points), backend.name)
    run = InThreads(points, weights, search.n_jobs)
    sample = sample_of(run, frame)
    found = climbed(run, frame, sample, str(settings.init), settings.max_clusters, search)
    labels = found.names[run.labels(frame, found.labelling)]
    K, cap = len(found.clusters.counts), settings.max_clusters
    state = state_of(frame, found.clusters, n_free=K if cap is None else min(K, cap - K))
    warm = WarmStart(likelihood, cap, state._replace(labels=labels.copy()), Memory(len(labels)))
    return Fitted(
        likelihood,
        mixture_of(frame.likelihood, prior, frame.anchor, *found.clusters),
        with_others(labels),
        found.history,
        found.n_passes,
        found.converged,
        backend.name,
        warm,
    )
