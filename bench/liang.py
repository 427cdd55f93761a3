"""Liang2007 Figure 3 again: log joint against time, from a cold start, for Gibbs sampling alone and with other moves.

Run: python bench/liang.py [--seconds 60] [--only NAME] [--runs 1] [--data FOLDER] [--pictures build].

Synthetic: 10,000 points, unit covariance, means of variance 2 in each feature (100 in inference); three starts (of
40 features, 40 clusters), 20 and 80 clusters of 40 features, 10 and 80 features of 40 clusters. MNIST: 10,000 digits,
pixels standardised, 50 principal components, covariance 16 I. AP: 2,246 documents of 10,473 words. FOLDER has images/
and text/ (the environment variable MAPDPM_DATA may name it). All draw alpha, from Gamma(1, 1); parts of a hybrid share
the time; permutations are along random projections, as in the paper's burn-in. A table says what each has reached after
10 seconds and at the end, as nats below the best that any reached; the picture is the paper's. Time is that of the
processor, without compiling.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from paper_map import print_table

from mapdpm import DirichletMultinomial, NormalKnownVariance
from mapdpm.counts import Counts
from mapdpm.samplers import (
    CollapsedGibbs,
    GammaPrior,
    Hybrid,
    PermutationAugmented,
    Progress,
    SequentialSplitMerge,
    sample,
)

EARLY = 10.0
POINTS = 10_000


class Setting(NamedTuple):
    """One panel of the figure."""

    name: str
    X: Any
    likelihood: Any
    init: str = "sequential"


class TimeIsUpError(Exception):
    """Ends a run from its callback."""


def main() -> None:
    """Print the tables, write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run")
    parser.add_argument("--only", help="settings whose name holds this")
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None)
    parser.add_argument("--pictures", type=Path, default=Path("build"), help="folder to write pictures to")
    arguments = parser.parse_args()
    rows, panels = [], {}
    for setting in settings(arguments.data):
        if arguments.only and arguments.only not in setting.name:
            continue
        curves = {name: run(setting, sampler, arguments.seconds) for name, sampler in samplers(setting).items()}
        panels[setting.name] = curves
        best = max(max(joint for _, joint, _ in curve) for curve in curves.values())
        for when in sorted({min(EARLY, arguments.seconds), arguments.seconds}):
            reached = {name: at(curve, when) for name, curve in curves.items()}
            first = max(reached, key=lambda name: reached[name])
            rows.append((setting.name, f"{when:.0f} s", *(f"{best - joint:,.0f}" for joint in reached.values()), first))
        print(f"{setting.name}: clusters in the end {[curve[-1][2] for curve in curves.values()]}", flush=True)
    print_table("Figure 3 (a)-(j): nats below the best of all", ("", "after", *NAMES, "first"), rows)
    draw(panels, arguments.pictures)


def settings(folder: Path | None) -> Iterator[Setting]:
    """The panels."""
    for init in ("single", "sequential", "singletons"):
        yield synthetic(f"start: {init}", 40, 40, init)
    for K in (20, 80):
        yield synthetic(f"{K} clusters", 40, K)
    for D in (10, 80):
        yield synthetic(f"{D} features", D, 40)
    if folder is None:
        print("no MNIST, no AP: name the folder above images/ and text/ by --data or MAPDPM_DATA")
        return
    X = np.load(next((folder / "images").glob("mnist*.npz")))
    images = X["images"][:POINTS].reshape(POINTS, -1).astype(float)
    images = (images - images.mean(axis=0)) / np.maximum(images.std(axis=0), 1.0)
    scores = images @ np.linalg.svd(images, full_matrices=False)[2][:50].T
    yield Setting("MNIST", scores, NormalKnownVariance(0.0, 100.0, 16.0))
    bag = np.load(next((folder / "text").glob("ap_bow*.npz")))
    counts = Counts(
        bag["data"].astype(float), bag["indices"].astype(np.int64), bag["indptr"].astype(np.int64), int(bag["shape"][1])
    )
    yield Setting("AP", counts, DirichletMultinomial(0.1))


def synthetic(name: str, D: int, K: int, init: str = "sequential") -> Setting:
    """10,000 points of K clusters."""
    rng = np.random.default_rng([7, D, K])
    means = rng.normal(0.0, np.sqrt(2.0), (K, D))
    X = means[rng.integers(0, K, POINTS)] + rng.normal(size=(POINTS, D))
    return Setting(name, X, NormalKnownVariance(0.0, 100.0, 1.0), init)


NAMES = ("GIBBS", "+SPLITMERGE", "+PERM", "+SPLITMERGE+PERM")


def samplers(setting: Setting) -> dict[str, Any]:
    """The four of the paper."""
    model = {"likelihood": setting.likelihood, "alpha_prior": GammaPrior(1.0, 1.0)}
    gibbs, pairs = CollapsedGibbs(**model), SequentialSplitMerge(**model)
    orders = PermutationAugmented(burn_in="projections", **model)
    parts = ((gibbs,), (gibbs, pairs), (gibbs, orders), (gibbs, pairs, orders))
    return {name: Hybrid(part, counts="time") for name, part in zip(NAMES, parts, strict=True)}


def run(setting: Setting, sampler: Any, seconds: float) -> list[tuple[float, float, int]]:
    """(Time, log joint, clusters) after each step, all of them of a burn-in."""
    few = rows_of(setting.X, 300)
    for adapt in (5, 0):  # compile
        sample(few, sampler, draws=1, burn_in=adapt, init="sequential", random_state=0)
    curve: list[tuple[float, float, int]] = []
    start = time.process_time()

    def keep(step: Progress) -> None:
        spent = time.process_time() - start
        curve.append((spent, step.log_joint, step.n_clusters))
        if spent > seconds:
            raise TimeIsUpError

    with contextlib.suppress(TimeIsUpError):
        sample(setting.X, sampler, draws=1, burn_in=10**9, init=setting.init, random_state=1, callback=keep)
    return curve


def rows_of(X: Any, n: int) -> Any:
    """The first ``n`` points."""
    return X.rows(np.arange(n)) if hasattr(X, "rows") else X[:n]


def at(curve: list[tuple[float, float, int]], when: float) -> float:
    """The log joint at a time: of the last step that had ended, of the first where none had."""
    before = [joint for spent, joint, _ in curve if spent <= when]
    return before[-1] if before else curve[0][1]


def draw(panels: dict[str, Any], folder: Path) -> None:
    """Write the curves as PNG where there is matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (tables do without)
    except ImportError:
        print("no pictures: matplotlib is not installed (pip install 'mapdpm[plot]')")
        return
    if not panels:
        return
    figure = Figure(figsize=(4.0 * min(3, len(panels)), 3.0 * -(-len(panels) // 3)), layout="constrained")
    for number, (name, curves) in enumerate(panels.items()):
        ax = figure.add_subplot(-(-len(panels) // 3), min(3, len(panels)), number + 1)
        for sampler, curve in curves.items():
            spent, joints = np.array([(t, joint) for t, joint, _ in curve]).T
            ax.plot(spent, joints, label=sampler, linewidth=1.2)
        ax.set_title(name, fontsize="medium")
        ax.set_xlabel("seconds")
        best = max(joint for curve in curves.values() for _, joint, _ in curve)
        ax.set_ylim(best - 0.2 * abs(best), best + 0.01 * abs(best))
    figure.axes[0].set_ylabel("log joint (nats)")
    figure.axes[0].legend(frameon=False, fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "liang_figure3.png", dpi=120)
    print(f"written: {folder / 'liang_figure3.png'}")


if __name__ == "__main__":
    main()
