"""The steps of one chain, and what is kept of its draws."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.protocol import Labels
from mapdpm.rng import Rng
from mapdpm.samplers.chain import Adapted, Array, Chain
from mapdpm.samplers.ends import End
from mapdpm.samplers.hybrid import Hybrid
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.threads import Threads


class Progress(NamedTuple):
    """The report to a callback after each step."""

    chain: int
    step: int
    total: int
    log_joint: float
    n_clusters: int
    seconds: float

    def __str__(self) -> str:
        """One line for a log."""
        found = f"log joint {self.log_joint:.3f}, {self.n_clusters} clusters"
        return f"chain {self.chain}, step {self.step}/{self.total}: {found} ({self.seconds:.2f} s)"


class Plan(NamedTuple):
    """The number and kind of the steps of each chain."""

    sampler: Sampler
    burn_in: int
    thin: int
    draws: int
    keep: tuple[str, ...]
    callback: Callable[[Progress], object] | None
    threads: Threads


class Best(NamedTuple):
    """The draw of the highest log joint."""

    labels: Labels
    log_joint: float
    variables: dict[str, Any]


class Draws:
    """The draws of one chain."""

    def __init__(self, n_draws: int, chain: Chain, partitions: bool) -> None:
        n_points = chain.n_points
        kind = np.min_scalar_type(-n_points)
        self.partitions: Labels | None = np.empty((n_draws, n_points), dtype=kind) if partitions else None
        self.values: dict[str, Array] = {name: np.empty(n_draws) for name in ("log_joint", "acceptance")}
        self.values |= {"n_clusters": np.empty(n_draws, dtype=np.int64), "largest_share": np.empty(n_draws)}
        self.extra: dict[str, list[Array]] = {}
        self.dims: dict[str, tuple[str, ...]] = {}

    def add(self, draw: int, chain: Chain, infos: Iterable[Info]) -> None:
        """Keep where ``chain`` is, after the steps that ``infos`` report."""
        proposed = sum(info.proposed for info in infos)
        accepted = sum(info.accepted for info in infos)
        if self.partitions is not None:
            self.partitions[draw] = chain.partition()
        self.values["log_joint"][draw] = chain.log_joint()
        self.values["acceptance"][draw] = accepted / proposed if proposed else np.nan
        self.values["n_clusters"][draw] = chain.n_clusters
        self.values["largest_share"][draw] = chain.state.counts.max() / chain.n_points
        for name, value in chain.kept().items():
            if np.ndim(value) == 0:
                self.values.setdefault(name, np.empty(len(self.values["log_joint"])))[draw] = value
            else:
                self.extra.setdefault(name, []).append(np.asarray(value))
                self.dims[name] = chain.dims_of(name, np.ndim(value))


def run_chain(plan: Plan, chain: Chain, rng: Rng, number: int) -> tuple[Draws, Best, End]:
    """Take all steps of one chain: its draws, the best of all steps, and where it ended."""
    begin, total = time.perf_counter(), plan.burn_in + plan.draws * plan.thin
    chain.keep(plan.keep)
    best = Best(chain.state.labels, -np.inf, {})
    visited: list[float] = []
    draws = Draws(plan.draws, chain, "partitions" in plan.keep)
    infos: list[Info] = []

    def step(at: int) -> None:
        nonlocal best
        plan.threads.check()
        infos.append(plan.sampler.step(chain, rng))
        chain.trim()
        joint = chain.log_joint()
        worth = joint + plan.sampler.log_hyperprior(chain.prior)
        if at == 0 or worth > best.log_joint:
            best = Best(chain.state.labels.copy(), worth, chain.kept())
        visited.append(chain.n_clusters)
        if plan.callback is not None:
            seconds = time.perf_counter() - begin
            plan.threads.call(plan.callback, Progress(number, at + 1, total, joint, chain.n_clusters, seconds))

    for at in range(plan.burn_in):
        step(at)
    if chain.adapted is None:
        chain.adapted = _adapted(plan.sampler, chain, visited)
        chain.refresh()
    for draw in range(plan.draws):
        infos.clear()
        for at in range(plan.thin):
            step(plan.burn_in + draw * plan.thin + at)
        chain.refresh()
        draws.add(draw, chain, infos)
    return draws, best, End.of(chain, rng)


def _adapted(sampler: Sampler, chain: Chain, n_clusters: list[float]) -> Adapted:
    counts = sampler.counts_for(chain) if isinstance(sampler, Hybrid) else ()
    typical = float(np.mean(n_clusters)) if n_clusters else float(chain.n_clusters)
    return Adapted(typical, counts)


def stacked(arrays: list[Array]) -> Array:
    """Arrays of one number of axes, along a new first one; shorter axes are filled up by ``padding``."""
    shape = np.max([array.shape for array in arrays], axis=0)
    if all(array.shape == tuple(shape) for array in arrays):
        return np.stack(arrays)
    whole = np.full((len(arrays), *shape), padding(arrays[0].dtype), dtype=arrays[0].dtype)
    for entry, array in zip(whole, arrays, strict=True):
        entry[tuple(map(slice, array.shape))] = array
    return whole


def padding(kind: np.dtype[Any]) -> Any:
    """The entry of a trace where an array of a draw is shorter than others: NaN, -1, or 0 for what is never < 0."""
    return np.nan if kind.kind in "fc" else -1 if kind.kind == "i" else 0
