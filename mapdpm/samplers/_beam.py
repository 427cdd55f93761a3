"""The kernel of beam sampling: paths of whole sequences, in the finitely many states above slices (Van Gael 2008)."""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, RngVerbs, Vector
from mapdpm.samplers._restaurants import LEAST, Restaurants, parts
from mapdpm.samplers._transitions import Machines
from mapdpm.state import ClusterState, count_used


def beam_step(
    likelihood: LikelihoodVerbs, data: Any, state: ClusterState, machines: Machines, begins: Labels, rng: RngVerbs
) -> tuple[Labels, Matrix]:
    """Draw the states of all sequences anew, given the shares; states in use are those of the first slots.

    Returns the new states of points, and the weights of these states in each node: first of those in use, then of new
    ones; last of the rest. O(N K^2 + N K D).
    """
    tree, n = machines.restaurants, state.labels.shape[0]
    K = count_used(state)
    weights = np.empty((tree.weights.shape[0], K + 1))
    weights[:, :K] = tree.weights[:, :K]
    weights[:, K] = np.maximum(tree.weights[:, -1], LEAST)
    parameters = np.empty((K, likelihood.n_parameters()))
    for k in range(K):
        likelihood.draw(state.rows[k], parameters[k], rng)
    shares, rests = _draw_transitions(machines, weights, rng)
    slices, least = np.empty(n), inf
    for i in range(n):
        v = state.labels[machines.previous[i]] + 1 if machines.previous[i] >= 0 else 0
        slices[i] = shares[tree.groups[i], v, state.labels[i]] * (1.0 - rng.uniform())
        least = min(least, slices[i])
    blank = np.empty(state.rows.shape[1])
    likelihood.init(blank)
    likelihood.prepare(blank)
    while rests.max() > least:
        weights = _with_new_weights(weights, tree, rng)
        shares, rests = _with_new_state(shares, rests, weights, machines, rng)
        K += 1
        grown = np.empty((K, parameters.shape[1]))
        grown[: K - 1] = parameters
        parameters = grown
        likelihood.draw(blank, parameters[K - 1], rng)
    labels = np.empty(n, dtype=np.int64)
    for s in range(begins.shape[0] - 1):
        a, b = begins[s], begins[s + 1]
        logs = np.empty((b - a, K))
        for i in range(a, b):
            for k in range(K):
                logs[i - a, k] = likelihood.log_likelihood(parameters[k], data, i)
        _draw_path(logs, shares[tree.groups[a]], slices[a:b], labels[a:b], rng)
    return labels, weights


@jitable
def _draw_transitions(machines: Machines, weights: Matrix, rng: RngVerbs) -> tuple[Matrix, Matrix]:
    """Draw the transitions of each machine between the K states in use, and their parts to new states.

    (machines, K + 1, K) and (machines, K + 1); row 0 is that of starts, row k + 1 of state k.
    """
    tree, n_machines, K = machines.restaurants, machines.counts.shape[0], weights.shape[1] - 1
    shares, rests, shapes = np.zeros((n_machines, K + 1, K)), np.zeros((n_machines, K + 1)), np.empty(K)
    for j in range(n_machines):
        own = weights[tree.parents[weights.shape[0] + j]]
        for v in range(K + 1):
            for k in range(K):
                shapes[k] = machines.counts[j, v - 1, k] + own[k] + (machines.kappa if v == k + 1 else 0.0)
            rests[j, v] = _draw_row(shares[j, v], shapes, own[K], rng)
    return shares, rests


@jitable
def _draw_row(shares: Vector, shapes: Vector, rest: float, rng: RngVerbs) -> float:
    """Draw a row of transitions from a Dirichlet distribution, with ``rest`` for all new states; returns their part."""
    log_rest = rng.log_gamma(rest)
    top = log_rest
    for k in range(shares.shape[0]):
        shares[k] = rng.log_gamma(max(shapes[k], LEAST))
        top = max(top, shares[k])
    total = exp(log_rest - top)
    for k in range(shares.shape[0]):
        shares[k] = exp(shares[k] - top)
        total += shares[k]
    for k in range(shares.shape[0]):
        shares[k] /= total
    return exp(log_rest - top) / total


@jitable
def _with_new_weights(weights: Matrix, tree: Restaurants, rng: RngVerbs) -> Matrix:
    """Weights with one more state, broken off the rest of each node; the parts of a node go by those of its parent."""
    n_inner, K = weights.shape[0], weights.shape[1] - 1
    found = np.empty((n_inner, K + 2))
    found[:, :K] = weights[:, :K]
    for u in range(n_inner):
        if u == 0:
            part, others = parts(rng.log_odds(1.0, tree.root_concentration))
        else:
            part, others = parts(rng.log_odds(found[tree.parents[u], K], found[tree.parents[u], K + 1]))
        found[u, K] = max(weights[u, K] * exp(part), LEAST)
        found[u, K + 1] = max(weights[u, K] * exp(others), LEAST)
    return found


@jitable
def _with_new_state(
    shares: Matrix, rests: Matrix, weights: Matrix, machines: Machines, rng: RngVerbs
) -> tuple[Matrix, Matrix]:
    """Transitions with the last state of ``weights`` broken off the rest of each row, and a row of its own."""
    n_machines, K, tree = shares.shape[0], weights.shape[1] - 1, machines.restaurants
    grown, left = np.zeros((n_machines, K + 1, K)), np.zeros((n_machines, K + 1))
    shapes = np.empty(K)
    for j in range(n_machines):
        own = weights[tree.parents[weights.shape[0] + j]]
        for v in range(K):
            grown[j, v, : K - 1] = shares[j, v]
            part, others = parts(rng.log_odds(own[K - 1], own[K]))
            grown[j, v, K - 1], left[j, v] = rests[j, v] * exp(part), rests[j, v] * exp(others)
        for k in range(K):
            shapes[k] = own[k] + (machines.kappa if k == K - 1 else 0.0)
        left[j, K] = _draw_row(grown[j, K], shapes, own[K], rng)
    return grown, left


@jitable
def _draw_path(logs: Matrix, shares: Matrix, slices: Vector, labels: Labels, rng: RngVerbs) -> None:
    """Draw the states of the points of a sequence, given log likelihoods: filter forwards, sample backwards.

    A transition is allowed if its share is not below the slice; the slice makes all allowed ones equally likely.
    ``logs`` (n, K) becomes those of the filter.
    """
    n, K = logs.shape
    values = np.empty(K)
    for k in range(K):
        if shares[0, k] < slices[0]:
            logs[0, k] = -inf
    for t in range(1, n):
        _step_forwards(logs[t - 1], shares, slices[t], values, logs[t])
    scores = logs[n - 1].copy()
    for t in range(n - 1, -1, -1):
        labels[t] = rng.categorical(scores)
        if t > 0:
            for v in range(K):
                scores[v] = logs[t - 1, v] if shares[v + 1, labels[t]] >= slices[t] else -inf


@jitable
def _step_forwards(before: Vector, shares: Matrix, least: float, values: Vector, after: Vector) -> None:
    """Add to ``after`` the log of the sum over the states from where each state may be reached."""
    K, top = before.shape[0], before.max()
    for v in range(K):
        values[v] = exp(before[v] - top)
    for k in range(K):
        total, largest = 0.0, -inf
        for v in range(K):
            if shares[v + 1, k] >= least:
                total += values[v]
                largest = max(largest, before[v])
        # All that lead here may be too small for a float: then the largest one stands for their sum.
        after[k] += top + log(total) if total > 0.0 else largest
