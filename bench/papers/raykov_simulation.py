"""Raykov2014, section 4.1: sets drawn from the model, and what MAP-DPM and Gibbs sampling make of each."""

from __future__ import annotations

import functools
import math
import time
from typing import Any, NamedTuple

import numpy as np
from exhibits import Setting
from numpy.typing import NDArray

from mapdpm import MAPDPM, metrics
from mapdpm.backends import BACKENDS, resolve
from mapdpm.backends.generic import left_out
from mapdpm.diagnostics import raftery_lewis
from mapdpm.jit import compiled
from mapdpm.objective import best_slot, candidate_scores
from mapdpm.partition_priors import DirichletProcess
from mapdpm.protocol import Labels, Model, RngVerbs
from mapdpm.rng import seeded
from mapdpm.samplers import Chain, CollapsedGibbs, Info, sample
from mapdpm.state import ClusterState, assign, empty, slots_in_order, unassign
from mapdpm.testing.data import crp_mixture

POINTS, ALPHA = 600, 3.0
SWEEPS, LATE = 2000, 10  # of Gibbs sampling; draws of its second half that are scored
WARM_UP = 200  # sweeps that the diagnostic does not see
MAP, FULL, GIBBS = "MAP-DPM", "MAPDPM, moves", "Gibbs"

SETS, QUICK_SETS = 100, 20
SIMULATED = (
    "{sets} sets of 600 points drawn as in section 4.1 (alpha 3, m0 1, c0 0.1, a0 1, b0 10), fitted at the parameters "
    "they were drawn with; 600 more points of each are the test set. Gibbs is `CollapsedGibbs` from labels that are "
    "drawn one after the other, {sweeps:,} sweeps; its scores are means over {late} draws of the second half. MAP-DPM "
    "is `MAPDPM(moves=())`, the paper's algorithm from a sequential start. MAPDPM is the library's search with merges "
    "and splits, the best of ten runs. Iterations of Gibbs are those that Raftery and Lewis ask for of the log joint, "
    "after {warm_up} sweeps, with r = .01 (see Table 3: the paper prints .1, and its counts are those of .01). An "
    "empty cluster is one whose last point joins another cluster."
)

Array = NDArray[Any]


class Drawn(NamedTuple):
    """A set: points to fit and to predict, their labels, and the likelihood that they were drawn with."""

    X: Array
    labels: Labels
    test: Array
    test_labels: Labels
    likelihood: Any


class Runs(NamedTuple):
    """Figures by algorithm, then by name, an entry a set; and sizes of clusters, largest first, (sets, POINTS)."""

    figures: dict[str, dict[str, Array]]
    sizes: dict[str, Array]


def note(setting: Setting, more: str) -> str:
    """The setting of what is measured on the sets of Table 1."""
    return f"The runs are those of Table 1, on {n_sets(setting)} sets. {more}"


def n_sets(setting: Setting) -> int:
    """How many sets are drawn."""
    return QUICK_SETS if setting.quick else SETS


def drawn(seed: int) -> Drawn:
    """Set number ``seed``."""
    X, labels, likelihood = crp_mixture(np.random.default_rng([41, seed]), 2 * POINTS, ALPHA)
    return Drawn(X[:POINTS], labels[:POINTS], X[POINTS:], labels[POINTS:], likelihood)


@functools.cache
def runs(n_sets: int) -> Runs:
    """All algorithms on the first sets: made once for all exhibits of a run."""
    rows: dict[str, list[dict[str, float]]] = {MAP: [], FULL: [], GIBBS: []}
    sizes = {name: np.zeros((n_sets, POINTS)) for name in ("truth", *rows)}
    for seed in range(n_sets):
        one = drawn(seed)
        sizes["truth"][seed] = sorted_sizes(one.labels)
        found: dict[str, tuple[dict[str, float], list[Labels]]] = {
            MAP: by_map(one),
            FULL: by_moves(one),
            GIBBS: by_gibbs(one, seed),
        }
        for name, (figures, partitions) in found.items():
            scored = [scores(one, labels) for labels in partitions]
            rows[name].append(figures | {key: float(np.mean([s[key] for s in scored])) for key in scored[0]})
            sizes[name][seed] = sorted_sizes(partitions[-1])
    figures = {name: {key: np.array([row[key] for row in each]) for key in each[0]} for name, each in rows.items()}
    for each in (MAP, FULL):
        figures[each]["above Gibbs"] = figures[each]["log joint"] - figures[GIBBS]["log joint"]
    return Runs(figures, sizes)


def sorted_sizes(labels: Labels) -> Array:
    """N_k, largest first, and zeros."""
    return np.sort(np.bincount(labels, minlength=POINTS))[::-1]


def by_map(one: Drawn) -> tuple[dict[str, float], list[Labels]]:
    """The paper's algorithm: sweeps from a sequential start."""
    start = time.perf_counter()
    model = MAPDPM(ALPHA, likelihood=one.likelihood, moves=()).fit(one.X)
    seconds = time.perf_counter() - start
    emptied, labels, pseudo = counted_sweeps(one)
    assert np.array_equal(labels, model.labels_), "the sweeps that count are not those of the library"
    figures = {"iterations": model.n_sweeps_, "seconds": seconds, "emptied": emptied, "log joint": model.log_joint_}
    falls = -np.minimum(np.diff(pseudo), 0.0)
    rounding = 1e-9 * abs(pseudo[0])
    return figures | {"falls": np.count_nonzero(falls > rounding), "largest fall": falls.max()}, [model.labels_]


def by_moves(one: Drawn) -> tuple[dict[str, float], list[Labels]]:
    """The library's default search, with ten runs."""
    start = time.perf_counter()
    model = MAPDPM(ALPHA, likelihood=one.likelihood, n_restarts=10, random_state=0).fit(one.X)
    figures = {"iterations": model.n_sweeps_, "seconds": time.perf_counter() - start, "emptied": math.nan}
    return figures | {"log joint": model.log_joint_}, [model.labels_]


def by_gibbs(one: Drawn, seed: int) -> tuple[dict[str, float], list[Labels]]:
    """Collapsed Gibbs sampling from labels that are drawn one after the other; draws of the second half."""
    start = time.perf_counter()
    sampler = CountingGibbs(ALPHA, likelihood=one.likelihood)
    trace = sample(one.X, sampler, draws=SWEEPS, random_state=seed)
    seconds = time.perf_counter() - start
    n_clusters = trace.n_clusters[0].astype(float)
    figures = {
        "iterations": asked_for(trace.log_joint[0]),
        "iterations, K": asked_for(n_clusters),
        "iterations, r": asked_for(trace.log_joint[0], r=0.1),
        "seconds": seconds,
        "emptied": sampler.emptied,
        "log joint": trace.best_log_joint,
    }
    late = trace.partitions[0, SWEEPS // 2 :: SWEEPS // (2 * LATE)]
    return figures, [labels.astype(np.int64) for labels in late]


def asked_for(x: Array, r: float = 0.01) -> float:
    """The run length that Raftery and Lewis ask for at q = .025, s = .95; nan where the chain cannot tell."""
    return float(raftery_lewis(x[WARM_UP:], q=0.025, r=r, s=0.95).n_total)


def scores(one: Drawn, labels: Labels) -> dict[str, float]:
    """Agreement with the true labels, the difference in K, and log densities, of a partition of the points."""
    prior, backend = DirichletProcess(ALPHA), resolve("auto", one.likelihood)
    model = Model(one.likelihood, prior, one.X)
    state = empty(one.likelihood, 0, int(labels.max()) + 2)._replace(labels=labels.copy())
    backend.statistics(model, state)
    new = Model(one.likelihood, prior, one.test)
    slots, densities, gains = np.empty(POINTS, np.int64), np.empty(POINTS), np.empty(POINTS)
    backend.best_slots(new, state, True, slots)
    backend.log_densities(new, state, densities)
    LEAVE_ONE_OUT(model, state, gains)
    return {
        **agreement("", one.labels, labels),
        **agreement("test ", one.test_labels, slots),
        "difference in K": float(labels.max() + 1 - len(np.unique(one.labels))),
        "NLL": -densities.mean(),
        "NLL, left out": -gains.mean(),
        "(16)": -(gains.sum() + prior.log_partition(state.rows[:-1, 0])) / POINTS,
    }


def agreement(where: str, truth: Labels, found: Labels) -> dict[str, float]:
    """NMI by the sum and by the maximum, and the AMI by both."""
    return {
        f"{where}NMI sum": metrics.normalized_mutual_info(truth, found),
        f"{where}NMI max": metrics.normalized_mutual_info(truth, found, average_method="max"),
        f"{where}AMI": metrics.adjusted_mutual_info(truth, found),
        f"{where}AMI max": metrics.adjusted_mutual_info(truth, found, average_method="max"),
    }


# ---- clusters that lose their last point -----------------------------------------------------------------------------


def sweep_that_counts(
    model: Model, state: ClusterState, start: int, draws: bool, emptied: Labels, rng: RngVerbs
) -> tuple[int, int]:
    """``sweep``, or with ``draws`` ``gibbs_sweep``, of the library; adds to ``emptied`` how many clusters vanished.

    A point that was alone and opens a cluster again does not count.
    """
    likelihood, prior, data, weights = model
    scores, used, moved = np.empty(state.counts.shape[0]), 0, 0
    for k in range(state.counts.shape[0]):
        used += int(state.counts[k] > 0)
    for i in range(start, state.labels.shape[0]):
        if used == state.counts.shape[0]:
            return i, moved
        k = unassign(likelihood, data, weights, state, i)
        alone = state.counts[k] == 0
        free = candidate_scores(likelihood, prior, data, weights, state, i, scores)
        to = rng.categorical(scores) if draws else best_slot(scores, free, free if alone else k)
        opens = state.counts[to] == 0
        emptied[0] += int(alone and not opens)
        used += int(opens) - int(alone)
        moved += int(not (alone and opens) and to != k)
        assign(likelihood, data, weights, state, i, to)
    return int(state.labels.shape[0]), moved


SWEEP, LEAVE_ONE_OUT = compiled(sweep_that_counts), compiled(left_out)


class CountingGibbs(CollapsedGibbs):
    """``CollapsedGibbs``, which also counts clusters that vanish. Its draws are the same."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._emptied = np.zeros(1, np.int64)

    @property
    def emptied(self) -> int:
        """How many clusters have vanished."""
        return int(self._emptied[0])

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """A sweep over all points."""
        start, moved = 0, 0
        while start < chain.n_points:
            state = chain.reserve()
            start, more = SWEEP(chain.model, state, start, True, self._emptied, rng)
            moved += more
        return Info(moved=moved, n_clusters=chain.n_clusters)


def counted_sweeps(one: Drawn) -> tuple[int, Labels, list[float]]:
    """Sweeps from a sequential start until no point moves: clusters that vanished, labels, (16) after each sweep."""
    prior = DirichletProcess(ALPHA)
    model = Model(one.likelihood, prior, one.X)
    state = empty(one.likelihood, POINTS, 64)
    BACKENDS["numba"].sequential_start(model, state, np.arange(POINTS), False)
    emptied, moved, gains, pseudo = np.zeros(1, np.int64), 1, np.empty(POINTS), []
    while moved:
        _, moved = SWEEP(model, state, 0, False, emptied, seeded(0))
        LEAVE_ONE_OUT(model, state, gains)
        pseudo.append(gains.sum() + prior.log_partition(state.rows[state.counts > 0, 0]))
    return int(emptied[0]), slots_in_order(state)[1], pseudo
