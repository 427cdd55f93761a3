"""Split-merge sampling with sequential allocation, SAMS: Dahl (2003, 2005)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import LikelihoodVerbs, PartitionPriorVerbs, RngVerbs
from mapdpm.samplers._blocks import shuffle
from mapdpm.samplers._pairs import draw_pair, gather, log_split_ratio, merge, others, set_row, side_scores, split
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.state import ClusterState
from mapdpm.validation import check_count


def sequential_split_merge(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, state: ClusterState, rng: RngVerbs
) -> int:
    """Propose to split a cluster, or to merge two; 1 where that was accepted. A slot must be free.

    Two points are drawn, and seed two clusters. The others of their clusters come in random order; where the two are
    together, each goes to either side in proportion to its size and predictive density, and else where it is, by the
    probability that it would have gone there. O(n D + N).
    """
    n = state.labels.shape[0]
    if n == 1:
        return 0
    i, j = draw_pair(n, rng)
    room = np.empty(n, dtype=np.int64)
    members = room[: gather(state.labels, i, j, room)]
    shuffle(members, members.shape[0], rng)
    choices = np.empty(members.shape[0], dtype=np.int64)
    sides = np.empty((2, state.rows.shape[1]))
    set_row(likelihood, sides[0], data, i)
    set_row(likelihood, sides[1], data, j)
    together = state.labels[i] == state.labels[j]
    log_q, logw = 0.0, np.empty(2)
    for m in range(members.shape[0]):
        first, second = side_scores(likelihood, prior, data, sides, members[m])
        logw[0], logw[1] = first, second
        chosen = rng.categorical(logw) if together else int(state.labels[members[m]] == state.labels[j])
        log_q += first if chosen == 0 else second
        choices[m] = chosen
        likelihood.add(sides[chosen], data, members[m], 1.0)
        likelihood.prepare(sides[chosen])
    union = np.empty(state.rows.shape[1])
    ratio = log_split_ratio(likelihood, prior, sides, union, others(state, i, j)) - log_q
    if not rng.accept(ratio if together else -ratio):
        return 0
    if together:
        split(state, i, members, choices, sides)
    else:
        merge(likelihood, state, i, j)
    return 1


class SequentialSplitMerge(Sampler):
    """Metropolis-Hastings splits and merges of whole clusters, proposed by sequential allocation (Dahl 2003).

    A step proposes ``n_proposals`` times, each cheaper than one of ``SplitMerge`` with scans.

    Parameters
    ----------
    n_proposals : int >= 1
        In a step.
    **model
        As of ``Sampler``.
    """

    _kernel = staticmethod(compiled_if_possible(sequential_split_merge))

    def __init__(self, alpha: float = 1.0, *, n_proposals: int = 1, **model: Any) -> None:
        super().__init__(alpha, **model)
        self.n_proposals = check_count("n_proposals", n_proposals)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        accepted = 0
        for _ in range(self.n_proposals):
            state = chain.reserve()
            accepted += int(self._kernel(chain.likelihood, chain.prior, chain.data, state, rng))
        return Info(chain.n_clusters, proposed=self.n_proposals, accepted=accepted)
