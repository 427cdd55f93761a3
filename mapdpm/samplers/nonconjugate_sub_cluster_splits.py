"""Sweeps given parameters, splits and merges of whole clusters, in parallel, without conjugacy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from mapdpm.data import point_set
from mapdpm.jit import compiled_if_possible
from mapdpm.protocol import Labels, Model, RngVerbs, Vector
from mapdpm.rng import seeded
from mapdpm.samplers import _launch_given_parameters as kernels
from mapdpm.samplers._blocks import free_slot
from mapdpm.samplers._launch_cuts import cuts
from mapdpm.samplers._lone_points import draw_point
from mapdpm.samplers._parallel_sampler import ParallelSampler
from mapdpm.samplers._restricted_sweep import Candidates, open_slots
from mapdpm.samplers._whole_clusters import NONE
from mapdpm.samplers._with_parameters import ParameterChain, ParameterSampler
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.launched_split_merge import SAMPLE, TRIED, choose_points
from mapdpm.samplers.nonconjugate_gibbs import leave_or_join
from mapdpm.samplers.nonconjugate_split_merge import relabel
from mapdpm.samplers.sampler import Info
from mapdpm.state import ClusterState, count_used
from mapdpm.threads import Threads
from mapdpm.validation import check_count


def lone_points_given(
    model: Model, state: ClusterState, n_proposals: int, parameters: Any, rng: RngVerbs
) -> tuple[int, int]:
    """As ``_lone_points.lone_points``, with parameters."""
    accepted, scores = 0, np.empty(state.counts.shape[0])
    for done in range(n_proposals):
        if count_used(state) == state.counts.shape[0]:
            return done, accepted
        i = draw_point(state, rng)
        if i != NONE:
            accepted += leave_or_join(model, state, parameters, i, scores, True, rng)
    return n_proposals, accepted


class NonconjugateSubClusterSplits(ParameterSampler, ParallelSampler):
    r"""``SubClusterSplits`` for a family without conjugacy: parallel sampling of labels and parameters.

    The verbs of the likelihood are those of ``NonconjugateGibbs``. A step is, in order:

    1. each cluster proposes new parameters from q(. | its points), by Metropolis-Hastings;
    2. weights are drawn, then the labels of half of the points, given weights and parameters, as in
       ``SubClusterSplits``;
    3. ``n_proposals`` splits or merges of whole clusters. A launch from the points alone gives two sides; a split draws
       parameters from q given each side, then the side of each point given them, independently. A merge draws
       parameters from q given all points. The ratio is (69) of docs/maths.md;
    4. for each of these, 20 points that propose to be alone, or not to be any more.

    Parameters
    ----------
    n_steps : int >= 0
        Steps of the launch, on at most 2,000 points.
    n_proposals : int >= 1
        The number of launched proposals in a step.
    n_jobs : int or None
        The number of threads; None is 1. Draws do not depend on it.
    **model
        The parameters of ``Sampler``; ``likelihood`` is needed.

    Notes
    -----
    O(N K) densities a step.
    """

    _open_slots = staticmethod(compiled_if_possible(open_slots))
    _choose = staticmethod(compiled_if_possible(choose_points))
    _launch = staticmethod(compiled_if_possible(kernels.launch_given))
    _better_sides = staticmethod(compiled_if_possible(kernels.better_sides))
    _draw_parameters = staticmethod(compiled_if_possible(kernels.draw_parameters))
    _choose_sides = staticmethod(compiled_if_possible(kernels.choose_sides_given))
    _decide = staticmethod(compiled_if_possible(kernels.decide_given))
    _relabel = staticmethod(compiled_if_possible(relabel))
    _lone_points = staticmethod(compiled_if_possible(lone_points_given))

    _n_lone = 20

    def __init__(
        self, alpha: float = 1.0, *, n_steps: int = 10, n_proposals: int = 1, n_jobs: int | None = None, **model: Any
    ) -> None:
        super().__init__(alpha, n_jobs=n_jobs, **model)
        self.n_steps = check_count("n_steps", n_steps, 0)
        self.n_proposals = check_count("n_proposals", n_proposals)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Parameters, labels, splits and merges."""
        chain = cast("ParameterChain", chain)
        moved = self.sweep(chain, rng)
        accepted = sum(self.propose_whole(chain, rng) for _ in range(self.n_proposals))
        n_left = self._n_lone * self.n_proposals
        while n_left > 0:
            state = chain.reserve()
            done, more = self._lone_points(chain.model, state, n_left, chain.parameters, rng)
            n_left, moved = n_left - int(done), moved + int(more)
        return Info(chain.n_clusters, moved, self.n_proposals, accepted)

    def sweep(self, chain: ParameterChain, rng: RngVerbs) -> int:
        """Redraw parameters, then the labels of the points that are not held; return how many changed."""
        state = chain.state
        self.redraw_parameters(chain, True, self.n_jobs, rng)
        free, n_held = self.hold(chain, rng)
        slots, log_weights, group_of = self._open_slots(chain.prior, state.counts, n_held, rng)
        if not len(slots):
            return 0
        firsts = np.array([0, len(slots)])
        candidates = Candidates(slots, log_weights, chain.parameters[slots], firsts, group_of)
        redrawn = self.redraw(chain, state.labels, free, candidates, rng)
        chain.state = state._replace(**redrawn.sums._asdict())
        return redrawn.moved

    def propose_whole(self, chain: ParameterChain, rng: RngVerbs) -> int:
        """Propose to split a cluster, or to merge two; return 1 if it was accepted."""
        state, family, data = chain.reserve(), chain.family, chain.data
        chosen = self._choose(state, rng)
        launched = self._launched(family, data, chosen.members)
        if launched is None:
            return 0
        sides = np.empty_like(chosen.members)
        self._better_sides(family, data, chosen.members, launched, sides)
        if sides.all() or not sides.any():
            return 0
        is_split = chosen.first == chosen.second
        apart, whole = chain.parameters[[chosen.first, chosen.second]], chain.parameters[chosen.first].copy()
        parting = kernels.Parting(chosen, sides, apart, whole)
        self._draw_parameters(family, data, parting, rng)

        def part(begin: int, end: int, rng: RngVerbs) -> kernels.Sums:
            some = chosen._replace(members=chosen.members[begin:end], choices=chosen.choices[begin:end])
            return self._choose_sides(family, data, parting._replace(chosen=some), launched.log_sizes, rng)

        sums = kernels.Sums(*map(sum, zip(*self.over_chunks(part, len(sides), rng), strict=True)))
        if not self._decide(chain.model, state, parting, sums, rng):
            return 0
        second = free_slot(state) if is_split else chosen.first
        chain.parameters[chosen.first] = apart[0] if is_split else whole
        if is_split:
            chain.parameters[second] = apart[1]
        self._relabel(chain.likelihood, data, state, chosen.members, chosen.choices, chosen.first, second)
        return 1

    def _launched(self, family: Any, data: Any, points: Labels) -> kernels.Launched | None:
        n = len(points)
        if n < 2:  # noqa: PLR2004  (nothing to part)
            return None
        some = points[np.arange(min(n, SAMPLE)) * n // min(n, SAMPLE)]
        tried = min(self.n_steps, TRIED)

        def begun(cut: Callable[[], Vector]) -> tuple[float, Labels]:
            sides = cut().astype(np.int64)
            return float(self._launch(family, data, some, sides, tried, seeded(0))[0]), sides

        with Threads(self.n_jobs) as threads:
            starts = threads.each(begun, cuts(point_set(point_set(data).rows(some)).as_vectors()))
        _, best = max(starts, key=lambda start: start[0])
        found, launched = self._launch(family, data, some, best, self.n_steps - tried, seeded(1))
        return launched if found > -np.inf else None
