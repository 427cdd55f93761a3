"""The reference samplers: agreement with each other, and speed.

Run: python bench/samplers.py [--only agree|speed] [--data FOLDER].

agree   posterior means of K, of the log joint and of 40 pairs being together, on the galaxies and on Old Faithful, by
        every sampler: largest difference between any two in standard errors of the difference, autocorrelation
        considered
speed   a sweep of CollapsedGibbs against the per-point Gibbs sweep in C, medians of rounds in one process; a move of
        the beam on 5,000, 10,000 and 20,000 points
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tables import print_table

from mapdpm import MAPDPM, NormalGamma
from mapdpm.backends import BACKENDS
from mapdpm.diagnostics import effective_sample_size
from mapdpm.protocol import Model
from mapdpm.rng import seeded
from mapdpm.samplers import (
    Chain,
    CollapsedGibbs,
    PermutationAugmented,
    SequentialSplitMerge,
    SplitMerge,
    UncollapsedGibbs,
    sample,
)
from mapdpm.samplers.chain import Adapted

DENSITIES = {"galaxies": "galaxies.csv", "Old Faithful": "old_faithful.csv"}
PAIRS = 40


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("agree", "speed"))
    parser.add_argument("--draws", type=int, default=4000, help="of each of four chains, of agree")
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="holds density/")
    arguments = parser.parse_args()
    if arguments.only in {None, "agree"}:
        if arguments.data is None:
            print("no galaxies: name the folder above density/ by --data or MAPDPM_DATA")
        else:
            agree(arguments.data, arguments.draws)
    if arguments.only in {None, "speed"}:
        sweeps()
        beams()


def agree(folder: Path, draws: int) -> None:
    """Print posterior means by each sampler, and how far any two are apart."""
    for name, file in DENSITIES.items():
        X = np.loadtxt(folder / "density" / file, delimiter=",", skiprows=1)
        X = X[:, :1] / 1000.0 if name == "galaxies" else X
        likelihood = NormalGamma.empirical(X)._replace(b0=0.1 * X.var(axis=0))
        model = {"alpha": 1.0, "likelihood": likelihood}
        gibbs = CollapsedGibbs(**model)
        samplers = {
            "Gibbs": gibbs,
            "uncollapsed Gibbs": UncollapsedGibbs(**model),
            "Gibbs + split-merge": gibbs + SplitMerge(**model),
            "Gibbs + SAMS": gibbs + SequentialSplitMerge(**model),
            "Gibbs + permutations": gibbs + PermutationAugmented(**model),
            "Gibbs + Markov permutations": gibbs + PermutationAugmented(permutations="markov", **model),
        }
        pairs = np.random.default_rng(0).integers(0, len(X), (PAIRS, 2))
        means, errors = [], []
        for sampler in samplers.values():
            trace = sample(X, sampler, draws=draws, burn_in=500, chains=4, random_state=1, n_jobs=2)
            together = [trace.partitions[:, :, i] == trace.partitions[:, :, j] for i, j in pairs]
            values = [trace.n_clusters, trace.log_joint, *together]
            means.append([float(np.mean(value)) for value in values])
            errors.append([error_of_mean(value) for value in values])
        found, error = np.array(means), np.array(errors)
        lines = [
            (label, f"{m[0]:.3f} +- {e[0]:.3f}", f"{m[1]:.2f} +- {e[1]:.2f}")
            for label, m, e in zip(samplers, found, error, strict=True)
        ]
        print_table(f"{name}, {len(X)} points: posterior means", ("", "K", "log joint"), lines)
        worst = 0.0
        for one, two in itertools.combinations(range(len(samplers)), 2):
            spread = np.hypot(error[one], error[two])
            z = np.abs(found[one] - found[two])[spread > 0.0] / spread[spread > 0.0]
            worst = max(worst, float(z.max()))
        n = len(samplers) * (len(samplers) - 1) // 2 * (PAIRS + 2)
        bound = statistics.NormalDist().inv_cdf(1.0 - 0.5e-3 / n)
        print(f"  largest of {n} differences: {worst:.2f} standard errors (1e-3 for all of them: {bound:.2f})")


def error_of_mean(values: NDArray[Any]) -> float:
    """The standard error of the mean of chains, by their effective sample size."""
    values = np.asarray(values, dtype=np.float64)
    if np.ptp(values) == 0.0:
        return 0.0
    return float(values.std(ddof=1) / np.sqrt(effective_sample_size(values, method="mean")))


def sweeps(n: int = 10_000, D: int = 10, K: int = 20, rounds: int = 15) -> None:
    """Print the time of a Gibbs sweep, and of the same in C."""
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 8.0, (K, D))[rng.integers(0, K, n)] + rng.normal(size=(n, D))
    likelihood = NormalGamma(0.0, 0.01, 1.0, 1.0).for_data(X)
    start = MAPDPM(likelihood=likelihood).fit(X).labels_
    sampler = CollapsedGibbs(likelihood=likelihood)
    prior = sampler.target.prior
    chain = Chain(likelihood, prior, X, start, Adapted(float(K)))
    state = chain.state.copy()
    source = seeded(0)
    times: dict[str, list[float]] = {"numba": [], "C": []}
    for _ in range(rounds + 1):
        times["numba"].append(timed(lambda: sampler.step(chain, source)))
        uniforms = rng.random(n)
        times["C"].append(timed(lambda u=uniforms: BACKENDS["c"].perturb(Model(likelihood, prior, X), state, u)))
    ratio = statistics.median(a / b for a, b in zip(times["numba"][1:], times["C"][1:], strict=True))
    lines = [(name, f"{1e9 * statistics.median(values[1:]) / n:.0f}") for name, values in times.items()]
    print_table(f"A Gibbs sweep, D = {D}, K = {K}: ns a point, medians of {rounds} rounds", ("", "ns"), lines)
    print(f"  numba takes {ratio:.2f} times as long as C per point")


def beams(D: int = 10, K: int = 20, rounds: int = 3) -> None:
    """Print the time of a move of the beam as points double."""
    lines = []
    for n in (5_000, 10_000, 20_000):
        rng = np.random.default_rng(0)
        X = rng.normal(0.0, 8.0, (K, D))[rng.integers(0, K, n)] + rng.normal(size=(n, D))
        likelihood = NormalGamma(0.0, 0.01, 1.0, 1.0).for_data(X)
        start = MAPDPM(likelihood=likelihood).fit(X).labels_
        cells = [str(n)]
        for permutations, adapted in (("uniform", Adapted(float(K))), ("projections", None)):
            sampler = PermutationAugmented(likelihood=likelihood, permutations=permutations)
            chain = Chain(likelihood, sampler.target.prior, X, start, adapted)
            source = seeded(0)
            each = [timed(lambda s=sampler, c=chain, r=source: s.step(c, r)) for _ in range(rounds + 1)][1:]
            cells.append(f"{1e6 * statistics.median(each) / n:.1f}")
        lines.append(cells)
    title = f"A move of the beam, D = {D}, K = {K}: microseconds a point"
    print_table(title, ("points", "uniform orders", "random projections"), lines)


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
