"""The generic kernels for paths of a hidden Markov model whose transitions and emissions are held.

``start`` (K,) and ``steps`` (K, K) are probabilities > 0: of the first state of a sequence, and of a state after
another. ``scores`` (N, K) has the log density of each point in each state. ``begins`` (sequences + 1,) has the first
point of each sequence, and last the number of points. O(N K^2) each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.rng import drawn_by_weight


@jitable
def step_of_viterbi(best: Vector, logs: Matrix, came_from: Labels, after: Vector) -> None:
    """Fill ``after`` with the log joint of the best path to each state, and ``came_from`` with the state before."""
    for k in range(best.shape[0]):
        came, value = 0, best[0] + logs[0, k]
        for v in range(1, best.shape[0]):
            if best[v] + logs[v, k] > value:
                came, value = v, best[v] + logs[v, k]
        came_from[k], after[k] = came, value


def viterbi(start: Vector, steps: Matrix, scores: Matrix, begins: Labels, came_from: Labels, path: Labels) -> float:
    """The most probable ``path`` (N,) of all sequences; of equals the lowest state. Returns its log joint, in nats.

    ``came_from`` (N, K) is overwritten.
    """
    K = start.shape[0]
    logs, best, after = np.empty((K, K)), np.empty(K), np.empty(K)
    for v in range(K):
        for k in range(K):
            logs[v, k] = math.log(steps[v, k])
    total = 0.0
    for s in range(begins.shape[0] - 1):
        for k in range(K):
            best[k] = math.log(start[k]) + scores[begins[s], k]
        for t in range(begins[s] + 1, begins[s + 1]):
            step_of_viterbi(best, logs, came_from[t], after)
            for k in range(K):
                best[k] = after[k] + scores[t, k]
        last = int(np.argmax(best))
        total += best[last]
        for t in range(begins[s + 1] - 1, begins[s] - 1, -1):
            path[t] = last
            if t > begins[s]:
                last = came_from[t, last]
    return total


@jitable
def predicted(before: Vector, steps: Matrix, k: int) -> float:
    """The probability of state ``k`` after one that is drawn from ``before``."""
    total = 0.0
    for v in range(before.shape[0]):
        total += before[v] * steps[v, k]
    return total


def forward(start: Vector, steps: Matrix, scores: Matrix, begins: Labels, filtered: Matrix) -> Vector:
    """Fill ``filtered`` (N, K) with p(state | the points so far); returns log p(points), one a sequence, in nats."""
    K, totals = start.shape[0], np.zeros(begins.shape[0] - 1)
    for s in range(begins.shape[0] - 1):
        for t in range(begins[s], begins[s + 1]):
            top = -math.inf
            for k in range(K):
                p = start[k] if t == begins[s] else predicted(filtered[t - 1], steps, k)
                filtered[t, k] = math.log(p) + scores[t, k]
                top = max(top, filtered[t, k])
            total = 0.0
            for k in range(K):
                filtered[t, k] = math.exp(filtered[t, k] - top)
                total += filtered[t, k]
            for k in range(K):
                filtered[t, k] /= total
            totals[s] += top + math.log(total)
    return totals


def backward(steps: Matrix, begins: Labels, filtered: Matrix) -> None:
    """Turn ``filtered`` of ``forward`` into p(state | all points of the sequence)."""
    K = steps.shape[0]
    ratio = np.empty(K)
    for s in range(begins.shape[0] - 1):
        for t in range(begins[s + 1] - 2, begins[s] - 1, -1):
            for k in range(K):
                ratio[k] = filtered[t + 1, k] / predicted(filtered[t], steps, k)
            total = 0.0
            for v in range(K):
                later = 0.0
                for k in range(K):
                    later += steps[v, k] * ratio[k]
                filtered[t, v] *= later
                total += filtered[t, v]
            for v in range(K):
                filtered[t, v] /= total


def draw_path(steps: Matrix, begins: Labels, filtered: Matrix, uniforms: Vector, path: Labels) -> None:
    """Draw ``path`` (N,) from p(states | all points), after ``forward``, by ``uniforms`` (N,) in [0, 1)."""
    K = steps.shape[0]
    shares = np.empty(K)
    for s in range(begins.shape[0] - 1):
        for t in range(begins[s + 1] - 1, begins[s] - 1, -1):
            for k in range(K):
                shares[k] = filtered[t, k] * (steps[k, path[t + 1]] if t + 1 < begins[s + 1] else 1.0)
            path[t] = drawn_by_weight(shares, uniforms[t])


PATH_KERNELS: tuple[Callable[..., Any], ...] = (viterbi, forward, backward, draw_path)
"""The kernels of a backend for paths."""
