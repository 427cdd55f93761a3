"""Chang2013: splits of whole clusters and sweeps in parallel, beside other samplers.

Run: python bench/papers/chang2013.py [--quick] [--only NAME ...] [--data FOLDER]. --data is the folder above images/
and text/ (the environment variable MAPDPM_DATA may name it). Time is that of the processor, without compiling.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import climbs
import numpy as np
from chang_bias import SIX, numbers_of_clusters, six_points
from chang_groups import figure2
from chang_samplers import CLUSTERS, ROWS, normals, wishart
from digits_and_news import digits, news
from exhibits import Claim, Exhibit, Setting, drawing, run

from mapdpm import DirichletMultinomial
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.samplers import SubClusterSplits, sample

POINTS, RUNS, SECONDS = 10_000, 3, 1.5
REAL_RUNS, REAL_SECONDS = 2, 4.0
FIRST = 50
OTHERS = ("GIBBS", "FSD", "GIBBS+SUPC", "GIBBS+SAMS")
PRINTED = ("SUBC", "SUBC+SUPC", "APPROX")
SMALL = "K0 1, alpha 0.1"
BIASED = (
    "The reverse of a sub-cluster split is always rejected, which is a bias with few points, and a sweep that "
    "empties a cluster breaks detailed balance. The exact variant is built otherwise."
)


def table1(setting: Setting) -> Exhibit:
    """Each row as a sampler, with a step at the true clusters; and whether the proposed one is exact."""
    found = six_points(2000, SIX[1:2]) if setting.quick else six_points(4000)
    X, z = normals(2000 if setting.quick else 10_000)
    pair = [
        sample(X, SubClusterSplits(likelihood=wishart(X), variant="printed", n_jobs=jobs), draws=5, random_state=0)
        for jobs in (1, 2)
    ]
    claims = [
        Claim(
            "The proposed sampler is exact.",
            "exact",
            f"total variation from the posterior of six points {min(found['printed']):.2f} to "
            f"{max(found['printed']):.2f}; by the exact variant {min(found['exact']):.2f} to {max(found['exact']):.2f}",
            max(found["printed"]) < 0.1,
            "below 0.1 in each case",
            BIASED,
        ),
        Claim(
            "Its steps run in parallel, over points and over clusters.",
            "both",
            "one and two threads make the same draws",
            bool(np.array_equal(pair[0].partitions, pair[1].partitions)),
            "equal partitions",
        ),
    ]
    note = (
        "The paper's Table 1 has capabilities; each row is a sampler here. The exact variant and the launched splits "
        "are ours. Families without conjugacy have `NonconjugateGibbs`, `NonconjugateSplitMerge` and "
        "`NonconjugateSubClusterSplits`. The last columns are of 10,000 points of ten normal clusters with full "
        "covariances: the time of a step from the true clusters, and the adjusted mutual information of the last of "
        "20 draws. The code that the paper compares as GIBBS+SUPC is another one than that of Lovell et al., and not "
        "exact."
    )
    if setting.quick:
        return Exhibit("Capabilities", claims, note=note)
    for n in (100, 1000):
        means = numbers_of_clusters(n, 2000)
        reference, printed = means["`CollapsedGibbs`, `SequentialSplitMerge`"], means["as printed"]
        claims.append(
            Claim(
                f"Remark: so it finds the number of clusters of {n:,} points.",
                "exact",
                "; ".join(f"{name} {mean:.2f} ± {error:.2f}" for name, (mean, error, _) in means.items()),
                abs(printed[0] - reference[0]) < 4.0 * float(np.hypot(printed[1], reference[1])),
                "the mean number is within four standard errors of that of the first",
                BIASED,
            )
        )
    head = ("paper", "here", "infinite", "exact", "points in parallel", "clusters in parallel", "splits", "ms", "AMI")
    return Exhibit("Capabilities", claims, (head, *steps_of(X, z)), note=note)


def steps_of(X: Any, z: Any, steps: int = 20) -> list[tuple[str, ...]]:
    """The rows of Table 1."""
    rows = []
    for name, row in ROWS.items():
        sampler = row.make(alpha=1.0, likelihood=wishart(X))
        first = sample(X, sampler, draws=1, init=z, random_state=0)
        begin = time.process_time()
        trace = sample(X, sampler, draws=steps, resume=first)
        spent = (time.process_time() - begin) / steps
        agreement = adjusted_mutual_info(trace.partitions[0, -1], z)
        marks = ("yes" if mark else "—" for mark in row[2:])
        rows.append((name, row.here, *marks, f"{1e3 * spent:.3g}", f"{agreement:.3f}"))
    return rows


def from_clusters(X: Any, likelihood: Any, n: int, K0: int) -> climbs.Start:
    """A start from ``K0`` clusters drawn at random."""
    return climbs.Start(X, likelihood, np.random.default_rng(5).integers(0, K0, n))


@cache
def curves_of(setting: Setting, K0: int, alpha: float) -> climbs.Curves:
    """The runs of a panel of Figure 4."""
    n, names = (2000, (*OTHERS[:3], "SUBC")) if setting.quick else (POINTS, [name for name in ROWS if "un" not in name])
    X, _ = normals(n)
    start = from_clusters(X, wishart(X), n, K0)
    clock = climbs.Clock(60, "steps") if setting.quick else climbs.Clock(SECONDS)
    named = {name: ROWS[name].make(alpha=alpha, likelihood=start.likelihood) for name in names}
    return climbs.panel(start, named, clock, RUNS)


def figure4(setting: Setting) -> Exhibit:
    """Log joint from one and from fifty clusters, with a small and a large alpha."""
    small = curves_of(setting, 1, 0.1)
    lost = {name: climbs.ends(small, name) for name in small}
    poor = np.concatenate([lost[name] for name in OTHERS[:3]])
    claims = [
        Claim(
            "Samplers without splits do very poorly from few clusters with a small alpha.",
            "FSD, GIBBS and GIBBS+SUPC (pictures)",
            "; ".join(f"{name} {climbs.nats_shown(lost[name])}" for name in (*OTHERS[:3], "SUBC")) + " nats below",
            bool(poor.min() > 2.0 * lost["SUBC"].max()),
            "from one cluster with alpha 0.1, every run ends at least twice as far below the best as any of SUBC",
        )
    ]
    note = (
        "Points of ten normal clusters in two dimensions, some of which overlap, from 1 or 50 clusters drawn at "
        "random; the prior of the authors' program; alpha fixed; one thread."
    )
    if setting.quick:
        return Exhibit("Synthetic data", claims, note=note)
    panels = {f"K0 {K0}, alpha {alpha:g}": curves_of(setting, K0, alpha) for K0 in (1, FIRST) for alpha in (0.1, 100.0)}
    claims += figure4_rest(panels)
    climbs.draw(panels, climbs.Clock(SECONDS), columns=2).savefig(setting.pictures / "chang2013-figure4.png", dpi=90)
    note += (
        f" {POINTS:,} points, and {RUNS} runs of {SECONDS:g} s (the paper: 100,000). The table has nats below the best "
        "of all runs of a panel in the end, and the number of clusters, medians. GIBBS+LAUNCHED, EXACT and EXACT+SUPC "
        "are ours."
    )
    return Exhibit(
        "Synthetic data", claims, ends_table(panels), "chang2013-figure4.png",
        "Log joint against time in four panels, a line a run", note,
    )  # fmt: skip


def figure4_rest(panels: dict[str, climbs.Curves]) -> list[Claim]:
    """The claims that need all panels."""
    lost = {panel: {name: climbs.ends(curves, name) for name in curves} for panel, curves in panels.items()}
    one, fifty = SMALL, f"K0 {FIRST}, alpha 0.1"
    K, exact = ({panel: clusters(curves, name) for panel, curves in panels.items()} for name in ("SUBC", "EXACT"))
    apart = [
        panel
        for panel, each in lost.items()
        if max(each["SUBC"]) < min(each["SUBC+SUPC"]) or max(each["SUBC+SUPC"]) < min(each["SUBC"])
    ]
    better = [panel for panel, each in lost.items() if np.median(each["GIBBS+SUPC"]) <= np.median(each["GIBBS"])]
    near = {panel: {name: climbs.times(curves, name) for name in curves} for panel, curves in panels.items()}
    first = min(min(near[one][name]) for name in OTHERS)
    return [
        Claim(
            "Super-clusters thrown at random do even worse than Gibbs sampling.",
            "worse (pictures)",
            "; ".join(
                f"{panel}: {np.median(each['GIBBS+SUPC']):,.0f} and {np.median(each['GIBBS']):,.0f}"
                for panel, each in lost.items()
            ),
            not better,
            "the median of runs is further below the best in each panel",
            f"Not in {'; '.join(better)}. Theirs are drawn otherwise, by a process that is not exact.",
        ),
        Claim(
            "Super-clusters of neighbours are comparable to SUBC alone.",
            "comparable (pictures)",
            "; ".join(
                f"{panel}: {np.median(each['SUBC+SUPC']):,.0f} and {np.median(each['SUBC']):,.0f}"
                for panel, each in lost.items()
            ),
            not apart,
            "the ranges of the ends of runs overlap in each panel",
            f"Not in {'; '.join(apart)}.",
        ),
        Claim(
            "The approximate method gains much from one cluster.",
            "faster (pictures)",
            f"{climbs.times_shown(near[one]['APPROX'])} s against {climbs.times_shown(near[one]['SUBC'])} s",
            max(near[one]["APPROX"]) < min(near[one]["SUBC"]),
            "with alpha 0.1 every run is within a thousandth of the best before every run of SUBC",
            "Its times and those of SUBC overlap: sub-clusters burn in within few steps here.",
        ),
        Claim(
            "From more clusters it is about as good.",
            "about equal (pictures)",
            f"{climbs.nats_shown(lost[fifty]['APPROX'])} and {climbs.nats_shown(lost[fifty]['SUBC'])} nats below",
            bool(min(lost[fifty]["APPROX"]) <= max(lost[fifty]["SUBC"])),
            "with alpha 0.1 the ranges of the ends overlap",
        ),
        Claim(
            "The proposed samplers are faster than others.",
            "orders of magnitude",
            "; ".join(f"{name} {climbs.times_shown(near[one][name])} s" for name in ("SUBC", *OTHERS)),
            max(near[one]["SUBC"]) < first,
            "from one cluster with alpha 0.1, every run of SUBC is within a thousandth of the best before all others",
            f"{sum(each < first for each in near[one]['SUBC'])} of {RUNS} runs of SUBC are; another one was late or "
            "not near the best in time.",
        ),
        Claim(
            "With so many points alpha has little effect on the clusters.",
            "little",
            "; ".join(f"{panel}: SUBC {each}, EXACT {exact[panel]}" for panel, each in K.items()) + " clusters",
            max(*K.values(), *exact.values()) < 2 * CLUSTERS,
            "SUBC and EXACT have fewer than twice the ten clusters in each panel, medians",
            "With alpha 100 exact samplers keep small clusters, about as many from either start. The printed sampler "
            "does not settle: its random splits lack a term of about (alpha / 2) ln N a side, and cut good clusters.",
        ),
        Claim(
            "16 cores make the parallel samplers ten times as fast.",
            "an order of magnitude",
            "two threads are 1.3 to 1.8 times as fast as one",
            None,
            why="This machine has two cores; docs/samplers-how.md has their times.",
        ),
    ]


def clusters(curves: climbs.Curves, name: str) -> int:
    """The number of clusters in the end, the median of runs."""
    return int(np.median([curve[-1].n_clusters for curve in curves[name]]))


def ends_table(panels: dict[str, climbs.Curves]) -> list[tuple[str, ...]]:
    """Nats below the best in the end, and clusters: a row a sampler, a column a panel."""
    rows = [
        (
            name,
            *(f"{np.median(climbs.ends(curves, name)):,.0f} ({clusters(curves, name)})" for curves in panels.values()),
        )
        for name in next(iter(panels.values()))
    ]
    return [("", *panels), *rows]


def figure5(setting: Setting) -> Exhibit:
    """Digits and documents."""
    X, words = digits(setting, 5000, 50), news(setting)
    starts = {
        "MNIST": from_clusters(X, wishart(X), len(X), FIRST),
        "AP": from_clusters(words, DirichletMultinomial(0.1), words.n_points, FIRST),
    }
    clock, panels = climbs.Clock(REAL_SECONDS), {}
    for panel, start in starts.items():
        named = {
            name: row.make(alpha=1.0, likelihood=start.likelihood) for name, row in ROWS.items() if "un" not in name
        }
        panels[panel] = climbs.panel(start, named, clock, REAL_RUNS)
    lost = {panel: {name: climbs.ends(curves, name) for name in curves} for panel, curves in panels.items()}
    gibbs = [name for name in OTHERS if name != "FSD"]
    claims = [
        Claim(
            "On MNIST the proposed samplers reach a better sample than all others.",
            "better (a)",
            "; ".join(f"{name} {climbs.nats_shown(lost['MNIST'][name])}" for name in (*PRINTED, *OTHERS))
            + " nats below",
            bool(
                max(*lost["MNIST"]["SUBC"], *lost["MNIST"]["SUBC+SUPC"])
                < min(np.concatenate([lost["MNIST"][o] for o in OTHERS]))
            ),
            "every run of SUBC and SUBC+SUPC ends above every run of the others",
            "Ours has 5,000 digits where the paper has 70,000, and seconds on one core; with fewer points a cluster, "
            "samplers that integrate parameters out do better, as the paper says of AP.",
        ),
        Claim(
            "On AP they do slightly worse than the samplers that integrate parameters out.",
            "slightly worse (b)",
            "; ".join(f"{name} {climbs.nats_shown(lost['AP'][name])}" for name in (*PRINTED, *gibbs)) + " nats below",
            bool(
                min(np.concatenate([lost["AP"][name] for name in PRINTED]))
                > max(np.concatenate([lost["AP"][o] for o in gibbs]))
            ),
            "every run ends below every run of the three",
        ),
        Claim(
            "About 20 clusters are found on AP.",
            "20",
            ", ".join(f"{name} {clusters(panels['AP'], name)}" for name in (*gibbs, *PRINTED, "EXACT")),
            any(10 <= clusters(panels["AP"], name) <= 40 for name in (*gibbs, *PRINTED)),
            "10 to 40 by one of the paper's samplers, after 4 s",
            "The paper does not give its prior of words (0.1 here) or its alpha (1 here); both set the number.",
        ),
        Claim(
            "On Enron, the New York Times and PubMed only the proposed samplers converge.",
            "converge (c)-(e)",
            "—",
            None,
            why="The data is not here.",
        ),
    ]
    climbs.draw(panels, clock, columns=2).savefig(setting.pictures / "chang2013-figure5.png", dpi=90)
    note = (
        f"5,000 digits of MNIST in 50 principal components and the 2,246 documents of AP, from {FIRST} clusters "
        f"drawn at random; alpha 1, one thread, {REAL_RUNS} runs of {REAL_SECONDS:g} s. The table is as that of "
        "Figure 4."
    )
    return Exhibit(
        "Real data", claims, ends_table(panels), "chang2013-figure5.png",
        "Log joint against time for digits and documents, a line a run", note,
    )  # fmt: skip


EXHIBITS = {
    "table-1": table1,
    "figure-1": drawing("The model and super-clusters", "docs/maths.md, section 17, has them in words."),
    "figure-2": figure2,
    "figure-3": drawing("The model with sub-clusters", "docs/maths.md, section 17, has it in words."),
    "figure-4": figure4,
    "figure-5": figure5,
}
QUICK = ("table-1", "figure-2", "figure-4")

if __name__ == "__main__":
    run("chang2013", EXHIBITS, QUICK, __doc__)
