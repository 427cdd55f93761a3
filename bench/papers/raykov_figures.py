"""Raykov2014, Figures 2 to 4: a drawn set, and sizes of clusters over drawn sets."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from exhibits import Exhibit, Setting
from matplotlib.figure import Figure
from raykov_rules import above_zero, steady, verdict
from raykov_simulation import ALPHA, FULL, GIBBS, MAP, POINTS, Array, Drawn, drawn, n_sets, note, runs, sorted_sizes

STYLES = {"truth": "k-o", GIBBS: "C2-v", MAP: "C1--s", FULL: "C0-^"}


def figure_2(setting: Setting) -> Exhibit:
    """A drawn set, and how many small clusters there are."""
    sets = 40 if setting.quick else 400
    sizes = [sorted_sizes(drawn(seed).labels) for seed in range(sets)]
    small = np.array([np.count_nonzero((each > 0) & (each <= 3)) for each in sizes], dtype=float)
    K = np.array([np.count_nonzero(each) for each in sizes], dtype=float)
    i = np.arange(POINTS)
    expected = float((ALPHA / (ALPHA + i)).sum())
    chosen = next(seed for seed in itertools.count() if is_like_theirs(sorted_sizes(drawn(seed).labels)))
    draw_points(drawn(chosen), setting.pictures / "raykov2014-figure2.png")
    biggest = int(sorted_sizes(drawn(chosen).labels)[0])
    claims = [
        verdict(
            "a sample has K = 18 clusters",
            ("18", f"{K.mean():.1f} ({2 * K.std():.1f}) over {sets} sets"),
            abs(18 - expected) <= 2 * K.std(),
            f"18 is within two standard deviations of the expected K, which is {expected:.1f}",
        ),
        verdict(
            "the biggest cluster has N_k = 18 points",
            ("18", f"{biggest} in the set below"),
            POINTS / 18 <= 18,
            "18 clusters of at most 18 points can hold all 600",
            "They hold 324 at most. The figure must be a slip: 18 is the number of clusters.",
        ),
        above_zero(
            "sizes vary, with many small clusters of only a few observations",
            ("two clusters of one point", f"{small.mean():.1f} clusters of at most three points, of {K.mean():.1f}"),
            small - 0.1 * K,
            named="the mean number of clusters of at most three points, less a tenth of K,",
        ),
    ]
    words = (
        f"Set {chosen} of those drawn as in section 4.1: the first with 18 clusters, two of them of one point. A few "
        "far points lie outside the frame."
    )
    alt = "600 points in 18 overlapping clusters of very different sizes and widths, a colour each"
    return Exhibit("A set drawn from the model", claims, picture="raykov2014-figure2.png", alt=alt, note=words)


def is_like_theirs(sizes: Array) -> bool:
    """Whether there are 18 clusters, two of them of one point. A few far points lie outside the frame."""
    return np.count_nonzero(sizes) == 18 and np.count_nonzero(sizes == 1) == 2


def draw_points(one: Drawn, path: Path) -> None:
    """The points of a set, coloured by cluster, large clusters first."""
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    ax = figure.subplots()
    order = np.argsort(-np.bincount(one.labels), kind="stable")
    for rank, k in enumerate(order):
        mine = one.X[one.labels == k]
        ax.plot(*mine.T, "osD^v<>PX*"[rank // 10], color=f"C{rank % 10}", markersize=3.2, linewidth=0, alpha=0.75)
    low, high = np.quantile(one.X, [0.02, 0.98], axis=0)
    ax.set(xlim=(low[0] - 5, high[0] + 5), ylim=(low[1] - 5, high[1] + 5), xlabel="$x_1$", ylabel="$x_2$")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def figure_3(setting: Setting) -> Exhibit:
    """The median of the sizes of clusters."""
    return partitions(setting, "figure3", {0.5: "median"})


def figure_4(setting: Setting) -> Exhibit:
    """The 5th and 95th quantiles."""
    return partitions(setting, "figure4", {0.05: "5th quantile", 0.95: "95th quantile"})


def partitions(setting: Setting, name: str, panels: dict[float, str]) -> Exhibit:
    """Quantiles of N_k / N over sets, by rank; and how many clusters the curves have, over sets drawn again."""
    sizes = runs(n_sets(setting)).sizes
    share = 0.8 if setting.quick else 0.999  # of few sets the samples differ more
    claims, table = [], [["clusters of the curve", *STYLES]]
    for q, words in panels.items():
        lengths = {each: curve_length(rows, q) for each, rows in sizes.items()}
        again = resampled(sizes, q)
        table.append([words, *(str(lengths[each]) for each in STYLES)])
        claims += [
            verdict(
                f"MAP-DPM fails to identify the smaller clusters ({words})",
                ("its curve ends early", f"{lengths[MAP]} clusters, truth {lengths['truth']}"),
                np.mean(again[MAP] < again["truth"]) >= share,
                f"its curve is shorter than that of the truth in {share:.1%} of samples of the sets",
            ),
            verdict(
                f"Gibbs identifies them to a much greater extent ({words})",
                ("its curve is near the truth", f"{lengths[GIBBS]} clusters, MAP-DPM {lengths[MAP]}"),
                np.mean(again[GIBBS] > again[MAP]) >= share,
                f"its curve is longer than that of MAP-DPM in {share:.1%} of samples of the sets",
            ),
        ]
    claims = steady(claims, setting, ["Gibbs identifies them to a much greater extent (median)"])
    file = f"raykov2014-{name}.png"
    draw_partitions(sizes, panels, setting.pictures / file)
    more = "The curve of Gibbs is that of the last draw. Quantiles are sizes that occur."
    alt = "Sizes of clusters by rank: the curves of MAP-DPM end before those of the truth and of Gibbs sampling"
    title = f"Sizes of clusters, {' and '.join(panels.values())}"
    return Exhibit(title, claims, table, file, alt, note(setting, more))


def curve(rows: Array, q: float) -> Array:
    """The quantile of each rank."""
    return np.quantile(rows, q, axis=0, method="inverted_cdf")


def curve_length(rows: Array, q: float) -> int:
    """How many clusters the curve has."""
    return int(np.count_nonzero(curve(rows, q)))


def resampled(sizes: dict[str, Array], q: float) -> dict[str, Array]:
    """The lengths of curves over 1,000 samples of the sets, with replacement: quantiles of K, as ranks are sorted."""
    n = len(sizes["truth"])
    chosen = np.random.default_rng(0).integers(0, n, (1000, n))
    return {
        each: np.quantile((rows > 0).sum(axis=1)[chosen], q, axis=1, method="inverted_cdf")
        for each, rows in sizes.items()
    }


def draw_partitions(sizes: dict[str, Array], panels: dict[float, str], path: Path) -> None:
    """A panel a quantile, a curve an algorithm."""
    figure = Figure(figsize=(5.6 * len(panels), 4.0), layout="constrained")
    for ax, (q, words) in zip(np.ravel(figure.subplots(1, len(panels))), panels.items(), strict=True):
        for each, style in STYLES.items():
            row = curve(sizes[each], q) / POINTS
            K = np.count_nonzero(row)
            ax.semilogy(np.arange(1, K + 1), row[:K], style, markersize=4, linewidth=1.2, label=f"{each} ({K})")
        ax.set(xlabel="cluster, by decreasing size", ylabel="$N_k / N$", ylim=(0.7 / POINTS, 1.4))
        ax.set_title(f"{words} of {len(sizes['truth'])} sets", loc="left")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
    figure.savefig(path, dpi=110)
