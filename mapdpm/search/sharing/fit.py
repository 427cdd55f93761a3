"""A fit of groups, or of states: from checked settings to the mode that was found. It changes none of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels, Likelihood, Matrix, Model
from mapdpm.search.checks import Deadline, SearchSettings, reporter
from mapdpm.search.problem import Problem, observed
from mapdpm.search.sharing.problem import SharingProblem
from mapdpm.search.sharing.runs import best_run, with_concentrations
from mapdpm.state import Mixture, mixture_of, slots_in_order
from mapdpm.validation import in_order_of_appearance


class SharingSettings(NamedTuple):
    """The model and the search of a fit with common shares, checked."""

    likelihood: Likelihood | None
    prior: Any
    """A Hierarchy, or Transitions; its concentrations are known, or are where the search begins."""
    alpha_priors: tuple[GammaPrior | None, ...]
    """One of all alphas, or one for each; None where alpha is known."""
    gamma_prior: GammaPrior | None
    max_clusters: int | None
    search: SearchSettings
    init: Labels | None = None
    """Labels to start from."""


class SharingFit(NamedTuple):
    """The result of a fit with common shares."""

    likelihood: Likelihood
    """As the user gave it, with one entry a feature."""
    mixture: Mixture
    """The clusters, ready to score; their prior has the concentrations that were used."""
    table: Labels
    """The counts that the prior reads, as ``SharingProblem.table_of`` makes them, of K slots."""
    shares: Matrix
    """(inner nodes, K + 1): the shares of clusters, the last that of a new cluster."""
    labels: Labels
    """0..K-1 in order of first appearance."""
    history: list[float]
    n_sweeps: int
    converged: bool
    backend: str


def fit_sharing(
    settings: SharingSettings,
    points: Any,
    problem_of: Callable[[Problem], SharingProblem],
    order: Labels | None = None,
) -> SharingFit:
    """Cluster ``points``, in the form that the likelihood reads.

    ``problem_of`` makes the problem from that of the points each on its own, where they stand in ``order``; None is
    the order that they have.
    """
    search, init = settings.search, settings.init
    deadline, report = Deadline(search.time_limit), reporter(search)
    seen = observed(settings.likelihood, points)
    backend = resolve(search.backend, seen.likelihood)
    data = seen.data if order is None else point_set(seen.data).rows(order)
    model = Model(seen.shifted, partition_prior(settings.prior.gamma), data)
    problem = problem_of(Problem.of(model, backend, settings.max_clusters))
    if init is not None:
        init = in_order_of_appearance(init if order is None else init[order])
    found = best_run(problem, search, deadline, report, init)
    several, n_alphas = settings.alpha_priors, len(settings.prior.numbers) - 1
    hyperpriors = (*(several * n_alphas if len(several) == 1 else several), settings.gamma_prior)
    if any(each is not None for each in hyperpriors):
        problem, found = with_concentrations(problem, found, hyperpriors, search, deadline)
    clusters = found.state.clusters
    if order is not None:
        labels = np.empty_like(clusters.labels)
        labels[order] = clusters.labels
        clusters = clusters._replace(labels=labels)
    slots, labels = slots_in_order(clusters)
    rows = clusters.rows[slots, : seen.shifted.n_statistics()]
    return SharingFit(
        seen.likelihood,
        mixture_of(seen.shifted, problem.prior, seen.anchor, clusters.counts[slots], rows),
        problem.of_slots(found.state.table, slots),
        found.state.weights[:, np.append(slots, -1)] / problem.concentrations()[:, None],
        labels,
        found.history,
        found.n_sweeps,
        found.converged,
        backend.name,
    )
