"""Clusters that groups share: held-out densities, the time of a sweep, a large set.

Run: python bench/groups.py DATA [--restarts 1] [--large 1000000]. DATA is a folder with smartwatch.csv and
streams/{mocap6,skab}.csv.gz, intel_lab_temperature_30s.npz. A line of JSON each: first, for each set, nats a held-out
point (a quarter is withheld) of HDPMixture, of draws of DirectAssignment that start from its labels, of MAPDPM for all
points, and of one MAPDPM a group; then that of new recordings of the watch, whose activity is known, with a tree and
without; then the time of a sweep over that of MAPDPM, in one process, the median of pairs; last seconds and memory for
many points.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from machine import about

from mapdpm import MAPDPM, HDPMixture, NormalGamma
from mapdpm.backends import resolve
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.cluster_penalty import NO_PRIOR
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.protocol import Model
from mapdpm.samplers import DirectAssignment, sample
from mapdpm.search.groups import GroupedProblem
from mapdpm.search.problem import Problem
from mapdpm.state import empty

ALPHA, GAMMA = 1.0, 3.0
HELD_OUT = 0.25
STEPS, DRAWS, THIN = 200, 20, 5
PAIRS = 15


def rows_of(path: Path, group: str, others: set[str], step: int = 1) -> tuple[Any, Any]:
    """The numbers of every ``step``-th row of a CSV file, and their groups."""
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::step]
    names = [name for name in rows[0] if name not in {group, *others}]
    return np.array([[float(row[name]) for name in names] for row in rows]), np.array([row[group] for row in rows])


def motes(path: Path) -> tuple[Any, Any]:
    """Every 20th temperature of each mote of a laboratory."""
    times, sensors = np.nonzero(np.isfinite(grid := np.load(path)["temperature"].astype(np.float64)))
    return grid[times, sensors][::20, None], sensors[::20]


def sets(folder: Path) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The name of each set, its points and their groups."""
    streams, unused = folder / "streams", {"anomaly", "changepoint", "datetime", "label", "part", "time"}
    yield "smartwatch", rows_of(folder / "smartwatch.csv", "recording", {"activity", "seconds"})
    yield "mocap6", rows_of(streams / "mocap6.csv.gz", "seq_id", {"label", "tstep_id"})
    yield "SKAB, every 8th row", rows_of(streams / "skab.csv.gz", "experiment", unused, 8)
    yield "intel_lab", motes(streams / "intel_lab_temperature_30s.npz")


def sampled(likelihood: Any, X: Any, groups: Any, old: Any, init: Any) -> Any:
    """Log densities of the points that are withheld, averaged over draws of direct assignment from labels ``init``."""
    _, group = np.unique(groups, return_inverse=True)
    new, family = ~old, likelihood.for_data(X)
    sampler = DirectAssignment(ALPHA, GAMMA, likelihood=likelihood, split_merge=True)
    options = {"burn_in": STEPS, "draws": DRAWS, "thin": THIN, "random_state": 0, "init": init}
    trace = sample(X[old], sampler, groups=groups[old], **options)
    backend, total = resolve("auto", family), np.full(int(new.sum()), -np.inf)
    for z, beta in zip(trace.partitions[0].astype(np.int64), trace.extra["beta"][0], strict=True):
        K = int(z.max()) + 1
        state = empty(family, 0, K + 1)._replace(labels=z)
        backend.statistics(Model(family, NO_PRIOR, X[old]), state)
        scores = np.empty((len(total), K + 1))
        backend.score(Model(family, NO_PRIOR, X[new]), state, scores)
        counts = np.zeros((group.max() + 1, K + 1))
        np.add.at(counts, (group[old], z), 1.0)
        weights = (counts + ALPHA * beta[: K + 1]) / (counts.sum(axis=1, keepdims=True) + ALPHA)
        total = np.logaddexp(total, np.logaddexp.reduce(scores + np.log(weights[group[new]]), axis=1))
    return total - np.log(DRAWS)


def held_out(name: str, X: Any, groups: Any, restarts: int) -> dict[str, Any]:
    """Nats a held-out point; all models have the same prior, from the points that are not withheld."""
    new = np.random.default_rng(0).random(len(X)) < HELD_OUT
    old = ~new
    likelihood = NormalGamma(X[old].mean(axis=0), 0.01, 2.0, 0.1 * X[old].var(axis=0) + 1e-9)
    began = time.perf_counter()
    hdp = HDPMixture(ALPHA, GAMMA, likelihood=likelihood, n_restarts=restarts).fit(X[old], groups[old])
    seconds = time.perf_counter() - began
    pooled = MAPDPM(ALPHA, likelihood=likelihood).fit(X[old])
    separate = np.empty(len(X))
    for group in np.unique(groups):
        here = groups == group
        separate[here] = MAPDPM(ALPHA, likelihood=likelihood).fit(X[here & old]).score_samples(X[here])
    return {
        "set": name,
        "points": int(old.sum()),
        "groups": len(hdp.group_names_),
        "clusters": hdp.n_clusters_,
        "J": round(hdp.log_joint_, 1),
        "HDPMixture": round(hdp.score(X[new], groups[new]), 4),
        "DirectAssignment": round(float(sampled(likelihood, X, groups, old, hdp.labels_).mean()), 4),
        "MAPDPM, pooled": round(pooled.score(X[new]), 4),
        "MAPDPM, one a group": round(float(separate[new].mean()), 4),
        "seconds": round(seconds, 2),
    }


def new_groups(X: Any, sections: Any, groups: Any) -> dict[str, Any]:
    """Nats a point of whole groups that are withheld, each fourth of a section: by their section, and without it."""
    new = np.zeros(len(X), dtype=bool)
    for section in np.unique(sections):
        new |= np.isin(groups, np.unique(groups[sections == section])[::4])
    old = ~new
    likelihood = NormalGamma(X[old].mean(axis=0), 0.01, 2.0, 0.1 * X[old].var(axis=0) + 1e-9)
    paths, seconds, fits = np.stack([sections, groups], axis=1), [], []
    for given in (paths, groups):
        began = time.perf_counter()
        fits.append(HDPMixture(ALPHA, GAMMA, likelihood=likelihood).fit(X[old], given[old]))
        seconds.append(round(time.perf_counter() - began, 2))
    tree, flat = fits
    return {
        "new groups": "smartwatch",
        "sections": len(tree.section_names_),
        "groups": [len(np.unique(groups[rows])) for rows in (old, new)],
        "J": [round(tree.log_joint_, 1), round(flat.log_joint_, 1)],
        "tree": round(tree.score(X[new], groups=paths[new]), 4),
        "one level": round(flat.score(X[new], groups=groups[new]), 4),
        "seconds": seconds,
    }


def sweep_times(n: int, D: int, K: int, n_groups: int, backend: str) -> dict[str, Any]:
    """The time of a sweep at a mode with groups, over that without: the median of ratios of pairs."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, K, n)
    X, groups = rng.normal(0.0, 3.0, (K, D))[z] + rng.normal(size=(n, D)), np.sort(rng.integers(0, n_groups, n))
    family = NormalGamma(0.0, 0.01, 2.0, 1.0).for_data(X)
    flat = Problem.of(Model(family, partition_prior(1.0), X), resolve(backend, family), None)
    parents = np.append(-1, np.zeros(n_groups, dtype=np.int64))
    grouped = GroupedProblem(flat, groups, parents, n_groups, Hierarchy((1.0,), 1.0))
    one, two = flat.from_labels(z), grouped.state_of(flat.from_labels(z))
    moved = 1
    while moved:
        one, more = flat.swept(one)
        two, moved = grouped.swept(two)
        moved += more
    ratios, times = [], []
    for _ in range(PAIRS):
        began = time.perf_counter()
        flat.swept(one)
        between = time.perf_counter()
        grouped.swept(two)
        ended = time.perf_counter()
        ratios.append((ended - between) / (between - began))
        times.append(1e3 * (ended - between))
    sizes = {"points": n, "features": D, "clusters": K, "groups": n_groups, "backend": backend}
    return {"sweep": sizes, "ms": round(statistics.median(times), 2), "ratio": round(statistics.median(ratios), 2)}


def large(n: int) -> dict[str, Any]:
    """A fit of n points x 10 in 1,000 groups: seconds, and the most memory of the process."""
    rng = np.random.default_rng(0)
    K, D, n_groups = 20, 10, 1000
    groups, shares = rng.integers(0, n_groups, n), rng.dirichlet(np.full(K, 0.2), n_groups)
    z = (shares[groups].cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    X = rng.normal(0.0, 4.0, (K, D))[np.minimum(z, K - 1)] + rng.normal(size=(n, D))
    began = time.perf_counter()
    model = HDPMixture(likelihood=None).fit(X, groups)
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    megabytes = {"points": round(X.nbytes / 2**20), "process": round(memory)}
    return {"large": n, "clusters": model.n_clusters_, "seconds": round(seconds, 1), "MB": megabytes}


def main() -> None:
    """Print a line of JSON for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--restarts", type=int, default=1)
    parser.add_argument("--large", type=int, default=0)
    arguments = parser.parse_args()
    print(json.dumps(about()))
    for name, (X, groups) in sets(arguments.data):
        print(json.dumps(held_out(name, X, groups, arguments.restarts)), flush=True)
    watch = arguments.data / "smartwatch.csv"
    X, sections = rows_of(watch, "activity", {"recording", "seconds"})
    print(json.dumps(new_groups(X, sections, rows_of(watch, "recording", {"activity", "seconds"})[1])), flush=True)
    for sizes in ((100_000, 10, 20, 50), (100_000, 10, 60, 50), (5_000, 6, 50, 80)):
        for backend in ("c", "numba"):
            print(json.dumps(sweep_times(*sizes, backend)), flush=True)
    if arguments.large:
        print(json.dumps(large(arguments.large)))


if __name__ == "__main__":
    main()
