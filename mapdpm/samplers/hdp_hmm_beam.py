"""Beam sampling for the HDP-HMM (Van Gael et al. 2008), with the sticky states of Fox et al. (2008)."""

from __future__ import annotations

from typing import cast

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import RngVerbs
from mapdpm.samplers._beam import beam_step
from mapdpm.samplers._transitions import draw_state_tables
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info
from mapdpm.samplers.sequence_sampler import SequenceChain, SequenceSampler
from mapdpm.validation import in_order_of_appearance


class HDPHMMBeam(SequenceSampler):
    r"""Beam sampling of the states of sequences: each sequence is drawn at once (Van Gael et al. 2008).

    Neighbours in time depend on each other, so single states may be slow to move; here whole paths change at once. A
    step draws, in order:

    1. the common shares beta given the tables, as ``HDPHMMDirectAssignment``;
    2. the transitions of each state, Dir(n_v + alpha beta), with kappa more for itself; and the parameters of each
       state given its points;
    3. a slice u_t, uniform between 0 and the transition into the state of point t. Then states are broken off the rest
       of the shares until no transition into the rest is above a slice: finitely many are left;
    4. the path of each sequence, by a filter forwards and draws backwards: all transitions above the slice are equally
       likely;
    5. the number of tables of each state.

    Parameters
    ----------
    **model
        Those of ``SequenceSampler``. The likelihood needs the verbs ``draw`` and ``log_likelihood``; all of this
        library have them.

    Notes
    -----
    As ``HDPHMMDirectAssignment``: sequences, trace, and what is shared. O(N K^2 + N K D) a step, K with the states that
    were broken off. ``HDPHMMDirectAssignment() + HDPHMMBeam()`` does both in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> from mapdpm.samplers import sample
    >>> X = np.array([[0.0], [0.2], [0.1], [9.0], [9.3], [9.1], [0.1], [0.2]])
    >>> sampler = HDPHMMBeam(kappa=5.0, likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1))
    >>> trace = sample(X, sampler, draws=50, burn_in=10, random_state=0)
    >>> trace.binder_estimate().tolist()
    [0, 0, 0, 1, 1, 1, 0, 0]
    """

    draws_parameters = True

    _step = staticmethod(compiled_if_possible(beam_step))
    _draw_tables = staticmethod(compiled_if_possible(draw_state_tables))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Shares, transitions, parameters and slices, then paths, then tables, at fixed alpha and gamma."""
        chain = cast("SequenceChain", chain)
        chain.refresh()  # states are then in the first slots
        machines, begins, before = self.draw_shares(chain, rng), chain.sequences.begins, chain.state.labels
        labels, drawn = self._step(chain.likelihood, chain.data, chain.state, machines, begins, rng)
        _, firsts = np.unique(labels, return_index=True)
        kept = labels[np.sort(firsts)]  # states in order of appearance
        chain.become(in_order_of_appearance(labels))
        weights = np.zeros((len(drawn), chain.state.capacity + 1))
        weights[:, : len(kept)] = drawn[:, kept]
        weights[:, -1] = np.delete(drawn, kept, axis=1).sum(axis=1)  # of states that no point is in, and of the rest
        chain.take_weights(weights, machines.restaurants.concentrations)
        self._draw_tables(chain.machines(), chain.tables, rng)
        return Info(chain.n_clusters, int(np.count_nonzero(labels != before)))
