"""Split-merge sampling with restricted Gibbs scans: Jain and Neal (2004), for conjugate families."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Model, PartitionPriorVerbs, RngVerbs
from mapdpm.samplers._pairs import Launch, accept_split_or_merge, draw_launch, side_scores
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.state import ClusterState
from mapdpm.validation import check_count

_FREE = -1


@jitable
def restricted_scan(
    likelihood: LikelihoodVerbs, prior: PartitionPriorVerbs, data: Any, launch: Launch, target: Labels, rng: RngVerbs
) -> float:
    """Redraw the side of each member given all others; return the log probability of the sides drawn.

    A member with a ``target`` of 0 or 1 goes to that side, whatever its probability; with -1 its side is drawn.
    """
    logw = np.empty(2)
    total = 0.0
    for m in range(launch.members.shape[0]):
        i, side = launch.members[m], launch.choices[m]
        row = launch.sides[side]
        if not likelihood.remove(row, data, i, 1.0):
            _rebuild(likelihood, data, launch, m)
        likelihood.prepare(row)
        first, second = side_scores(likelihood, prior, data, launch.sides, i)
        logw[0], logw[1] = first, second
        chosen = rng.categorical(logw) if target[m] == _FREE else target[m]
        total += first if chosen == 0 else second
        launch.choices[m] = chosen
        likelihood.add(launch.sides[chosen], data, i, 1.0)
        likelihood.prepare(launch.sides[chosen])
    return total


@jitable
def _rebuild(likelihood: LikelihoodVerbs, data: Any, launch: Launch, without: int) -> None:
    """Make the row of a member's side anew, without that member."""
    side = launch.choices[without]
    row = launch.sides[side]
    likelihood.init(row)
    likelihood.add(row, data, launch.i if side == 0 else launch.j, 1.0)
    for m in range(launch.members.shape[0]):
        if m != without and launch.choices[m] == side:
            likelihood.add(row, data, launch.members[m], 1.0)


def split_merge(model: Model, state: ClusterState, n_scans: int, rng: RngVerbs) -> int:
    """Propose to split a cluster, or to merge two; return 1 if it was accepted. A slot must be free.

    Two points are drawn. The other points of their clusters go to either side at random, then by ``n_scans`` restricted
    Gibbs scans. This launch state has the same distribution whether the two are together or apart. One more scan draws
    the split that is proposed, or gives the probability of proposing the present one. O((n_scans + 2) n D + N).
    """
    if state.labels.shape[0] == 1:
        return 0
    likelihood, prior, data, _ = model
    launch = draw_launch(likelihood, data, state, rng)
    target = np.full(launch.members.shape[0], _FREE)
    for m in range(launch.members.shape[0]):
        launch.choices[m] = rng.integer(2)
        likelihood.add(launch.sides[launch.choices[m]], data, launch.members[m], 1.0)
    likelihood.prepare(launch.sides[0])
    likelihood.prepare(launch.sides[1])
    for _ in range(n_scans):
        restricted_scan(likelihood, prior, data, launch, target, rng)
    if state.labels[launch.i] != state.labels[launch.j]:
        for m in range(launch.members.shape[0]):
            target[m] = int(state.labels[launch.members[m]] == state.labels[launch.j])
    log_q = restricted_scan(likelihood, prior, data, launch, target, rng)
    return accept_split_or_merge(model, state, launch, log_q, rng)


class SplitMerge(Sampler):
    """Metropolis-Hastings splits and merges of whole clusters (Jain and Neal 2004), proposed by restricted Gibbs scans.

    A step makes ``n_proposals`` proposals. It never moves a single point alone: a hybrid with ``CollapsedGibbs`` does
    both.

    Parameters
    ----------
    n_scans : int >= 0
        The number of restricted scans before the one that draws the proposal. 0 starts from random sides, and is cheap.
    n_proposals : int >= 1
        The number of proposals in a step.
    **model
        The parameters of ``Sampler``.
    """

    _kernel = staticmethod(compiled_if_possible(split_merge))

    def __init__(self, alpha: float = 1.0, *, n_scans: int = 3, n_proposals: int = 1, **model: Any) -> None:
        super().__init__(alpha, **model)
        self.n_scans = check_count("n_scans", n_scans, 0)
        self.n_proposals = check_count("n_proposals", n_proposals)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """``n_proposals`` proposals."""
        accepted = 0
        for _ in range(self.n_proposals):
            accepted += int(self._kernel(chain.model, chain.reserve(), self.n_scans, rng))
        return Info(chain.n_clusters, proposed=self.n_proposals, accepted=accepted)
