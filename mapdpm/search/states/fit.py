"""A fit of sequences: from checked settings to the mode that was found. It changes none of its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data.sequences import Sequences
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.partition_priors.transitions import Transitions
from mapdpm.protocol import Labels, Likelihood, Model, Vector
from mapdpm.search.checks import Deadline, SearchSettings, reporter
from mapdpm.search.problem import Problem, observed
from mapdpm.search.sharing.runs import best_run, with_concentrations
from mapdpm.search.states.problem import SequenceProblem
from mapdpm.state import Mixture, mixture_of, slots_in_order
from mapdpm.validation import in_order_of_appearance


class SequenceSettings(NamedTuple):
    """The model and the search of a fit of sequences, checked."""

    likelihood: Likelihood | None
    prior: Transitions
    """alpha and gamma, where they are known or where the search begins; and kappa."""
    alpha_prior: GammaPrior | None
    gamma_prior: GammaPrior | None
    max_states: int | None
    search: SearchSettings
    init: Any = None
    """Labels to start from, or None."""


class SequenceFit(NamedTuple):
    """The result of a fit of sequences."""

    likelihood: Likelihood
    """As the user gave it, with one entry a feature."""
    mixture: Mixture
    """The states, ready to score."""
    table: Labels
    """(K + 1, K): transitions between states; the last row has the starts of sequences."""
    shares: Vector
    """(K + 1,): the common shares of states, the last that of all new states."""
    labels: Labels
    """0..K-1 in order of first appearance."""
    history: list[float]
    n_sweeps: int
    converged: bool
    backend: str


def fit_sequences(settings: SequenceSettings, points: Any, sequences: Sequences) -> SequenceFit:
    """Find the states of ``points``, in the form that the likelihood reads."""
    search, prior = settings.search, settings.prior
    deadline, report = Deadline(search.time_limit), reporter(search)
    seen = observed(settings.likelihood, points)
    backend = resolve(search.backend, seen.likelihood)
    model = Model(seen.shifted, partition_prior(prior.gamma), seen.data)
    flat = Problem.of(model, backend, settings.max_states)
    problem = SequenceProblem(flat, sequences.begins, sequences.previous, sequences.following, prior)
    init = None if settings.init is None else in_order_of_appearance(settings.init)
    found = best_run(problem, search, deadline, report, init)
    hyperpriors = settings.alpha_prior, settings.gamma_prior
    if hyperpriors != (None, None):
        problem, found = with_concentrations(problem, found, hyperpriors, search, deadline)
        prior = problem.prior
    state = found.state
    slots, labels = slots_in_order(state.clusters)
    rows = state.clusters.rows[slots, : seen.shifted.n_statistics()]
    return SequenceFit(
        seen.likelihood,
        mixture_of(seen.shifted, prior, seen.anchor, state.clusters.counts[slots], rows),
        problem.of_slots(state.table, slots),
        state.weights[0, np.append(slots, -1)] / prior.alpha,
        labels,
        found.history,
        found.n_sweeps,
        found.converged,
        backend.name,
    )
