"""Fits of many points: passes beside sweeps and k-means, in threads and on Dask.

Run: python bench/large_data.py [--only joint|seconds|dask|big|streams] [--rounds 3] [--chunks 100]. Each needs what it
measures: scikit-learn, Dask, and dask-ml for its k-means, which is left out where it is not installed.

joint    the log joint and AMI of passes less those of sweeps, also for points sorted by cluster, and for rare clusters
pass     one pass on one thread and on two
seconds  fits by passes on one thread and on two, sweeps, and k-means that is told K, in turn
dask     on 1, 2 and 4 workers, and with three workers killed: seconds, passes, and a hash of all that was found
big      points made anew in each pass, a million in a chunk: seconds, passes, memory of this process and of workers
streams  the other way: an OnlineMAPDPM for each chunk, then merged
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import itertools
import os
import resource
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from machine import about
from numpy.typing import NDArray
from peers import mixture as mixture_of
from sklearn.cluster import KMeans
from tables import print_table

import mapdpm.dask as on_dask
from mapdpm import MAPDPM, NormalGamma, OnlineMAPDPM, metrics
from mapdpm.partition_priors import partition_prior
from mapdpm.search import chunks, passes
from mapdpm.search import fit as fits
from mapdpm.search.fit_in_passes import InThreads
from mapdpm.search.observed import anchor_of
from mapdpm.testing.data import crp_mixture

SIZES = ((1_000_000, 10, 20), (5_000_000, 2, 10), (200_000, 50, 30))
SMALL = ((10_000, 2, 10), (100_000, 2, 10), (100_000, 10, 20), (100_000, 50, 30))
LOCAL = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
CHUNKS = 32
BIG = 1_000_000  # points of a chunk
COMPARED = 200_000  # points whose labels are compared
Points = NDArray[np.float64]
Labels = NDArray[np.int64]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[*PARTS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chunks", type=int, default=100, help="chunks of a million points in `big`")
    arguments = parser.parse_args()
    print(about()["machine"])
    for name, part in PARTS.items():
        if arguments.only in (None, name):
            part(arguments)


def joint(_: argparse.Namespace) -> None:
    """The joint and the clusters that passes find, less those of sweeps."""
    rows = []
    for name, X, z in sets():
        swept, _ = timed(lambda X=X: by_sweeps().fit(X))
        passed, _ = timed(lambda X=X: by_passes().fit(X))
        gain = passed.log_joint_ - swept.log_joint_
        agreement = [ami(z, model.labels_) for model in (swept, passed)]
        rows.append((name, f"{passed.n_clusters_}", f"{gain:+.3f}", *(f"{each:.4f}" for each in agreement)))
    print_table("passes and sweeps", ("set", "K", "joint less that of sweeps", "AMI of sweeps", "of passes"), rows)


@functools.cache
def mixture(D: int, K: int) -> Any:
    """The mixture of bench/peers.py, which takes a second to find."""
    return mixture_of(D, K)


def sets() -> Iterator[tuple[str, Points, Labels]]:
    """Names, points and true clusters."""
    for N, D, K in (*SMALL, *SIZES):
        X, z = mixture(D, K).draw(N, 0)
        yield f"{N:,} x {D}, {K} clusters", X, z
        if (N, D) == (1_000_000, 10):
            order = np.argsort(z, kind="stable")
            yield "the same, sorted", X[order], z[order]
    X, z, _ = crp_mixture(np.random.default_rng([41, 0]))
    yield "section 4.1, 100 copies", np.repeat(X, 100, axis=0), np.repeat(z, 100)
    yield "40 clusters of 60 in a million", *rare()


def rare() -> tuple[Points, Labels]:
    """Ten large clusters, and 40 of 60 points."""
    rng = np.random.default_rng(0)
    sizes = np.r_[np.full(10, 99_760), np.full(40, 60)]
    z = np.repeat(np.arange(50), sizes)
    centres, deviations = rng.normal(0.0, 5.0, (50, 10)), np.sqrt(2.0 / rng.gamma(3.0, 1.0, (50, 10)))
    return centres[z] + deviations[z] * rng.normal(size=(len(z), 10)), z


def by_passes(**parameters: Any) -> MAPDPM:
    """An estimator that makes passes, whatever the number of points."""
    fits.MANY = 1
    return MAPDPM(**({"likelihood": None} | parameters))


def by_sweeps(**parameters: Any) -> MAPDPM:
    """An estimator that sweeps, whatever the number of points."""
    fits.MANY = 1 << 62
    return MAPDPM(**({"likelihood": None} | parameters))


def seconds(arguments: argparse.Namespace) -> None:
    """Seconds of fits that take turns, medians."""
    rows = []
    for N, D, K in (SMALL[1], *SIZES):
        X, _ = mixture(D, K).draw(N, 0)
        runs: dict[str, Callable[[], Any]] = {
            "passes": lambda X=X: by_passes().fit(X),
            "two threads": lambda X=X: by_passes(n_jobs=2).fit(X),
            "sweeps": lambda X=X: by_sweeps().fit(X),
            "KMeans": lambda X=X, K=K: KMeans(K, random_state=0).fit(X),
            **dask_kmeans(X, K),
        }
        taken = {
            name: [timed(run)[1] for _ in range(1 if N * D > 5e6 else arguments.rounds)] for name, run in runs.items()
        }
        medians = {name: statistics.median(each) for name, each in taken.items()}
        ratio = medians["passes"] / medians["two threads"]
        rows.append((f"{N:,} x {D}, {K}", *(f"{each:.2f}" for each in medians.values()), f"{ratio:.2f}"))
    print_table("seconds", ("points, clusters", *runs, "gain of a thread"), rows)


def a_pass(_: argparse.Namespace) -> None:
    """Milliseconds of one pass on one thread and on two, which take turns; medians of eleven."""
    N, D, K = SIZES[0]
    X, z = mixture(D, K).draw(N, 0)
    frame = chunks.frame_of(NormalGamma.empirical(X), partition_prior(1.0, 0.0), anchor_of(X), "c")
    clusters = chunks.sums_of(frame, frame.shifted(X), None, z, K)
    labelling, quota = chunks.labelling_of(frame, clusters), chunks.Quota(1024, 2.0)
    asked = {"plain": (), "near": (quota,), "restless": (clusters, True, quota, 1), "firsts": ()}
    rows = []
    for name, more in asked.items():
        runs = [InThreads(X, None, n_jobs) for n_jobs in (1, 2)]
        rounds = [
            [timed(lambda r=r, n=name, m=more: r(frame, getattr(passes, n), labelling, *m))[1] for r in runs]
            for _ in range(11)
        ]
        one, two = np.median(rounds, axis=0)
        rows.append((name, f"{1e3 * one:.0f}", f"{1e3 * two:.0f}", f"{one / two:.2f}"))
    print_table(f"a pass over {N:,} x {D}, {K} clusters", ("pass", "one thread, ms", "two", "gain"), rows)


def dask_kmeans(X: Points, K: int) -> dict[str, Callable[[], Any]]:
    """dask-ml's k-means on two threads of this process, if it is installed."""
    try:
        from dask_ml.cluster import KMeans as OfChunks  # noqa: PLC0415  (few have it)
    except ImportError:
        return {}
    chunks = da.from_array(X, chunks=(-(-len(X) // CHUNKS), X.shape[1])).persist()
    return {"KMeans of dask-ml": lambda: OfChunks(n_clusters=K, random_state=0).fit(chunks)}


def on_workers(_: argparse.Namespace) -> None:
    """The same bits for any number of workers, and after three of them were killed."""
    rows = []
    for N, D, K in SIZES:
        z = np.concatenate([mixture(D, K).draw(N // CHUNKS, j)[1] for j in range(CHUNKS)])
        for n_workers, n_kills in ((1, 0), (2, 0), (4, 0), (2, 3)):
            with LocalCluster(n_workers=n_workers, **LOCAL) as cluster, Client(cluster) as client:
                made = [client.submit(part, N, D, K, j, pure=False) for j in range(CHUNKS)]
                wait(made)
                chunks = [dask.delayed(each) for each in made]
                killer = Killer(client, n_kills)
                model, took = timed(
                    lambda c=chunks, k=killer, to=client: on_dask.fit(MAPDPM(likelihood=None, callback=k), c, to)
                )
                labels = np.concatenate(client.gather(client.compute(on_dask.labels(model, chunks))))
            rows.append(
                (
                    f"{N:,} x {D}, {K}",
                    f"{n_workers}",
                    f"{len(killer.killed)}",
                    f"{took:.1f}",
                    f"{model.n_sweeps_}",
                    f"{ami(z, labels):.4f}",
                    digest(model, labels),
                )
            )
    print_table("on Dask", ("points, clusters", "workers", "killed", "seconds", "passes", "AMI", "SHA-256"), rows)


class Killer:
    """A callback that kills a worker, after each of the first passes."""

    def __init__(self, client: Client, n_kills: int) -> None:
        self.client, self.n_kills, self.killed = client, n_kills, []

    def __call__(self, _: Any) -> None:
        """Kill one that runs."""
        running = sorted(self.client.run(os.getpid).values()) if len(self.killed) < self.n_kills else []
        if running:
            self.killed.append(running[0])
            os.kill(running[0], signal.SIGKILL)


def part(N: int, D: int, K: int, j: int) -> Points:
    """One of ``CHUNKS`` chunks, drawn on the worker."""
    X: Points = mixture(D, K).draw(N // CHUNKS, j)[0]
    return X


def big(arguments: argparse.Namespace) -> None:
    """Chunks that are made anew in each pass, on two workers."""
    with LocalCluster(n_workers=2, **LOCAL) as cluster, Client(cluster) as client:
        chunks = [dask.delayed(million)(j) for j in range(arguments.chunks)]
        seen: list[str] = []
        model, took = timed(
            lambda: on_dask.fit(MAPDPM(likelihood=None, callback=lambda p: seen.append(str(p))), chunks, client)
        )
        workers = client.run(peak_megabytes)
        print("\n".join(seen))
        z, X = made(arguments.chunks - 1)
        agreement = ami(z, dask.compute(*on_dask.labels(model, [dask.delayed(X)]))[0])
    print(f"{arguments.chunks} million points: {took:.0f} s, {model.n_sweeps_} passes, K {model.n_clusters_}, ")
    print(f"log joint {model.log_joint_:.4f}, AMI {agreement:.4f}, converged {model.converged_}")
    print(f"most memory: {peak_megabytes():.0f} MB here, workers {[f'{each:.0f}' for each in workers.values()]}")


def made(j: int) -> tuple[Labels, Points]:
    """A million points of ten clusters in two features, and their clusters."""
    of = mixture(2, 10)
    rng = np.random.default_rng([7, j])
    z = rng.choice(10, BIG, p=of.share)
    return z, of.means[z] + np.sqrt(of.variances)[z] * rng.normal(size=(BIG, 2))


def million(j: int) -> Points:
    """The points alone."""
    return made(j)[1]


def streams(_: argparse.Namespace) -> None:
    """Learners of one pass on the chunks of a set, merged."""
    rows = []
    for N, D, K in SIZES:
        X, z = mixture(D, K).draw(N, 0)
        edges = [N * j // CHUNKS for j in range(CHUNKS + 1)]
        whole = MAPDPM(likelihood=None).fit(X[:: max(1, N // 50_000)])

        def learned(
            X: Points = X, edges: list[int] = edges, prior: Any = whole.likelihood_, K: int = K
        ) -> OnlineMAPDPM:
            learners = [OnlineMAPDPM(2 * K, likelihood=prior).partial_fit(X[a:b]) for a, b in itertools.pairwise(edges)]
            return OnlineMAPDPM.merged(learners)

        merged, took = timed(learned)
        few = slice(None, None, max(1, N // COMPARED))
        found = np.array([merged.predict_one(x) for x in X[few][:50_000]])
        rows.append((f"{N:,} x {D}, {K}", f"{took:.1f}", f"{merged.n_clusters}", f"{ami(z[few][:50_000], found):.4f}"))
    print_table("streams, merged", ("points, clusters", "seconds, one thread", "K", "AMI"), rows)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """The value of a run, and its seconds."""
    start = time.perf_counter()
    value = run()
    return value, time.perf_counter() - start


def ami(z: Labels, labels: Labels) -> float:
    """Adjusted mutual information of some of the points."""
    few = slice(None, None, max(1, len(z) // COMPARED))
    return float(metrics.adjusted_mutual_info(z[few], labels[few]))


def digest(model: MAPDPM, labels: Labels) -> str:
    """The first digits of a hash of all that a fit has found."""
    arrays = (model.means_, model.variances_, model.cluster_sizes_, model.history_, labels)
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()[:12]


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


PARTS = {"joint": joint, "pass": a_pass, "seconds": seconds, "dask": on_workers, "big": big, "streams": streams}

if __name__ == "__main__":
    main()
