"""The C sweep, point by point, against the naive sweep of naive_sweep.c, in one process: ns a point and the ratio.

Run: python bench/sweep.py [--points 20000] [--rounds 9]. Data: K separated normal clusters in D features, converged
labels, float64, one thread. Each round times both, in turn; medians are printed as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import cffi
import numpy as np

from mapdpm import NormalGamma, __version__
from mapdpm import state as states
from mapdpm.backends.c import C
from mapdpm.partition_priors import partition_prior

SHAPES = ((2, 5), (10, 20), (50, 20), (50, 100))
_DECLARATION = """int64_t naive_sweep(const double *X, int64_t N, int64_t D, int64_t K, int64_t *labels, double *n,
    double *mean, double *squares, const double *m0, double c0, double a0, const double *b0, double alpha);"""


def naive_library() -> tuple[cffi.FFI, object]:
    """naive_sweep.c, compiled for this machine."""
    source = Path(__file__).with_name("naive_sweep.c")
    folder = Path(tempfile.mkdtemp())
    flags = ["-std=gnu99", "-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(source), "-o", str(folder / "naive.so"), "-lm"], check=True)
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATION)
    return ffi, ffi.dlopen(str(folder / "naive.so"))


def measure(D: int, K: int, n_points: int, rounds: int) -> dict[str, object]:
    """Times of both sweeps on one data set."""
    ffi, naive = naive_library()
    rng = np.random.default_rng([D, K])
    labels = rng.integers(0, K, n_points)
    X = rng.normal(0.0, 8.0 if D < 10 else 3.0, (K, D))[labels] + rng.normal(size=(n_points, D))
    likelihood = NormalGamma(np.zeros(D), 0.1, 1.0, np.ones(D))
    prior = partition_prior(1.0)
    state = states.empty(likelihood, n_points, K + 4)
    state.labels[:] = labels
    C.statistics(likelihood, X, None, state)
    while C.sweep(likelihood, prior, X, None, state, 0, False)[1]:
        C.statistics(likelihood, X, None, state)
    n, mean, squares = (state.rows[:, a:b].copy() for a, b in ((0, 1), (1, 1 + D), (1 + D, 1 + 2 * D)))
    naive_labels = state.labels.copy()
    arrays = [ffi.from_buffer("double[]", a) for a in (n, mean, squares)]
    fields = (likelihood.m0, likelihood.b0)
    m0, b0 = (ffi.from_buffer("double[]", a) for a in fields)
    few = max(200, n_points // 10)
    times: dict[str, list[float]] = {"c": [], "naive": []}
    for _ in range(rounds):
        start = time.perf_counter()
        _, moved = C.sweep(likelihood, prior, X, None, state, 0, False)
        times["c"].append((time.perf_counter() - start) / n_points)
        assert moved == 0
        start = time.perf_counter()
        head = ffi.from_buffer("double[]", X)
        moved = naive.naive_sweep(
            head, few, D, state.capacity, ffi.from_buffer("int64_t[]", naive_labels), *arrays, m0, 0.1, 1.0, b0, 1.0
        )
        times["naive"].append((time.perf_counter() - start) / few)
        assert moved == 0
    c, plain = (statistics.median(times[name]) * 1e9 for name in ("c", "naive"))
    ratio = statistics.median(b / a for a, b in zip(times["c"], times["naive"], strict=True))
    return {"D": D, "K": K, "c_ns": round(c, 1), "naive_ns": round(plain, 1), "ratio": round(ratio, 1)}


def main() -> None:
    """Print a JSON line a shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    machine = {"machine": platform.processor() or platform.machine(), "mapdpm": __version__}
    for D, K in SHAPES:
        print(json.dumps(measure(D, K, arguments.points, arguments.rounds) | machine), flush=True)


if __name__ == "__main__":
    main()
