"""Split-merge sampling with restricted Gibbs scans: Jain and Neal (2004), for conjugate families."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs
from mapdpm.samplers._pairs import draw_pair, gather, log_split_ratio, merge, others, set_row, side_scores, split
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.state import ClusterState
from mapdpm.validation import check_count

_FREE = -1


@jitable
def restricted_scan(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    data: Any,
    members: Labels,
    choices: Labels,
    target: Labels,
    sides: Matrix,
    pair: tuple[int, int],
    rng: RngVerbs,
) -> float:
    """Redraw each member's side given all others, and return the log probability of what was drawn.

    A ``target`` of 0 or 1 is taken, whatever its probability; one of -1 is drawn.
    """
    logw = np.empty(2)
    total = 0.0
    for m in range(members.shape[0]):
        i, side = members[m], choices[m]
        if not likelihood.remove(sides[side], data, i, 1.0):
            _rebuild(likelihood, data, members, choices, m, sides[side], pair[side])
        likelihood.prepare(sides[side])
        first, second = side_scores(likelihood, prior, data, sides, i)
        logw[0], logw[1] = first, second
        chosen = rng.categorical(logw) if target[m] == _FREE else target[m]
        total += first if chosen == 0 else second
        choices[m] = chosen
        likelihood.add(sides[chosen], data, i, 1.0)
        likelihood.prepare(sides[chosen])
    return total


@jitable
def _rebuild(
    likelihood: LikelihoodVerbs, data: Any, members: Labels, choices: Labels, without: int, row: Any, anchor: int
) -> None:
    """Make the row of a side anew, of its point of the pair and of its members but one."""
    likelihood.init(row)
    likelihood.add(row, data, anchor, 1.0)
    for m in range(members.shape[0]):
        if m != without and choices[m] == choices[without]:
            likelihood.add(row, data, members[m], 1.0)


def split_merge(
    likelihood: LikelihoodVerbs,
    prior: PartitionPriorVerbs,
    data: Any,
    state: ClusterState,
    n_scans: int,
    rng: RngVerbs,
) -> int:
    """Propose to split a cluster, or to merge two; 1 where that was accepted. A slot must be free.

    Two points are drawn. The others of their clusters go to either side at random, then by ``n_scans`` restricted
    Gibbs scans: the launch state, which is of the same distribution whether the two are together or apart. One more
    scan is the split proposed, or gives the probability that it would have been. O((n_scans + 2) n D + N).
    """
    n = state.labels.shape[0]
    if n == 1:
        return 0
    pair = draw_pair(n, rng)
    i, j = pair
    room = np.empty(n, dtype=np.int64)
    members = room[: gather(state.labels, i, j, room)]
    choices = np.empty(members.shape[0], dtype=np.int64)
    target = np.full(members.shape[0], _FREE)
    sides = np.empty((2, state.rows.shape[1]))
    set_row(likelihood, sides[0], data, i)
    set_row(likelihood, sides[1], data, j)
    for m in range(members.shape[0]):
        choices[m] = rng.integer(2)
        likelihood.add(sides[choices[m]], data, members[m], 1.0)
    likelihood.prepare(sides[0])
    likelihood.prepare(sides[1])
    for _ in range(n_scans):
        restricted_scan(likelihood, prior, data, members, choices, target, sides, pair, rng)
    together = state.labels[i] == state.labels[j]
    if not together:
        for m in range(members.shape[0]):
            target[m] = int(state.labels[members[m]] == state.labels[j])
    log_q = restricted_scan(likelihood, prior, data, members, choices, target, sides, pair, rng)
    union = np.empty(state.rows.shape[1])
    ratio = log_split_ratio(likelihood, prior, sides, union, others(state, i, j)) - log_q
    if not rng.accept(ratio if together else -ratio):
        return 0
    if together:
        split(state, i, members, choices, sides)
    else:
        merge(likelihood, state, i, j)
    return 1


class SplitMerge(Sampler):
    """Metropolis-Hastings splits and merges of whole clusters (Jain and Neal 2004), proposed by restricted Gibbs scans.

    A step proposes ``n_proposals`` times. It never moves a single point alone: hybrids with ``CollapsedGibbs`` do both.

    Parameters
    ----------
    n_scans : int >= 0
        Restricted scans before the one that is proposed; 0 is sequential in effect, and cheap.
    n_proposals : int >= 1
        In a step.
    **model
        As of ``Sampler``.
    """

    _kernel = staticmethod(compiled_if_possible(split_merge))

    def __init__(self, alpha: float = 1.0, *, n_scans: int = 3, n_proposals: int = 1, **model: Any) -> None:
        super().__init__(alpha, **model)
        self.n_scans = check_count("n_scans", n_scans, 0)
        self.n_proposals = check_count("n_proposals", n_proposals)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        accepted = 0
        for _ in range(self.n_proposals):
            state = chain.reserve()
            accepted += int(self._kernel(chain.likelihood, chain.prior, chain.data, state, self.n_scans, rng))
        return Info(chain.n_clusters, proposed=self.n_proposals, accepted=accepted)
