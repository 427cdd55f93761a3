"""A fit: from checked settings and points to the mode that was found. It changes none of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.likelihoods._skipping import skipping
from mapdpm.protocol import Labels, Likelihood, Model, PartitionPrior, Weights
from mapdpm.search.ascent import ascend
from mapdpm.search.checks import Deadline, SearchSettings, reporter
from mapdpm.search.chunks import frame_of, state_of
from mapdpm.search.exhaustive import best_of_all
from mapdpm.search.fit_in_passes import InThreads, climbed, has_passes, sample_of
from mapdpm.search.moves.memory import Memory
from mapdpm.search.problem import (
    Problem,
    anchor_for,
    fitting,
    observed,
    present_points,
    taking_part,
    with_absent,
)
from mapdpm.search.restarts import LATER, Starts, best_of_restarts, remembering
from mapdpm.state import ClusterState, Mixture, mixture_of, slots_in_order
from mapdpm.validation import in_order_of_appearance

MANY = 1 << 18
"""With at least so many points a fit is made in passes."""


class FitSettings(NamedTuple):
    """The model and the search of a fit, checked; ``init`` is the name of a start, or one integer label a point."""

    likelihood: Likelihood | None
    prior: PartitionPrior
    max_clusters: int | None
    init: str | Labels
    search: SearchSettings
    missing: str = "error"
    """One of ``names.MISSING``: with "skip", NaN is a missing value."""


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
    warm: WarmStart | None


def fit(settings: FitSettings, points: Any, weights: Weights, warm: WarmStart | None = None) -> Fitted:
    """Cluster ``points``, in the form that the likelihood reads.

    With ``warm``, from a fit of the same points, the search climbs once from the clusters found there; ``init`` and
    ``n_restarts`` do not matter. That costs little if the two have nearby modes: sweeps move few points. If the two
    differ in alpha alone, a futile split is tried again only if the new alpha would let it gain.
    """
    search = settings.search
    deadline, report = Deadline(search.time_limit), reporter(search)
    present = present_points(weights)
    taken, positive = taking_part(points, weights, present)
    if warm is None and _is_for_passes(settings, taken):
        return _fit_in_passes(settings, taken, positive, deadline, lambda labels: with_absent(labels, weights, present))
    seen = observed(settings.likelihood, taken, positive, settings.missing)
    backend = resolve(search.backend, seen.shifted)
    problem = Problem.of(Model(seen.shifted, settings.prior, seen.data, positive), backend, settings.max_clusters)
    start = _start_of(settings, present)
    memory = warm.memory if warm is not None and warm.likelihood == seen.likelihood else Memory(problem.n_points)
    plan = search.plan(deadline)
    if warm is not None and warm.max_clusters == settings.max_clusters:
        found = ascend(problem, warm.state, remembering(plan, memory), search.generator(), report)
    else:
        later = LATER if plan.moves else ("random-order",)  # the paper's runs know nothing of each other
        starts = Starts(start, later, search.n_restarts)
        found, memory = best_of_restarts(problem, starts, plan, search.generator(), report, search.n_jobs)
    if plan.moves and found.converged:
        found = best_of_all(problem, found)
    slots, labels = slots_in_order(found.state)
    rows = found.state.rows[slots, : seen.shifted.n_statistics()]
    return Fitted(
        seen.likelihood,
        mixture_of(seen.shifted, settings.prior, seen.anchor, found.state.counts[slots], rows),
        with_absent(labels, weights, present),
        found.history,
        found.n_sweeps,
        found.converged,
        backend.name,
        WarmStart(seen.likelihood, settings.max_clusters, found.state, memory),
    )


def _is_for_passes(settings: FitSettings, points: Any) -> bool:
    """Whether passes are faster than sweeps, at the same joint: for many points, from no given labels."""
    return (
        point_set(points).n_points >= MANY
        and isinstance(settings.init, str)
        and has_passes(settings.search.moves)
        and (settings.likelihood is None or hasattr(settings.likelihood, "tangent"))
    )


def _fit_in_passes(
    settings: FitSettings,
    points: Any,
    weights: Weights,
    deadline: Deadline,
    with_others: Callable[[Labels], Labels],
) -> Fitted:
    """``fit`` in passes; ``with_others`` adds the labels of points that do not take part."""
    search, prior = settings.search, settings.prior
    likelihood = fitting(settings.likelihood, points, weights, settings.missing)
    reader = skipping(likelihood, settings.missing)
    backend = resolve(search.backend, reader)
    frame = frame_of(reader, prior, anchor_for(likelihood, points), backend.name)
    run = InThreads(points, weights, search.n_jobs)
    sample = sample_of(run, frame)
    found = climbed(run, frame, sample, str(settings.init), settings.max_clusters, search, deadline)
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


def _start_of(settings: FitSettings, present: Labels | None) -> str | Labels:
    """The start, with the labels 0..K-1 of the points that take part; ValueError for more clusters than allowed."""
    init, most = settings.init, settings.max_clusters
    if isinstance(init, str):
        return init
    labels = in_order_of_appearance(init if present is None else init[present])
    n_clusters = int(labels.max()) + 1
    if most is not None and n_clusters > most:
        msg = f"init has {n_clusters} clusters, more than max_clusters={most}; raise it or merge labels"
        raise ValueError(msg)
    return labels
