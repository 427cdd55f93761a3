"""The kernel of beam sampling: paths of whole sequences, in the finitely many states above slices (Van Gael 2008)."""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np

from mapdpm.backends.states import Rows
from mapdpm.jit import jitable
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, RngVerbs, Vector
from mapdpm.samplers._blocks import count_used
from mapdpm.samplers._restaurants import LEAST, parts
from mapdpm.state import ClusterState


def beam_step(
    likelihood: LikelihoodVerbs, data: Any, state: ClusterState, rows: Rows, begins: Labels, rng: RngVerbs
) -> tuple[Labels, Vector]:
    """Draw the states of all sequences anew, given the shares; states in use are those of the first slots.

    Returns the new states of points, and alpha times the shares of these states: first those in use, then new ones;
    last the rest. O(N K^2 + N K D).
    """
    K, n = count_used(state), state.labels.shape[0]
    weights, rest = np.empty(K), max(rows.weights[-1], LEAST)
    shares, rests = np.zeros((K + 1, K)), np.zeros(K + 1)  # of transitions: row 0 is that of starts
    parameters, shapes = np.empty((K, likelihood.n_parameters())), np.empty(K)
    for k in range(K):
        weights[k] = rows.weights[k]
        likelihood.draw(state.rows[k], parameters[k], rng)
    for v in range(K + 1):
        for k in range(K):
            shapes[k] = rows.counts[v - 1, k] + weights[k] + (rows.kappa if v == k + 1 else 0.0)
        rests[v] = _draw_row(shares[v], shapes, rest, rng)
    slices, least = np.empty(n), inf
    for i in range(n):
        v = state.labels[rows.previous[i]] + 1 if rows.previous[i] >= 0 else 0
        slices[i] = shares[v, state.labels[i]] * (1.0 - rng.uniform())
        least = min(least, slices[i])
    blank = np.empty(state.rows.shape[1])
    likelihood.init(blank)
    likelihood.prepare(blank)
    while _largest(rests) > least:
        part, others = parts(rng.log_odds(1.0, rows.root_concentration))
        weights, rest = _appended(weights, max(rest * exp(part), LEAST)), max(rest * exp(others), LEAST)
        shares, rests = _with_new_state(shares, rests, weights, rest, rows.kappa, rng)
        K += 1
        parameters = _grown(parameters, K, parameters.shape[1])
        likelihood.draw(blank, parameters[K - 1], rng)
    labels = np.empty(n, dtype=np.int64)
    for s in range(begins.shape[0] - 1):
        a, b = begins[s], begins[s + 1]
        logs = np.empty((b - a, K))
        for i in range(a, b):
            for k in range(K):
                logs[i - a, k] = likelihood.log_likelihood(parameters[k], data, i)
        _draw_path(logs, shares, slices[a:b], labels[a:b], rng)
    return labels, _appended(weights, rest)


@jitable
def _largest(values: Vector) -> float:
    found = -inf
    for k in range(values.shape[0]):
        found = max(found, values[k])
    return found


@jitable
def _appended(values: Vector, value: float) -> Vector:
    found = np.empty(values.shape[0] + 1)
    for k in range(values.shape[0]):
        found[k] = values[k]
    found[-1] = value
    return found


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
def _with_new_state(
    shares: Matrix, rests: Vector, weights: Vector, rest: float, kappa: float, rng: RngVerbs
) -> tuple[Matrix, Vector]:
    """Transitions with the last state of ``weights`` broken off the rest of each row, and a row of its own."""
    K = weights.shape[0]
    grown, left = _grown(shares, K + 1, K), np.zeros(K + 1)
    for v in range(K):
        part, others = parts(rng.log_odds(weights[-1], rest))
        grown[v, -1], left[v] = rests[v] * exp(part), rests[v] * exp(others)
    shapes = np.empty(K)
    for k in range(K):
        shapes[k] = weights[k] + (kappa if k == K - 1 else 0.0)
    left[K] = _draw_row(grown[K], shapes, rest, rng)
    return grown, left


@jitable
def _grown(values: Matrix, n: int, m: int) -> Matrix:
    """``values`` in the corner of a matrix of zeros."""
    found = np.zeros((n, m))
    for v in range(values.shape[0]):
        for k in range(values.shape[1]):
            found[v, k] = values[v, k]
    return found


@jitable
def _draw_path(logs: Matrix, shares: Matrix, slices: Vector, labels: Labels, rng: RngVerbs) -> None:
    """Draw the states of the points of a sequence, given log likelihoods: filter forwards, sample backwards.

    A transition is allowed if its share is not below the slice; the slice makes all allowed ones equally likely.
    ``logs`` (n, K) becomes those of the filter.
    """
    n, K = logs.shape
    values, scores = np.empty(K), np.empty(K)
    for k in range(K):
        if shares[0, k] < slices[0]:
            logs[0, k] = -inf
    for t in range(1, n):
        _step_forwards(logs[t - 1], shares, slices[t], values, logs[t])
    for k in range(K):
        scores[k] = logs[n - 1, k]
    for t in range(n - 1, -1, -1):
        labels[t] = rng.categorical(scores)
        if t > 0:
            for v in range(K):
                scores[v] = logs[t - 1, v] if shares[v + 1, labels[t]] >= slices[t] else -inf


@jitable
def _step_forwards(before: Vector, shares: Matrix, least: float, values: Vector, after: Vector) -> None:
    """Add to ``after`` the log of the sum over the states from where each state may be reached."""
    K, top = before.shape[0], _largest(before)
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
