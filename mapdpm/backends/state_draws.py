"""States of sequences that are drawn as whole paths: blocked Gibbs sampling. c_kernels/batch/draws.c is the twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends.states import Rows, count_transitions
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.partition_priors.transitions import Transitions
from mapdpm.protocol import Labels, Matrix, Model, Vector
from mapdpm.state import ClusterState


def hidden_markov_model(
    backend: Any, model: Model, state: ClusterState, rows: Rows
) -> tuple[Labels, Vector, Matrix, Matrix]:
    """The slots in use, and a hidden Markov model of them: means of starts and of transitions, scores of points."""
    live, n = np.flatnonzero(state.counts), len(rows.previous)
    prior = Transitions(rows.alpha, rows.root_concentration, rows.kappa)
    table = rows.counts[np.append(live, -1)[:, None], live]
    start, steps = prior.means(table, rows.weights[np.append(live, -1)])
    scores = np.empty((n, len(state.counts)))
    backend.score(model._replace(prior=NO_PRIOR), state, scores)
    return live, start[:-1], np.ascontiguousarray(steps[:-1, :-1]), np.ascontiguousarray(scores[:, live])


def draw_states(backend: Any, model: Model, state: ClusterState, rows: Rows, begins: Labels, uniforms: Matrix) -> None:
    """Draw the states of all points, a path by each row of ``uniforms``, given the means after the one before.

    Edits ``state``, and the counts, sizes and weights of ``rows``: the shares are at their mode given each path.
    """
    prior = Transitions(rows.alpha, rows.root_concentration, rows.kappa)
    for draws in uniforms:
        live, start, steps, scores = hidden_markov_model(backend, model, state, rows)
        filtered, path = np.empty_like(scores), np.empty(len(draws), dtype=np.int64)
        backend.forward(start, steps, scores, begins, filtered)
        backend.draw_path(steps, begins, filtered, draws, path)
        state.labels[:] = live[path]
        backend.statistics(model, state)
        rows.counts[:] = count_transitions(rows.previous, state.labels, len(state.counts))
        rows.sizes[:] = rows.counts.sum(axis=1)
        live = np.flatnonzero(state.counts)
        rows.weights[:] = 0.0
        shares = prior.solve(rows.counts[np.append(live, -1)[:, None], live]).shares
        rows.weights[np.append(live, -1)] = rows.alpha * shares
