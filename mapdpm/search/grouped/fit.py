"""A fit of grouped points: from checked settings to the mode that was found. It changes none of its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.data.group_tree import GroupTree
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels, Likelihood, Matrix, Model
from mapdpm.search.checks import Deadline, SearchSettings, reporter
from mapdpm.search.grouped.problem import GroupedProblem
from mapdpm.search.problem import Problem, observed
from mapdpm.search.sharing.runs import best_run, with_concentrations
from mapdpm.state import Mixture, mixture_of, slots_in_order
from mapdpm.validation import in_order_of_appearance


class GroupedSettings(NamedTuple):
    """The model and the search of a fit with groups, checked."""

    likelihood: Likelihood | None
    prior: Hierarchy
    """alpha and gamma, where they are known or where the search begins."""
    alpha_prior: tuple[GammaPrior, ...] | None
    """One of all levels, or one a level."""
    gamma_prior: GammaPrior | None
    max_clusters: int | None
    search: SearchSettings
    init: Any = None
    """Labels to start from, or None."""


class GroupedFit(NamedTuple):
    """The result of a fit with groups."""

    likelihood: Likelihood
    """As the user gave it, with one entry a feature."""
    mixture: Mixture
    """The clusters, ready to score; their prior has an alpha for each level, and gamma."""
    table: Labels
    """(groups, K): points of each group in each cluster."""
    shares: Matrix
    """(inner nodes, K + 1): the shares of clusters, the last that of a new cluster."""
    labels: Labels
    """0..K-1 in order of first appearance."""
    history: list[float]
    n_sweeps: int
    converged: bool
    backend: str


def fit_grouped(settings: GroupedSettings, points: Any, tree: GroupTree) -> GroupedFit:
    """Cluster ``points``, in the form that the likelihood reads, whose groups are the leaves of ``tree``."""
    search, prior = settings.search, settings.prior
    deadline, report = Deadline(search.time_limit), reporter(search)
    seen = observed(settings.likelihood, points)
    backend = resolve(search.backend, seen.likelihood)
    order = np.argsort(tree.of_points, kind="stable")  # kernels are fastest where groups are neighbours
    data = point_set(seen.data).rows(order)
    flat = Problem.of(Model(seen.shifted, partition_prior(prior.gamma), data), backend, settings.max_clusters)
    problem = GroupedProblem(flat, tree.of_points[order], tree.parents, tree.n_groups, prior)
    init = None if settings.init is None else in_order_of_appearance(settings.init)[order]
    found = best_run(problem, search, deadline, report, init)
    if settings.alpha_prior is not None or settings.gamma_prior is not None:
        several = settings.alpha_prior or (None,)
        alpha_priors = several * len(prior.alphas) if len(several) == 1 else several
        problem, found = with_concentrations(problem, found, (*alpha_priors, settings.gamma_prior), search, deadline)
        prior = problem.prior
    state = found.state
    labels = np.empty_like(state.labels)
    labels[order] = state.labels
    slots, labels = slots_in_order(state.clusters._replace(labels=labels))
    rows = state.clusters.rows[slots, : seen.shifted.n_statistics()]
    return GroupedFit(
        seen.likelihood,
        mixture_of(seen.shifted, prior, seen.anchor, state.clusters.counts[slots], rows),
        state.table[:, slots],
        state.weights[:, np.append(slots, -1)] / problem.concentrations()[:, None],
        labels,
        found.history,
        found.n_sweeps,
        found.converged,
        backend.name,
    )
