"""Direct assignment for the HDP-HMM: Teh2004 section 7, with the sticky states of Fox et al. (2008)."""

from __future__ import annotations

from typing import cast

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import RngVerbs
from mapdpm.samplers._transitions import draw_state_tables, state_sweep
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info
from mapdpm.samplers.sequence_sampler import SequenceChain, SequenceSampler


class HDPHMMDirectAssignment(SequenceSampler):
    r"""Gibbs sampling of the states of sequences, by direct assignment (Teh2004 sections 5.3 and 7).

    Transitions are integrated out; the common shares beta are drawn. A step draws, in order:

    1. beta given the tables: Dir(m_1, ..., m_K, gamma), of which the last is the share of all new states;
    2. the state of each point, given those before and after it, v and w (maths (84)): state k has the weight
       (n_vk + alpha beta_k + kappa [v = k]) (n_kw + alpha beta_w + kappa [k = w] + [v = k = w]) / (n_k. + alpha + kappa
       + [v = k]) p(x_t | state k), with all other transitions in the counts n; a new state has
       alpha beta_u alpha beta_w / (alpha + kappa) p(x_t), and takes b ~ Beta(1, gamma) of beta_u;
    3. the number of tables of each state, as sums of Bernoulli draws; of the tables of staying, those that kappa has
       opened do not count.

    All sequences share the transitions, and the row of first states, which has no kappa. With ``transitions="own"``
    each has its own, around shares of its own: beta in 2 is that of the sequence, and the tables of its rows are guests
    of its node, as in trees of groups.

    Parameters
    ----------
    **model
        Those of ``SequenceSampler``.

    Notes
    -----
    ``sample(X, sampler, sequences=...)``: one label a point; rows of a sequence are neighbours, in order of time. None
    is one sequence. ``Trace.extra["m"]`` has the tables, (K,), ``extra["beta"]`` the shares, (K + 1,), the last of new
    states. With own transitions of S sequences, m is (2 S, K): first the tables of nodes of sequences, then those of
    their rows; beta is (S + 1, K + 1), first of the root. Partitions are states. O(N K D) a step. ``HDPHMMBeam`` draws
    whole sequences at once.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> from mapdpm.samplers import sample
    >>> X = np.array([[0.0], [0.2], [0.1], [9.0], [9.3], [9.1], [0.1], [0.2]])
    >>> sampler = HDPHMMDirectAssignment(kappa=5.0, likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1))
    >>> trace = sample(X, sampler, draws=50, burn_in=10, random_state=0)
    >>> trace.binder_estimate().tolist()
    [0, 0, 0, 1, 1, 1, 0, 0]
    """

    _sweep = staticmethod(compiled_if_possible(state_sweep))
    _draw_tables = staticmethod(compiled_if_possible(draw_state_tables))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Shares, then states, then tables, at fixed alpha and gamma."""
        chain = cast("SequenceChain", chain)
        machines = self.draw_shares(chain, rng)
        first, moved = 0, 0
        while True:
            first, more = self._sweep(chain.model, chain.state, machines, first, rng)
            moved += int(more)
            chain.take_weights(machines.restaurants.weights, machines.restaurants.concentrations)
            if first == chain.n_points:
                break
            chain.reserve()
            machines = chain.machines()
        self._draw_tables(machines, chain.tables, rng)
        return Info(chain.n_clusters, moved)
