"""Liang2007: permutations of points in sampling, from a cold start and after it.

Run: python bench/papers/liang2007.py [--quick] [--only NAME ...] [--data FOLDER]. --data is the folder above images/
and text/ (the environment variable MAPDPM_DATA may name it). Time is that of the processor, without compiling.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import climbs
import numpy as np
from digits_and_news import digits, news
from exhibits import Claim, Exhibit, Setting, drawing, run
from liang_after import figure3_after
from liang_profile import figure2
from liang_samplers import BOTH, GIBBS, NAMES, PAIRS, PERM, samplers

from mapdpm import DirichletMultinomial, NormalKnownVariance
from mapdpm.data.counts import Counts

POINTS, RUNS, USUAL = 5000, 5, 2.0
SECONDS = {"start singletons": 4.0, "80 clusters": 4.0, "MNIST": 3.0, "AP": 6.0}
FASTER = "every run of the one is within a thousandth of the best joint of all before every run of the other"
ALPHA = "All draw alpha, from Gamma(1, 1); parts of a hybrid share the time; a beam may lose 1e-32, as in the paper."
MADE = (
    "{points:,} points (the paper: 10,000), unit covariance, means of variance 2 in each feature (100 in inference); "
    "five runs of {limit}. "
)


def synthetic(D: int, K: int, init: str = "sequential", n: int = POINTS) -> climbs.Start:
    """Points of K normal clusters in D features."""
    rng = np.random.default_rng([7, D, K])
    means = rng.normal(0.0, np.sqrt(2.0), (K, D))
    X = means[rng.integers(0, K, n)] + rng.normal(size=(n, D))
    return climbs.Start(X, NormalKnownVariance(0.0, 100.0, 1.0), init)


@cache
def curves_of(setting: Setting, name: str) -> climbs.Curves:
    """The runs of a panel."""
    start = start_of(setting, name)
    named = samplers(start.likelihood, None if setting.quick else "time", burn_in="projections")
    return climbs.panel(start, named, clock_of(setting, name), 3 if setting.quick else RUNS)


def clock_of(setting: Setting, name: str) -> climbs.Clock:
    """How long a run is."""
    return climbs.Clock(40, "steps") if setting.quick else climbs.Clock(SECONDS.get(name, USUAL))


def start_of(setting: Setting, name: str) -> climbs.Start:
    """Points and start of a panel, such as "start single", "80 clusters" or "10 features"."""
    kind, _, what = name.partition(" ")
    if name == "MNIST":
        return climbs.Start(digits(setting, POINTS, 50), NormalKnownVariance(0.0, 100.0, 16.0))
    if name == "AP":
        return climbs.Start(news(setting), DirichletMultinomial(0.1))
    if kind == "start":
        return synthetic(40, 20, what, 1000) if setting.quick else synthetic(40, 40, what)
    return synthetic(int(kind), 40) if what == "features" else synthetic(40, int(kind))


def figure3_starts(setting: Setting) -> Exhibit:
    """Panels (a) to (c)."""
    panels = {name: curves_of(setting, f"start {name}") for name in ("single", "sequential", "singletons")}
    found = {name: {each: climbs.times(curves, each) for each in NAMES} for name, curves in panels.items()}
    lost = {name: climbs.ends(curves, GIBBS) for name, curves in panels.items()}
    claims = [
        Claim(
            "Both samplers with permutations are largely insensitive to the start.",
            "all three starts (pictures)",
            "slowest run: " + ", ".join(f"{name} {max(found[name][PERM] + found[name][BOTH]):.2g}" for name in panels),
            all(np.isfinite(found[name][each]).all() for name in panels for each in (PERM, BOTH)),
            "from each start every run comes within a thousandth of the best",
        ),
        Claim(
            "Gibbs sampling is stuck in local optima, and does much better with more initial clusters.",
            "stuck (pictures)",
            "nats below the best: " + ", ".join(f"{name} {climbs.nats_shown(lost[name])}" for name in panels),
            bool(min(lost["single"]) > 100.0 and max(lost["singletons"]) < min(*lost["single"], *lost["sequential"])),
            "more than 100 nats below the best in every run from one cluster, and less so in every run from singletons",
        ),
    ]
    if not setting.quick:
        slow = {name: found[name][PAIRS] for name in panels}
        claims += [
            Claim(
                "With split-merge moves it catches up slowly.",
                "slower than with permutations (pictures)",
                "; ".join(f"{n}: {climbs.times_shown(slow[n])} s" for n in panels),
                all(climbs.all_faster(panels[name], PERM, PAIRS) for name in panels),
                f"permutations are faster from each start: {FASTER}",
            ),
            Claim(
                "Split-merge moves degrade with more initial clusters.",
                "worst from singletons (c)",
                f"{climbs.times_shown(slow['singletons'])} s from singletons, {climbs.times_shown(slow['single'])} s "
                "from one cluster",
                max(slow["single"]) < min(slow["singletons"]),
                "every run from singletons takes longer than every run from one cluster",
                "Not known for the paper's 10,000 points: the first sweep from singletons compares each point with all "
                "others, so it weighs less with half of them.",
            ),
        ]
    size = "1,000 points of 20 clusters" if setting.quick else f"{POINTS:,} points (the paper: 10,000) of 40 clusters"
    note = f"{size} in 40 features; the starts are one cluster, a sequential draw, and every point alone. {ALPHA}"
    return panels_shown("Three starts", "starts", panels, claims, note, setting)


def panels_shown(
    title: str, name: str, panels: Mapping[str, climbs.Curves], claims: list[Claim], note: str, setting: Setting
) -> Exhibit:
    """An exhibit of panels of curves, with a table of times until near the best."""
    clock = clock_of(setting, next(iter(panels)))
    every = list(next(iter(panels.values())))
    rows = [(each, *(climbs.times_shown(climbs.times(curves, s)) for s in every)) for each, curves in panels.items()]
    file = f"liang2007-{name}.png"
    climbs.draw(panels, clock).savefig(setting.pictures / file, dpi=90)
    note += f" The table has {clock.unit} until a run is within a thousandth of the best of all runs, median and range."
    return Exhibit(title, claims, (("", *every), *rows), file, "Log joint against time, a line a run", note)


def figure3_clusters(setting: Setting) -> Exhibit:
    """Panels (d) to (f)."""
    panels = {
        f"{K} clusters": curves_of(setting, "start sequential" if K == 40 else f"{K} clusters") for K in (20, 40, 80)
    }
    found = {name: {each: climbs.times(curves, each) for each in NAMES} for name, curves in panels.items()}
    few, many = found["20 clusters"], found["80 clusters"]
    factor = {each: float(np.median(many[each]) / np.median(few[each])) for each in (PAIRS, PERM, BOTH)}
    claims = [
        Claim(
            "More true clusters slow samplers with split-merge moves.",
            "slower (pictures)",
            f"{climbs.times_shown(few[PAIRS])} s with 20, {climbs.times_shown(many[PAIRS])} s with 80",
            max(few[PAIRS]) < min(many[PAIRS]),
            "every run with 80 takes longer than every run with 20",
        ),
        Claim(
            "They do not affect samplers with permutations.",
            "as fast (pictures)",
            f"{climbs.times_shown(few[PERM])} s with 20, {climbs.times_shown(many[PERM])} s with 80",
            max(few[PERM]) >= min(many[PERM]),
            "the ranges of times overlap",
            "A sweep compares each point with every cluster, so a step takes longer with 80, whatever moves follow; "
            f"they need {factor[PERM]:.1f} times as long, those with split-merge moves {factor[PAIRS]:.1f} times.",
        ),
        Claim(
            "They slow split-merge moves more than permutations.",
            "more (pictures)",
            ", ".join(f"{each} {value:.1f} times" for each, value in factor.items()),
            min(many[PAIRS]) / max(few[PAIRS]) > max(many[PERM]) / min(few[PERM]),
            "the least factor of any two runs with split-merge moves is above the largest with permutations",
            "The factors of single runs overlap; those of medians are given.",
        ),
    ]
    note = (
        MADE.format(points=POINTS, limit="2 s, 4 s with 80 clusters") + f"40 features, from a sequential draw. {ALPHA}"
    )
    return panels_shown("20, 40 and 80 clusters", "clusters", panels, claims, note, setting)


def figure3_features(setting: Setting) -> Exhibit:
    """Panels (g) and (h)."""
    panels = {f"{D} features": curves_of(setting, f"{D} features") for D in (10, 80)}
    low, high = (climbs.ends(panels[name], PAIRS) - climbs.ends(panels[name], BOTH) for name in panels)
    claim = Claim(
        "The gains of permutations are sharper in more dimensions.",
        "sharper with 80 features (h)",
        "; ".join(
            f"{name}: {PAIRS} {climbs.times_shown(climbs.times(curves, PAIRS))} s, "
            f"{BOTH} {climbs.times_shown(climbs.times(curves, BOTH))} s"
            for name, curves in panels.items()
        ),
        climbs.all_faster(panels["80 features"], PERM, PAIRS)
        and not climbs.all_faster(panels["10 features"], PERM, PAIRS),
        f"permutations are faster with 80 features, and not with 10: {FASTER}",
    )
    note = MADE.format(points=POINTS, limit="2 s") + f"40 clusters, from a sequential draw. {ALPHA}"
    more = f"{np.median(low):+,.0f} nats with 10 features, {np.median(high):+,.0f} with 80"
    note += f" After 2 s the log joint of {BOTH} less that of {PAIRS} is {more} (medians)."
    return panels_shown("10 and 80 features", "features", panels, [claim], note, setting)


def figure3_digits(setting: Setting) -> Exhibit:
    """Panel (i)."""
    curves = curves_of(setting, "MNIST")
    lost = {name: climbs.ends(curves, name) for name in NAMES}
    claims = [
        Claim(
            f"On digits permutations improve {before}.",
            "higher (i)",
            f"{climbs.nats_shown(lost[after])} nats below the best of all, {climbs.nats_shown(lost[before])} without",
            bool(max(lost[after]) < min(lost[before])),
            "every run with permutations ends above every run without; 1 in 252 by chance",
            f"The median is {np.median(lost[before]) - np.median(lost[after]):,.0f} nats above, but the ranges of runs "
            "overlap.",
        )
        for before, after in ((GIBBS, PERM), (PAIRS, BOTH))
    ]
    note = "5,000 digits of MNIST, pixels standardised, 50 principal components, covariance 16 I; five runs of 3 s. "
    note += ALPHA
    return panels_shown("MNIST", "digits", {"MNIST": curves}, claims, note, setting)


class RawCounts(Counts):
    """Counts whose vectors are the counts, as the paper has it; the library's are hashed roots of shares."""

    def rows(self, points: Any) -> RawCounts:
        """Some of the rows, of this kind."""
        return RawCounts(*super().rows(points))

    def as_vectors(self) -> Any:
        """The matrix of counts."""
        from scipy.sparse import csr_array  # noqa: PLC0415  (the library does without)

        return csr_array((self.values, self.indices, self.indptr), shape=(self.n_points, self.n_features))


def figure3_news(setting: Setting) -> Exhibit:
    """Panel (j), and projections of raw counts beside those of hashed roots of shares."""
    start, clock = start_of(setting, "AP"), clock_of(setting, "AP")
    named = samplers(start.likelihood, burn_in="projections")
    raw = {f"{name}, raw": named[name] for name in (PERM, BOTH)}
    curves = {**climbs.panel(start, named, clock, RUNS)}
    curves |= climbs.panel(start._replace(X=RawCounts(*start.X)), raw, clock, RUNS)
    lost = {name: climbs.ends(curves, name) for name in curves}
    shown = "; ".join(f"{name} {climbs.nats_shown(each)}" for name, each in lost.items()) + " nats below the best"
    claims = [
        Claim(
            "On counts of words permutations alone underperform split-merge moves.",
            "lower (j)",
            shown,
            bool(min(lost[PERM]) > max(lost[PAIRS])),
            "every run with permutations ends below every run with split-merge moves",
        ),
        Claim(
            "Both together are competitive with split-merge moves.",
            "about equal (j)",
            shown,
            bool(min(lost[BOTH]) <= max(lost[PAIRS])),
            "the ranges of the ends overlap",
        ),
    ]
    note = f"2,246 documents, 10,473 words, Dirichlet(0.1), each document a point; five runs of 6 s. {ALPHA} "
    note += '"raw" projects counts along a random direction, as printed; without it, hashed square roots of shares. '
    note += (
        f"Alone, raw counts end {climbs.nats_shown(lost[f'{PERM}, raw'])} nats below the best, and ours "
        f"{climbs.nats_shown(lost[PERM])}; with split-merge moves {climbs.nats_shown(lost[f'{BOTH}, raw'])} and "
        f"{climbs.nats_shown(lost[BOTH])}."
    )
    return panels_shown("AP", "news", {"AP": curves}, claims, note, setting)


EXHIBITS = {
    "figure-1": drawing("The augmented model", "docs/maths.md, section 14, has it in words."),
    "figure-2": figure2,
    "figure-3abc": figure3_starts,
    "figure-3def": figure3_clusters,
    "figure-3gh": figure3_features,
    "figure-3i": figure3_digits,
    "figure-3j": figure3_news,
    "figure-3kl": figure3_after,
}
QUICK = ("figure-2", "figure-3abc")

if __name__ == "__main__":
    run("liang2007", EXHIBITS, QUICK, __doc__)
