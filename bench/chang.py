"""Chang2013: its Table 1 as samplers that run, Figures 4 and 5, the bias of its sampler, and MAPDPM beside it.

Run: python bench/chang.py [--only table|figures|bias|mode] [--seconds 20] [--data FOLDER] [--folder build/chang].

table    each row of Table 1 is a sampler of this library; a step on 10,000 points in ten normal clusters
figures  log joint against the processor's time, alpha fixed, one thread. Figure 4: 100,000 points of ten normal
         clusters in two dimensions, started from 1 and from 50 clusters drawn at random, alpha 0.1 and 100. Figure 5:
         10,000 digits of MNIST in 50 principal components, and the documents of AP, from 50 clusters. Curves are kept
         in --folder, and what is there is not run again
bias     the printed and the exact variant: partitions of six points, against enumeration; the number of clusters of 100
         and of 1,000 points of four normal clusters that overlap, against CollapsedGibbs
mode     the log joint of MAPDPM above the best that SubClusterSplits reaches in 100 times its time, on MNIST and on
         sets of UCI

--data holds images/, text/ and tabular/ (the environment variable MAPDPM_DATA may name it).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from liang import Setting, at, climb, digits, documents, draw
from tables import print_table

from mapdpm import MAPDPM, DirichletMultinomial, NormalGamma, NormalInverseWishart, NormalKnownVariance
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.partition_priors import DirichletProcess
from mapdpm.samplers import (
    CollapsedGibbs,
    FiniteSymmetricDirichlet,
    Hybrid,
    LaunchedSplitMerge,
    Sampler,
    SequentialSplitMerge,
    SubClusterSplits,
    SuperClusters,
    UncollapsedGibbs,
    sample,
)
from mapdpm.testing import kernels
from mapdpm.testing.enumeration import canonical, partitions
from samplers import error_of_mean

POINTS, CLUSTERS, FIRST = 100_000, 10, 50
WHEN = (0.1, 0.5, 1.0)
TABULAR = {"wine": "wine", "breast cancer": "breast_cancer_wisconsin", "pima": "pima", "vehicle": "vehicle"}
LEFT_OUT = {"label", "id", "name"}

SIX = (
    (-1.2, -0.9, -0.1, 0.3, 1.0, 1.4),
    (-2.0, -1.8, -1.5, 1.5, 1.7, 2.2),
    (-0.3, -0.2, 0.0, 0.1, 0.2, 0.4),
    (-3.0, -1.0, 0.0, 1.0, 2.0, 4.0),
)

Make = Callable[..., Sampler]


class Row(NamedTuple):
    """A row of Table 1."""

    make: Make
    infinite: bool
    exact: bool
    within: bool
    """Points of one cluster can be drawn in parallel."""
    between: bool
    """Clusters can be, at least."""
    splits: bool


def with_gibbs(kind: Make, count: int = 1) -> Make:
    """Collapsed Gibbs sampling, and so many steps of another sampler."""
    return lambda **model: Hybrid((CollapsedGibbs(**model), kind(**model)), counts=(1, count))


PRINTED = partial(SubClusterSplits, variant="printed")
ROWS = {
    "GIBBS: CollapsedGibbs": Row(CollapsedGibbs, True, True, False, False, False),
    "UncollapsedGibbs": Row(UncollapsedGibbs, True, True, False, False, False),
    "FSD: FiniteSymmetricDirichlet": Row(FiniteSymmetricDirichlet, False, True, True, True, False),
    "GIBBS+SUPC: SuperClusters": Row(SuperClusters, True, True, False, True, False),
    "GIBBS+SAMS: with SequentialSplitMerge": Row(with_gibbs(SequentialSplitMerge), True, True, False, False, True),
    "GIBBS+LAUNCHED: with LaunchedSplitMerge": Row(with_gibbs(LaunchedSplitMerge, 10), True, True, False, False, True),
    "SUBC: printed": Row(PRINTED, True, False, True, True, True),
    "SUBC+SUPC: printed": Row(partial(PRINTED, super_clusters=True), True, False, True, True, True),
    "SUBC+SUPC APPROX": Row(partial(PRINTED, super_clusters=True, deferred=False), True, False, True, True, True),
    "EXACT: SubClusterSplits": Row(SubClusterSplits, True, True, True, True, True),
    "EXACT+SUPC": Row(partial(SubClusterSplits, super_clusters=True), True, True, True, True, True),
}


def main() -> None:
    """Print the tables that were asked for, and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("table", "figures", "bias", "mode"))
    parser.add_argument("--seconds", type=float, default=20.0, help="of each curve")
    parser.add_argument("--panels", default="", help="figures whose name holds this")
    parser.add_argument("--draws", type=int, default=10_000, help="of each chain of bias")
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None)
    parser.add_argument("--folder", type=Path, default=Path("build/chang"), help="keeps curves and pictures")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.data is None:
        print("no MNIST, AP and UCI: name the folder above images/, text/ and tabular/ by --data or MAPDPM_DATA")
    if arguments.only in {None, "table"}:
        table()
    if arguments.only in {None, "figures"}:
        figures(arguments.data, arguments.seconds, arguments.folder, arguments.panels)
    if arguments.only in {None, "bias"}:
        six_points(arguments.draws)
        for n in (100, 1000):
            bias(n, arguments.draws)
    if arguments.only in {None, "mode"} and arguments.data is not None:
        mode(arguments.data)


def table(n: int = 10_000, steps: int = 20) -> None:
    """Print Table 1, with a step of each row."""
    X, z = normals(n)
    rows = []
    for name, row in ROWS.items():
        sampler = row.make(alpha=1.0, likelihood=wishart(X))
        first = sample(X, sampler, draws=1, init=z, random_state=0)
        start = time.perf_counter()
        trace = sample(X, sampler, draws=steps, resume=first)
        spent = (time.perf_counter() - start) / steps
        agreement = adjusted_mutual_info(trace.partitions[0, -1], z)
        marks = ("yes" if mark else "-" for mark in row[1:])
        rows.append((name, *marks, f"{1e3 * spent:.3g}", f"{agreement:.3f}"))
    head = ("", "infinite", "exact", "parallel points", "parallel clusters", "splits", "ms a step", "AMI")
    print_table(f"Table 1; {n:,} points, ten normal clusters, full covariances", head, rows)


def normals(n: int, seed: int = 4) -> tuple[Any, Any]:
    """Points of ten normal clusters of random covariances in two dimensions, some of which overlap."""
    rng = np.random.default_rng(seed)
    means, roots = 8.0 * rng.normal(size=(CLUSTERS, 2)), rng.normal(size=(CLUSTERS, 2, 2))
    z = rng.integers(0, CLUSTERS, n)
    return means[z] + np.einsum("nij,nj->ni", roots[z], rng.normal(size=(n, 2))), z


def wishart(X: Any) -> NormalInverseWishart:
    """The prior of the authors' program."""
    D = X.shape[1]
    return NormalInverseWishart(X.mean(axis=0), 1.0, D + 3.0, np.eye(D))


def panels(folder: Path | None) -> dict[str, Callable[[], tuple[Setting, float]]]:
    """What is in the figures: points, family, start, and alpha."""

    def synthetic(K0: int, alpha: float) -> tuple[Setting, float]:
        X, _ = normals(POINTS)
        return started(X, wishart(X), POINTS, K0), alpha

    made = {f"K0 {K0}, alpha {alpha:g}": partial(synthetic, K0, alpha) for K0 in (1, FIRST) for alpha in (0.1, 100.0)}
    if folder is not None:

        def mnist() -> tuple[Setting, float]:
            X = digits(folder, 10_000, 50)
            return started(X, wishart(X), len(X), FIRST), 1.0

        def ap() -> tuple[Setting, float]:
            X = documents(folder)
            return started(X, DirichletMultinomial(0.1), len(X.indptr) - 1, FIRST), 1.0

        made |= {"MNIST": mnist, "AP": ap}
    return made


def started(X: Any, likelihood: Any, n: int, K0: int) -> Setting:
    """A start from ``K0`` clusters drawn at random."""
    return Setting(X, likelihood, np.random.default_rng(5).integers(0, K0, n))  # type: ignore[arg-type]


def figures(data: Path | None, seconds: float, folder: Path, only: str) -> None:
    """Print how far below the best each sampler is, and draw the curves."""
    drawn: dict[str, Any] = {}
    for name, make in panels(data).items():
        if only not in name:
            continue
        file = folder / f"{name.replace(' ', '_').replace(',', '')}.json"
        if not file.exists():
            setting, alpha = make()
            curves = {row: [climbed(setting, row, alpha, seconds)] for row in ROWS if row != "UncollapsedGibbs"}
            file.write_text(json.dumps(curves), encoding="utf-8")
        curves = json.loads(file.read_text(encoding="utf-8"))
        drawn[name] = {row.partition(":")[0]: runs for row, runs in curves.items()}
    rows = []
    for name, curves in drawn.items():
        best = max(joint for (curve,) in curves.values() for _, joint, _ in curve)
        for share in WHEN:
            cells = (f"{best - at(curve, share * seconds):,.0f} ({curve[-1][2]})" for (curve,) in curves.values())
            rows.append((name, f"{share * seconds:g} s", *cells))
    if drawn:
        head = ("", "after", *next(iter(drawn.values())))
        print_table("Figures 4 and 5: nats below the best of all (clusters in the end)", head, rows)
        draw(drawn, folder)


def climbed(setting: Setting, row: str, alpha: float, seconds: float) -> list[tuple[float, float, int]]:
    """The curve of one sampler, compiled before."""
    sampler = ROWS[row].make(alpha=alpha, likelihood=setting.likelihood)
    few = setting.X.rows(np.arange(100)) if hasattr(setting.X, "rows") else setting.X[:100]
    sample(few, sampler, draws=3, init=np.arange(100) % 3, random_state=0)
    curve = climb(setting, sampler, seconds, 0)
    print(row, f"{curve[-1][1]:.1f}, {curve[-1][2]} clusters", flush=True)
    return curve


def bias(n: int, draws: int) -> None:
    """Print the posterior of the number of clusters by each sampler."""
    rng = np.random.default_rng(11)
    means = 2.0 * rng.normal(size=(4, 2))
    X = means[rng.integers(0, 4, n)] + rng.normal(size=(n, 2))
    model = {"alpha": 1.0, "likelihood": NormalGamma(0.0, 0.1, 2.0, 1.0)}
    named = {
        "CollapsedGibbs + SequentialSplitMerge": with_gibbs(SequentialSplitMerge, 3)(**model),
        "CollapsedGibbs": CollapsedGibbs(**model),
        "exact": SubClusterSplits(**model),
        "printed": PRINTED(**model),
    }
    shares, rows = [], []
    for name, sampler in named.items():
        trace = sample(X, sampler, draws=draws, burn_in=draws // 10, chains=2, random_state=1, keep=())
        shares.append(np.bincount(np.minimum(trace.n_clusters.ravel(), 29), minlength=30) / trace.n_clusters.size)
        apart = 0.5 * np.abs(trace_shares(trace, 0) - trace_shares(trace, 1)).sum()
        variation = 0.5 * np.abs(shares[-1] - shares[0]).sum()
        means = (f"{each.mean():.2f} +- {error_of_mean(each):.2f}" for each in (trace.n_clusters, trace.log_joint))
        rows.append((name, *means, f"{variation:.3f}", f"{apart:.3f}"))
    head = ("", "mean K", "mean log joint", "total variation of K from the first", "between two chains")
    print_table(f"{n:,} points: the posterior of the number of clusters", head, rows)


def six_points(draws: int) -> None:
    """Print the total variation of draws from the posterior of the partitions of six points, which are enumerated."""
    rows = []
    for points, alpha in itertools.product(SIX, (0.5, 1.0, 3.0)):
        X = np.array(points)[:, None]
        family = NormalKnownVariance(0.0, 4.0, 0.25).for_data(X)
        posterior = kernels.posterior_of(DirichletProcess(alpha), family, X, len(X))
        which = {z: number for number, z in enumerate(partitions(len(X)))}
        cells = []
        for variant in ("exact", "printed"):
            sampler = SubClusterSplits(alpha, likelihood=family, variant=variant)
            drawn = sample(X, sampler, draws=draws, random_state=0).partitions[0]
            counted = np.bincount([which[canonical(z)] for z in drawn], minlength=len(which))
            cells.append(f"{0.5 * np.abs(counted / draws - posterior).sum():.3f}")
        rows.append((str(points), f"{alpha:g}", *cells))
    title = f"Six points: total variation of {draws:,} draws from the posterior of partitions"
    print_table(title, ("points", "alpha", "exact", "printed"), rows)


def trace_shares(trace: Any, chain: int) -> Any:
    """The shares of draws with 0, 1, ... clusters, in one chain."""
    counted = np.minimum(trace.n_clusters[chain], 29)
    return np.bincount(counted, minlength=30) / len(counted)


def mode(folder: Path) -> None:
    """Print the log joint of MAPDPM above that of the best draw in 100 times its time."""
    sets = {"MNIST, 50 components": digits(folder, 10_000, 50)}
    for name, stem in TABULAR.items():
        X = columns(next((folder / "tabular").glob(f"{stem}*.csv")))
        sets[f"{name}, {X.shape[0]} x {X.shape[1]}"] = X
    rows = []
    for name, X in sets.items():
        likelihood = NormalGamma.empirical(X)
        MAPDPM(1.0, likelihood=likelihood).fit(X)
        start = time.process_time()
        model = MAPDPM(1.0, likelihood=likelihood).fit(X)
        spent = time.process_time() - start
        more = MAPDPM(1.0, likelihood=likelihood, n_restarts=10, random_state=0).fit(X)
        cells = [f"{1e3 * spent:.3g} ms", f"{model.log_joint_:.1f} ({model.n_clusters_})"]
        cells.append(f"{more.log_joint_ - model.log_joint_:.1f} ({more.n_clusters_})")
        for variant in ("printed", "exact"):
            sampler = SubClusterSplits(1.0, likelihood=likelihood, variant=variant)
            sample(X[:100], sampler, draws=3, random_state=0)
            curve = climb(Setting(X, likelihood, "single"), sampler, 100.0 * spent, 0)
            best = max(curve, key=lambda step: step[1])
            cells.append(f"{model.log_joint_ - best[1]:.1f} ({best[2]}, {len(curve)} noted)")
        rows.append((name, *cells))
    head = ("", "MAPDPM takes", "its log joint (K)", "ten restarts add (K)", "above printed (K)", "above exact (K)")
    print_table("MAPDPM above the best that SubClusterSplits reaches in 100 times its time, nats", head, rows)


def columns(file: Path) -> Any:
    """The numbers of a file, rows with all of them, each column in units of its standard deviation."""
    names = file.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
    kept = [number for number, name in enumerate(names) if name not in LEFT_OUT]
    X = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=kept)
    X = X[np.isfinite(X).all(axis=1)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


if __name__ == "__main__":
    main()
