"""A sweep of the reference samplers against other libraries' Gibbs sampling, in one process, on the same data.

Run: python bench/sampler_peers.py [--points 500] [--features 4] [--rounds 5]. Needs dpgmm (PyTorch) or dpmmlearn
(pip install dpgmm dpmmlearn); what is not installed is left out.

dpgmm      collapsed Gibbs with diagonal or full covariances, one point at a time, on one core, beside CollapsedGibbs
           with NormalGamma or NormalInverseWishart
dpmmlearn  Neal's Algorithm 2 with full covariances (all labels given parameters, then parameters), beside
           UncollapsedGibbs with NormalInverseWishart

Five well separated normal clusters. A sweep's time is that of a longer run less that of a shorter one; medians of
rounds in which all take turns, and the number of clusters in the end, of five.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tables import print_table

from mapdpm import NormalGamma, NormalInverseWishart
from mapdpm.samplers import CollapsedGibbs, GammaPrior, UncollapsedGibbs, sample

SHORT, LONG = 1, 4  # sweeps of a peer
OURS = 100  # times as many sweeps of ours: theirs take seconds
CLUSTERS = 5

Way = Callable[[Any, int], int]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--features", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    named = pairs(arguments.features)
    if not named:
        print("neither dpgmm nor dpmmlearn is installed: pip install dpgmm dpmmlearn")
        return
    rng = np.random.default_rng(0)
    means = 6.0 * rng.normal(size=(CLUSTERS, arguments.features))
    X = means[rng.integers(0, CLUSTERS, arguments.points)] + rng.normal(size=(arguments.points, arguments.features))
    rows = []
    for name, beside, theirs, ours in named:
        seconds: tuple[list[float], list[float]] = ([], [])
        for round_ in range(arguments.rounds + 1):
            a, found = a_sweep(theirs, X, 1)
            b, own = a_sweep(ours, X, OURS)
            if round_:  # the first compiles
                seconds[0].append(a)
                seconds[1].append(b)
        ratio = statistics.median(a / b for a, b in zip(*seconds, strict=True))
        cells = [f"{1e3 * statistics.median(each):.3g}" for each in seconds]
        rows.append((name, cells[0], str(found), beside, cells[1], str(own), f"{ratio:,.0f}"))
    head = ("", "ms a sweep", "K", "beside", "ms a sweep", "K", "ratio")
    print_table(f"{arguments.points:,} points of {arguments.features} features, five clusters", head, rows)


def a_sweep(way: Way, X: Any, times: int) -> tuple[float, int]:
    """Seconds of one sweep, and how many clusters there were in the end."""
    seconds = []
    for sweeps in (SHORT * times, LONG * times):
        start = time.perf_counter()
        found = way(X, sweeps)
        seconds.append(time.perf_counter() - start)
    return (seconds[1] - seconds[0]) / ((LONG - SHORT) * times), found


def pairs(D: int) -> list[tuple[str, str, Way, Way]]:
    """Those that are installed, each with its like."""
    wishart = NormalInverseWishart(np.zeros(D), 0.01, D + 2.0, np.eye(D))
    made: list[tuple[str, str, Way, Way]] = []
    if importlib.util.find_spec("dpgmm") is not None:
        prior = GammaPrior(1.0, 1.0)
        diagonal = CollapsedGibbs(likelihood=NormalGamma(0.0, 0.01, 1.0, 1.0), alpha_prior=prior)
        full = CollapsedGibbs(likelihood=wishart, alpha_prior=prior)
        made.append(("dpgmm, diagonal", "NormalGamma", dpgmm("Diag"), ours(diagonal)))
        made.append(("dpgmm, full", "NormalInverseWishart", dpgmm("Full"), ours(full)))
    if importlib.util.find_spec("dpmmlearn") is not None:
        beside = ours(UncollapsedGibbs(1.0, likelihood=wishart))
        made.append(("dpmmlearn, full", "NormalInverseWishart, uncollapsed", dpmmlearn(D), beside))
    return made


def ours(sampler: Any) -> Way:
    """Sweeps of a sampler of this library."""

    def run(X: Any, sweeps: int) -> int:
        trace = sample(X, sampler, draws=1, burn_in=sweeps - 1, random_state=0)
        return int(trace.n_clusters[0, -1])

    return run


def dpgmm(kind: str) -> Way:
    """Sweeps of dpgmm."""
    os.environ["WANDB_MODE"] = "disabled"
    import torch  # noqa: PLC0415  (few have it)
    from dpgmm import samplers  # noqa: PLC0415
    from loguru import logger  # noqa: PLC0415

    torch.set_num_threads(1)
    torch.cholesky = torch.linalg.cholesky  # dpgmm 0.2 calls it by the name that PyTorch has dropped
    logger.remove()
    sampler = getattr(samplers, f"{kind}CovarianceCollapsedGibbsSampler")

    def run(X: Any, sweeps: int) -> int:
        options = {"verbose": False, "skip_epochs_ll_calc": 10**9}
        model = sampler("init_data_stats", max_clusters_num=CLUSTERS, **options)
        return len(model.fit(iterations_num=sweeps, data=torch.as_tensor(X, dtype=torch.float32))["cluster_assignment"])

    return run


def dpmmlearn(D: int) -> Way:
    """Sweeps of dpmmlearn."""
    from dpmmlearn import DPMM  # noqa: PLC0415  (few have it)
    from dpmmlearn.probability import NormInvWish  # noqa: PLC0415

    def run(X: Any, sweeps: int) -> int:
        prior = NormInvWish(np.zeros(D), 0.01, np.eye(D), D + 2)
        model = DPMM(prior, 1.0, max_iter=sweeps, max_n_labels=1000, verbose=False, use_best_iter=False)
        return len(np.unique(model.fit(X).labels_))

    return run


if __name__ == "__main__":
    main()
