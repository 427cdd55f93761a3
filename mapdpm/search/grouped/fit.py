"""A fit of grouped points: from checked settings to the mode that was found. It changes none of its arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.data.group_tree import GroupTree
from mapdpm.objective import is_gain
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.partition_priors.hierarchy_posterior import posterior_mode
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels, Likelihood, Matrix, Model
from mapdpm.search.ascent import Ascent, FitProgress, Plan, ascend, unheard
from mapdpm.search.checks import Deadline, SearchSettings, reporter
from mapdpm.search.grouped.exhaustive import best_of_all
from mapdpm.search.grouped.problem import GroupedProblem, GroupedState
from mapdpm.search.moves.merge import Merge
from mapdpm.search.moves.split import Split
from mapdpm.search.problem import Problem, observed
from mapdpm.search.steps import started_sequentially
from mapdpm.state import Mixture, mixture_of, slots_in_order
from mapdpm.threads import Threads
from mapdpm.validation import in_order_of_appearance

_MOST_TURNS = 20
_SAME_CONCENTRATION = 1e-4


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
    if init is not None and settings.max_clusters is not None and init.max() >= settings.max_clusters:
        most = settings.max_clusters
        msg = f"init has {init.max() + 1} clusters, and max_clusters is {most}: raise it, or merge labels"
        raise ValueError(msg)
    found = _best_run(problem, search, deadline, report, init)
    if settings.alpha_prior is not None or settings.gamma_prior is not None:
        problem, found = _with_concentrations(problem, found, settings, deadline, report)
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
        state.weights[:, np.append(slots, -1)] / problem.alphas()[:, None],
        labels,
        found.history,
        found.n_sweeps,
        found.converged,
        backend.name,
    )


def _with_concentrations(
    problem: GroupedProblem,
    found: Ascent,
    settings: GroupedSettings,
    deadline: Deadline,
    report: Callable[[FitProgress], bool],
) -> tuple[GroupedProblem, Ascent]:
    """Turn by turn: alpha and gamma at the mode of their posterior given the table, and an ascent from there."""
    plan, rng = settings.search.plan(deadline), settings.search.generator()
    for _ in range(_MOST_TURNS):
        table = found.state.table[:, found.state.clusters.counts > 0]
        prior = posterior_mode(table, problem.parents, problem.prior, settings.alpha_prior, settings.gamma_prior)
        near = np.allclose(prior.numbers, problem.prior.numbers, rtol=_SAME_CONCENTRATION, atol=0.0)
        problem = problem._replace(prior=prior)
        found.state.stale = True
        problem.refresh(found.state)
        found = ascend(problem, found.state, plan, rng, report, found.restart)
        if near or plan.expired():
            break
    return problem, found


def _best_run(
    problem: GroupedProblem,
    search: SearchSettings,
    deadline: Deadline,
    report: Callable[[FitProgress], bool],
    init: Labels | None,
) -> Ascent:
    """The run with the highest J: from ``init``, or else from the mode of pooled points and from a sequential start.

    A restart climbs from the best so far, after some Gibbs sweeps. Each has its own seed, so results do not depend on
    the number of threads.
    """
    rng = search.generator()
    plan = search.plan(deadline)
    threads = Threads(search.n_jobs)

    def heard(progress: FitProgress) -> bool:
        threads.check()
        return False if report is unheard else threads.call(report, progress)

    def run(restart: int, seed: int, best: Ascent | None = None) -> Ascent:
        if best is not None and plan.expired():
            return best
        generator = np.random.default_rng(seed)
        if best is not None:
            state = problem.perturbed(best.state.copy(), generator)
        elif init is not None:
            state = _from_labels(problem, init)
        elif restart == 0:
            state = _pooled(problem, plan, generator, heard)
        else:
            state = problem.started(np.arange(problem.n_points))
        return ascend(problem, state, plan, generator, heard, restart)

    def round_of(restarts: range, best: Ascent | None) -> Ascent:
        seeds = rng.integers(2**63, size=len(restarts)).tolist()
        runs = threads.each(functools.partial(run, best=best), restarts, seeds)
        return functools.reduce(_better, runs if best is None else [best, *runs])

    with threads:
        n_first = 2 if init is None else 1
        best = round_of(range(n_first), None)
        for restart in range(n_first, n_first + search.n_restarts):
            if plan.expired():
                break
            best = round_of(range(restart, restart + 1), best)
    return best_of_all(problem, best) if plan.moves and best.converged else best


def _from_labels(problem: GroupedProblem, labels: Labels) -> GroupedState:
    """The state of ``labels``, in the order of points of ``problem``."""
    clusters = problem.flat.empty(problem.n_points, problem.flat.capacity(int(labels.max()) + 1))
    clusters.labels[:] = in_order_of_appearance(labels)
    return problem.state_of(clusters)


def _pooled(
    problem: GroupedProblem, plan: Plan, rng: np.random.Generator, heard: Callable[[FitProgress], bool]
) -> GroupedState:
    """The mode of the points without their groups, as a start; reports of it have another objective, and say so."""
    flat = problem.flat

    def said(progress: FitProgress) -> bool:
        return heard(progress._replace(move=f"pooled {progress.move}"))

    start = started_sequentially(flat, np.arange(problem.n_points))
    pooled = Plan((Merge, Split) if plan.moves else (), plan.max_sweeps, plan.expired)
    return problem.state_of(ascend(flat, start, pooled, rng, said).state)


def _better(one: Ascent, two: Ascent) -> Ascent:
    before, after = one.history[-1], two.history[-1]
    return two if is_gain(after - before, before) else one
