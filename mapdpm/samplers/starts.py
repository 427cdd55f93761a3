"""The starts of chains: one cluster, every point alone, labels at random, or a sequential draw (Liang2007, 5.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.jit import compiled_if_possible
from mapdpm.names import CHAIN_STARTS
from mapdpm.objective import candidate_scores
from mapdpm.partition_priors import DirichletProcess
from mapdpm.protocol import Labels, Model, RngVerbs
from mapdpm.samplers._blocks import shuffle
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.chain_data import ChainData
from mapdpm.state import ClusterState, assign, count_used
from mapdpm.validation import check_start, in_order_of_appearance


def check_chain_start(init: Any, n_points: int, most: int | None) -> str | Labels:
    """The name of a start, or labels 0..K-1; ValueError for more clusters than ``most``, unless that is None."""
    start = check_start(init, n_points, CHAIN_STARTS)
    if not isinstance(start, str):
        labels = in_order_of_appearance(start)
        if most is not None and labels.max() >= most:
            msg = f"init has {labels.max() + 1} clusters, and n_components is {most}: raise it, or merge labels"
            raise ValueError(msg)
        return labels
    if start == "singletons" and most is not None and most < n_points:
        msg = f"init='singletons' makes {n_points} clusters, and n_components is {most}; use 'sequential' or 'single'"
        raise ValueError(msg)
    return start


def start(chain: Chain, init: str | Labels, rng: RngVerbs) -> None:
    """Put ``chain`` at ``init``."""
    N = chain.n_points
    if not isinstance(init, str):
        chain.become(init)
    elif init == "sequential":
        _draw_in_sequence(chain, rng)
    elif init == "random":
        K = min(round(np.cbrt(N)), getattr(chain.prior, "n_components", N))
        chain.become(in_order_of_appearance(np.array([rng.integer(K) for _ in range(N)])))
    else:
        chain.become(np.zeros(N, dtype=np.int64) if init == "single" else np.arange(N))


def labels_without_order(data: ChainData, gamma: float, init: str | Labels, rng: RngVerbs) -> Labels:
    """The labels of a start under ``gamma``, as if points had neither groups nor an order."""
    labels = np.zeros(point_set(data.data).n_points, dtype=np.int64)
    flat = Chain(data.likelihood, DirichletProcess(gamma), data.data, labels)
    start(flat, init, rng)
    flat.refresh()
    return flat.state.labels


def sequential_draw(model: Model, state: ClusterState, order: Labels, first: int, rng: RngVerbs) -> int:
    """Draw the slots of points ``order[first:]``, each given those before it.

    Returns the position of the first point that had no free slot; if all had one, the number of points.
    """
    likelihood, prior, data, _ = model
    capacity = state.counts.shape[0]
    scores = np.empty(capacity)
    used = count_used(state)
    for at in range(first, order.shape[0]):
        if used == capacity:
            return at
        candidate_scores(likelihood, prior, data, None, state, order[at], scores)
        drawn = rng.categorical(scores)
        used += int(state.counts[drawn] == 0)
        assign(likelihood, data, None, state, order[at], drawn)
    return int(order.shape[0])


_sequential_draw = compiled_if_possible(sequential_draw)


def _draw_in_sequence(chain: Chain, rng: RngVerbs) -> None:
    """Draw the labels one after the other, in a random order, each from its conditional given those before it."""
    order = np.arange(chain.n_points)
    shuffle(order, chain.n_points, rng)
    chain.clear()
    at = 0
    while at < chain.n_points:
        at = _sequential_draw(chain.model, chain.reserve(), order, at, rng)
