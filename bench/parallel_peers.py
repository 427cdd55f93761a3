"""A step of SubClusterSplits beside other libraries' samplers of Dirichlet process mixtures, on the same points.

Run: python bench/parallel_peers.py [--rounds 5] [--points 1000000]. Needs dpgmm (PyTorch) or dpmmlearn (pip install
dpgmm dpmmlearn); what is not installed is left out. bmcc 1.6 does not build, and pybasicbayes 0.2 does not run with
numpy 2.

dpgmm      collapsed Gibbs sampling, one point at a time
dpmmlearn  Neal's Algorithm 2

Full covariances: NormalInverseWishart. 1,000,000 points of 2 features in 10 clusters, 100,000 of 50 in 30. A sweep of
both is timed on 1,000 of the points, for it costs the same for each point. Chains start at the true clusters; ours on
one and on two threads. Medians of rounds in which all take turns; plain loops on two threads say what the machine
gives. Then, on 1,000 points in 10 features, adjusted mutual information with the true clusters after equal time, from
a cold start.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import about
from sampler_peers import a_sweep, dpgmm, dpmmlearn
from tables import print_table
from threadpoolctl import threadpool_limits

from mapdpm import NormalGamma, NormalInverseWishart
from mapdpm.jit import compiled
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.rng import seeded
from mapdpm.samplers import SubClusterSplits, sample
from mapdpm.samplers.chain import Adapted
from mapdpm.samplers.chain_data import ChainData
from mapdpm.threads import Threads

FEW = 1000
LOOPS = (1, 3, 10, 100)
SHAPES = ((1.0, 2, 10), (0.1, 50, 30))
"""Share of the points, features, clusters."""
Step = Callable[[], object]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--points", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(about()["machine"])
    with threadpool_limits(1):
        for ms in LOOPS:
            print(f"two threads do two plain loops of some {ms} ms {scaling(ms):.2f} times as fast as one")
        for share, D, K in SHAPES:
            steps(int(share * arguments.points), D, K, arguments.rounds)
        cold(FEW, 10, 10)


def clusters(n: int, D: int, K: int) -> tuple[Any, Any]:
    """Normal clusters of unit variance, and which point is in which."""
    rng = np.random.default_rng(0)
    means, z = 6.0 * rng.normal(size=(K, D)), rng.integers(0, K, n)
    return means[z] + rng.normal(size=(n, D)), z


def count_to(n: int) -> float:
    """A loop that reads no memory."""
    total = 0.0
    for i in range(n):
        total += 1.0 / (i + total + 1.0)
    return total


def scaling(ms: int) -> float:
    """How much faster two threads run two loops of so many milliseconds than one thread does."""
    loop, ratios = compiled(count_to), []
    loop(10)
    start = time.perf_counter()
    loop(10**6)
    n = int(10**6 * 1e-3 * ms / (time.perf_counter() - start))
    for _ in range(21):
        seconds = []
        for n_jobs in (1, 2):
            with Threads(n_jobs) as threads:
                start = time.perf_counter()
                threads.each(loop, [n, n])
                seconds.append(time.perf_counter() - start)
        ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios)


def ours(X: Any, z: Any, likelihood: Any, n_jobs: int, variant: str = "exact") -> Step:
    """A step of a chain that is at the true clusters."""
    sampler, rng = SubClusterSplits(1.0, likelihood=likelihood, n_jobs=n_jobs, variant=variant), seeded(0)
    chain = sampler.chain(ChainData(likelihood.for_data(X), X), z, rng)
    chain.adapted = Adapted(float(chain.n_clusters))
    return lambda: sampler.step(chain, rng)


def steps(n: int, D: int, K: int, rounds: int) -> None:
    """Print seconds a step."""
    X, z = clusters(n, D, K)
    full, diagonal = NormalInverseWishart(np.zeros(D), 0.01, D + 3.0, np.eye(D)), NormalGamma(0.0, 0.01, 2.0, 1.0)
    named: dict[str, Step] = {}
    for name, likelihood in (("full", full), ("diagonal", diagonal)):
        for variant, n_jobs in itertools.product(("exact", "printed"), (1, 2)):
            named[f"{variant}, {name} covariances, n_jobs={n_jobs}"] = ours(X, z, likelihood, n_jobs, variant)
    seconds: dict[str, list[float]] = {name: [] for name in named}
    for step in named.values():  # compile
        step()
    for _ in range(rounds):
        for name, step in named.items():
            start = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - start)
    few = np.ascontiguousarray(X[:FEW])
    for name, way in per_point(D):
        seconds[name] = [a_sweep(way, few, 1)[0] * n / FEW for _ in range(2)][1:]
    first = statistics.median(seconds["exact, full covariances, n_jobs=1"])
    rows = [
        (name, f"{statistics.median(each):.3g}", f"{statistics.median(each) / first:.3g}", twice(seconds, name))
        for name, each in seconds.items()
    ]
    head = ("", "s a step", "to the first", "two threads")
    print_table(f"{n:,} points of {D} features in {K} clusters", head, rows)


def twice(seconds: dict[str, list[float]], name: str) -> str:
    """How much faster two threads are than one, in the same rounds."""
    one = name.replace("n_jobs=2", "n_jobs=1")
    if one == name:
        return ""
    return f"{statistics.median(a / b for a, b in zip(seconds[one], seconds[name], strict=True)):.2f} x"


def per_point(D: int) -> list[tuple[str, Any]]:
    """Sweeps of the libraries that visit one point at a time."""
    found: list[tuple[str, Any]] = []
    if importlib.util.find_spec("dpgmm") is not None:
        found += [(f"dpgmm, {kind.lower()} covariances, by {FEW} points", dpgmm(kind)) for kind in ("Full", "Diag")]
    if importlib.util.find_spec("dpmmlearn") is not None and D < 10:
        found.append((f"dpmmlearn, full covariances, by {FEW} points", dpmmlearn(D)))
    return found


def cold(n: int, D: int, K: int, iterations: int = 5) -> None:
    """Print the agreement with the true clusters after equal time from a cold start, beside dpgmm."""
    if importlib.util.find_spec("dpgmm") is None:
        return
    X, z = clusters(n, D, K)
    start = time.perf_counter()
    found = assignment(X, iterations)
    seconds = time.perf_counter() - start
    rows = [("dpgmm", f"{adjusted_mutual_info(found, z):.3f}", str(iterations))]
    likelihood = NormalInverseWishart(np.zeros(D), 0.01, D + 3.0, np.eye(D))
    for variant in ("exact", "printed"):
        sampler = SubClusterSplits(1.0, likelihood=likelihood, variant=variant)
        sample(X[:100], sampler, draws=3, random_state=0)  # compile
        start, times = time.perf_counter(), 10
        trace = sample(X, sampler, draws=10, init="single", random_state=0)
        while time.perf_counter() - start < seconds:
            trace, times = sample(X, sampler, draws=10, resume=trace), times + 10
        rows.append((variant, f"{adjusted_mutual_info(trace.partitions[0, -1], z):.3f}", str(times)))
    title = f"{n:,} points of {D} features in {K} clusters, {seconds:.0f} s from a cold start, one thread"
    print_table(title, ("", "AMI", "steps"), rows)


def assignment(X: Any, iterations: int) -> Any:
    """The labels that dpgmm ends with."""
    import torch  # noqa: PLC0415  (few have it)
    from dpgmm import samplers  # noqa: PLC0415

    kind = samplers.FullCovarianceCollapsedGibbsSampler
    model = kind("init_data_stats", max_clusters_num=50, verbose=False, skip_epochs_ll_calc=10**9)
    found = model.fit(iterations_num=iterations, data=torch.as_tensor(X, dtype=torch.float32))
    labels = np.zeros(len(X), dtype=np.int64)
    for k, points in enumerate(found["cluster_assignment"]):
        labels[list(points)] = k
    return labels


if __name__ == "__main__":
    main()
