"""Concentrations that have a prior: turn by turn at the mode of their posterior given a partition."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdpm.partition_priors.concentration_mode import posterior_mode
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels
from mapdpm.search.ascent import Ascent, Plan, ascend
from mapdpm.search.settings import SearchSettings, reporter
from mapdpm.search.sharing import SharingProblem

_MOST_TURNS = 20
_SAME_CONCENTRATION = 1e-4


def with_concentrations(
    problem: SharingProblem, found: Ascent, hyperpriors: Sequence[GammaPrior | None], search: SearchSettings, plan: Plan
) -> tuple[Any, Ascent]:
    """Turn by turn: concentrations at the mode of their posterior given the partition, and an ascent from there.

    ``hyperpriors`` has one for each of ``problem.prior.numbers``; None keeps a concentration.
    """
    rng, report = search.generator(), reporter(search)
    for _ in range(_MOST_TURNS):
        table = problem.of_slots(found.state.table, np.flatnonzero(found.state.clusters.counts))
        log_partition = functools.partial(_log_partition, problem, table)
        numbers = posterior_mode(log_partition, problem.prior.numbers, hyperpriors)
        near = np.allclose(numbers, problem.prior.numbers, rtol=_SAME_CONCENTRATION, atol=0.0)
        problem = problem.with_numbers(numbers)
        found.state.stale = True
        problem.refresh(found.state)
        labels = found.state.labels.copy()
        found = ascend(problem, found.state, plan, rng, report, found.restart)
        if (near and np.array_equal(labels, found.state.labels)) or plan.expired():
            break
    return problem, found


def _log_partition(problem: SharingProblem, table: Labels, numbers: tuple[float, ...]) -> float:
    return float(problem.with_numbers(numbers).log_probability(table))
