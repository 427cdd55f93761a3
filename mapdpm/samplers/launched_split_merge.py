"""Split-merge with a launch that is a function of the points alone, and independent sides given it: exact, parallel."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, log1p
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.likelihoods._skipping import has_verb
from mapdpm.logs import log_half_sum, log_share
from mapdpm.optional_verbs import add_many
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, RngVerbs, Vector
from mapdpm.samplers._launch_cuts import cuts
from mapdpm.samplers._parallel_sampler import ParallelSampler
from mapdpm.samplers._whole_clusters import NONE, Chosen, choose, decide, divide_anew, gathered
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState
from mapdpm.threads import Threads
from mapdpm.validation import check_count

SAMPLE = 2000
"""The launch of a larger cluster looks at so many of its points, evenly spaced in their order."""
TRIED = 2
"""Steps of expectation maximisation from each cut, before the best one goes on."""
_LEAST_SHARE = 1e-6  # a member with a smaller share in a side does not count for it
_HALF = 0.5
_EVEN = 0.5  # the probability of proposing a split: it costs as much as a merge
_LOG_ODDS = log(2.0)  # of proposing a split instead of a merge: half of the pairs are divided anew


def choose_points(state: ClusterState, rng: RngVerbs) -> Chosen:
    """A cluster to split, or two to merge, with their points; none if there is only one to merge. O(N)."""
    first, second = choose(state, _EVEN, rng)
    if first == NONE:
        none = np.zeros(0, dtype=np.int64)
        return Chosen(first, second, none, none)
    return gathered(state, first, second)


def launch(
    likelihood: LikelihoodVerbs, data: Any, points: Labels, shares: Vector, n_steps: int, soft: bool
) -> tuple[float, Matrix]:
    """``n_steps`` of expectation maximisation for two clusters; O(n D) each.

    ``shares`` are those of points in side 1, to begin with and at the end. ``soft`` is False for a family that takes no
    weights: each point is then wholly in its better side. Returns the log likelihood, but for N, and the rows, with
    weights in column 0.
    """
    sides, worth = np.empty((2, likelihood.size())), -inf
    fit(likelihood, data, points, shares, sides)
    for _ in range(n_steps):
        worth = share_out(likelihood, data, points, shares, soft, sides)
        fit(likelihood, data, points, shares, sides)
    return worth, sides


@jitable
def fit(likelihood: LikelihoodVerbs, data: Any, points: Labels, shares: Vector, sides: Matrix) -> None:
    """Make the rows of the two sides from the shares that points have in side 1."""
    some = np.empty(2 * points.shape[0], dtype=np.int64)
    sides_of, weights, n = np.empty_like(some), np.empty(some.shape[0]), 0
    for m in range(points.shape[0]):
        for side in range(2):
            share = shares[m] if side == 1 else 1.0 - shares[m]
            if share > _LEAST_SHARE:
                some[n], sides_of[n], weights[n] = points[m], side, share
                n += 1
    for side in range(2):
        likelihood.init(sides[side])
    add_many(likelihood, sides, data, some[:n], sides_of[:n], weights[:n])
    for side in range(2):
        likelihood.prepare(sides[side])


@jitable
def share_out(
    likelihood: LikelihoodVerbs, data: Any, points: Labels, shares: Vector, soft: bool, sides: Matrix
) -> float:
    """Set the shares of points in side 1 given the rows; return the log likelihood of the two sides, but for N."""
    total = 0.0
    for m in range(points.shape[0]):
        first, second = log_weights(likelihood, data, sides, points[m])
        shares[m] = exp(log_share(second - first)) if soft else float(int(second > first))
        total += max(first, second) + log1p(exp(-abs(second - first)))
    return total


@jitable
def log_weights(likelihood: LikelihoodVerbs, data: Any, sides: Matrix, i: int) -> tuple[float, float]:
    """Log of size and predictive density of point ``i`` in each side."""
    first = log(sides[0, 0] + _HALF) + likelihood.log_predictive(sides[0], data, i)
    return first, log(sides[1, 0] + _HALF) + likelihood.log_predictive(sides[1], data, i)


def choose_sides(
    likelihood: LikelihoodVerbs, data: Any, chosen: Chosen, launched: Matrix, sides: Matrix, draws: bool, rng: RngVerbs
) -> tuple[float, float]:
    """The log probabilities of the sides of some members, given the launch, and of the opposite sides.

    With ``draws`` the sides are drawn first, independently, and the members added to the rows ``sides``.
    """
    logw = np.empty(2)
    log_q, log_opposite = 0.0, 0.0
    likelihood.init(sides[0])
    likelihood.init(sides[1])
    for m in range(chosen.members.shape[0]):
        i = chosen.members[m]
        first, second = log_weights(likelihood, data, launched, i)
        first, second = log_share(first - second), log_share(second - first)
        if draws:
            logw[0], logw[1] = first, second
            chosen.choices[m] = rng.categorical(logw)
            likelihood.add(sides[chosen.choices[m]], data, i, 1.0)
        log_q += second if chosen.choices[m] == 1 else first
        log_opposite += first if chosen.choices[m] == 1 else second
    return log_q, log_opposite


class LaunchedSplitMerge(ParallelSampler):
    r"""Metropolis-Hastings splits and merges of whole clusters, proposed by the data, exactly and in parallel.

    With probability 1/2 a uniform cluster is split; else a uniform pair is merged or, as often, divided anew. Let c be
    all their points. A launch is computed from c alone, not from labels: a cut, then ``n_steps`` of expectation
    maximisation for two clusters of the family. Given the launch the sides are independent: side 1 of point i has
    probability 1 / (1 + exp(-d_i)), d_i its log odds. So the probability q(A, B) of any two sides is a product over
    points, for a split that is proposed as for the split that would undo a merge. With K clusters before the step, a
    split has the log Hastings ratio

    R - log [q(A, B) + q(B, A)] - log (K + 1),

    R the log joint with A and B apart less that with c; a merge has the opposite, with log K; and a pair that is
    divided anew has the first two terms less those of its present sides (docs/maths.md, (62)).

    This is the split-merge of Jain and Neal (2004) with a launch without chance. Chang2013 keeps the launch in
    sub-labels: their density given the partition has a normaliser that cannot be computed. Two clusters of 500 points
    in five features are split when their centres are 3 standard deviations apart. It moves no single point: make a
    hybrid with ``CollapsedGibbs``.

    Parameters
    ----------
    n_steps : int >= 0
        Steps of expectation maximisation, on at most 2,000 points of c.
    n_proposals : int >= 1
        The number of proposals in a step. Each costs O(n D + N), for n points in c.
    n_jobs : int or None
        The number of threads of each pass over c, in chunks of 16,384 points; None is 1. Draws do not depend on it.
    **model
        The parameters of ``Sampler``.

    Examples
    --------
    >>> from mapdpm.samplers import CollapsedGibbs, sample
    >>> sampler = CollapsedGibbs(1.0) + LaunchedSplitMerge(1.0)
    >>> sample([[0.0], [0.1], [9.0]], sampler, draws=3, random_state=0).partitions.shape
    (1, 3, 3)
    """

    _choose = staticmethod(compiled_if_possible(choose_points))
    _launch = staticmethod(compiled_if_possible(launch))
    _choose_sides = staticmethod(compiled_if_possible(choose_sides))
    _decide = staticmethod(compiled_if_possible(decide))
    _divide_anew = staticmethod(compiled_if_possible(divide_anew))

    def __init__(
        self, alpha: float = 1.0, *, n_steps: int = 10, n_proposals: int = 1, n_jobs: int | None = None, **model: Any
    ) -> None:
        super().__init__(alpha, n_jobs=n_jobs, **model)
        self.n_steps = check_count("n_steps", n_steps, 0)
        self.n_proposals = check_count("n_proposals", n_proposals)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """``n_proposals`` proposals."""
        accepted = sum(self._propose(chain, rng) for _ in range(self.n_proposals))
        return Info(chain.n_clusters, proposed=self.n_proposals, accepted=accepted)

    def _propose(self, chain: Chain, rng: RngVerbs) -> int:
        likelihood, data, state = chain.likelihood, chain.data, chain.reserve()
        chosen = self._choose(state, rng)
        points = chosen.members
        if len(points) == 0:
            return 0
        launched, model = self._launched(likelihood, data, points), chain.model
        if chosen.first == chosen.second:
            sides, log_q = self._sides(chain, chosen, launched, True, rng)
            return int(self._decide(model, state, chosen, sides, log_q + _LOG_ODDS, rng))
        _, log_q = self._sides(chain, chosen, launched, False, rng)
        if rng.integer(2) == 0:
            sides = state.rows[[chosen.first, chosen.second]]
            return int(self._decide(model, state, chosen, sides, log_q + _LOG_ODDS, rng))
        sides, log_new = self._sides(chain, chosen, launched, True, rng)
        return int(self._divide_anew(model, state, chosen, sides, log_new - log_q, rng))

    def _sides(
        self, chain: Chain, chosen: Chosen, launched: Matrix, draws: bool, rng: RngVerbs
    ) -> tuple[Matrix, float]:
        """The rows of the sides that are drawn, and the log probability of these or of the present sides."""
        likelihood, data, size = chain.likelihood, chain.data, chain.state.rows.shape[1]

        def part(begin: int, end: int, rng: RngVerbs) -> tuple[Matrix, float, float]:
            rows = np.empty((2, size))
            some = chosen._replace(members=chosen.members[begin:end], choices=chosen.choices[begin:end])
            return rows, *self._choose_sides(likelihood, data, some, launched, rows, draws, rng)

        rows, log_qs, log_opposites = zip(*self.over_chunks(part, len(chosen.members), rng), strict=True)
        log_q = log_half_sum(sum(log_qs), sum(log_opposites))
        return (self.merged_rows(chain, rows) if draws else rows[0]), log_q

    def _launched(self, likelihood: Any, data: Any, points: Labels) -> Matrix:
        n = len(points)
        some = points[np.arange(min(n, SAMPLE)) * n // min(n, SAMPLE)]
        soft, tried = has_verb(likelihood, "log_predictive_weighted"), min(self.n_steps, TRIED)

        def begun(cut: Callable[[], Vector]) -> tuple[float, Vector]:
            shares = cut()
            return self._launch(likelihood, data, some, shares, tried, soft)[0], shares

        with Threads(self.n_jobs) as threads:
            starts = threads.each(begun, cuts(point_set(point_set(data).rows(some)).as_vectors()))
        _, best = max(starts, key=lambda start: start[0])
        return self._launch(likelihood, data, some, best, self.n_steps - tried, soft)[1]
