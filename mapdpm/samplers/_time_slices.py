"""Kernels of mixtures in time slices whose clusters have parameters: Porteous2006 section 5.

A cluster is a label in every slice, with parameters in every slice, and points in some. Labels without points in any
slice have no parameters: they are integrated out, or drawn from their prior when a move needs them.
"""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

import numpy as np

from mapdpm.jit import jitable
from mapdpm.likelihoods._drift import (
    Drift,
    add_scatter,
    draw_covariance,
    draw_given_point,
    draw_means,
    draw_prior,
    factor_with,
    log_path,
)
from mapdpm.partition_priors.stick_breaking import StickBreaking, log_labels, mean_shares_given
from mapdpm.protocol import Labels, Matrix, Model, RngVerbs, Vector
from mapdpm.samplers._blocks import free_slot
from mapdpm.samplers._labels import Occupied, arrays_for, draw_empty, draw_labels, in_order, insert, leave, position_of
from mapdpm.state import ClusterState, assign, unassign

SLICE, INTERVAL, ALL = "slice", "interval", "all"
INTERVALS = (SLICE, INTERVAL, ALL)
"""Where labels are exchanged: in one slice, in an interval of slices, in all; in the order of their rates."""

MOST_OPENED = 1 + len(INTERVALS)
"""How many slots a point may need: for a cluster of its own, and for a label without points in each exchange."""


class Slices(NamedTuple):
    """The points of each slice, and the clusters there."""

    of_points: Labels
    """(N,): the slice of each point."""
    points: Labels
    """(N,): points, those of slice 0 first."""
    begins: Labels
    """(T + 1,): where those of each slice begin."""
    log_alone: Vector
    """(N,): log density of each point in a cluster of its own."""
    labels: Labels
    """(slots,): the label of each cluster."""
    counts: Labels
    """(T, slots): the number of points."""
    parameters: Matrix
    """(slots, T, P): see ``Drift``."""


def sweep_slices(
    model: Model, state: ClusterState, slices: Slices, rates: Vector, start: int, rng: RngVerbs
) -> tuple[int, int, int, int]:
    """Redraw the labels of points ``start``, ... given parameters (Porteous2006 (10)), with exchanges in between.

    The label i of a point in slice t has the weight E[pi_it | Z_t] N(x; parameters of i there). Labels that no slice
    has are one choice, with the density of a new cluster; the parameters of the one drawn are drawn given the point.
    After each point labels are exchanged, with the probabilities ``rates``.

    Returns the first point not visited, because slots did not suffice; how many points changed cluster; how many
    exchanges were proposed, and how many accepted.
    """
    likelihood, prior, data, _ = model
    drift, n, capacity = likelihood.family, state.labels.shape[0], state.counts.shape[0]
    occupied, counts = arrays_for(capacity), np.empty(capacity, dtype=np.int64)
    scores, shares, gaps = np.empty(capacity + 1), np.empty(capacity), np.empty(capacity + 1)
    K, moved, proposed, accepted = in_order(state, slices.labels, occupied), 0, 0, 0
    for i in range(start, n):
        if capacity < min(K + MOST_OPENED, n + 1):
            return i, moved, proposed, accepted
        t, k = slices.of_points[i], unassign(likelihood, data, None, state, i)
        slices.counts[t, k] -= 1
        K = leave(occupied, K, k)
        total = counts_in(slices, occupied, 0, K, t, counts)
        empty = mean_shares_given(prior, occupied.labels[:K], counts[:K], total, shares, gaps)
        for p in range(K):
            parameters = slices.parameters[occupied.slots[p], t]
            scores[p] = log(shares[p]) + drift.log_likelihood(parameters, data, i) if shares[p] > 0.0 else -inf
        scores[K] = log(empty) + slices.log_alone[i] if empty > 0.0 else -inf
        drawn = rng.categorical(scores[: K + 1])
        if drawn == K:
            label, drawn = draw_empty(prior, occupied.labels[:K], counts[:K], gaps[: K + 1], rng)
            slot = free_slot(state)
            insert(occupied, K, drawn, slot, label, 0)
            K += 1
            slices.labels[slot] = label
            draw_given_point(drift, t, data[i], slices.parameters[slot], rng)
        to = occupied.slots[drawn]
        occupied.counts[drawn] += 1
        slices.counts[t, to] += 1
        assign(likelihood, data, None, state, i, to)
        moved += int(to != k)
        for kind in range(rates.shape[0]):
            if rates[kind] == 1.0 or (rates[kind] > 0.0 and rng.chance(rates[kind])):
                K, tried, done = exchange(model, state, slices, occupied, K, kind, rng)
                proposed += int(tried)
                accepted += int(done)
    return n, moved, proposed, accepted


@jitable
def counts_in(slices: Slices, occupied: Occupied, begin: int, end: int, t: int, counts: Labels) -> int:
    """Fill ``counts`` with the points in slice ``t`` of clusters ``begin`` to ``end - 1``; return their sum."""
    total = 0
    for p in range(begin, end):
        counts[p - begin] = slices.counts[t, occupied.slots[p]]
        total += counts[p - begin]
    return total


@jitable
def exchange(
    model: Model, state: ClusterState, slices: Slices, occupied: Occupied, K: int, kind: int, rng: RngVerbs
) -> tuple[int, bool, bool]:
    """Propose to exchange two labels, drawn from the prior, in some slices: their points and their parameters.

    Accepted by the ratio of P(Z) in these slices and of the densities of both paths of means; densities of covariances
    cancel. A label without points first gets parameters from the prior. Returns the number of clusters, whether there
    was anything to exchange, and whether it was.
    """
    prior = model.prior
    first, last = interval(slices.counts.shape[0], kind, rng)
    one, two = draw_labels(prior, 2, rng)
    if one == two or not (has_label(occupied, K, one) or has_label(occupied, K, two)):
        return K, False, False
    for label in (one, two):
        if not has_label(occupied, K, label):
            K = instantiate(model, state, slices, occupied, K, label, rng)
    p, q = position_of(occupied, K, one), position_of(occupied, K, two)
    a, b = occupied.slots[p], occupied.slots[q]
    ratio = log_exchange(prior, slices, occupied, K, (p, q), (first, last))
    for sign in (-1.0, 1.0):
        for slot in (a, b):
            ratio += sign * log_path(model.likelihood.family, slices.parameters[slot])
        exchange_parameters(slices, a, b, first, last)
    accepted = rng.accept(ratio)
    if accepted:
        exchange_parameters(slices, a, b, first, last)
        exchange_points(state, slices, a, b, first, last)
    for slot in (a, b):
        K = settled(state, occupied, K, slot)
    return K, True, accepted


@jitable
def interval(T: int, kind: int, rng: RngVerbs) -> tuple[int, int]:
    """The first and last slice of an exchange: one slice, from one to another, or all."""
    if kind == 0:
        first = rng.integer(T)
        return first, first
    if kind == 1:
        first, last = rng.integer(T), rng.integer(T)
        return min(first, last), max(first, last)
    return 0, T - 1


@jitable
def has_label(occupied: Occupied, K: int, label: int) -> bool:
    """Whether a cluster has this label."""
    p = position_of(occupied, K, label)
    return p < K and occupied.labels[p] == label


@jitable
def instantiate(
    model: Model, state: ClusterState, slices: Slices, occupied: Occupied, K: int, label: int, rng: RngVerbs
) -> int:
    """Give ``label`` a slot, and parameters from the prior; return the number of clusters."""
    slot = free_slot(state)
    insert(occupied, K, position_of(occupied, K, label), slot, label, 0)
    slices.labels[slot] = label
    draw_prior(model.likelihood.family, slices.parameters[slot], rng)
    return K + 1


@jitable
def log_exchange(
    prior: StickBreaking, slices: Slices, occupied: Occupied, K: int, pair: tuple[int, int], ends: tuple[int, int]
) -> float:
    """Log P(Z') / P(Z) of exchanging the clusters at two positions in slices ``ends[0]`` to ``ends[1]``."""
    (p, q), ratio = pair, 0.0
    labels, counts = occupied.labels[p : q + 1], np.empty(q + 1 - p, dtype=np.int64)
    behind = np.empty(K, dtype=np.int64)
    for t in range(ends[0], ends[1] + 1):
        counts_in(slices, occupied, p, q + 1, t, counts)
        if counts[0] == counts[q - p]:
            continue
        above = counts_in(slices, occupied, q + 1, K, t, behind)
        for sign in (-1.0, 1.0):  # one place of the call: kernels are inlined
            ratio += sign * log_labels(prior, labels, counts, labels[0], labels[q - p] + 1, above)
            counts[0], counts[q - p] = counts[q - p], counts[0]
    return ratio


@jitable
def exchange_parameters(slices: Slices, a: int, b: int, first: int, last: int) -> None:
    """Exchange the parameters of two slots in slices ``first`` to ``last``."""
    parameters = slices.parameters
    for t in range(first, last + 1):
        for j in range(parameters.shape[2]):
            parameters[a, t, j], parameters[b, t, j] = parameters[b, t, j], parameters[a, t, j]


@jitable
def exchange_points(state: ClusterState, slices: Slices, a: int, b: int, first: int, last: int) -> None:
    """Exchange the points of two slots in slices ``first`` to ``last``; O(points there)."""
    for at in range(slices.begins[first], slices.begins[last + 1]):
        i = slices.points[at]
        if state.labels[i] == a:
            state.labels[i] = b
        elif state.labels[i] == b:
            state.labels[i] = a
    for t in range(first, last + 1):
        more = slices.counts[t, a] - slices.counts[t, b]
        slices.counts[t, a] -= more
        slices.counts[t, b] += more
        state.counts[a] -= more
        state.counts[b] += more
    state.rows[a, 0], state.rows[b, 0] = float(state.counts[a]), float(state.counts[b])


@jitable
def settled(state: ClusterState, occupied: Occupied, K: int, slot: int) -> int:
    """Note the number of points of ``slot``; without any it is no cluster. Returns the number of clusters."""
    p = 0
    while occupied.slots[p] != slot:
        p += 1
    occupied.counts[p] = state.counts[slot] + 1
    return leave(occupied, K, slot)


def redraw_parameters(model: Model, state: ClusterState, slices: Slices, at_mode: bool, rng: RngVerbs) -> None:
    """Draw the means of all clusters given covariances, then covariances given means (Porteous2006 (11)).

    With ``at_mode``, set each to the mode of its conditional density. O(N D^2 + K (T D)^3).
    """
    data, drift = model.data, model.likelihood.family
    capacity, T = state.counts.shape[0], slices.counts.shape[0]
    sums = np.zeros((capacity, T, data.shape[1]))
    add_to(sums, data, state, slices)
    for k in range(capacity):
        if state.counts[k] > 0:
            if drift.nu0 == 0.0:
                for t in range(T):
                    draw_covariance(drift, drift.scale, 0.0, at_mode, slices.parameters[k, t], rng)
            draw_means(drift, slices.counts[:, k], sums[k], at_mode, slices.parameters[k], rng)
    if drift.nu0 > 0.0:
        redraw_covariances(drift, data, state, slices, at_mode, rng)


@jitable
def redraw_covariances(
    drift: Drift, data: Matrix, state: ClusterState, slices: Slices, at_mode: bool, rng: RngVerbs
) -> None:
    """Draw the covariances of all clusters given means, or set them to their mode."""
    capacity, T, D = state.counts.shape[0], slices.counts.shape[0], data.shape[1]
    scatters, factor, away = np.zeros((capacity, T, drift.scale.shape[0])), np.empty(drift.scale.shape[0]), np.empty(D)
    for i in range(data.shape[0]):
        k, t = state.labels[i], slices.of_points[i]
        for d in range(D):
            away[d] = data[i, d] - slices.parameters[k, t, 1 + d]
        add_scatter(scatters[k, t], away)
    for k in range(capacity):
        for t in range(T if state.counts[k] > 0 else 0):
            parameters = slices.parameters[k, t]
            for d in range(D):
                away[d] = parameters[1 + d]
            factor_with(drift, scatters[k, t], factor)
            draw_covariance(drift, factor, drift.nu0 + slices.counts[t, k], at_mode, parameters, rng)
            for d in range(D):
                parameters[1 + d] = away[d]


def add_points(data: Matrix, state: ClusterState, slices: Slices, sums: Matrix, scatters: Matrix) -> None:
    """Add x to ``sums`` (slots, T, D) for all points, and then their scatter to ``scatters``, packed. O(N D^2)."""
    add_to(sums, data, state, slices)
    away = np.empty(data.shape[1])
    for i in range(data.shape[0]):
        k, t = state.labels[i], slices.of_points[i]
        for d in range(data.shape[1]):
            away[d] = data[i, d] - sums[k, t, d] / slices.counts[t, k]
        add_scatter(scatters[k, t], away)


@jitable
def add_to(sums: Matrix, data: Matrix, state: ClusterState, slices: Slices) -> None:
    """Add the points of each cluster and slice to ``sums`` (slots, T, D)."""
    for i in range(data.shape[0]):
        for d in range(data.shape[1]):
            sums[state.labels[i], slices.of_points[i], d] += data[i, d]
