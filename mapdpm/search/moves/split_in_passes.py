"""Splits of clusters whose points are not here: halves are sought on samples, and judged by passes over all points."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mapdpm.backends.halves import Start
from mapdpm.data import point_set
from mapdpm.objective import is_gain
from mapdpm.protocol import Labels, Model, Weights
from mapdpm.search import chunks, passes
from mapdpm.search.ascent import Plan, ascend
from mapdpm.search.chunks import Frame, Labelling, Picked, Sums
from mapdpm.search.climb_in_passes import Climb, Tried
from mapdpm.search.moves.merge_split import AT_FIRST, LATER, SAMPLE, Merge, Sought, Split
from mapdpm.search.problem import Problem

T = TypeVar("T")

_PICKED = 4 * SAMPLE
"""Points of a cluster in which halves are sought: by two tries, on half of them each."""
_STARTS = (AT_FIRST, LATER)
_REFINEMENTS = 3
_AT_A_TIME = 32  # clusters
_HOPE = 4.0  # a gain that grows so fast that it would be one after so many more passes
_SAME = 0.02  # a cluster has changed if its weight, or the log marginal of a point, has changed by this


class _Halves(NamedTuple):
    """A split that gains."""

    gain: float
    sums: Sums


class SplitInPasses:
    """A split of each cluster that gains (docs/maths.md (19) to (21)), all of them in the same passes.

    A sample of each cluster is picked in one pass. The points of a small cluster are all in it: they are searched as
    a problem of their own, by sweeps, merges and splits. Of a large one two halves are sought on the sample, as
    ``Split`` does, and extended to all its points by passes, which give the exact gain.
    """

    def __init__(self) -> None:
        self._salt = 0

    def __call__(self, climb: Climb) -> int:
        """Split clusters that gain by it; returns how many."""
        wanted = [k for k in range(climb.n_clusters) if climb.clusters.counts[k] > 1 and not _is_known(climb, k)]
        if not wanted:
            return 0
        shares = np.zeros(climb.n_clusters)
        shares[wanted] = _PICKED / climb.clusters.counts[wanted]
        self._salt += 1
        _, picked = climb.sums_by(passes.sampled, shares, self._salt)
        if picked is None:  # a cluster has gone
            return 1
        if climb.ended:
            return 0
        n_small = _split_small(climb, [k for k in wanted if climb.clusters.counts[k] <= _PICKED], picked)
        large = [k for k in wanted if climb.clusters.counts[k] > _PICKED]
        return n_small + _split_large(climb, _sought(climb, large, picked))


def _is_known(climb: Climb, k: int) -> bool:
    """Whether a split of the cluster was in vain, and it has hardly changed."""
    tried = climb.tried[k]
    if tried is None:
        return False
    now = _now(climb, k)
    before, after = tried.log_marginal / tried.weight, now.log_marginal / now.weight
    unit = min(climb.frame.prior.unit, abs(before))
    return bool(abs(tried.weight - now.weight) <= _SAME * tried.weight and abs(before - after) <= _SAME * unit)


def _now(climb: Climb, k: int) -> Tried:
    one = climb.clusters.only([k])
    return Tried(float(one.statistics[0, 0]), float(climb.marginals(one)[0]))


def _split_large(climb: Climb, tries: list[dict[int, Labelling]]) -> int:
    """Split the clusters for which one of ``tries`` gains; returns how many, or 1 if a cluster has gone meanwhile."""
    clusters = sorted(set().union(*tries))
    if not clusters or climb.ended:
        return 0
    halves = _judged(climb, tries)
    if halves is None:
        return 1
    for k in clusters:
        climb.tried[k] = _now(climb, k)
    return 0 if climb.ended else _take(climb, halves)


def _searched(climb: Climb, function: Callable[[_Whole], T], wholes: list[_Whole]) -> list[T | None]:
    """``function`` of each, some at a time; None for those that time did not suffice for."""
    found: list[T | None] = []
    for at in range(0, len(wholes), _AT_A_TIME):
        late = climb.limits.expired()
        some = wholes[at : at + _AT_A_TIME]
        found += [None] * len(some) if late else climb.run.map(function, some)
    return found


class _Whole(NamedTuple):
    """Some of the points of a cluster, or all of them: a problem of its own, for whoever searches it."""

    frame: Frame
    prior: Any
    points: Any
    weights: Weights
    seed: int

    def problem(self, max_clusters: int | None) -> Problem:
        """How the points are parted."""
        model = Model(self.frame.likelihood, self.prior, self.points, self.weights)
        return Problem.of(model, self.frame.backend, max_clusters)


def _wholes(climb: Climb, picked: Picked, places: list[Labels]) -> list[_Whole]:
    """The points of ``picked`` at each of ``places``, with seeds that are drawn in order."""
    seeds = climb.rng.integers(2**63, size=len(places)).tolist()
    points, prior = point_set(picked.points), climb.prior_of_part()
    weights = [None if picked.weights is None else picked.weights[at] for at in places]
    parts = zip(places, weights, seeds, strict=True)
    return [_Whole(climb.frame, prior, points.rows(at), w, seed) for at, w, seed in parts]


def best_parts(whole: _Whole, max_clusters: int | None, max_sweeps: int) -> tuple[Labels, Sums] | None:
    """The best clusters of the points, by the whole search; None if one cluster is best."""
    part = whole.problem(max_clusters)
    start = part.from_labels(np.zeros(part.n_points, dtype=np.int64))
    plan = Plan((Merge, Split), max_sweeps, lambda: False)
    found = ascend(part, start, plan, np.random.default_rng(whole.seed))
    if found.state.n_clusters == 1 or not is_gain(found.history[-1] - found.history[0], found.history[0]):
        return None
    return np.searchsorted(np.flatnonzero(found.state.counts), found.state.labels), chunks.sums_in(
        whole.frame, found.state
    )


def best_halves(whole: _Whole, starts: tuple[Start, ...]) -> Labelling | None:
    """The tangents of the best two halves of the points; None if there are none."""
    found = Sought(whole.problem(None)).best_halves(starts, np.random.default_rng(whole.seed)).state
    return None if found is None else chunks.labelling_of(whole.frame, chunks.sums_in(whole.frame, found))


def _split_small(climb: Climb, small: list[int], picked: Picked) -> int:
    """Search the points of small clusters, which are all picked; returns how many clusters were split."""
    places = {k: np.flatnonzero(picked.slots == k) for k in small}
    places = {k: at for k, at in places.items() if len(at) == climb.clusters.counts[k]}
    allowed = climb.n_allowed()
    cap = None if np.isinf(allowed) else int(allowed) + 1
    wholes = _wholes(climb, picked, list(places.values()))
    search = functools.partial(best_parts, max_clusters=cap, max_sweeps=climb.limits.max_passes)
    all_parts = dict(zip(places, _searched(climb, search, wholes), strict=True))
    clusters, held, tried, n_splits = climb.clusters, climb.labelling.held, list(climb.tried), 0
    for k, parts in all_parts.items():
        tried[k] = _now(climb, k)
        if parts is None or len(clusters.counts) + len(parts[1].counts) - 1 > climb.n_clusters + allowed:
            continue
        labels, own = parts
        K, more = len(clusters.counts), len(own.counts) - 1
        slots = np.array([k, *range(K, K + more)])
        clusters, held = clusters.parted(k, own), held.only(held.slots != k)
        held = held.and_also(picked.numbers[places[k]], slots[labels])  # the climb drops those of larger clusters
        tried[k] = None
        tried += [None] * more
        n_splits += 1
    if n_splits:
        climb.take(clusters, held, tried, Split.name, n_splits)
    else:
        climb.tried = tried
    return n_splits


def _sought(climb: Climb, large: list[int], picked: Picked) -> list[dict[int, Labelling]]:
    """Two tries: for each cluster the tangents of two halves, found on half of its sample."""
    places = [np.flatnonzero(picked.slots == k) for k in large]
    # Every other one: points that follow each other may be alike.
    # Every other point: in points that are sorted by cluster, the first and the second half are one cluster each.
    parts = [(at[::2], at[1::2]) if len(at) > SAMPLE else (at, at) for at in places]
    tries = []
    for number, starts in enumerate(_STARTS):
        some = {k: part[number] for k, part in zip(large, parts, strict=True) if len(part[number]) > 1}
        wholes = _wholes(climb, picked, list(some.values()))
        found = _searched(climb, functools.partial(best_halves, starts=starts), wholes)
        tries.append({k: halves for k, halves in zip(some, found, strict=True) if halves is not None})
    return tries


def _judged(climb: Climb, tries: list[dict[int, Labelling]]) -> dict[int, _Halves] | None:
    """The best halves of each cluster that gain, extended to all points; None if a cluster has gone meanwhile."""
    best: dict[int, _Halves] = {}
    before: dict[tuple[int, int], float] = {}
    for _ in range(_REFINEMENTS):
        tries = [tried for tried in tries if tried]
        if not tries or climb.ended:
            break
        sums, _ = climb.sums_by(passes.halves, tries)
        if not sums:
            return None
        best, hopeful = {}, False
        for number, (tried, each) in enumerate(zip(tries, sums, strict=True)):
            for j, k in enumerate(tuple(tried)):
                two = each.only(slice(2 * j, 2 * j + 2))
                gain, size = _gain(climb, k, two)
                if gain is None:
                    del tried[k]
                    continue
                tried[k] = chunks.labelling_of(climb.frame, two)
                growth = gain - before.get((number, k), -np.inf)
                hopeful |= gain + _HOPE * growth > 0.0 and growth > climb.frame.prior.unit
                before[number, k] = gain
                if is_gain(gain, size) and gain > best.get(k, _Halves(0.0, two)).gain:
                    best[k] = _Halves(gain, two)
        if not hopeful:
            break
    return best


def _gain(climb: Climb, k: int, halves: Sums) -> tuple[float | None, float]:
    """The gain of the joint by the halves of slot k, and its size; None if one is empty, or too small for passes."""
    if halves.counts.min() == 0 or np.any(climb.is_small(halves.statistics[:, 0])):
        return None, 0.0
    prior = climb.prior_of_part()
    whole = climb.joint_of(prior, climb.clusters.only([k]))
    return climb.joint_of(prior, halves) - whole, whole


def _take(climb: Climb, halves: dict[int, _Halves]) -> int:
    """Split clusters, the best first if their number is limited; returns how many."""
    ranked = sorted(halves, key=lambda k: -halves[k].gain)
    chosen = ranked[: int(min(climb.n_allowed(), len(ranked)))]
    if not chosen:
        return 0
    clusters, tried = climb.clusters, list(climb.tried)
    for k in chosen:
        clusters = clusters.parted(k, halves[k].sums)
        tried[k] = None
        tried.append(None)
    climb.take(clusters, climb.labelling.held, tried, Split.name, len(chosen))
    return len(chosen)
