"""Choice of alpha: the cost of warm starts, whether they change the choice, and the choices of all methods on UCI sets.

Run: python bench/choosing_alpha.py [--data FOLDER] [--sets 50] [--only warm|uci|stream].

warm    ten alphas, five folds, on the UCI sets of Raykov2014 and sets drawn as in section 4.1: select_alpha with warm
        starts, against brute force, which fits each alpha and fold from the start. Cost is in mean cold fits of that
        data set, in one process. "loss" is how much lower, in nats per point, brute force scores the alpha that was
        chosen than its own best; "fresh" is how much lower the chosen model scores 2,000 points that nobody has seen
        than that of brute force does (section 4.1 can draw them). "other" is what brute force with another random_state
        loses, by the same measures: as much as they can tell. --restarts 5 judges both by fits that search longer
uci     alpha, K and NMI by each method, beside Table 2
stream  a selector on the streams of streams.py, with room for 32 clusters, beside each alpha of its grid
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from streams import stream
from tables import print_table
from uci_sets import SETS, read_set

from mapdpm import OnlineAlphaSelector, OnlineMAPDPM, metrics, select_alpha
from mapdpm.testing.data import crp_mixture

POINTS = 600
WITHIN = 0.002
MOST = 12
FRESH = 2000
SEEDS = 2

Points = NDArray[np.float64]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="holds tabular/")
    parser.add_argument("--sets", type=int, default=50, help="data sets drawn as in section 4.1")
    parser.add_argument(
        "--restarts", type=int, default=0, help="of a judge: brute force, each fit with so many restarts"
    )
    parser.add_argument("--only", choices=("warm", "uci", "stream"))
    arguments = parser.parse_args()
    uci = []
    if arguments.data is None:
        print("no UCI sets: name the folder above tabular/ by --data or MAPDPM_DATA")
    else:
        uci = [(s, *read_set(arguments.data / "tabular" / s.file)) for s in SETS]
    if arguments.only in {None, "warm"}:
        sets = [(s.name, X, X[:0], None) for s, X, _ in uci]
        for seed in range(arguments.sets):
            X, _, likelihood = crp_mixture(np.random.default_rng([41, seed]), POINTS + FRESH)
            sets.append((f"4.1 #{seed}", X[:POINTS], X[POINTS:], likelihood))
        compare(sets, arguments.restarts)
    if arguments.only in {None, "uci"}:
        methods(uci)
    if arguments.only in {None, "stream"}:
        selectors()


def compare(sets: list[tuple[str, Points, Points, Any]], restarts: int) -> None:
    """Print what warm starts cost and choose."""
    rows, costs, losses, fresh_losses, judged = [], [], [], [], []
    for name, X, fresh, likelihood in sets:
        options = {"likelihood": likelihood, "folds": folds_for(len(X))}
        select_alpha(X, [1.0, 2.0], **options)  # compile, load
        start = time.perf_counter()
        brute = select_alpha(X, warm_start=False, random_state=0, **options)
        middle = time.perf_counter()
        warm = select_alpha(X, random_state=0, **options)
        end = time.perf_counter()
        other = select_alpha(X, warm_start=False, random_state=1, **options)
        # Both refit the chosen model: one cold fit more.
        each = (middle - start) / (brute.scores.size + 1)
        costs.append((end - middle) / each - 1.0)
        losses.append([brute.mean_scores.max() - brute.mean_scores[found.chosen] for found in (warm, other)])
        cells = [f"{loss:.4f}" for loss in losses[-1]]
        if len(fresh):
            fresh_losses.append([brute.model.score(fresh) - found.model.score(fresh) for found in (warm, other)])
            cells += [f"{loss:.4f}" for loss in fresh_losses[-1]]
        else:
            cells += ["", ""]
        if restarts:
            judge = select_alpha(X, warm_start=False, random_state=0, n_restarts=restarts, **options)
            means = judge.mean_scores
            judged.append([means.max() - means[found.chosen] for found in (warm, brute)])
        alphas = (f"{found.alpha:.3g}" for found in (brute, warm, other))
        error = brute.standard_errors[brute.chosen]
        rows.append((name, f"{costs[-1]:.1f}", *alphas, *cells, f"{error:.3f}"))
        print(".", end="", flush=True)
    header = ("", "cold fits", "brute force", "warm", "other seed", "loss", "other", "fresh", "other", "standard error")
    print_table("Ten alphas, five folds: cost of warm starts, and alphas chosen", header, rows)
    few = sum(np.array(costs) <= MOST)
    print(f"  cold fits: median {np.median(costs):.1f}, largest {max(costs):.1f}; {few} of {len(costs)} at most {MOST}")
    told = [
        ("by brute force's scores", losses, "brute force with another seed"),
        ("on fresh points", fresh_losses, "brute force with another seed"),
        (f"by the scores of fits with {restarts} restarts", judged, "brute force"),
    ]
    for what, pairs, second in told:
        for name, values in zip(("warm", second), np.array(pairs).T, strict=False):
            near, error = sum(values <= WITHIN), values.std(ddof=1) / np.sqrt(len(values))
            shown = f"{near} of {len(values)} within {WITHIN} nats; median {np.median(values):.4f}"
            print(f"  loss {what}, {name}: {shown}, mean {values.mean():.4f} +- {error:.4f}")


def folds_for(n_points: int) -> list[Any]:
    """Five folds, the same for all."""
    parts = np.array_split(np.random.default_rng(5).permutation(n_points), 5)
    return [(np.setdiff1d(np.arange(n_points), part), np.sort(part)) for part in parts]


def methods(uci: list[Any]) -> None:
    """Print what each method chooses, beside Table 2."""
    rows = []
    for s, X, classes in uci:
        cells = [s.name, str(len(np.unique(classes))), f"{s.map_nmi:.2f}"]
        order = np.random.default_rng(0).permutation(len(X))  # the files are sorted by class
        for method in ("cv", "nll", "map", "empirical-bayes", "prequential"):
            if method == "prequential":
                found = select_alpha(X[order], method=method, likelihood=None, warmup=50, folds=2)
                labels, K = found.model.predict(X), found.model.n_clusters
            else:
                found = select_alpha(X, method=method, likelihood=None)
                labels, K = found.model.labels_, found.model.n_clusters_
            nmi = metrics.normalized_mutual_info(classes, labels)
            cells += [f"{found.alpha:.3g}", str(K), f"{nmi:.2f}"]
        rows.append(cells)
    shown = ("cv", "nll", "map", "emp. Bayes", "preq.")
    header = ["", "classes", "Table 2", *(word for method in shown for word in (method, "K", "NMI"))]
    print_table(
        "alpha by each method, empirical prior: alpha, K, NMI; and the NMI of the paper's Table 2", header, rows
    )


def selectors() -> None:
    """Print how OnlineAlphaSelector predicts, beside each alpha of its grid."""
    grid, rows = np.geomspace(1e-3, 1e2, 6), []
    for kind, half_life in (("stationary", None), ("drift", 1400), ("churn", 1400), ("outliers", None)):
        for seed in range(SEEDS):
            X = stream(kind, seed).X
            fixed = [OnlineMAPDPM(32, alpha=alpha, half_life=half_life).learn_many_scored(X)[1] for alpha in grid]
            means = np.array([np.nanmean(densities) for densities in fixed])
            selector = OnlineAlphaSelector(grid, 32, half_life=half_life)
            own = np.nanmean(selector.learn_many_scored(X)[1])
            switches = sum(event.kind == "switched" for event in selector.events)
            shown = (f"{value - means.max():.4f}" for value in (*means, own))
            rows.append((f"{kind} #{seed}", f"{means.max():.4f}", *shown, str(switches)))
    title = (
        "OnlineAlphaSelector: log predictive density before learning, less that of the best fixed alpha; nats a point"
    )
    print_table(title, ("", "best fixed", *(f"{alpha:g}" for alpha in grid), "selector", "switches"), rows)


if __name__ == "__main__":
    main()
