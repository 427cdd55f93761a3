"""Porteous2006: moves of labels in Gibbs sampling of sticks, and storms followed by a dependent Dirichlet process.

Run: python bench/papers/porteous2006.py [--quick] [--only NAME ...] [--data FOLDER]. --data is the folder above
radar/mch_20160711_5min.npz (the environment variable MAPDPM_DATA may name it). Figures 2 to 5 are of the same runs.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import storms
from exhibits import Claim, Exhibit, Setting, run
from matplotlib.figure import Figure
from noise import clearly_above, margin, may_be_zero, shown

from mapdpm import NormalInverseWishart
from mapdpm.diagnostics import association_variance, correspondence
from mapdpm.samplers import StickBreakingGibbs, sample

RUNS, STEPS = 10, (10, 25, 50, 100)
QUICK_RUNS, QUICK_STEPS = 30, (10, 60)
WITHOUT, WITH = "without exchanges", "with exchanges"
WAYS: dict[str, tuple[str, ...]] = {WITHOUT: (), WITH: storms.EXCHANGES}
CLEAR = "the mean difference of runs is above 0 at 1 in 100, by Student's t"
RADAR = (
    "Ten images of rain over Switzerland on 11 July 2016, 20 minutes apart (the paper: 30; its images are not to be "
    "had), as 896 points. Priors of the paper: variance 1, rate 0.005, power 1, psi0 = 0.01 I, nu0 = 3, the sample "
    "mean; it gives no b (12), which is 1 here, and says nothing of the shares (gamma = 1, decay = 0.7 here)."
)
MADE_UP = "Three made-up storms in eight images."
SHARED = "The runs are those of Figure 2."


def symmetric_points() -> Any:
    """25 points, their mirror images, and one in the middle."""
    left = np.array([-3.0, 0.0]) + np.random.default_rng(1).normal(size=(25, 2))
    return np.vstack([left, [[0.0, 0.0]], left * [-1.0, 1.0]])


def figure1(setting: Setting) -> Exhibit:
    """The share of draws in which the middle point is with points of either side."""
    X, steps, chains = symmetric_points(), *((2000, 20) if setting.quick else (5000, RUNS))
    prior = NormalInverseWishart(m0=[0.0, 0.0], c0=0.1, nu0=50.0, psi0=50.0)
    sides = {}
    for name, moves in (("Gibbs alone", ()), ("with moves", ("swap", "permute"))):
        sampler = StickBreakingGibbs(a=5.0, b=0.1, likelihood=prior, label_moves=moves, move_rate=1.0)
        options: dict[str, Any] = {"draws": steps - 100, "burn_in": 100, "init": "random"}
        traces = [sample(X, sampler, random_state=seed, **options).partitions for seed in range(chains)]
        together = np.array([(z[0] == z[0][:, 25:26]).mean(axis=0) for z in traces])
        sides[name] = np.stack([together[:, :25].mean(axis=1), together[:, 26:].mean(axis=1)], axis=1)
    gaps = {name: np.abs(np.diff(each)[:, 0]) for name, each in sides.items()}
    biased, mixed = gaps.values()
    off = np.diff(sides["with moves"])[:, 0]
    claims = (
        Claim(
            "Without moves of labels the middle is with one block more often than with the other.",
            "one block is favoured (a picture)",
            f"{shown(biased)} apart, {shown(mixed)} with moves; margin {margin(biased - mixed):.1f}",
            clearly_above(biased - mixed),
            f"the two shares are further apart than with moves: {CLEAR}",
        ),
        Claim(
            "With them it is with either block equally often.",
            "0.5 and 0.5",
            f"{shown(sides['with moves'][:, 0], 3)} and {shown(sides['with moves'][:, 1], 3)}",
            may_be_zero(off),
            "the mean difference of left and right is one that all but 1 in 10,000 have by chance, by Student's t",
        ),
    )
    head = ("", "with one side", "with the other", "left less right")
    rows = []
    for name, each in sides.items():
        less, more = np.sort(each, axis=1).T
        rows.append((name, shown(more, 3), shown(less, 3), shown(each[:, 0] - each[:, 1], 3)))
    note = (
        f"25 points about (-3, 0), their mirror images, and a point in the middle; a = 5, b = 0.1; {chains} chains of "
        f"{steps:,} steps from random labels, 100 of them a burn-in. The prior is ours (the paper's is not given): "
        "Normal-inverse-Wishart, c0 = 0.1, nu0 = 50, psi0 = 50 I, under which two clusters explain the points."
    )
    return Exhibit("The middle of two equal blocks", claims, (head, *rows), note=note)


class Climbs(NamedTuple):
    """The runs of one way."""

    traces: list[Any]
    joints: Any
    """Log p(x, Z) of each run and step."""
    correspondences: Any
    """Of the best draw of each run."""
    variances: Any
    """Of the association of each pair of points, over runs."""


@cache
def climbs(setting: Setting) -> tuple[Any, Any, dict[str, Climbs]]:
    """The points, their images, and the runs of both ways."""
    made = storms.made_up() if setting.quick else storms.of_radar(setting.file("radar/mch_20160711_5min.npz"))
    X, frames = made
    runs, steps = (QUICK_RUNS, QUICK_STEPS[-1]) if setting.quick else (RUNS, STEPS[-1])
    found = {}
    for name, exchanges in WAYS.items():
        sampler = storms.sampler(X, exchanges)
        options: dict[str, Any] = {"times": frames, "draws": steps, "init": "random"}
        traces = [sample(X, sampler, random_state=seed, **options) for seed in range(runs)]
        same = [correspondence(X, frames, trace.best_variables["labels"]) for trace in traces]
        late = [trace._replace(partitions=trace.partitions[:, steps // 2 :]) for trace in traces]
        spread = association_variance(late)[np.triu_indices(len(X), 1)]
        found[name] = Climbs(traces, np.array([trace.log_joint[0] for trace in traces]), np.array(same), spread)
    return X, frames, found


def about_points(setting: Setting) -> str:
    """What the points of Figures 2 to 5 are."""
    runs, steps = (QUICK_RUNS, QUICK_STEPS) if setting.quick else (RUNS, STEPS)
    points = MADE_UP if setting.quick else RADAR
    return f"{points} {runs} runs of {steps[-1]} steps from random labels, half of them a burn-in."


def figure2(setting: Setting) -> Exhibit:
    """Log p(x, Z) by the step."""
    _, _, found = climbs(setting)
    steps = QUICK_STEPS if setting.quick else STEPS
    ends = {name: each.joints[:, -1] for name, each in found.items()}
    higher = ends[WITH] - ends[WITHOUT]
    claim = Claim(
        "With exchanges of labels the sampler ends in a region of higher probability.",
        "higher (a picture)",
        f"{shown(ends[WITH], 0)} against {shown(ends[WITHOUT], 0)} nats in the end; margin {margin(higher):.1f}",
        clearly_above(higher),
        CLEAR,
    )
    rows = [
        (name, *(shown(each.joints[:, step - 1], 0) for step in steps), shown(clusters(each), 1))
        for name, each in found.items()
    ]
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    ax = figure.add_subplot()
    for name, each in found.items():
        ax.plot(
            np.arange(1, steps[-1] + 1), each.joints.mean(axis=0), linestyle="-" if name == WITH else "--", label=name
        )
    lowest = min(each.joints.mean(axis=0)[4] for each in found.values())
    highest = max(each.joints.mean(axis=0).max() for each in found.values())
    ax.set(xlabel="step", ylabel="log p(x, Z), nats", ylim=(lowest, highest + 0.05 * (highest - lowest)))
    ax.legend(frameon=False)
    figure.savefig(setting.pictures / "porteous2006-figure2.png", dpi=100)
    head = ("", *(f"step {step}" for step in steps), "clusters")
    return Exhibit(
        "Log joint of storms", (claim,), (head, *rows), "porteous2006-figure2.png",
        "Log joint against the step: the line with exchanges is above that without", about_points(setting),
    )  # fmt: skip


def clusters(each: Climbs) -> Any:
    """The mean number of clusters in the second half of each run."""
    return [trace.n_clusters[0, trace.n_clusters.shape[1] // 2 :].mean() for trace in each.traces]


def figure3(setting: Setting) -> Exhibit:
    """The best draw without exchanges."""
    _, _, found = climbs(setting)
    apart = 0.5 - found[WITHOUT].correspondences
    claim = Claim(
        "Without exchanges clusters of the best draw are not in correspondence from image to image.",
        "not in correspondence (a picture)",
        f"{shown(found[WITHOUT].correspondences)} of neighbours have one label",
        clearly_above(apart),
        f"less than half of the neighbouring clusters of neighbouring images have one label: {CLEAR}",
    )
    title = "Storms without exchanges"
    return Exhibit(title, (claim,), note=f"{SHARED} The picture is that of Figure 4.")


def figure4(setting: Setting) -> Exhibit:
    """The best draw with exchanges."""
    X, frames, found = climbs(setting)
    more = found[WITH].correspondences - found[WITHOUT].correspondences
    claims = (
        Claim(
            "With exchanges almost all clusters are brought into correspondence.",
            "almost all (a picture)",
            f"{shown(found[WITH].correspondences)} of neighbours have one label",
            clearly_above(found[WITH].correspondences - 0.75),
            f"more than three quarters have one label: {CLEAR}",
        ),
        Claim(
            "More so than without exchanges.",
            "more (pictures)",
            f"{shown(more)} more; margin {margin(more):.1f}",
            clearly_above(more),
            CLEAR,
        ),
    )
    picture(X, frames, found, setting)
    rows = [(name, shown(each.correspondences)) for name, each in found.items()]
    return Exhibit(
        "Storms with exchanges", claims, (("", "neighbours with one label"), *rows),
        "porteous2006-figure4.png",
        "The images of both ways: without exchanges colours change from image to image, with them storms keep theirs",
        SHARED,
    )  # fmt: skip


def figure5(setting: Setting) -> Exhibit:
    """The variance of associations over runs."""
    _, _, found = climbs(setting)
    less = halves(found[WITHOUT]) - halves(found[WITH])
    claim = Claim(
        "With exchanges runs agree more on which points belong together.",
        "smaller variances (a histogram)",
        ", ".join(f"{name} {1e3 * each.variances.mean():.1f}" for name, each in found.items())
        + f" (mean variance, 1e-3); margin {margin(less):.1f}",
        clearly_above(less),
        "the mean squared difference of the associations of five pairs of runs is smaller at 1 in 100, by Student's t",
    )
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    ax = figure.add_subplot()
    bins = np.linspace(0.0, 0.25, 26)
    for name, each in found.items():
        ax.hist(each.variances, bins, histtype="step", linewidth=1.5, label=name, log=True)
    ax.set(xlabel="variance of the association over runs", ylabel="pairs of points")
    ax.legend(frameon=False)
    figure.savefig(setting.pictures / "porteous2006-figure5.png", dpi=100)
    head = ("", "mean variance, 1e-3", "its 99 % quantile, 1e-3")
    rows = [
        (name, f"{1e3 * each.variances.mean():.2f}", f"{1e3 * np.quantile(each.variances, 0.99):.1f}")
        for name, each in found.items()
    ]
    return Exhibit(
        "Variance of associations over runs", (claim,), (head, *rows), "porteous2006-figure5.png",
        "Histograms of the variance over pairs of points: with exchanges fewer pairs have a large one", SHARED,
    )  # fmt: skip


def halves(each: Climbs) -> Any:
    """The mean squared difference of the associations of two runs, for five pairs of runs."""
    means = []
    for trace in each.traces:
        z = trace.partitions[0, trace.partitions.shape[1] // 2 :]
        means.append(np.mean([draw[:, None] == draw for draw in z], axis=0))
    return np.array([((a - b) ** 2).mean() for a, b in zip(means[::2], means[1::2], strict=True)])


def picture(X: Any, frames: Any, found: dict[str, Climbs], setting: Setting) -> None:
    """The best draws of both ways, image by image, by label."""
    every, columns = np.unique(frames), (len(np.unique(frames)) + 1) // 2
    figure = Figure(figsize=(2.0 * columns, 8.0), layout="constrained")
    axes = figure.subplots(4, columns, sharex=True, sharey=True)
    shades = np.r_[0:20:2, 1:20:2]  # pale colours last
    for half, (name, each) in enumerate(found.items()):
        best = each.traces[int(each.joints.max(axis=1).argmax())]
        ranks = np.unique(best.best_variables["labels"], return_inverse=True)[1]
        for t, ax in zip(every, axes[2 * half : 2 * half + 2].ravel(), strict=False):
            here = frames == t
            ax.scatter(*X[here].T, c=shades[ranks[here] % 20], cmap="tab20", vmin=0, vmax=19, s=5)
            ax.set_title(f"{name}, image {t + 1:.0f}", fontsize=8)
    figure.savefig(setting.pictures / "porteous2006-figure4.png", dpi=90)


EXHIBITS = {"figure-1": figure1, "figure-2": figure2, "figure-3": figure3, "figure-4": figure4, "figure-5": figure5}
QUICK = ("figure-1", "figure-2", "figure-4")

if __name__ == "__main__":
    run("porteous2006", EXHIBITS, QUICK, __doc__)
