"""Split-merge sampling with sequential allocation, SAMS: Dahl (2003, 2005)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import Model, RngVerbs
from mapdpm.samplers._blocks import shuffle
from mapdpm.samplers._pairs import accept_split_or_merge, draw_launch, side_scores
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.state import ClusterState
from mapdpm.validation import check_count


def sequential_split_merge(model: Model, state: ClusterState, rng: RngVerbs) -> int:
    """Propose to split a cluster, or to merge two; return 1 if it was accepted. A slot must be free.

    Two points are drawn, and seed two clusters. The other points of their clusters come in random order. If the two
    are together, each point goes to a side in proportion to its size and predictive density. If they are apart, each
    goes to the side where it is, and the probability of that is recorded. O(n D + N).
    """
    if state.labels.shape[0] == 1:
        return 0
    likelihood, prior, data, _ = model
    launch = draw_launch(likelihood, data, state, rng)
    shuffle(launch.members, launch.members.shape[0], rng)
    together = state.labels[launch.i] == state.labels[launch.j]
    log_q, logw = 0.0, np.empty(2)
    for m in range(launch.members.shape[0]):
        member = launch.members[m]
        first, second = side_scores(likelihood, prior, data, launch.sides, member)
        logw[0], logw[1] = first, second
        chosen = rng.categorical(logw) if together else int(state.labels[member] == state.labels[launch.j])
        log_q += first if chosen == 0 else second
        launch.choices[m] = chosen
        likelihood.add(launch.sides[chosen], data, member, 1.0)
        likelihood.prepare(launch.sides[chosen])
    return accept_split_or_merge(model, state, launch, log_q, rng)


class SequentialSplitMerge(Sampler):
    """Metropolis-Hastings splits and merges of whole clusters, proposed by sequential allocation (Dahl 2003).

    A step makes ``n_proposals`` proposals. Each is cheaper than one of ``SplitMerge`` with scans.

    Parameters
    ----------
    n_proposals : int >= 1
        The number of proposals in a step.
    **model
        The parameters of ``Sampler``.
    """

    _kernel = staticmethod(compiled_if_possible(sequential_split_merge))

    def __init__(self, alpha: float = 1.0, *, n_proposals: int = 1, **model: Any) -> None:
        super().__init__(alpha, **model)
        self.n_proposals = check_count("n_proposals", n_proposals)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """``n_proposals`` proposals."""
        accepted = 0
        for _ in range(self.n_proposals):
            accepted += int(self._kernel(chain.model, chain.reserve(), rng))
        return Info(chain.n_clusters, proposed=self.n_proposals, accepted=accepted)
