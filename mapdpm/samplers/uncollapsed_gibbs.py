"""Gibbs sampling with instantiated cluster parameters: West, Mueller and Escobar (1994), Neal's (2000) Algorithm 2."""

from __future__ import annotations

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import Matrix, Model, RngVerbs
from mapdpm.samplers._blocks import draw_parameters, free_slot
from mapdpm.samplers._pairs import set_row
from mapdpm.samplers._with_parameters import weights_given
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.state import ClusterState, count_used


def redraw_labels(model: Model, state: ClusterState, parameters: Matrix, start: int, rng: RngVerbs) -> tuple[int, int]:
    """Redraw the labels of points ``start``, ``start + 1``, ..., given ``parameters``; rows are not updated.

    Returns the first point not visited, because no slot was free, and how many points changed slot. O(N K D).
    """
    likelihood, prior, data, _ = model
    n, capacity = state.labels.shape[0], state.counts.shape[0]
    scores, row = np.empty(capacity), np.empty(state.rows.shape[1])
    blank = np.empty(state.rows.shape[1])
    likelihood.init(blank)
    used, moved = count_used(state), 0
    for i in range(start, n):
        if used == capacity:
            return i, moved
        k = state.labels[i]
        state.counts[k] -= 1
        used -= int(state.counts[k] == 0)
        free = free_slot(state)
        weights_given(model, state, parameters, i, scores)
        scores[free] = prior.log_new(used, 1.0) + likelihood.log_predictive(blank, data, i)
        drawn = rng.categorical(scores)
        if drawn == free:
            set_row(likelihood, row, data, i)
            likelihood.draw(row, parameters[drawn], rng)
            used += 1
        state.labels[i] = drawn
        state.counts[drawn] += 1
        moved += int(drawn != k)
    return n, moved


class UncollapsedGibbs(Sampler):
    """Gibbs sampling of the partition and of cluster parameters, in turn (West 1994; Raykov2014 section 2.2).

    p(z_i = k | rest) is N_k^{-i} F(x_i | theta_k) for a cluster, and alpha p(x_i) for a new one, whose parameters are
    then drawn given x_i. A step draws all parameters, then every label: O(N K D). It mixes more slowly than
    ``CollapsedGibbs``. It serves as a check of that sampler: they share only the predictive density of a single point.

    Needs a likelihood with the verbs ``draw`` and ``log_likelihood``. All likelihoods of this library have them.
    """

    draws_parameters = True

    _draw = staticmethod(compiled_if_possible(draw_parameters))
    _redraw = staticmethod(compiled_if_possible(redraw_labels))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Draw parameters, then labels."""
        parameters = np.empty((chain.reserve().capacity, chain.likelihood.n_parameters()))
        self._draw(chain.likelihood, chain.state, parameters, rng)
        start, moved = 0, 0
        while start < chain.n_points:
            state = chain.reserve()
            room = np.empty((state.capacity - len(parameters), parameters.shape[1]))
            parameters = np.concatenate([parameters, room]) if len(room) else parameters
            start, more = self._redraw(chain.model, state, parameters, start, rng)
            moved += int(more)
        chain.refresh()
        return Info(chain.n_clusters, moved=moved)
