"""Fits of the same points, one after the other: each but the first starts where the one before it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from mapdpm.data import point_set
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Likelihood
from mapdpm.search.ascent import ascend
from mapdpm.search.checks import (
    Watch,
    check_search,
    check_start,
    generator_of,
    plan_of,
    searched,
    taking_part,
    with_absent,
)
from mapdpm.search.moves.split import InVain, remembering
from mapdpm.search.problem import Problem
from mapdpm.state import ClusterState
from mapdpm.validation import check_count, check_weights


class _Before(NamedTuple):
    problem: Problem
    likelihood: Likelihood
    state: ClusterState


_AGAIN = ("gibbs", "gibbs", "random-order")


def fit_path(models: Iterable[Any], points: Any, sample_weight: Any = None) -> Iterator[Any]:
    """Fit each ``MAPDPM`` of ``models`` to ``points``, and yield it.

    The first is fitted as it says. Each of the others climbs once, from the clusters of the one before (``init`` and
    ``n_restarts`` do not matter), and that costs little where the two have nearby modes: sweeps that move few points;
    and where they differ in alpha alone, splits that were tried in vain are tried again only where that alpha would let
    them gain.
    """
    before: _Before | None = None
    in_vain = InVain(0)
    for model in models:
        check_search(model)
        watch = Watch(model)
        prior = partition_prior(model.alpha, model.discount)
        cap = None if model.max_clusters is None else check_count("max_clusters", model.max_clusters)
        start = check_start(model.init, point_set(points).n_points, None)
        weights = check_weights(sample_weight, point_set(points).n_points, model.discount)
        present, positive, start = taking_part(points, weights, start)
        start = check_start(start, point_set(present).n_points, cap)
        problem, anchor, likelihood = model._problem(present, positive, prior)  # noqa: SLF001
        if before is None or before.likelihood != likelihood:
            in_vain = InVain(point_set(present).n_points)
        plan = plan_of(model, watch)
        if before is not None and before.problem.max_clusters == problem.max_clusters:
            found = ascend(problem, before.state, remembering(plan, in_vain), generator_of(model), watch.report)
        else:
            alone = model.n_restarts == 1  # runs of several starts would take each other's clusters for their own
            plan = remembering(plan, in_vain) if alone else plan
            found = searched(model, watch, plan, problem, start, _AGAIN)
        before = _Before(problem, likelihood, found.state)
        model._take(problem, anchor, likelihood, found)  # noqa: SLF001
        model.labels_ = with_absent(model.labels_, weights)
        yield model
