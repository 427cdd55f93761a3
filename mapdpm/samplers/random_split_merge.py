"""Splits at random and merges at random, whatever the data say: the exact form of the random moves of Chang2013."""

from __future__ import annotations

from math import lgamma, log
from typing import Any

import numpy as np

from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.protocol import Matrix, Model, RngVerbs
from mapdpm.samplers._whole_clusters import NONE, Chosen, choose, decide, gathered
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.state import ClusterState, count_used
from mapdpm.validation import check_count, check_number


@jitable
def log_dirichlet_multinomial(n: float, m: float, a: float) -> float:
    """log DM(n, m; a, a), the probability of given labels of n + m points on two sides, shares integrated out."""
    total = lgamma(2.0 * a) - lgamma(2.0 * a + n + m)
    return total + lgamma(a + n) + lgamma(a + m) - 2.0 * lgamma(a)


@jitable
def draw_sides(chosen: Chosen, a: float, rng: RngVerbs) -> None:
    """Draw the side of each member from DM(a, a), one after the other."""
    logw, sizes = np.empty(2), np.zeros(2)
    for m in range(chosen.members.shape[0]):
        logw[0], logw[1] = log(a + sizes[0]), log(a + sizes[1])
        side = rng.categorical(logw)
        chosen.choices[m] = side
        sizes[side] += 1.0


def random_split_merges(
    model: Model, state: ClusterState, n_proposals: int, a: float, splits: float, rng: RngVerbs
) -> tuple[int, int]:
    """Propose so often to split a cluster, or to merge two; stop where no slot is free.

    Returns how many proposals were made, and accepted.
    """
    accepted = 0
    for done in range(n_proposals):
        if count_used(state) == state.counts.shape[0]:
            return done, accepted
        accepted += split_or_merge(model, state, a, splits, rng)
    return n_proposals, accepted


@jitable
def split_or_merge(model: Model, state: ClusterState, a: float, splits: float, rng: RngVerbs) -> int:
    """Propose to split a cluster, or to merge two; return 1 if it was accepted. A slot must be free."""
    first, second = choose(state, splits, rng)
    if first == NONE:
        return 0
    if first == second:
        chosen, sides = drawn_sides(model, state, first, a, rng)
    else:
        none = np.zeros(0, dtype=np.int64)
        chosen, sides = Chosen(first, second, none, none), state.rows[np.array([first, second])]
    log_q = log_dirichlet_multinomial(sides[0, 0], sides[1, 0], a) + log(splits) - log(1.0 - splits)
    return decide(model, state, chosen, sides, log_q, rng)


@jitable
def drawn_sides(model: Model, state: ClusterState, k: int, a: float, rng: RngVerbs) -> tuple[Chosen, Matrix]:
    """The points of slot k, with sides drawn from DM(a, a), and the rows of these."""
    likelihood, data = model.likelihood, model.data
    chosen, sides = gathered(state, k, k), np.empty((2, state.rows.shape[1]))
    draw_sides(chosen, a, rng)
    for side in range(2):
        likelihood.init(sides[side])
    for m in range(chosen.members.shape[0]):
        likelihood.add(sides[chosen.choices[m]], data, chosen.members[m], 1.0)
    for side in range(2):
        likelihood.prepare(sides[side])
    return chosen, sides


def run_proposals(kernel: Any, chain: Chain, n_proposals: int, *options: Any) -> int:
    """So many proposals by a kernel that stops where no slot is free; the number of accepted ones."""
    left, accepted = n_proposals, 0
    while left > 0:
        done, more = kernel(chain.model, chain.reserve(), left, *options)
        left, accepted = left - int(done), accepted + int(more)
    return accepted


def share_of_sides(prior: Any) -> float:
    """a in DM(a, a), by which sides are drawn."""
    return float(0.5 * (prior.alpha + prior.discount))


class RandomSplitMerge(Sampler):
    r"""Metropolis-Hastings splits and merges whose proposals do not look at the data (Chang2013, section 4.3).

    With probability s = ``splits`` a uniform cluster c is split, its points by a Dirichlet-multinomial DM(alpha / 2,
    alpha / 2); else a uniform pair is merged. With K clusters before the step, a split into m and n has the log
    Hastings ratio

    log [alpha G(N_m) G(N_n) p(x_m) p(x_n) / (G(N_c) p(x_c))] - log DM(N_m, N_n) - log (K + 1) + log ((1 - s) / s),

    G the Gamma function; a merge has the opposite, with log K (docs/maths.md, (62)). A split with an empty side changes
    nothing. Chang2013 leaves out log (K + 1), which makes the sampler inexact. A split of many points is nearly never
    accepted, but a merge is where two clusters lie in the same place. With a discount, alpha + discount stands for
    alpha in DM.

    Parameters
    ----------
    n_proposals : int >= 1
        The number of proposals in a step. A split costs O(n D + N) for n points of the cluster, a merge O(D), and O(N)
        more if it is accepted.
    splits : float in (0, 1)
        The probability of proposing a split. Merges are cheap: a small value tries many of them.
    **model
        The parameters of ``Sampler``.

    Examples
    --------
    >>> from mapdpm.samplers import CollapsedGibbs, sample
    >>> sampler = CollapsedGibbs(1.0) + RandomSplitMerge(1.0, n_proposals=5)
    >>> sample([[0.0], [0.1], [9.0]], sampler, draws=3, random_state=0).partitions.shape
    (1, 3, 3)
    """

    _kernel = staticmethod(compiled_if_possible(random_split_merges))

    def __init__(self, alpha: float = 1.0, *, n_proposals: int = 1, splits: float = 0.5, **model: Any) -> None:
        super().__init__(alpha, **model)
        self.n_proposals = check_count("n_proposals", n_proposals)
        self.splits = check_number("splits", splits)
        if not 0.0 < self.splits < 1.0:
            msg = f"splits must be a probability between 0 and 1, got {splits}"
            raise ValueError(msg)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """``n_proposals`` proposals."""
        options = share_of_sides(chain.prior), self.splits, rng
        accepted = run_proposals(self._kernel, chain, self.n_proposals, *options)
        return Info(chain.n_clusters, proposed=self.n_proposals, accepted=accepted)
