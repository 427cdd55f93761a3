"""Raykov2014, Tables 1 to 3, Figures 3 and 4: the printed results, the paper's algorithm, and all moves.

Run: python bench/paper_map.py [--data FOLDER] [--sets 100] [--restarts 10] [--pictures build]. Paper mode is moves=();
full mode is the default moves and the best of --restarts runs. Table 1 and both pictures are of data drawn as in
section 4.1: 600 points to fit and 600 to predict. Tables 2 and 3 need seven UCI sets, FOLDER/tabular/wine.csv and so on
(the environment variable MAPDPM_DATA may name FOLDER): a header, classes in `label`, blank cells where one is missing.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tables import print_table
from uci_sets import SETS, read_set

from mapdpm import MAPDPM, DPMeans, metrics
from mapdpm.testing.data import crp_mixture

POINTS = 600
ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
RANKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20)
TABLE_1 = {  # the column of MAP-DPM: mean, and two standard deviations
    "NMI": (0.71, 0.23),
    "iterations": (13.3, 13.9),
    "difference in K": (-6.94, 6.93),
    "test set NMI": (0.71, 0.23),
}


def main() -> None:
    """Print the tables, write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="holds tabular/")
    parser.add_argument("--sets", type=int, default=100, help="data sets drawn for Table 1")
    parser.add_argument("--restarts", type=int, default=10, help="runs of full mode")
    parser.add_argument("--pictures", type=Path, default=Path("build"), help="folder to write pictures to")
    arguments = parser.parse_args()
    if min(arguments.sets, arguments.restarts) < 1:
        parser.error("--sets and --restarts must be 1 or more")
    start = time.perf_counter()
    modes = {"paper mode": {"moves": ()}, "full mode": {"n_restarts": arguments.restarts, "random_state": 0}}
    shares = drawn_sets(arguments.sets, modes)
    draw_pictures(shares, arguments.pictures)
    uci_sets(arguments.data, modes)
    print(f"\n{time.perf_counter() - start:.0f} s in all")


def drawn_sets(n_sets: int, modes: dict[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Print Table 1, and return N_k / N of all sets, largest first: for the truth and each mode, (sets, ranks)."""
    shares = {name: np.zeros((n_sets, POINTS)) for name in ("truth", *modes)}
    rows: dict[str, list[tuple[float, ...]]] = {mode: [] for mode in modes}
    for seed in range(n_sets):
        X, labels, likelihood = crp_mixture(np.random.default_rng([41, seed]), 2 * POINTS)
        fitted, truth, test = X[:POINTS], labels[:POINTS], labels[POINTS:]
        fill_shares(shares["truth"][seed], truth)
        for mode, options in modes.items():
            model = MAPDPM(3.0, likelihood=likelihood, **options).fit(fitted)
            fill_shares(shares[mode][seed], model.labels_)
            nmi = metrics.normalized_mutual_info(truth, model.labels_)
            test_nmi = metrics.normalized_mutual_info(test, model.predict(X[POINTS:]))
            difference = model.n_clusters_ - len(np.unique(truth))
            rows[mode].append((nmi, model.n_sweeps_, difference, test_nmi))
    columns = [
        TABLE_1.values(),
        *(zip(np.mean(r, axis=0), 2.0 * np.std(r, axis=0), strict=True) for r in rows.values()),
    ]
    cells = zip(*([f"{mean:.2f} ({spread:.2f})" for mean, spread in column] for column in columns), strict=True)
    print_table(
        f"Table 1, MAP-DPM: mean, and in brackets two standard deviations, over {n_sets} sets",
        ("", "paper", *modes),
        [(name, *row) for name, row in zip(TABLE_1, cells, strict=True)],
    )
    return shares


def fill_shares(row: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Write N_k / N, largest first, to the head of ``row``."""
    sizes = np.sort(np.unique(labels, return_counts=True)[1])[::-1]
    row[: len(sizes)] = sizes / len(labels)


def draw_pictures(shares: dict[str, NDArray[np.float64]], folder: Path) -> None:
    """Print Figures 3 and 4 as a table, and write them as PNG where there is matplotlib."""
    # Sizes that occur: a mean of a cluster and of none would be a size that no cluster has.
    quantiles = {
        q: {name: np.quantile(rows, q, axis=0, method="inverted_cdf") for name, rows in shares.items()}
        for q in (0.5, 0.05, 0.95)
    }
    lines = [
        (f"{'median' if q == 0.5 else f'{q:.0%} quantile'}, {name}", *(f"{row[r - 1]:.3f}" for r in RANKS))
        for q, rows in quantiles.items()
        for name, row in rows.items()
    ]
    title = "Figures 3 and 4: N_k / N, largest cluster first, over the same sets (the paper has curves, no numbers)"
    print_table(title, ("rank", *map(str, RANKS)), lines)
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (tables do without)
    except ImportError:
        print("no pictures: matplotlib is not installed (pip install 'mapdpm[plot]')")
        return
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "raykov2014_fig3.png": {0.5: "median"},
        "raykov2014_fig4.png": {0.05: "5th quantile", 0.95: "95th quantile"},
    }
    for file, panels in pictures.items():
        figure = Figure(figsize=(6.0 * len(panels), 4.2), layout="constrained")
        for ax, (q, name) in zip(np.ravel(figure.subplots(1, len(panels))), panels.items(), strict=True):
            draw_quantiles(ax, quantiles[q])
            ax.set_title(f"{name} of {len(shares['truth'])} CRP mixtures", loc="left")
        figure.savefig(folder / file, dpi=120)
        print(f"wrote {folder / file}")


def draw_quantiles(ax: Any, rows: dict[str, NDArray[np.float64]]) -> None:
    """A curve for the truth and each mode, to its smallest cluster."""
    for (name, row), style in zip(rows.items(), ("k-o", "C1--s", "C0-^"), strict=True):
        K = np.count_nonzero(row)
        ax.semilogy(np.arange(1, K + 1), row[:K], style, markersize=4, linewidth=1.2, label=f"{name} ({K} clusters)")
    ax.set_xlabel("cluster, by decreasing size")
    ax.set_ylabel("$N_k / N$")
    ax.set_ylim(0.7 / POINTS, 1.4)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)


def uci_sets(data: Path | None, modes: dict[str, Any]) -> None:
    """Print Tables 2 and 3, and log joints; of the sets that are there."""
    there = [s for s in SETS if data is not None and (data / "tabular" / s.file).is_file()]
    if len(there) < len(SETS):
        missing = ", ".join(s.file for s in SETS if s not in there)
        where = "no folder of data is named" if data is None else f"not in {data / 'tabular'}"
        print(f"\nTables 2 and 3 lack {missing} ({where}): name the folder above tabular/ by --data or MAPDPM_DATA.")
    if data is None or not there:
        return
    means, maps, joints = [], [], []
    for s in there:
        X, classes = read_set(data / "tabular" / s.file)
        n_classes = len(np.unique(classes))
        of_means = [DPMeans(n_clusters=n_classes, max_sweeps=1000, **options).fit(X) for options in modes.values()]
        fits = [
            [MAPDPM(alpha, likelihood=None, max_sweeps=1000, **options).fit(X) for alpha in ALPHAS]
            for options in modes.values()
        ]
        best = [max(models, key=lambda model: model.log_joint_) for models in fits]
        head = (s.name, str(n_classes))
        means.append((*head, *scores(of_means, classes, s.means_nmi, s.means_iterations)))
        maps.append((*head, *scores(best, classes, s.map_nmi, s.map_iterations), *(f"{m.alpha:g}" for m in best)))
        paper, full = (models[ALPHAS.index(1.0)].log_joint_ for models in fits)
        gain = full - s.best_known
        joints.append((s.name, *(f"{v:.1f}" for v in (s.known_paper_mode, paper, s.best_known, full)), f"{gain:+.1f}"))
    groups = ("", "", "NMI:", "", "", "iterations:", "", "", "K:", "", "alpha:", "")
    header = ("", "classes", "paper", *modes, "paper", *modes, *modes)
    title = "Tables 2 and 3, DP-means: lambda by farthest-first from the number of classes"
    print_table(title, groups[:10], [header, *means])
    print(
        "  the paper's iterations may be parts of passes: there a sweep ends where it opens a cluster, here it does not"
    )
    grid = ", ".join(f"{alpha:g}" for alpha in ALPHAS)
    title = f"Tables 2 and 3, MAP-DPM: empirical prior, alpha of the largest log joint among {grid}"
    print_table(title, groups, [(*header, *modes), *maps])
    print("  iterations of full mode, in all tables: those of the best run; + where points still moved")
    header = ("", "paper mode, known", "paper mode", "best known", "full mode", "full mode - best known")
    print_table("Log joint at alpha = 1, empirical prior", header, joints)


def scores(models: Sequence[Any], classes: Sequence[str], nmi: float, iterations: str) -> list[str]:
    """Cells of Table 2, of Table 3, and the number of clusters."""
    found = [metrics.normalized_mutual_info(classes, model.labels_) for model in models]
    counts = [f"{model.n_sweeps_}{'' if model.converged_ else '+'}" for model in models]
    return [*(f"{value:.2f}" for value in (nmi, *found)), iterations, *counts, *(str(m.n_clusters_) for m in models)]


if __name__ == "__main__":
    main()
