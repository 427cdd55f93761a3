"""The time of a sweep against the limit of the machine, plain C, numpy and scikit-learn, on one core.

Run: python bench/roofline.py [--points 100000] [--rounds 9] [--shapes 2,5 10,20 ...] [--clone v3] > roofline.jsonl
--clone measures the kernels as a processor of a lower level runs them, against the floor of that level.
Data: K separated normal clusters in D features, float64. For each shape, in one process, in turn in each round:

floor         4 K D operations a point at the peak of fused multiply-adds, which roofline.c measures
sweep         a converged sweep: nobody moves
first         a sweep from random labels, of at most 20,000 points: nearly all move
score         log densities of all points
two           the same in two threads
predict       the best clusters of all points
shares        their posterior probabilities
float32       a converged sweep over the same data in float32; not with --clone
naive         naive_sweep.c: Algorithm 2 as it is written, -O3 -march=native, on fewer points
numpy         the same with one numpy expression a point, on fewer points
KMeans        an iteration of Lloyd, scikit-learn, one thread
BGM           an iteration of BayesianGaussianMixture, diagonal, one thread
BGM_score     its score_samples, one thread

A JSON line a shape: medians in ns a point, and ratios, each the median of the rounds' ratios. bench/report.py makes a
table of the lines, and a picture.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import sklearn
from machine import about
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from mapdpm import NormalGamma
from mapdpm import state as states
from mapdpm.backends import c_calls
from mapdpm.backends.c import C
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model

SHAPES = ((2, 5), (2, 100), (10, 20), (10, 100), (50, 20), (50, 100))
FIRST = 20_000
CALIBRATION = 20_000
ITERATIONS = 3
_DECLARATIONS = """
int64_t multiply_add(int64_t rounds, double *sum);
int level(void);
int64_t naive_sweep(const double *X, int64_t N, int64_t D, int64_t K, int64_t *labels, double *n, double *mean,
    double *squares, const double *m0, double c0, double a0, const double *b0, double alpha);
"""
PRIOR = partition_prior(1.0)

Matrix = NDArray[np.float64]


@functools.cache
def library(level: str) -> tuple[cffi.FFI, Any]:
    """roofline.c and naive_sweep.c, compiled for this machine, or for a level of x86-64."""
    here, folder = Path(__file__).parent, Path(tempfile.mkdtemp())
    sources = [str(here / name) for name in ("roofline.c", "naive_sweep.c")]
    flags = ["-std=gnu99", "-O3", f"-march={level}", "-ffp-contract=fast", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, *sources, "-o", str(folder / "bench.so"), "-lm"], check=True)
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    return ffi, ffi.dlopen(str(folder / "bench.so"))


class Case:
    """One data set, and every way to go over it once. Each method returns seconds a point."""

    def __init__(self, D: int, K: int, n_points: int, level: str) -> None:
        self.level = level
        rng = np.random.default_rng([D, K])
        truth = rng.integers(0, K, n_points)
        self.X = rng.normal(0.0, 8.0 if D < 10 else 3.0, (K, D))[truth] + rng.normal(size=(n_points, D))
        self.D, self.K = D, K
        self.likelihood = NormalGamma(np.zeros(D), 0.1, 1.0, np.ones(D))
        self.converged = self._state(self.X, truth)
        while C.sweep(Model(self.likelihood, PRIOR, self.X), self.converged, 0, False)[1]:
            C.statistics(Model(self.likelihood, PRIOR, self.X), self.converged)
        self.head = self.X[: min(n_points, FIRST)]
        self.random = rng.integers(0, K, len(self.head))
        self.densities = np.empty(n_points)
        self.pool = ThreadPoolExecutor(2)
        self.narrow = self.X.astype(np.float32)
        self.labels = np.empty(n_points, dtype=np.int64)
        self.posteriors = np.empty((n_points, self.converged.capacity))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it does not converge, nor need it
            self.mixture = self._mixture(ITERATIONS).fit(self.head)
        self.few = max(100, min(n_points // 20, 200_000 // (D * K)))

    def _state(self, X: Matrix, labels: NDArray[np.int64]) -> Any:
        state = states.empty(self.likelihood, len(X), self.K + 4)
        state.labels[:] = labels
        C.statistics(Model(self.likelihood, PRIOR, X), state)
        return state

    def floor(self) -> float:
        """The lower bound of the time of a sweep."""
        ffi, lib = library(self.level)
        total = ffi.new("double *")
        start = time.perf_counter()
        operations = lib.multiply_add(CALIBRATION, total)
        return 4.0 * self.K * self.D * (time.perf_counter() - start) / (CALIBRATION * operations)

    def sweep(self) -> float:
        """Nobody moves."""
        return self._sweep(self.X)

    def float32(self) -> float:
        """The same of narrow data."""
        return self._sweep(self.narrow)

    def first(self) -> float:
        """Nearly all move."""
        state = self._state(self.head, self.random)
        start = time.perf_counter()
        _, moved = C.sweep(self._model(self.head), state, 0, False)
        assert moved > 0.5 * len(self.head)
        return (time.perf_counter() - start) / len(self.head)

    def score(self) -> float:
        """All points."""
        return self._timed(lambda model: C.log_densities(model, self.converged, self.densities))

    def predict(self) -> float:
        """All points."""
        return self._timed(lambda model: C.best_slots(model, self.converged, False, self.labels))

    def shares(self) -> float:
        """All points and clusters."""
        return self._timed(lambda model: C.posteriors(model, self.converged, self.posteriors))

    def _model(self, X: Any) -> Model:
        return Model(self.likelihood, PRIOR, X)

    def _timed(self, over: Callable[[Model], Any]) -> float:
        start = time.perf_counter()
        over(self._model(self.X))
        return (time.perf_counter() - start) / len(self.X)

    def _sweep(self, X: Any) -> float:
        start = time.perf_counter()
        _, moved = C.sweep(self._model(X), self.converged, 0, False)
        assert moved == 0
        return (time.perf_counter() - start) / len(X)

    def two(self) -> float:
        """All points, in two threads."""
        halves = zip(np.array_split(self.X, 2), np.array_split(self.densities, 2), strict=True)
        start = time.perf_counter()
        list(self.pool.map(lambda half: C.log_densities(self._model(half[0]), self.converged, half[1]), halves))
        return (time.perf_counter() - start) / len(self.X)

    def naive(self) -> float:
        """The algorithm as it is written, in C."""
        ffi, lib = library(self.level)
        D, state = self.D, self.converged
        columns = [state.rows[:, a:b].copy() for a, b in ((0, 1), (1, 1 + D), (1 + D, 1 + 2 * D))]
        labels = state.labels.copy()
        arrays = [ffi.from_buffer("double[]", a) for a in columns]
        m0, b0 = (ffi.from_buffer("double[]", a) for a in (self.likelihood.m0, self.likelihood.b0))
        head = ffi.from_buffer("double[]", self.X)
        start = time.perf_counter()
        lib.naive_sweep(
            head, self.few, D, state.capacity, ffi.from_buffer("int64_t[]", labels), *arrays, m0, 0.1, 1.0, b0, 1.0
        )
        return (time.perf_counter() - start) / self.few

    def numpy(self) -> float:
        """The algorithm as it is written, a line of numpy a point."""
        D, few = self.D, min(self.few, 300)
        rows = self.converged.rows
        used = np.flatnonzero(self.converged.counts)
        n, mean, squares = rows[used, 0].copy(), rows[used, 1 : 1 + D].copy(), rows[used, 1 + D : 1 + 2 * D].copy()
        of = np.searchsorted(used, self.converged.labels[:few])
        b0, c0, a0 = self.likelihood.b0, 0.1, 1.0
        rising = np.vectorize(lambda a: math.lgamma(a + 0.5) - math.lgamma(a))
        start = time.perf_counter()
        for x, own in zip(self.X[:few], of, strict=True):
            n[own] -= 1.0
            delta = x - mean[own]
            mean[own] -= delta / n[own]
            squares[own] -= delta * (x - mean[own])
            c, a = c0 + n, a0 + 0.5 * n
            b = b0 + 0.5 * squares + 0.5 * c0 * (n / c)[:, None] * mean**2
            t = x - (n / c)[:, None] * mean
            scale = (c / (2.0 * (c + 1.0)))[:, None] / b
            q = D * rising(a) + 0.5 * np.log(scale).sum(1) - (a + 0.5) * np.log1p(scale * t**2).sum(1) + np.log(n)
            alone = c0 / (2.0 * (c0 + 1.0)) / b0
            new = D * math.lgamma(1.5) + 0.5 * np.log(alone).sum() - 1.5 * np.log1p(alone * x**2).sum()
            assert q.argmax() == own
            assert q[own] > new
            n[own] += 1.0
            delta = x - mean[own]
            mean[own] += delta / n[own]
            squares[own] += delta * (x - mean[own])
        return (time.perf_counter() - start) / few

    def KMeans(self) -> float:  # noqa: N802  (its name)
        """An iteration of Lloyd, the start with them."""
        return self._iterations(KMeans(self.K, init="random", n_init=1, max_iter=ITERATIONS, tol=0.0, random_state=0))

    def BGM(self) -> float:  # noqa: N802
        """An iteration, the start with them."""
        return self._iterations(self._mixture(ITERATIONS))

    def BGM_score(self) -> float:  # noqa: N802
        """All points."""
        start = time.perf_counter()
        with threadpool_limits(1):
            self.mixture.score_samples(self.X)
        return (time.perf_counter() - start) / len(self.X)

    def _mixture(self, max_iter: int) -> Any:
        kind = {"covariance_type": "diag", "init_params": "random_from_data", "tol": 0.0, "random_state": 0}
        return BayesianGaussianMixture(n_components=self.K, max_iter=max_iter, **kind)

    def _iterations(self, model: Any) -> float:
        start = time.perf_counter()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            model.fit(self.head)
        return (time.perf_counter() - start) / (len(self.head) * model.n_iter_)


WAYS = (
    *("floor", "sweep", "first", "float32", "score", "two", "predict", "shares"),
    *("naive", "numpy", "KMeans", "BGM", "BGM_score"),
)
SLOW = {"numpy", "KMeans", "BGM", "BGM_score"}  # timed in the first rounds only


RATIOS = (
    "sweep/floor",
    "score/floor",
    "predict/floor",
    "first/sweep",
    "sweep/float32",
    "score/two",
    "naive/sweep",
    "numpy/sweep",
    "KMeans/sweep",
    "BGM/sweep",
    "BGM_score/score",
)


def measure(case: Case, rounds: int, left_out: Collection[str]) -> dict[str, Any]:
    """Medians in ns a point, and of ratios."""
    ways: dict[str, Callable[[], float]] = {name: getattr(case, name) for name in WAYS if name not in left_out}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for i in range(rounds):
        for name, way in ways.items():
            if i < 2 or name not in SLOW:
                times[name].append(1e9 * way())

    def ratio(pair: str) -> float:
        above, below = (times[name] for name in pair.split("/"))
        return statistics.median(x / y for x, y in zip(above, below, strict=False))

    return {
        "bench": "roofline",
        "D": case.D,
        "K": case.K,
        "points": len(case.X),
        "ns_a_point": {name: round(statistics.median(taken), 2) for name, taken in times.items()},
        "ratios": {pair: float(f"{ratio(pair):.3g}") for pair in RATIOS if not {*pair.split("/")} & {*left_out}},
    }


def use_clone(level: str | None) -> tuple[str, str]:
    """Use the kernels of a level of x86-64: what -march calls it, and its name. None: those that the machine runs."""
    if level is None:
        return "native", f"x86-64-v{library('native')[1].level()}"
    name, chosen_by_linker = f"x86-64-{level}", c_calls.library
    sys.path.insert(0, str(Path(__file__).parents[1]))
    loaded = importlib.import_module("build_kernels").load_clone(f"arch={name}", Path(tempfile.mkdtemp()))
    c_calls.library = lambda dtype: loaded if dtype == np.float64 else chosen_by_linker(dtype)  # type: ignore[assignment]
    return name, f"{name}, chosen"


def main() -> None:
    """Print a JSON line a shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--shapes", nargs="+", default=[f"{D},{K}" for D, K in SHAPES])
    parser.add_argument("--clone", choices=["v2", "v3", "v4"])
    arguments = parser.parse_args()
    level, clone = use_clone(arguments.clone)
    setting = about() | {"scikit-learn": sklearn.__version__, "clone": clone}
    left_out = {"float32"} if arguments.clone else set()
    for shape in arguments.shapes:
        D, K = map(int, shape.split(","))
        figures = measure(Case(D, K, arguments.points, level), arguments.rounds, left_out)
        print(json.dumps(figures | setting), flush=True)


if __name__ == "__main__":
    main()
