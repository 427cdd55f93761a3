"""The problem of a search for the states of sequences: points in time, and the prior of an HDP-HMM."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mapdpm.backends.states import Rows, count_transitions, hidden_markov_model
from mapdpm.data.sequences import Sequences
from mapdpm.partition_priors.transitions import Solution, Transitions
from mapdpm.protocol import Labels, Vector
from mapdpm.search.ascent import Plan, Report
from mapdpm.search.problem import Problem
from mapdpm.search.sharing import SharingProblem, SharingState

_MOST_ROUNDS, _LEAST_ROUNDS, _VISITS = 300, 10, 300_000
"""Drawn paths of a start, at most; fewer are not worth it; points that they visit, at most."""
_MOST_STATES = 20


@dataclass(frozen=True)
class SequenceProblem(SharingProblem):
    """Points in order of time; a table counts the transitions between slots, (capacity + 1, capacity), last starts."""

    flat: Problem
    begins: Labels
    """(sequences + 1,): the first point of each sequence, and last the number of points."""
    previous: Labels
    """(N,): the point before each, or -1."""
    following: Labels
    """(N,): the point after each, or -1."""
    prior: Transitions

    @classmethod
    def of(cls, flat: Problem, sequences: Sequences, prior: Transitions) -> SequenceProblem:
        """The problem of the points of ``sequences``."""
        return cls(flat, sequences.begins, sequences.previous, sequences.following, prior)

    def rows(self, state: SharingState) -> Rows:
        """The argument of kernels: views of ``state``, and the sums of its rows."""
        alpha, gamma, kappa = self.prior
        sizes = state.table.sum(axis=1)
        return Rows(self.previous, self.following, state.table, sizes, state.weights[0], alpha, kappa, gamma)

    def table_of(self, labels: Labels, capacity: int) -> Labels:
        """The transitions between slots."""
        return count_transitions(self.previous, labels, capacity)

    def of_slots(self, table: Labels, slots: Labels) -> Labels:
        """The rows and columns of ``slots``, and the row of starts."""
        return table[np.ix_(np.append(slots, -1), slots)]

    def merged(self, table: Labels, k: int, gone: int) -> Labels:
        """``table`` with row and column of ``gone`` added to those of ``k``."""
        table = table.copy()
        table[:, k] += table[:, gone]
        table[k] += table[gone]
        return np.delete(np.delete(table, gone, axis=1), gone, axis=0)

    def solve(self, table: Labels) -> Solution:
        """The shares of states at the mode, and log p(z)."""
        return self.prior.solve(table)

    def concentrations(self) -> Vector:
        """(1,): alpha."""
        return np.array([self.prior.alpha])

    def with_numbers(self, numbers: tuple[float, ...]) -> SequenceProblem:
        """The same points under other concentrations: alpha and gamma."""
        return dataclasses.replace(self, prior=self.prior._replace(alpha=numbers[0], gamma=numbers[1]))

    def visit(self, state: SharingState, order: Labels, first: int, may_grow: bool) -> tuple[int, int]:
        """Put points into their best states (maths (84)), with the shares held; where it ended, and how many moved."""
        flat = self.flat
        return flat.backend.visit_states(flat.model, state.clusters, self.rows(state), order, first, may_grow)

    def sweep_from(self, state: SharingState, position: int, may_grow: bool) -> tuple[int, int]:
        """Sweep in the order of time."""
        return self.visit(state, np.arange(self.n_points), position, may_grow)

    def seat(self, state: SharingState, order: Labels, may_grow: bool) -> int:
        """Add points one after the other; ``order`` must rise."""
        return self.visit(state, order, 0, may_grow)[0]

    def perturbed(self, state: SharingState, rng: np.random.Generator) -> SharingState:
        """The states of a path that is drawn given the means of transitions and emissions; O(N K (K + D))."""
        return self._drawn(state, rng, 1)

    def _drawn(self, state: SharingState, rng: np.random.Generator, n_rounds: int) -> SharingState:
        """``perturbed``, so many times in a row."""
        self.refresh(state)
        flat, uniforms = self.flat, rng.random((n_rounds, self.n_points))
        flat.backend.draw_states(flat.model, state.clusters, self.rows(state), self.begins, uniforms)
        state.stale = True
        self.refresh(state)
        return state

    def best_path(self, state: SharingState) -> Labels:
        """The slots of the most probable path given the means of all distributions (Viterbi); O(N K (K + D))."""
        self.refresh(state)
        flat = self.flat
        live, start, steps, scores = hidden_markov_model(flat.backend, flat.model, state.clusters, self.rows(state))
        came_from, path = np.empty(scores.shape, dtype=np.int64), np.empty(self.n_points, dtype=np.int64)
        flat.backend.viterbi(start, steps, scores, self.begins, came_from, path)
        return live[path]

    def of_points(self, points: Labels) -> SequenceProblem:
        """The problem of ``points``, which rise; what the others interrupt becomes several sequences. O(points D)."""
        follows = np.append(False, self.previous[points[1:]] == points[:-1])
        n = len(points)
        begins = np.append(np.flatnonzero(~follows), n)
        previous = np.where(follows, np.arange(n) - 1, -1)
        following = np.where(np.append(follows[1:], False), np.arange(n) + 1, -1)
        return SequenceProblem(self.flat.part(points, 0), begins, previous, following, self.prior)

    def starts(self, name: str, plan: Plan, rng: np.random.Generator, report: Report) -> Iterator[SharingState]:
        """Those of all problems with shares; and one from drawn paths, where they are cheap."""
        yield from super().starts(name, plan, rng, report)
        if self._rounds() >= _LEAST_ROUNDS:
            yield self.drawn_start(rng)

    def drawn_start(self, rng: np.random.Generator) -> SharingState:
        """Random states, then paths that are drawn again and again given the states before: blocked Gibbs sampling.

        This finds states that no cluster of points shows, such as letters that alternate.
        """
        most = self.flat.max_clusters or self.n_points
        n_states = min(round(self.n_points ** (1 / 3)) + 1, _MOST_STATES, most)
        labels = np.unique(rng.integers(0, n_states, self.n_points), return_inverse=True)[1]
        return self._drawn(self.from_labels(labels), rng, self._rounds())

    def _rounds(self) -> int:
        return min(_MOST_ROUNDS, _VISITS // self.n_points)

    def with_labels(self, state: SharingState, labels: Labels) -> SharingState:
        """``state`` with other labels, refreshed; its arrays are edited."""
        state.labels[:] = labels
        state.stale = True
        self.refresh(state)
        return state
