"""Gibbs sampling without conjugacy: labels and parameters in turn, new clusters by Metropolis-Hastings."""

from __future__ import annotations

from math import log
from typing import cast

import numpy as np

from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.logs import log_sum
from mapdpm.protocol import Matrix, Model, RngVerbs, Vector
from mapdpm.samplers._blocks import free_slot
from mapdpm.samplers._lone_points import count_lone
from mapdpm.samplers._with_parameters import ParameterChain, ParameterSampler, log_alone, propose_alone, weights_given
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState, assign, count_used, unassign


def sweep_given_parameters(
    model: Model, state: ClusterState, parameters: Matrix, first: int, rng: RngVerbs
) -> tuple[int, int]:
    """Redraw the labels of points ``first``, ``first + 1``, ...; O(N K) densities.

    Returns the first point not visited, because no slot was free, and how many points changed cluster.
    """
    capacity, n, moved = state.counts.shape[0], state.labels.shape[0], 0
    scores = np.empty(capacity)
    for i in range(first, n):
        if count_used(state) == capacity:
            return i, moved
        opened = leave_or_join(model, state, parameters, i, scores, False, rng)
        k = state.labels[i]
        if state.counts[k] > 1:
            unassign(model.likelihood, model.data, None, state, i)
            weights_given(model, state, parameters, i, scores)
            drawn = rng.categorical(scores)
            assign(model.likelihood, model.data, None, state, i, drawn)
            opened |= int(drawn != k)
        moved += opened
    return n, moved


@jitable
def leave_or_join(
    model: Model, state: ClusterState, parameters: Matrix, i: int, scores: Vector, drawn: bool, rng: RngVerbs
) -> int:
    """Propose that point ``i`` joins a cluster if it is alone, else that it leaves; return 1 if it was accepted.

    Joining cluster m is proposed in proportion to its weight w_m, leaving with theta from q(. | x_i). To leave has the
    ratio w_new p(theta) F(x_i | theta) / (q(theta | x_i) sum_m w_m), and to join the opposite. ``drawn`` says that i is
    one of all N points, or else one of the S lone points: then to leave has a factor of N / S.
    """
    k, point = state.labels[i], np.full(1, i)
    alone = state.counts[k] == 1
    if alone and count_used(state) == 1:
        return 0
    unassign(model.likelihood, model.data, None, state, i)
    weights_given(model, state, parameters, i, scores)
    log_total = log_sum(scores)
    if drawn:
        log_total += log((count_lone(state) + 1.0) / state.labels.shape[0])
    if alone:
        ratio, new = log_total - log_alone(model, state, parameters[k], point), rng.categorical(scores)
    else:
        new = free_slot(state)
        ratio = propose_alone(model, state, parameters[new], point, rng) - log_total
    accepted = rng.accept(ratio)
    assign(model.likelihood, model.data, None, state, i, new if accepted else k)
    return int(accepted)


class NonconjugateGibbs(ParameterSampler):
    r"""Gibbs sampling of labels and cluster parameters for a family without conjugacy (after Neal 2000, Algorithm 7).

    The likelihood is a NamedTuple with ``n_parameters()``, ``log_prior(parameters)``, ``log_likelihood(parameters,
    data, i)``, and a proposal q near the posterior of the parameters of a cluster: ``propose(parameters, data, points,
    rng)`` draws from it, and ``log_proposal(parameters, data, points)`` is its log density. A step is, in order:

    1. each point: if it is alone, it proposes to join a cluster m in proportion to w_m = N_m F(x_i | theta_m), else to
       be alone with theta from q(. | x_i). To be alone is accepted with probability

       min(1, alpha p(theta) F(x_i | theta) / (q(theta | x_i) sum_m w_m)),

       and to join with the opposite ratio. Then a point that is not alone draws its label in proportion to w_m;
    2. each cluster proposes new parameters from q(. | its points), accepted by Metropolis-Hastings.

    Labels and parameters leave their posterior invariant (docs/maths.md, section 18). ``Trace.extra["parameters"]`` has
    the parameters of each draw, and ``log_joint`` is that of labels and parameters.

    Parameters
    ----------
    **model
        The parameters of ``Sampler``; ``likelihood`` is needed.

    Notes
    -----
    O(N K) densities a step.
    """

    _sweep = staticmethod(compiled_if_possible(sweep_given_parameters))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """The labels of all points, then parameters."""
        chain = cast("ParameterChain", chain)
        first, moved = 0, 0
        while first < chain.n_points:
            first, more = self._sweep(chain.model, chain.reserve(), chain.parameters, first, rng)
            moved += int(more)
        return Info(chain.n_clusters, moved, chain.n_clusters, self.redraw_parameters(chain, True, None, rng))
