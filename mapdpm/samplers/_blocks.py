"""Helpers of samplers: the prior weight of a whole cluster, slots, shuffling, draws of parameters."""

from __future__ import annotations

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs
from mapdpm.state import ClusterState


@jitable
def log_block(prior: PartitionPriorVerbs, k: int, n: float) -> float:
    """Log prior weight of a cluster of ``n`` points, given ``k`` other clusters; maths (49)."""
    return prior.log_new(k, 1.0) + log_joining(prior, n)


@jitable
def log_joining(prior: PartitionPriorVerbs, n: float) -> float:
    """The part of ``log_block`` that does not depend on other clusters: n - 1 points join the first one."""
    return prior.log_existing(1.0, n - 1.0) if n > 1.0 else 0.0


@jitable
def free_slot(state: ClusterState) -> int:
    """The lowest free slot; there must be one."""
    k = 0
    while state.counts[k] > 0:
        k += 1
    return k


@jitable
def shuffle(order: Labels, n: int, rng: RngVerbs) -> None:
    """Shuffle the first ``n`` entries of ``order`` uniformly (Fisher and Yates)."""
    for last in range(n - 1, 0, -1):
        other = rng.integer(last + 1)
        order[last], order[other] = order[other], order[last]


def draw_parameters(likelihood: LikelihoodVerbs, state: ClusterState, parameters: Matrix, rng: RngVerbs) -> None:
    """Draw the parameters of each cluster given its points, for a conjugate family."""
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            likelihood.draw(state.rows[k], parameters[k], rng)
