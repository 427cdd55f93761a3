"""Moves of labels: the figures of Porteous2006, and the speed of explicit labels.

Run: python bench/porteous.py [--only labels|storms|speed] [--data FOLDER] [--runs 10] [--picture FILE]. --data is the
folder above radar/mch_20160711_5min.npz (the environment variable MAPDPM_DATA may name it).

labels, Figure 1: 25 points about (-3, 0), their mirror images, and a point in the middle. Sticks a = 5, b = 0.1; a
prior for which two clusters explain the points. 5,000 steps, of which 100 are a burn-in, from random labels. The share
of draws in which the middle is with points of either side, which by symmetry is the same: over chains, its mean for the
side that has more of it and for the other, and the mean difference of left and right with its standard error.

storms, Figures 2 to 5: rain radar over Switzerland on 11 July 2016, one image in 20 minutes instead of 30, ten of them.
Rain in blocks of 10 x 10 km becomes points at the centre of the block: as many as the rain of an hour in mm over a
constant, so that there are about 896, positions from 0 to 1. Priors of the paper: variance 1, rate 0.005, power 1,
psi0 = 0.01 I, nu0 = 3, the sample mean; nugget 0 (its b is not given, and must be about 1). It says nothing of the
shares: gamma = 1 and decay = 0.7 here. 100 steps from random labels, half of them a burn-in. Reported with and without
exchanges: log p(x, Z) at steps 10, 25, 50 and 100, mean of five runs (Figure 2); the correspondence of the best draw,
the share of neighbouring clusters of neighbouring images with one label (Figures 3 and 4); and the variance of
associations over runs, mean and quantile over pairs of points (Figure 5).

speed: points a second of StickBreakingGibbs beside CollapsedGibbs, at equal numbers of clusters: both start at the
same labels. Steps of both in turn, median ratio of times.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import about
from tables import print_table

from mapdpm import DriftingNormal, NormalGamma, NormalInverseWishart
from mapdpm.diagnostics import association_variance, correspondence
from mapdpm.rng import seeded
from mapdpm.samplers import CollapsedGibbs, DependentDP, StickBreaking, StickBreakingGibbs, Trace, sample
from mapdpm.samplers.given import ChainData

STEPS = (10, 25, 50, 100)
STORM_POINTS, FRAMES, BLOCK = 896, range(0, 40, 4), 10
WAYS: dict[str, tuple[str, ...]] = {"without exchanges": (), "with exchanges": ("slice", "interval", "all")}


def symmetric_points() -> Any:
    """25 points, their mirror images, and one in the middle."""
    left = np.array([-3.0, 0.0]) + np.random.default_rng(1).normal(size=(25, 2))
    return np.vstack([left, [[0.0, 0.0]], left * [-1.0, 1.0]])


def labels(runs: int) -> None:
    """Figure 1."""
    X, rows = symmetric_points(), []
    prior = NormalInverseWishart(m0=[0.0, 0.0], c0=0.1, nu0=50.0, psi0=50.0)
    for name, moves in (("Gibbs alone", ()), ("with swap and permute", ("swap", "permute"))):
        sampler = StickBreakingGibbs(a=5.0, b=0.1, likelihood=prior, label_moves=moves, move_rate=1.0)
        sides, clusters = [], []
        for seed in range(runs):
            trace = sample(X, sampler, draws=4900, burn_in=100, random_state=seed, init="random")
            assert trace.partitions is not None
            together = (trace.partitions[0] == trace.partitions[0][:, 25:26]).mean(axis=0)
            sides.append([together[:25].mean(), together[26:].mean()])
            clusters.append(np.mean(trace.n_clusters))
        off = np.array(sides)[:, 0] - np.array(sides)[:, 1]
        less, more = np.sort(sides, axis=1).mean(axis=0)
        mean = f"{off.mean():+.3f} +- {off.std(ddof=1) / np.sqrt(runs):.3f}"
        rows.append((name, f"{np.mean(clusters):.2f}", f"{more:.3f}", f"{less:.3f}", mean))
    header = ("Figure 1", "clusters", "with one side", "with the other", "left less right")
    print_table("Association of the middle", header, rows)


def storms(path: Path) -> tuple[Any, Any]:
    """Points (x, y) in [0, 1], and the minute of each."""
    with np.load(path) as file:
        rain = file["code_to_mm_per_5min"][file["code"][list(FRAMES)]]
    rain = np.nan_to_num(rain) * 12.0
    height, width = (size // BLOCK * BLOCK for size in rain.shape[1:])
    blocks = (
        rain[:, :height, :width].reshape(len(rain), height // BLOCK, BLOCK, width // BLOCK, BLOCK).mean(axis=(2, 4))
    )
    low, high = 1e-3, blocks.sum()
    for _ in range(60):  # the constant that gives so many points
        middle = np.sqrt(low * high)
        low, high = (middle, high) if np.floor(blocks / middle).sum() > STORM_POINTS else (low, middle)
    counts = np.floor(blocks / high).astype(int)
    t, y, x = np.nonzero(counts)
    longest = max(blocks.shape[1:])
    at = np.stack([(x + 0.5) / longest, 1.0 - (y + 0.5) / longest], axis=1)
    return np.repeat(at, counts[t, y, x], axis=0), np.repeat(20.0 * t, counts[t, y, x])


def storm_sampler(X: Any, moves: tuple[str, ...]) -> DependentDP:
    """The model of section 6; times are numbers of images."""
    family = DriftingNormal(X.mean(axis=0), 1.0, 0.005, nu0=3.0, psi0=0.01)
    return DependentDP(
        sticks=StickBreaking.gamma_family(1.0, 0.7),
        likelihood=family,
        label_moves=moves,
        move_rate=1.0 if moves else None,
    )


def storm_figures(path: Path, runs: int, picture_at: Path | None) -> None:
    """Figures 2 to 5."""
    X, minutes = storms(path)
    frames, rows, found = minutes / 20.0, [], {}
    print(f"{len(X)} points, by image {np.bincount(frames.astype(int)).tolist()}")
    for name, moves in WAYS.items():
        sampler, begin = storm_sampler(X, moves), time.perf_counter()
        climbs = [sample(X, sampler, times=frames, draws=100, random_state=s, init="random") for s in range(runs)]
        seconds = (time.perf_counter() - begin) / runs
        joints = np.array([trace.log_joint[0] for trace in climbs])
        same = [correspondence(X, frames, trace.best_variables["labels"]) for trace in climbs]
        late = [second_half(trace) for trace in climbs]
        spread = association_variance(late)[np.triu_indices(len(X), 1)]
        found[name] = {"trace": climbs[int(joints.max(axis=1).argmax())], "joints": joints, "spread": spread}
        rows.append(
            (name, *(f"{joints[:5, step - 1].mean():.0f}" for step in STEPS),
             f"{np.mean(same):.2f} +- {np.std(same, ddof=1) / np.sqrt(runs):.2f}",
             f"{1e3 * spread.mean():.2f}", f"{1e3 * np.quantile(spread, 0.99):.1f}",
             f"{np.mean([trace.n_clusters[0, 50:].mean() for trace in climbs]):.1f}", f"{seconds:.1f}")
        )  # fmt: skip
    header = ("storms", *(f"log p, step {step}" for step in STEPS), "correspondence", "variance, 1e-3",
              "its 99 %, 1e-3", "clusters", "s a run")  # fmt: skip
    print_table("Figures 2 to 5", header, rows)
    if picture_at is not None:
        picture(X, frames, found, picture_at)


def second_half(trace: Trace) -> Trace:
    """The trace without the first half of its draws."""
    assert trace.partitions is not None
    return trace._replace(partitions=trace.partitions[:, trace.partitions.shape[1] // 2 :])


def picture(X: Any, frames: Any, found: dict[str, Any], path: Path) -> None:
    """The best draws of both ways, image by image, by label."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(4, 5, figsize=(10, 8), sharex=True, sharey=True, layout="constrained")
    for half, (name, each) in enumerate(found.items()):
        drawn = each["trace"].best_variables["labels"]
        ranks = np.unique(drawn, return_inverse=True)[1]
        for t, ax in enumerate(axes[2 * half : 2 * half + 2].ravel()):
            here = frames == t
            ax.scatter(*X[here].T, c=ranks[here] % 20, cmap="tab20", vmin=0, vmax=19, s=5)
            ax.set_title(f"{name}, {20 * t} min", fontsize=8)
    figure.savefig(path, dpi=90)


def speed() -> None:
    """Both samplers on the same points, from the same labels."""
    rows = []
    for D, K in ((2, 5), (2, 20), (6, 10), (6, 40)):
        rng = np.random.default_rng(0)
        z = rng.integers(0, K, 4000)
        X = rng.normal(0.0, 12.0, (K, D))[z] + rng.normal(size=(len(z), D))
        likelihood = NormalGamma(0.0, 0.01, 4.0, 4.0).for_data(X)
        samplers = {
            "CollapsedGibbs": CollapsedGibbs(1.0),
            "StickBreakingGibbs": StickBreakingGibbs(1.0),
            "without moves": StickBreakingGibbs(1.0, label_moves=()),
            "discount 0.3": StickBreakingGibbs(1.0, discount=0.3),
        }
        labels_of_all = np.unique(z, return_inverse=True)[1]
        chains = {
            n: (s.chain(ChainData(likelihood, X), labels_of_all, seeded(1)), seeded(2)) for n, s in samplers.items()
        }
        times: dict[str, list[float]] = {name: [] for name in samplers}
        for turn in range(26):
            for name, sampler in samplers.items():
                begin = time.perf_counter()
                sampler.step(*chains[name])
                if turn > 0:
                    times[name].append(time.perf_counter() - begin)
        base = np.array(times["CollapsedGibbs"])
        for name in samplers:
            ratio = np.median(np.array(times[name]) / base)
            rate = len(X) / np.median(times[name])
            rows.append((f"{D}, {K}", name, str(chains[name][0].n_clusters), f"{rate / 1e6:.2f}", f"{ratio:.2f}"))
    header = ("D, true K", "sampler", "clusters", "million points/s", "time / CollapsedGibbs")
    print_table("Speed", header, rows)


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("labels", "storms", "speed"))
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    print(about())
    if arguments.only in (None, "labels"):
        labels(arguments.runs)
    if arguments.only in (None, "speed"):
        speed()
    if arguments.only in (None, "storms"):
        if arguments.data is None:
            print("no --data and no MAPDPM_DATA: no storms")
            return
        storm_figures(Path(arguments.data) / "radar" / "mch_20160711_5min.npz", arguments.runs, arguments.picture)


if __name__ == "__main__":
    main()
