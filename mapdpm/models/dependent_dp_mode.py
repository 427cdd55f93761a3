"""The climb of ``DependentDP``: from the labels of a draw to a mode of log p(x, Z) of explicit labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.likelihoods._drift_marginal import joined
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.rng import Climbing, Rng
from mapdpm.samplers.dependent_dp_gibbs import DependentChain, DependentDPGibbs
from mapdpm.search.ascent import NEVER

_LEAST_GAIN = 1e-6  # nats
_SETTLING = 5  # rounds of the modes of means and of covariances
_IDLE = 2  # rounds without a gain, with exchanges at random, that end a climb
_NEAREST = 3  # clusters that the points of one slice may join


class Move(NamedTuple):
    """Points of one cluster that may join another: those of one slice, or of all."""

    gain: float
    source: int
    target: int
    here: NDArray[np.bool_]
    """(T,): the slices of the points."""


def climbed(
    sampler: DependentDPGibbs,
    chain: DependentChain,
    max_sweeps: int,
    rng: Rng,
    expired: Callable[[], bool] = NEVER,
) -> tuple[Vector, bool]:
    """Climb from the labels of ``chain``: the values of log p(x, Z), and whether nothing gains any more.

    A round is a sweep of single points with exchanges of labels, and merges. Nothing opens a cluster, and one that
    nobody wants goes. Parameters are at their modes afterwards.
    """
    chain.log_alone = np.full(chain.n_points, -np.inf)
    climbing: Any = Climbing(rng.generator, climbs=True)
    history, idle = [chain.log_joint()], 0
    for _ in range(max_sweeps):
        if expired():
            break
        start = history[-1]
        sweep(sampler, chain, climbing, history)
        merge(chain, history, expired)
        idle = 0 if history[-1] > start or expired() else idle + 1
        if idle == _IDLE:
            break
    settle(sampler, chain, climbing)
    return np.array(history), idle == _IDLE


def settle(sampler: DependentDPGibbs, chain: DependentChain, climbing: Any) -> None:
    """Set parameters to a mode given labels."""
    for _ in range(_SETTLING):
        sampler.redraw_parameters(chain, climbing, at_mode=True)


def sweep(sampler: DependentDPGibbs, chain: DependentChain, climbing: Any, history: list[float]) -> None:
    """Each point joins its best cluster, given parameters at their modes; undone unless log p(x, Z) rises."""
    chain.refresh()
    before = chain.saved()
    settle(sampler, chain, climbing)
    sampler.sweep(chain, climbing)
    value = chain.log_joint()
    if value > history[-1] + _LEAST_GAIN:
        history.append(value)
    else:
        chain.restore(before)


def merge(chain: DependentChain, history: list[float], expired: Callable[[], bool] = NEVER) -> None:
    """Make the best move of points of a cluster to another, as long as one gains."""
    while not expired():
        best = max(moves(chain), key=lambda each: each.gain, default=None)
        if best is None or best.gain <= _LEAST_GAIN:
            return
        state = chain.state
        state.labels[(state.labels == best.source) & best.here[chain.times.of_points]] = best.target
        state.counts[:] = np.bincount(state.labels, minlength=state.capacity)
        state.rows[:, 0] = state.counts
        history.append(history[-1] + best.gain)


def moves(chain: DependentChain) -> list[Move]:
    """All pairs of clusters that may merge, and slices of clusters that may join one nearby, with their gains.

    O(K^2) marginals of clusters, and O(K T) of slices.
    """
    every = chain.sums()
    used = np.flatnonzero(every[0].sum(axis=1))
    alone = {k: chain.log_marginal(*(values[k] for values in every)) for k in used.tolist()}
    log_prior = chain.log_slices(every[0][used], used)
    found = []
    for source, target, here in candidates(every[0], every[1], used):
        stays, goes = ([values[source].copy() for values in every] for _ in range(2))
        for left, gone in zip(stays, goes, strict=True):
            left[here], gone[~here] = 0, 0
        union = joined([values[target] for values in every], goes)
        counts = every[0].copy()
        counts[source], counts[target] = stays[0], union[0]
        gain = chain.log_marginal(*stays) + chain.log_marginal(*union) - alone[source] - alone[target]
        gain += float((chain.log_slices(counts[used], used) - log_prior).sum())
        found.append(Move(gain, source, target, here))
    return found


def candidates(counts: Labels, sums: Matrix, used: Labels) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
    """Source, target and slices of moves that are tried."""
    T = counts.shape[1]
    for source in used.tolist():
        occupied = np.flatnonzero(counts[source]).tolist()
        for target in used[used != source].tolist():
            yield source, target, np.ones(T, dtype=bool)
        for t in occupied if len(occupied) > 1 else ():
            for target in nearest(counts, sums, used, source, t).tolist():
                yield source, target, np.arange(T) == t


def nearest(counts: Labels, sums: Matrix, used: Labels, source: int, t: int) -> Labels:
    """The clusters whose means over all slices, or in slice ``t`` where they have points, are nearest to ``source``."""
    here = counts[used, t] > 0
    n = np.where(here, counts[used, t], counts[used].sum(axis=1))[:, None]
    means = np.where(here[:, None], sums[used, t], sums[used].sum(axis=1)) / n
    apart = ((means - sums[source, t] / counts[source, t]) ** 2).sum(axis=1)
    order: Labels = used[np.argsort(apart, kind="stable")]
    return order[order != source][:_NEAREST]
