"""Log joint against the processor's time from a cold start: the curves of Liang2007 and Chang2013."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mapdpm.samplers import Progress, Sampler, sample


class Start(NamedTuple):
    """Points, the family of their clusters, and the labels that a chain starts from."""

    X: Any
    likelihood: Any
    init: Any = "sequential"


class Clock(NamedTuple):
    """How long a run is, and in what it is measured: seconds of the processor, or steps, which no load changes."""

    limit: float
    unit: str = "seconds"


class Moment(NamedTuple):
    """A chain at a time of its clock."""

    time: float
    log_joint: float
    n_clusters: int


Curve = list[Moment]
Curves = Mapping[str, Sequence[Curve]]
"""The runs of each sampler."""


class TimeIsUpError(Exception):
    """Ends a run from its callback."""


def climb(start: Start, sampler: Sampler, clock: Clock, seed: int) -> Curve:
    """The chain after each step, all of them of a burn-in, until the time is up; at most some hundreds of moments."""
    curve: Curve = []
    begin = time.process_time()

    def keep(step: Progress) -> None:
        spent = time.process_time() - begin if clock.unit == "seconds" else float(step.step)
        last = curve[-1].time if curve else -1.0
        over = spent >= clock.limit
        if spent > min(last * 1.01, last + clock.limit / 300.0) or over:
            curve.append(Moment(spent, step.log_joint, step.n_clusters))
        if over:
            raise TimeIsUpError

    with contextlib.suppress(TimeIsUpError):
        sample(start.X, sampler, draws=1, burn_in=10**9, init=start.init, random_state=seed, callback=keep)
    return curve


def compile_on_few(start: Start, sampler: Sampler) -> None:
    """Run a sampler on few points, so that compiling takes no time of a curve."""
    few = start.X.rows(np.arange(300)) if hasattr(start.X, "rows") else start.X[:300]
    init = start.init if isinstance(start.init, str) else np.arange(len(start.init[:300])) % 3
    sample(few, sampler, draws=1, burn_in=5, init=init, random_state=0)


def panel(start: Start, samplers: Mapping[str, Sampler], clock: Clock, runs: int) -> dict[str, list[Curve]]:
    """The curves of all samplers; runs go round, so that a slow quarter of an hour hits all alike."""
    for sampler in samplers.values():
        compile_on_few(start, sampler)
    curves: dict[str, list[Curve]] = {name: [] for name in samplers}
    for seed in range(runs):
        for name, sampler in samplers.items():
            curves[name].append(climb(start, sampler, clock, seed))
    return curves


def at(curve: Curve, when: float) -> float:
    """The log joint at a time: of the last step that had ended, of the first where none had."""
    before = [moment.log_joint for moment in curve if moment.time <= when]
    return before[-1] if before else curve[0].log_joint


def until(curve: Curve, level: float) -> float:
    """When the log joint reached a level; inf if it never did."""
    return next((moment.time for moment in curve if moment.log_joint >= level), float("inf"))


def best_of(curves: Curves) -> float:
    """The highest log joint of any run."""
    return max(moment.log_joint for runs in curves.values() for curve in runs for moment in curve)


def ends(curves: Curves, name: str) -> Any:
    """How far the runs of a sampler are below the best of all in the end, in nats."""
    return best_of(curves) - np.array([curve[-1].log_joint for curve in curves[name]])


def times(curves: Curves, name: str, near: float = 1e-3) -> list[float]:
    """When each run of a sampler came within a share ``near`` of the best of all; inf if it never did."""
    best = best_of(curves)
    return [until(curve, best - near * abs(best)) for curve in curves[name]]


def all_faster(curves: Curves, one: str, other: str) -> bool:
    """Whether every run of ``one`` is near the best before every run of ``other``; one in 252 by chance for five."""
    return max(times(curves, one)) < min(times(curves, other))


def times_shown(values: Sequence[float]) -> str:
    """The median and the range of times."""
    chosen = (min(values), statistics.median(values), max(values))
    first, middle, last = (f"{each:.2g}" if np.isfinite(each) else "never" for each in chosen)
    return middle if first == last else f"{middle} ({first} to {last})"


def nats_shown(values: Any) -> str:
    """The median and the range of nats."""
    return f"{np.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def draw(panels: Mapping[str, Curves], clock: Clock, columns: int = 3) -> Figure:
    """A panel of curves each, all runs thin; axes show where the samplers end."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(max(5.5, 3.4 * columns), 2.9 * rows + 0.5), layout="constrained")
    for number, (title, curves) in enumerate(panels.items()):
        ax = figure.add_subplot(rows, columns, number + 1)
        last = [curve[-1].log_joint for runs in curves.values() for curve in runs]
        for colour, (sampler, runs) in enumerate(curves.items()):
            for which, curve in enumerate(runs):
                spent, joints, _ = np.array(curve).T
                label = "_" if which else sampler
                ax.plot(spent, joints, label=label, color=f"C{colour}", linewidth=1.0, alpha=0.8)
        ax.set_title(title, fontsize="medium")
        ax.set_xscale("log")
        ax.set_xlabel(clock.unit)
        ax.xaxis.set_minor_formatter("")
        room = max(max(last) - min(last), 1e-4 * abs(max(last)))
        lowest = min(moment.log_joint for runs in curves.values() for curve in runs for moment in curve)
        ax.set_ylim(max(lowest, min(last) - 2.0 * room) - 0.1 * room, max(last) + 0.25 * room)
    figure.axes[0].set_ylabel("log joint (nats)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2 * columns, frameon=False)
    return figure
