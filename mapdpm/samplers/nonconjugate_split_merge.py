"""Split-merge with restricted Gibbs scans without conjugacy: Jain and Neal (2007)."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from mapdpm.jit import compiled_if_possible, fill, jitable
from mapdpm.logs import log_share
from mapdpm.protocol import Labels, Matrix, Model, RngVerbs
from mapdpm.samplers._blocks import free_slot, log_block
from mapdpm.samplers._pairs import draw_pair
from mapdpm.samplers._whole_clusters import gathered
from mapdpm.samplers._with_parameters import ParameterChain, ParameterSampler, log_joint_of
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState, assign, count_used, unassign
from mapdpm.validation import check_count

_FREE = -1


class Sides(NamedTuple):
    """The points of one or two clusters, in order, with a side of each, and parameters of both sides.

    Two of them, ``anchors``, stay on sides 0 and 1.
    """

    members: Labels
    choices: Labels
    parameters: Matrix
    anchors: tuple[int, int]


@jitable
def on_side(sides: Sides, side: int) -> Labels:
    """The members on a side."""
    return sides.members[sides.choices == side]


@jitable
def scan(model: Model, sides: Sides, target: Labels, rng: RngVerbs) -> float:
    """Redraw the side of each member given parameters and all other sides; return the log probability of the result.

    A member with a ``target`` of 0 or 1 goes to that side, whatever its probability; with -1 its side is drawn.
    """
    sizes, logw, total = np.zeros(2), np.empty(2), 0.0
    for m in range(sides.members.shape[0]):
        sizes[sides.choices[m]] += 1.0
    for m in range(sides.members.shape[0]):
        i = sides.members[m]
        if i not in sides.anchors:
            sizes[sides.choices[m]] -= 1.0
            for side in range(2):
                logw[side] = model.prior.log_existing(sizes[side], 1.0)
                logw[side] += model.likelihood.log_likelihood(sides.parameters[side], model.data, i)
            first, second = log_share(logw[0] - logw[1]), log_share(logw[1] - logw[0])
            chosen = rng.categorical(logw) if target[m] == _FREE else target[m]
            total += second if chosen == 1 else first
            sides.choices[m] = chosen
            sizes[chosen] += 1.0
    return total


@jitable
def log_parts(model: Model, sides: Sides, n_others: int) -> float:
    """Log joint of the two sides as clusters, given ``n_others`` other clusters."""
    total = 0.0
    for side in range(2):
        points = on_side(sides, side)
        total += log_block(model.prior, n_others + side, float(points.shape[0]))
        total += log_joint_of(model.likelihood.family, model.data, points, sides.parameters[side])
    return total


def nonconjugate_split_merge(model: Model, state: ClusterState, parameters: Matrix, n_scans: int, rng: RngVerbs) -> int:
    """Propose to split a cluster, or to merge two; return 1 if it was accepted. A slot must be free."""
    family, data = model.likelihood.family, model.data
    i, j = draw_pair(state.labels.shape[0], rng)
    k, other = state.labels[i], state.labels[j]
    together = k == other
    _, _, members, actual = gathered(state, k, other)
    sides = Sides(members, np.empty_like(members), np.empty((2, parameters.shape[1])), (i, j))
    free = np.full(members.shape[0], _FREE)
    for m in range(members.shape[0]):  # the launch state, the same whether the two are together or apart
        sides.choices[m] = int(members[m] == j) if members[m] in (i, j) else rng.integer(2)
    for _ in range(n_scans):
        for side in range(2):
            family.propose(sides.parameters[side], data, on_side(sides, side), rng)
        scan(model, sides, free, rng)

    merged, log_q = np.empty(parameters.shape[1]), 0.0
    for side in range(2):
        points = on_side(sides, side)
        if together:
            family.propose(sides.parameters[side], data, points, rng)
        else:
            fill(sides.parameters[side], parameters[other if side == 1 else k])
        log_q += family.log_proposal(sides.parameters[side], data, points)
    log_q += scan(model, sides, free if together else actual, rng)
    if together:
        fill(merged, parameters[k])
    else:
        family.propose(merged, data, members, rng)
    log_q -= family.log_proposal(merged, data, members)

    n_others = count_used(state) - (1 if together else 2)
    log_whole = log_block(model.prior, n_others, float(members.shape[0])) + log_joint_of(family, data, members, merged)
    ratio = log_parts(model, sides, n_others) - log_whole - log_q
    if not rng.accept(ratio if together else -ratio):
        return 0
    if together:
        other = free_slot(state)
        fill(parameters[k], sides.parameters[0])
        fill(parameters[other], sides.parameters[1])
    else:
        fill(parameters[k], merged)
    relabel(model.likelihood, data, state, members, sides.choices, k, other if together else k)
    return 1


@jitable
def relabel(
    likelihood: Any, data: Any, state: ClusterState, members: Labels, choices: Labels, first: int, second: int
) -> None:
    """Move members of choice 0 to slot ``first``, those of choice 1 to slot ``second``."""
    for m in range(members.shape[0]):
        to = second if choices[m] == 1 else first
        if state.labels[members[m]] != to:
            unassign(likelihood, data, None, state, members[m])
            assign(likelihood, data, None, state, members[m], to)


class NonconjugateSplitMerge(ParameterSampler):
    r"""Metropolis-Hastings splits and merges for a family without conjugacy (Jain and Neal 2007).

    Two points are drawn. The other points of their clusters go to either side at random; then, ``n_scans`` times, the
    parameters of both sides are drawn from the family's proposal q, and each point draws its side given them. From
    this launch a split is proposed: parameters from q, then a last scan. A merge proposes parameters from q given all
    points. The ratio holds the densities of q and of the last scan (docs/maths.md, (68)).

    Jain and Neal draw parameters by Gibbs sampling, which is q where a family has it. The verbs of the likelihood are
    those of ``NonconjugateGibbs``; make a hybrid with it.

    Parameters
    ----------
    n_scans : int >= 0
        Scans before the one that draws the proposal.
    n_proposals : int >= 1
        The number of proposals in a step.
    **model
        The parameters of ``Sampler``; ``likelihood`` is needed.
    """

    _kernel = staticmethod(compiled_if_possible(nonconjugate_split_merge))

    def __init__(self, alpha: float = 1.0, *, n_scans: int = 3, n_proposals: int = 1, **model: Any) -> None:
        super().__init__(alpha, **model)
        self.n_scans = check_count("n_scans", n_scans, 0)
        self.n_proposals = check_count("n_proposals", n_proposals)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """``n_proposals`` proposals."""
        chain = cast("ParameterChain", chain)
        accepted = 0
        for _ in range(self.n_proposals if chain.n_points > 1 else 0):
            accepted += int(self._kernel(chain.model, chain.reserve(), chain.parameters, self.n_scans, rng))
        return Info(chain.n_clusters, proposed=self.n_proposals, accepted=accepted)
