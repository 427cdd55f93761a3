"""OnlineMAPDPM on streams whose truth is known: accuracy, full buffers, gateways, speed, memory.

Run: python bench/stream.py [--tables a b c d e f g] [--seeds 0 1 2 ...] [--quick] [--long [POINTS]]. The streams are
those of streams.py: 50,000 points in four features. Labels are prequential: the id that a point got when it came, while
nothing later was known. AMI is of all points after the warm-up, outliers left out; "second half" of the later 25,000.

a  by default settings, with room for 32 clusters, and half_life=1400 for drift and churn; beside it the best
   classifier (it knows the true parameters) and MiniBatchKMeans, told K = 10, in batches of 100 that it may learn first
b  from priors that a user may state: Normal-Gamma with m0 the mean of the first 200 points, c0 = 0.05, a0 = 1 and b0 so
   many times their variance; where the stream changes, also what the batch search finds under the same prior in windows
   of 2000 points, which is what that prior is worth there
c  with room for 12 clusters only, by what happens when they are taken
d  beside the batch search on the same 25,000 points
e  eight devices whose learners are merged, each with every eighth point or with its own share of each true cluster
f  nanoseconds a point of processor time: others at work on the machine still cost some; and how many times as long
   learning takes with an assessment as without a surprise, and as learn_one where points come one by one
g  bytes of a learner, and whether they and the speed stay the same (--long: for ten million points)
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import roc_auc_score
from streams import KINDS, POINTS, Stream, stream
from tables import print_table
from threadpoolctl import threadpool_limits

from mapdpm import MAPDPM, NormalGamma, OnlineMAPDPM, __version__, metrics
from mapdpm.stream.c_learner import Learner

SEEDS = (*range(5), *range(100, 105))
WARMUP = 200
SLOTS, FEW_SLOTS = 32, 12
HALF_LIFE = 1400.0  # what was learned counts as 2020 points do, in the long run
WINDOW = 2000
SHARES = (0.1, 1.0, 10.0)
POLICIES = ("least-loss", "merge", "evict", "refuse")
DEVICES, CONCENTRATION = 8, 0.3
TOLD_K, BATCH = 10, 100
TIMED = ((4, 10), (10, 16))
SHAPES = ((1, 8), (4, 16), (4, 32), (10, 32), (50, 64))

Labels = NDArray[np.int64]
made = functools.lru_cache(maxsize=None)(stream)


def half_life(kind: str) -> float | None:
    """The half-life for a stream that changes; None for the others."""
    return HALF_LIFE if kind in {"drift", "churn"} else None


def agreement(s: Stream, labels: Labels, part: slice = slice(WARMUP, None)) -> float:
    """AMI with the truth in ``part`` of the stream, outliers left out."""
    truth, found = s.labels[part], labels[part]
    return metrics.adjusted_mutual_info(truth[truth >= 0], found[truth >= 0])


def second_half(s: Stream) -> slice:
    """The points of the second half."""
    return slice(len(s.X) // 2, None)


def windows(s: Stream, few: int) -> list[slice]:
    """A ``few`` windows of 2000 points, spread over the second half, the last at its end."""
    size = min(WINDOW, len(s.X) // (2 * few))
    ends = np.linspace(len(s.X) // 2, len(s.X), few + 1)[1:].astype(int)
    return [slice(end - size, end) for end in ends]


def k_means_labels(s: Stream, seed: int) -> Labels:
    """MiniBatchKMeans with the true K; each batch is learned first and then predicted."""
    model = MiniBatchKMeans(TOLD_K, random_state=seed, n_init=3, batch_size=BATCH)
    batches = [s.X[i : i + BATCH] for i in range(0, len(s.X), BATCH)]
    with threadpool_limits(1):  # more only wait for each other, at this size
        return np.concatenate([model.partial_fit(batch).predict(batch) for batch in batches])


def spread(values: Iterable[float]) -> str:
    """A mean, and in brackets the lowest; nothing of nothing."""
    numbers = list(values)
    return f"{np.mean(numbers):.3f} ({min(numbers):.3f})" if numbers else ""


def table_a(seeds: list[int], n_points: int) -> None:
    """Print table A: accuracy with default settings."""
    rows, scored = [], []
    groups = [group for group in ([s for s in seeds if s < 100], [s for s in seeds if s >= 100]) if group]
    for kind in KINDS:
        for group in groups:
            found: dict[str, list[float]] = {name: [] for name in ("all", "later", "oracle", "told", "K", "events")}
            for seed in group:
                s = made(kind, seed, n_points)
                model = OnlineMAPDPM(SLOTS, half_life=half_life(kind))
                ids, scores = model.learn_many_scored(s.X)
                found["all"].append(agreement(s, ids))
                found["later"].append(agreement(s, ids, second_half(s)))
                found["oracle"].append(agreement(s, s.oracle))
                found["told"].append(agreement(s, k_means_labels(s, seed)))
                found["K"].append(model.n_clusters)
                found["events"].append(model.n_events)
                if kind == "outliers":
                    strange = s.labels[WARMUP:] < 0
                    by_model, by_truth = (roc_auc_score(strange, -v[WARMUP:]) for v in (scores, s.log_density))
                    scored.append((str(seed), f"{by_model:.4f}", f"{by_truth:.4f}"))
            figures = (spread(found[name]) for name in ("all", "later", "oracle", "told"))
            means = (f"{np.mean(found[name]):.0f}" for name in ("K", "events"))
            rows.append((f"{kind}, seeds {group[0]} to {group[-1]}", *figures, *means))
    header = ("", "AMI", "second half", "best classifier", f"MiniBatchKMeans({TOLD_K})", "K at the end", "events")
    print_table("(a) default settings, room for 32 clusters: mean over seeds, and in brackets the lowest", header, rows)
    print_table("(a) AUC of scores for the outliers", ("seed", "OnlineMAPDPM", "true density"), scored)


def table_b(seeds: list[int], n_points: int, few: int) -> None:
    """From explicit priors."""
    rows = []
    for kind in KINDS:
        for share in SHARES:
            later, online, batch = [], [], []
            for seed in seeds:
                s = made(kind, seed, n_points)
                first = s.X[:WARMUP]
                prior = NormalGamma(first.mean(axis=0), 0.05, 1.0, share * first.var(axis=0))
                ids = OnlineMAPDPM(SLOTS, likelihood=prior, half_life=half_life(kind)).learn_many(s.X)
                later.append(agreement(s, ids, second_half(s)))
                for window in windows(s, few) if half_life(kind) else []:
                    online.append(agreement(s, ids, window))
                    labels = np.zeros(len(s.X), dtype=np.int64)
                    labels[window] = MAPDPM(likelihood=prior).fit(s.X[window]).labels_
                    batch.append(agreement(s, labels, window))
            rows.append((f"{kind}, b0 = {share:g} variance", *map(spread, (later, online, batch))))
    header = ("", "second half", "in windows", "batch, in windows")
    title = f"(b) explicit priors, AMI: mean over seeds, and the lowest; windows of {WINDOW} points, {few} a stream"
    print_table(title, header, rows)


def table_c(seeds: list[int], n_points: int) -> None:
    """The cost of a full buffer."""
    rows = []
    for kind in ("outliers", "churn"):
        for life in (None, HALF_LIFE):
            figures = []
            for policy in POLICIES:
                found = []
                for seed in seeds:
                    s = made(kind, seed, n_points)
                    found.append(
                        agreement(s, OnlineMAPDPM(FEW_SLOTS, half_life=life, when_full=policy).learn_many(s.X))
                    )
                figures.append(spread(found))
            rows.append((f"{kind}, half_life={life and int(life)}", *figures))
    print_table("(c) room for 12 clusters, by when_full: mean AMI over seeds, and the lowest", ("", *POLICIES), rows)


def table_d(seeds: list[int], n_points: int) -> None:
    """Beside batch."""
    rows = []
    for seed in seeds:
        s = made("stationary", seed, n_points)
        part = second_half(s)
        model = OnlineMAPDPM(SLOTS)
        ids = model.learn_many(s.X)
        cells = [str(seed), f"{agreement(s, ids, part):.4f}", str(model.n_clusters)]
        for likelihood in (model.likelihood_, None):
            batch = MAPDPM(likelihood=likelihood).fit(s.X[part])
            ami = metrics.adjusted_mutual_info(s.labels[part], batch.labels_)
            cells += [f"{ami:.4f}", str(batch.n_clusters_)]
        rows.append((*cells, f"{agreement(s, s.oracle, part):.4f}"))
    header = ("seed", "online", "K", "batch, the same prior", "K", "batch, default prior", "K", "best classifier")
    print_table("(d) stationary, AMI of the second half", header, rows)


def table_e(seeds: list[int], n_points: int) -> None:
    """Gateways."""
    rows = []
    for how in ("every eighth point", "shares of their own"):
        for own in (True, False):
            merged, pooled, ends = [], [], []
            for seed in seeds:
                s = made("stationary", seed, n_points)
                pool = OnlineMAPDPM(SLOTS).partial_fit(s.X)
                prior = "auto" if own else pool.likelihood_
                devices = [OnlineMAPDPM(SLOTS, likelihood=prior).partial_fit(X) for X in dealt(s, seed, how)]
                gateway = OnlineMAPDPM.merged([device.to_bytes() for device in devices])
                merged.append(metrics.adjusted_mutual_info(s.labels, gateway.predict(s.X)))
                pooled.append(metrics.adjusted_mutual_info(s.labels, pool.predict(s.X)))
                ends.append((gateway.n_clusters, pool.n_clusters))
            K, K_pooled = np.mean(ends, axis=0)
            name = f"{how}, {'a prior each' if own else 'one prior'}"
            rows.append((name, spread(merged), spread(pooled), f"{K:.1f}", f"{K_pooled:.1f}"))
    header = ("", "merged", "one learner", "K merged", "K of one learner")
    print_table("(e) eight devices merged, stationary: AMI of predict on all points, mean and lowest", header, rows)


def dealt(s: Stream, seed: int, how: str) -> list[NDArray[np.float64]]:
    """The points of each device."""
    if how == "every eighth point":
        return [s.X[i::DEVICES] for i in range(DEVICES)]
    rng = np.random.default_rng([seed, DEVICES])
    share = rng.dirichlet(np.full(DEVICES, CONCENTRATION), s.labels.max() + 1)
    device = (share.cumsum(axis=1)[s.labels] > rng.random((len(s.X), 1))).argmax(axis=1)
    return [s.X[device == i] for i in range(DEVICES)]


def table_f(n_points: int, repeats: int) -> None:
    """Speed."""
    cases = [(shape, *way) for shape in TIMED for way in itertools.product(("float64", "float32"), ("error", "skip"))]
    rows = [speeds(*case, n_points, repeats) for case in cases]
    names = (
        "learn_many",
        "learn_one (list)",
        "(array)",
        "learn_scored",
        "mapdpm_learn",
        "empty call",
        "assessed",
        "no surprise",
        "learn_assessed (list)",
        "learn_one / empty",
        "assessed / no surprise",
        "learn_assessed / learn_one",
    )
    title = f"(f) ns a point: median of {repeats} repeats of {n_points:,} points, each call in its turn, and the least"
    print_table(title, ("", *names), rows)
    print("  mapdpm_learn: the C function through cffi, the point in place; empty call: a C function that does nothing")
    print("  assessed: learn_many_assessed; no surprise: learn_many of a learner with surprise=False")


def speeds(shape: tuple[int, int], dtype: str, missing: str, n_points: int, repeats: int) -> tuple[str, ...]:
    """A row of the table: the time of each call, on a learner that has learned the stream."""
    D, K = shape
    rng = np.random.default_rng(0)
    centres = rng.normal(0.0, 5.0, (K, D))
    data = centres[rng.integers(0, K, 20_000)] + rng.normal(size=(20_000, D))
    model = OnlineMAPDPM(dtype=dtype, missing=missing).partial_fit(data)
    plain = OnlineMAPDPM(dtype=dtype, missing=missing, surprise=False).partial_fit(data)
    assert model.n_clusters == K
    X = np.ascontiguousarray(data[:n_points], dtype=dtype)
    learner, _ = Learner.read(dtype, model.to_bytes())
    assert learner is not None
    lib, null = learner.lib, learner.ffi.NULL
    base = learner.ffi.from_buffer("mapdpm_real[]", X)
    in_place = [(learner.stream, base + i * D, learner.id, null) for i in range(len(X))]
    lists, arrays, nothing = [(x,) for x in X.tolist()], [(x,) for x in X], [(1, 4)] * len(X)
    parts: list[Callable[[], None]] = [
        functools.partial(each, model.learn_many, [(X,)]),
        functools.partial(each, model.learn_one, lists),
        functools.partial(each, model.learn_one, arrays),
        functools.partial(each, model.learn_scored, lists),
        functools.partial(each, lib.mapdpm_learn, in_place),
        functools.partial(each, lib.mapdpm_n_parameters, nothing),
        functools.partial(each, model.learn_many_assessed, [(X,)]),
        functools.partial(each, plain.learn_many, [(X,)]),
        functools.partial(each, model.learn_assessed, lists),
    ]
    times: list[list[float]] = [[] for _ in parts]
    for _ in range(repeats):
        for part, taken in zip(parts, times, strict=True):
            start = time.process_time()
            part()
            taken.append(1e9 * (time.process_time() - start) / len(X))
    pairs = ((times[1], times[5]), (times[6], times[7]), (times[8], times[1]))
    ratios = (f"{statistics.median(a / b for a, b in zip(*pair, strict=True)):.1f}" for pair in pairs)
    cells = (f"{statistics.median(taken):,.0f} ({min(taken):,.0f})" for taken in times)
    return f"{D} features, {K} clusters, {dtype}, missing={missing!r}", *cells, *ratios


def each(function: Callable[..., object], arguments: Iterable[tuple[Any, ...]]) -> None:
    """A call for each of ``arguments``."""
    for those in arguments:
        function(*those)


def table_g(n_points: int) -> None:
    """Memory."""
    rows = []
    for D, K in SHAPES:
        cells = [f"{D} features, {K} clusters"]
        for dtype in ("float64", "float32"):
            prior = NormalGamma(0.0, 0.05, 1.0, 1.0)
            kinds = ({"likelihood": prior}, {"likelihood": prior, "missing": "skip"}, {})
            cells += [f"{OnlineMAPDPM(K, n_features=D, dtype=dtype, **kind).nbytes:,}" for kind in kinds]
        rows.append(cells)
    header = ("", *(f"{dtype}{what}" for dtype in ("float64", "float32") for what in ("", ", skip", ", warm-up 200")))
    print_table("(g) bytes of a learner", header, rows)

    chunk = stream("stationary", 0).X
    rng = np.random.default_rng(0)
    model = OnlineMAPDPM(SLOTS, n_features=chunk.shape[1])
    rows, taken, report = [], 0.0, 10_000
    while model.n_seen < n_points:
        step = min(10_000, n_points - model.n_seen)
        X = chunk[rng.integers(0, len(chunk), step)]
        start = time.process_time()
        model.learn_many(X)
        taken += time.process_time() - start
        if model.n_seen >= report or model.n_seen == n_points:
            report *= 10
            cells = (model.n_seen, model.nbytes, len(model.to_bytes()), model.n_clusters, model.n_events)
            rows.append((*(f"{cell:,}" for cell in cells), f"{model.n_seen / taken:,.0f}", f"{resident():.1f}"))
    header = ("points seen", "nbytes", "bytes in a file", "K", "events", "points/s so far", "resident MB")
    print_table(f"(g) {n_points:,} points, drawn again and again from a stationary stream of 50,000", header, rows)


def resident() -> float:
    """Resident memory of this process in MB; nan where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if status.exists() else float("nan")


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices="abcdefg", default=list("abcdefg"))
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="two seeds, 10,000 points: does it run?")
    parser.add_argument("--long", type=int, nargs="?", const=10**7, default=10**6, help="points of the long run in (g)")
    arguments = parser.parse_args()
    seeds, n_points, few, repeats = list(arguments.seeds), POINTS, 3, 15
    if arguments.quick:
        seeds, n_points, few, repeats = seeds[:2], 10_000, 1, 3
    machine = platform.processor() or platform.machine()
    print(f"mapdpm {__version__}, {machine}, {os.cpu_count()} cores; {n_points:,} points; seeds {seeds}", flush=True)
    lowest = [seed for seed in seeds if seed < 100] or seeds
    runs = {
        "a": lambda: table_a(seeds, n_points),
        "b": lambda: table_b(seeds, n_points, few),
        "c": lambda: table_c(lowest, n_points),
        "d": lambda: table_d(lowest, n_points),
        "e": lambda: table_e(lowest, n_points),
        "f": lambda: table_f(10_000, repeats),
        "g": lambda: table_g(arguments.long),
    }
    start = time.perf_counter()
    for name in arguments.tables:
        runs[name]()
    print(f"\n{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
