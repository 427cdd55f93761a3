"""Liang2007, Figure 3: log joint against time from a cold start, for Gibbs sampling alone and with other moves.

Run: python bench/liang.py [--seconds 10] [--runs 2] [--only NAME] [--data FOLDER] [--folder build/liang].

Synthetic: 10,000 points, unit covariance, means of variance 2 in each feature (100 in inference); three starts (of
40 features, 40 clusters), 20 and 80 clusters of 40 features, 10 and 80 features of 40 clusters. MNIST: 10,000 digits,
pixels standardised, 50 principal components, covariance 16 I. AP: 2,246 documents of 10,473 words. --data has images/
and text/ (the environment variable MAPDPM_DATA may name it). All draw alpha, from Gamma(1, 1); parts of a hybrid share
the time; permutations are along random projections, as in the paper's burn-in. A table says what each has reached after
1 and 10 seconds and at the end, as nats below the best that any reached, medians of runs; the picture is the paper's.
Time is that of the processor, without compiling.

mixing: 1,000 digits in two principal components, orders drawn uniformly; the autocorrelation of the number of clusters
and of the size of the largest, by time.

Each panel's curves are kept in --folder, and what is there is not run again: by 60 seconds it takes an hour.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tables import print_table

from mapdpm import DirichletMultinomial, NormalKnownVariance
from mapdpm.data.counts import Counts
from mapdpm.diagnostics import autocorrelation, autocorrelation_time
from mapdpm.rng import Rng
from mapdpm.samplers import (
    Chain,
    CollapsedGibbs,
    GammaPrior,
    Hybrid,
    PermutationAugmented,
    Progress,
    Sampler,
    SequentialSplitMerge,
    sample,
)

EARLY = (1.0, 10.0)
POINTS = 10_000
NEAR = 1e-3
TICK = 0.002
LAGS = (0.02, 0.1, 0.5)
NAMES = ("GIBBS", "+SPLITMERGE", "+PERM", "+SPLITMERGE+PERM")


class Setting(NamedTuple):
    """One panel of the figure."""

    X: Any
    likelihood: Any
    init: str = "sequential"


class TimeIsUpError(Exception):
    """Ends a run from its callback."""


def main() -> None:
    """Print the tables, write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run; 60 in the documentation")
    parser.add_argument("--runs", type=int, default=2, help="of each sampler, with seeds of their own")
    parser.add_argument("--only", help="panels whose name holds this")
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None)
    parser.add_argument("--folder", type=Path, default=Path("build/liang"), help="keeps curves and pictures")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    panels = {}
    for name, setting in settings(arguments.data).items():
        if not arguments.only or arguments.only in name:
            file = arguments.folder / f"{name.replace(' ', '_')}.json"
            if not file.exists():
                curves = panel(setting(), arguments.seconds, arguments.runs)
                file.write_text(json.dumps(curves), encoding="utf-8")
            panels[name] = json.loads(file.read_text(encoding="utf-8"))
            print(name, {sampler: [curve[-1][2] for curve in curves] for sampler, curves in panels[name].items()})
    if panels:
        report(panels, arguments.seconds)
        draw(panels, arguments.folder)
    if arguments.data is not None and (not arguments.only or arguments.only in "mixing"):
        mixing(arguments.data, arguments.folder)


def settings(folder: Path | None) -> dict[str, Callable[[], Setting]]:
    """The panels by name; what makes them is called when they are run."""
    made: dict[str, Callable[[], Setting]] = {}
    for init in ("single", "sequential", "singletons"):
        made[f"start {init}"] = partial(synthetic, 40, 40, init)
    for K in (20, 80):
        made[f"{K} clusters"] = partial(synthetic, 40, K)
    for D in (10, 80):
        made[f"{D} features"] = partial(synthetic, D, 40)
    if folder is None:
        print("no MNIST, no AP: name the folder above images/ and text/ by --data or MAPDPM_DATA")
        return made
    made["MNIST"] = lambda: Setting(digits(folder, POINTS, 50), NormalKnownVariance(0.0, 100.0, 16.0))
    made["AP"] = lambda: Setting(documents(folder), DirichletMultinomial(0.1))
    return made


def synthetic(D: int, K: int, init: str = "sequential") -> Setting:
    """10,000 points of K clusters."""
    rng = np.random.default_rng([7, D, K])
    means = rng.normal(0.0, np.sqrt(2.0), (K, D))
    X = means[rng.integers(0, K, POINTS)] + rng.normal(size=(POINTS, D))
    return Setting(X, NormalKnownVariance(0.0, 100.0, 1.0), init)


def digits(folder: Path, n: int, D: int) -> Any:
    """The first ``n`` digits, in ``D`` principal components."""
    images = np.load(next((folder / "images").glob("mnist*.npz")))["images"][:n].reshape(n, -1).astype(float)
    images = (images - images.mean(axis=0)) / np.maximum(images.std(axis=0), 1.0)
    return images @ np.linalg.svd(images, full_matrices=False)[2][:D].T


def documents(folder: Path) -> Counts:
    """The news of AP as counts of words."""
    bag = np.load(next((folder / "text").glob("ap_bow*.npz")))
    return Counts(
        bag["data"].astype(float), bag["indices"].astype(np.int64), bag["indptr"].astype(np.int64), int(bag["shape"][1])
    )


def samplers(likelihood: Any, **orders: Any) -> dict[str, Hybrid]:
    """The four of the paper."""
    model = {"likelihood": likelihood, "alpha_prior": GammaPrior(1.0, 1.0)}
    gibbs, pairs = CollapsedGibbs(**model), SequentialSplitMerge(**model)
    cuts = PermutationAugmented(epsilon=1e-32, **orders, **model)  # the paper's
    parts = ((gibbs,), (gibbs, pairs), (gibbs, cuts), (gibbs, pairs, cuts))
    return {name: Hybrid(part, counts="time") for name, part in zip(NAMES, parts, strict=True)}


def panel(setting: Setting, seconds: float, runs: int) -> dict[str, list[list[tuple[float, float, int]]]]:
    """The curves of all samplers; runs go round, so that a slow quarter of an hour hits all alike."""
    named = samplers(setting.likelihood, burn_in="projections")
    few = setting.X.rows(np.arange(300)) if hasattr(setting.X, "rows") else setting.X[:300]
    for sampler in named.values():  # compile
        sample(few, sampler, draws=1, burn_in=5, random_state=0)
    curves: dict[str, list[list[tuple[float, float, int]]]] = {name: [] for name in named}
    for seed in range(runs):
        for name, sampler in named.items():
            curves[name].append(climb(setting, sampler, seconds, seed))
    return curves


def climb(setting: Setting, sampler: Sampler, seconds: float, seed: int) -> list[tuple[float, float, int]]:
    """(Time, log joint, clusters) after each step, all of them of a burn-in; at most some hundreds of them."""
    curve: list[tuple[float, float, int]] = []
    start = time.process_time()

    def keep(step: Progress) -> None:
        spent = time.process_time() - start
        if not curve or spent > min(curve[-1][0] * 1.01, curve[-1][0] + seconds / 300.0) or spent > seconds:
            curve.append((spent, step.log_joint, step.n_clusters))
        if spent > seconds:
            raise TimeIsUpError

    with contextlib.suppress(TimeIsUpError):
        sample(setting.X, sampler, draws=1, burn_in=10**9, init=setting.init, random_state=seed, callback=keep)
    return curve


def report(panels: dict[str, Any], seconds: float) -> None:
    """Print how far each sampler is from the best of all."""
    rows, times = [], []
    for panel_name, curves in panels.items():
        best = max(max(joint for _, joint, _ in curve) for runs in curves.values() for curve in runs)
        for when in sorted({*(min(when, seconds) for when in EARLY), seconds}):
            below = {name: [best - at(curve, when) for curve in runs] for name, runs in curves.items()}
            first = min(below, key=lambda name: statistics.median(below[name]))
            cells = [f"{statistics.median(b):,.0f} ({min(b):,.0f}-{max(b):,.0f})" for b in below.values()]
            rows.append((panel_name, f"{when:.0f} s", *cells, first))
        near = {name: [until(curve, best - NEAR * abs(best)) for curve in runs] for name, runs in curves.items()}
        times.append(
            (
                panel_name,
                *(f"{statistics.median(each):.2g} ({min(each):.2g}-{max(each):.2g})" for each in near.values()),
            )
        )
    title = "Figure 3 (a)-(j): nats below the best of all, median of runs (range)"
    print_table(title, ("", "after", *NAMES, "first"), rows)
    print_table(f"Seconds until within {NEAR:.1%} of the best", ("", *NAMES), times)


def at(curve: list[tuple[float, float, int]], when: float) -> float:
    """The log joint at a time: of the last step that had ended, of the first where none had."""
    before = [joint for spent, joint, _ in curve if spent <= when]
    return before[-1] if before else curve[0][1]


def until(curve: list[tuple[float, float, int]], level: float) -> float:
    """When the log joint reached a level; inf if it never did."""
    return next((spent for spent, joint, _ in curve if joint >= level), float("inf"))


def mixing(data: Path, folder: Path, burn_in: int = 500, seconds: float = 60.0) -> None:
    """Print the autocorrelation of two statistics after a burn-in, and draw it."""
    X = digits(data, 1000, 2)
    likelihood = NormalKnownVariance(0.0, 100.0, 16.0).for_data(X)
    rows = []
    curves: dict[str, dict[str, NDArray[np.float64]]] = {"number of clusters": {}, "largest cluster": {}}
    for name, sampler in samplers(likelihood, permutations="uniform").items():
        trace = sample(X, sampler, draws=1, burn_in=burn_in, random_state=1)
        chain = Chain(likelihood, sampler.target.prior, X, trace.ends[0].labels)
        seen = visits(sampler, chain, trace.ends[0].restored(chain), seconds)
        ticks = np.searchsorted(seen[:, 0], np.arange(seen[0, 0], seen[-1, 0], TICK), side="right") - 1
        cells = []
        for column, panel_curves in enumerate(curves.values(), 1):
            values = seen[ticks, column]
            rho = panel_curves[name] = autocorrelation(values)
            cells += [*(f"{rho[round(lag / TICK)]:.2f}" for lag in LAGS), f"{autocorrelation_time(values) * TICK:.3f}"]
        rows.append((name, *cells))
        parts = ", ".join(f"{count} of {type(part).__name__}" for part, count in turns(sampler, chain))
        print(f"{name}: {len(seen):,} visits ({parts}), clusters on average {seen[ticks, 1].mean():.2f}", flush=True)
    lags = [f"{lag:g} s" for lag in LAGS]
    head = ("", *(f"K, {lag}" for lag in lags), "tau, s", *(f"largest, {lag}" for lag in lags), "tau, s")
    print_table("Figure 3 (k), (l): autocorrelation by the processor's time", head, rows)
    draw_mixing(curves, folder)


def visits(sampler: Hybrid, chain: Chain, rng: Rng, seconds: float) -> NDArray[np.float64]:
    """(Time, number of clusters, size of the largest) after each move of each part."""
    seen: list[tuple[float, float, float]] = []
    start = time.process_time()
    while not seen or seen[-1][0] < seconds:
        for part, count in turns(sampler, chain):
            for _ in range(count):
                part.step(chain, rng)
                seen.append((time.process_time() - start, float(chain.n_clusters), float(chain.sizes.max())))
    return np.array(seen)


def turns(sampler: Hybrid, chain: Chain) -> list[tuple[Sampler, int]]:
    """Each part, and how often it runs in a step after the burn-in of ``chain``."""
    assert chain.adapted is not None
    return list(zip(sampler.samplers, chain.adapted.counts, strict=True))


def draw(panels: dict[str, Any], folder: Path) -> None:
    """Write the curves as PNG where there is matplotlib."""
    figure = new_figure(4.0 * min(3, len(panels)), 3.0 * -(-len(panels) // 3))
    if figure is None:
        return
    for number, (name, curves) in enumerate(panels.items()):
        ax = figure.add_subplot(-(-len(panels) // 3), min(3, len(panels)), number + 1)
        ends = [curve[-1][1] for runs in curves.values() for curve in runs]
        for colour, (sampler, runs) in enumerate(curves.items()):
            for which, curve in enumerate(runs):
                spent, joints, _ = np.array(curve).T
                label = None if which else sampler
                ax.plot(spent, joints, label=label, color=f"C{colour}", linewidth=1.2, alpha=0.8)
        ax.set_title(name, fontsize="medium")
        ax.set_xscale("log")
        ax.set_xlabel("seconds")
        ax.xaxis.set_minor_formatter("")
        room = max(0.25 * (max(ends) - min(ends)), 0.02 * abs(max(ends)))
        ax.set_ylim(min(ends) - room, max(ends) + room)
    figure.axes[0].set_ylabel("log joint (nats)")
    figure.axes[0].legend(frameon=False, fontsize="small")
    write(figure, folder / "figure3.png")


def draw_mixing(curves: dict[str, Any], folder: Path) -> None:
    """Write the autocorrelations as PNG where there is matplotlib."""
    figure = new_figure(8.0, 3.0)
    if figure is None:
        return
    n = round(max(LAGS) / TICK)
    for number, (statistic, lines) in enumerate(curves.items()):
        ax = figure.add_subplot(1, len(curves), number + 1)
        for name, rho in lines.items():
            ax.plot(TICK * np.arange(n), rho[:n], label=name, linewidth=1.2)
        ax.set_title(statistic, fontsize="medium")
        ax.set_xlabel("lag (seconds)")
    figure.axes[0].set_ylabel("autocorrelation")
    figure.axes[0].legend(frameon=False, fontsize="small")
    write(figure, folder / "figure3_mixing.png")


def new_figure(width: float, height: float) -> Any:
    """An empty one; None without matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (tables do without)
    except ImportError:
        print("no pictures: matplotlib is not installed (pip install 'mapdpm[plot]')")
        return None
    return Figure(figsize=(width, height), layout="constrained")


def write(figure: Any, file: Path) -> None:
    """Save it, and say where."""
    figure.savefig(file, dpi=120)
    print(f"written: {file}")


if __name__ == "__main__":
    main()
