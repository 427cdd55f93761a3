"""The hidden Markov model of the posterior means of an HDP-HMM: its states, and one new state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends import resolve
from mapdpm.data import point_set
from mapdpm.data.sequences import read_sequences
from mapdpm.estimators.background import have_new_values, log_densities_of_others
from mapdpm.estimators.chunks import in_chunks
from mapdpm.estimators.draws import drawn_points
from mapdpm.likelihoods._restricted import restricted_points
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.protocol import Labels, Matrix, Model, Vector
from mapdpm.rng import drawn_by_weight, seeded
from mapdpm.search.background import Relevance
from mapdpm.state import ClusterState, Mixture

_SUM = 1e-6


class Path(NamedTuple):
    """A sequence that was drawn."""

    states: Labels
    points: Any


class HiddenMarkovModel(NamedTuple):
    """The states of ``mixture`` and a new one: means of starts and transitions, and scores of points."""

    mixture: Mixture
    start: Vector
    """(K + 1,)"""
    steps: Matrix
    """(K + 1, K + 1): the transitions; the last row is that of the new state."""
    backend: str
    n_jobs: int | None
    relevance: Relevance | None = None
    """Of the columns of points; None where the mixture reads all."""

    def scores(self, points: Any, novelty: bool = False) -> Matrix:
        """(N, K + 1): the log density of each point in each state, the last the prior predictive.

        Columns that carry no states are left out; with ``novelty``, a new value in one that was constant is that of a
        new state.
        """
        backend = resolve(self.backend, self.mixture.likelihood)
        new = None if self.relevance is None or not novelty else have_new_values(self.relevance, points)
        if self.relevance is not None:
            points = restricted_points(points, self.relevance.columns)

        def computed(model: Model, state: ClusterState, first: int) -> Matrix:  # noqa: ARG001  (points know no place)
            scores = np.empty((point_set(model.data).n_points, state.capacity))
            backend.score(model._replace(prior=NO_PRIOR), state, scores)
            return scores

        found: Matrix = in_chunks(points, self.mixture, self.n_jobs, computed)
        if new is not None:
            found[new, :-1] = -np.inf
        return found

    def path(self, points: Any, sequences: Any, novelty: bool) -> Labels:
        """The most probable path of each sequence; without ``novelty`` among the states that are known."""
        begins = read_sequences(sequences, point_set(points).n_points).begins
        known = slice(None) if novelty else slice(len(self.start) - 1)
        scores = np.ascontiguousarray(self.scores(points, novelty)[:, known])
        came_from, path = np.empty(scores.shape, dtype=np.int64), np.empty(len(scores), dtype=np.int64)
        steps = np.ascontiguousarray(self.steps[known, known])
        self._backend().viterbi(self.start[known], steps, scores, begins, came_from, path)
        return path

    def filtered(self, points: Any, sequences: Any) -> Matrix:
        """The probabilities of states given the points so far."""
        return self._forward(self.scores(points, novelty=True), sequences)[0]

    def log_density(self, points: Any, sequences: Any) -> float:
        """The log density of all sequences."""
        found = float(self._forward(self.scores(points), sequences)[1].sum())
        if self.relevance is not None:
            n_points = int(self.mixture.counts.sum())
            found += float(log_densities_of_others(self.relevance, n_points, points, self.n_jobs).sum())
        return found

    def _forward(self, scores: Matrix, sequences: Any) -> tuple[Matrix, Vector]:
        """The probabilities of states given the points so far, and the log density of each sequence."""
        begins, filtered = read_sequences(sequences, len(scores)).begins, np.empty_like(scores)
        return filtered, self._backend().forward(self.start, self.steps, scores, begins, filtered)

    def smoothed(self, points: Any, sequences: Any) -> Matrix:
        """The probabilities of states given all points of the sequence."""
        found = self.filtered(points, sequences)
        self._backend().backward(self.steps, read_sequences(sequences, len(found)).begins, found)
        return found

    def after(self, points: Any, belief: Any) -> Vector:
        """The probabilities of states after one more point, given those before it."""
        start = self.start if belief is None else _checked_belief(belief, len(self.start)) @ self.steps
        filtered = np.empty((1, len(self.start)))
        self._backend().forward(start, self.steps, self.scores(points, novelty=True), np.array([0, 1]), filtered)
        return filtered[0]

    def drawn(self, n_points: int, random_state: Any) -> Path:
        """A sequence that is drawn from the model."""
        rng, steps, states = seeded(random_state), self.steps, np.empty(n_points, dtype=np.int64)
        shares = self.start
        for t in range(n_points):
            states[t] = drawn_by_weight(shares, rng.uniform())
            shares = steps[states[t]]
        return Path(states, drawn_points(self.mixture, self.relevance, states, rng, each=False))

    def _backend(self) -> Any:
        return resolve(self.backend, self.mixture.likelihood)


def _checked_belief(belief: Any, n: int) -> Vector:
    """Probabilities of states; ValueError where they are none."""
    try:
        found = np.asarray(belief, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (n,) or not (found.min() >= 0.0 and abs(found.sum() - 1.0) < _SUM):
        msg = f"belief must be {n} probabilities that sum to 1, as filter_one has returned them, got {belief!r}"
        raise ValueError(msg)
    return found
