"""Liang2007, Figure 3 (k) and (l): how samplers mix after the burn-in."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from digits_and_news import digits
from exhibits import Claim, Exhibit, Setting
from liang_samplers import BOTH, GIBBS, PAIRS, PERM, samplers
from matplotlib.figure import Figure
from noise import clearly_above, shown

from mapdpm import NormalKnownVariance
from mapdpm.diagnostics import autocorrelation, autocorrelation_time
from mapdpm.samplers import Chain, Hybrid, sample

TICK, LONGEST = 0.002, 0.5
BURN_IN, SECONDS, CHAINS = 300, 4.0, 5
STATISTICS = ("number of clusters", "largest cluster")


def figure3_after(setting: Setting) -> Exhibit:
    """Autocorrelations by time, orders drawn uniformly."""
    X = digits(setting, 1000, 2)
    likelihood = NormalKnownVariance(0.0, 100.0, 16.0).for_data(X)
    taus: dict[str, Any] = {}
    curves: dict[str, Any] = {}
    for name, sampler in samplers(likelihood, permutations="uniform").items():
        series = [mixed(sampler, likelihood, X, seed) for seed in range(CHAINS)]
        taus[name] = np.array([[autocorrelation_time(each[:, s]) * TICK for s in (0, 1)] for each in series])
        curves[name] = np.mean(
            [[autocorrelation(each[:, s])[: round(LONGEST / TICK)] for s in (0, 1)] for each in series], 0
        )
    number, largest = ({name: np.log(each[:, s]) for name, each in taus.items()} for s in (0, 1))
    ratio = np.exp(max(each.mean() for each in number.values()) - min(each.mean() for each in number.values()))
    paired = {(a, b): largest[b] - largest[a] for a in (PAIRS, BOTH) for b in (GIBBS, PERM)}
    claims = (
        Claim(
            "For the number of clusters there is little difference between samplers.",
            "little (k)",
            f"the slowest takes {ratio:.1f} times as long as the fastest",
            bool(ratio < 2.0),
            "less than twice as long, geometric means of five chains",
            "Both moves share the time with Gibbs sweeps and do not help this statistic, so their time is lost: each "
            "part has a half or a third of it.",
        ),
        Claim(
            "For the size of the largest cluster, samplers with split-merge moves mix faster.",
            "faster (l)",
            ", ".join(f"{name} {1e3 * np.exp(each.mean()):.0f} ms" for name, each in largest.items()),
            all(clearly_above(each) for each in paired.values()),
            "log times of both are below those of both others at 1 in 100, by Student's t over five chains",
            "; ".join(f"{a} and {b} are not told apart" for (a, b), each in paired.items() if not clearly_above(each)),
        ),
    )
    figure = Figure(figsize=(8, 3), layout="constrained")
    for s, (statistic, ax) in enumerate(zip(STATISTICS, figure.subplots(1, 2, sharey=True), strict=True)):
        for name, each in curves.items():
            ax.plot(TICK * np.arange(each.shape[1]), each[s], label=name, linewidth=1.2)
        ax.set_title(statistic, fontsize="medium")
        ax.set_xlabel("lag (seconds)")
    figure.axes[0].set_ylabel("autocorrelation")
    figure.axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(setting.pictures / "liang2007-after.png", dpi=90)
    rows = [(name, *(shown(1e3 * each[:, s], 0) for s in (0, 1))) for name, each in taus.items()]
    note = (
        f"1,000 digits of MNIST in two principal components, covariance 16 I; {CHAINS} chains of {SECONDS:g} s after "
        f"{BURN_IN} steps. The table has autocorrelation times in milliseconds of the processor. After a burn-in beta "
        "is exp psi(K + 1) for the mean K of the burn-in; the paper takes that mean itself, which is smaller by "
        "about a half. Either is corrected by Metropolis-Hastings."
    )
    return Exhibit(
        "Mixing after the burn-in", claims, (("", *STATISTICS), *rows), "liang2007-after.png",
        "Autocorrelation against the lag: two panels of four lines", note,
    )  # fmt: skip


def mixed(sampler: Hybrid, likelihood: Any, X: Any, seed: int) -> Any:
    """The number of clusters and the size of the largest, every 2 ms."""
    trace = sample(X, sampler, draws=1, burn_in=BURN_IN, random_state=seed)
    chain = Chain(likelihood, sampler.target.prior, X, trace.ends[0].labels)
    rng = trace.ends[0].restored(chain)
    assert chain.adapted is not None
    seen: list[tuple[float, float, float]] = []
    begin = time.process_time()
    while not seen or seen[-1][0] < SECONDS:
        for part, count in zip(sampler.samplers, chain.adapted.counts, strict=True):
            for _ in range(count):
                part.step(chain, rng)
                seen.append((time.process_time() - begin, float(chain.n_clusters), float(chain.sizes.max())))
    moments = np.array(seen)
    ticks = np.arange(moments[0, 0], moments[-1, 0], TICK)
    return moments[np.searchsorted(moments[:, 0], ticks, side="right") - 1, 1:]
