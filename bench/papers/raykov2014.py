"""The tables and figures of Raykov2014 (MAP-DPM).

Run: python bench/papers/raykov2014.py [--quick] [--only NAME ...] [--data FOLDER]. Tables 1, 4 and 5 and Figures 3 and
4 share 100 sets drawn as in section 4.1 (20 in the short form); the first of them that runs makes them. Tables 2 and 3
need FOLDER/tabular with the seven UCI sets: a header, classes in `label`, blank cells where a value is missing.
"""

from __future__ import annotations

import numpy as np
from exhibits import Claim, Exhibit, Measure, Setting, drawing, run
from raykov_figures import figure_2, figure_3, figure_4
from raykov_rules import FULL_LIMIT, above_zero, mean_and_spread, pair, same_mean, standard_error, steady, verdict
from raykov_simulation import FULL, GIBBS, LATE, MAP, SIMULATED, SWEEPS, WARM_UP, Array, Runs, n_sets, note, runs
from raykov_uci import table_2, table_3

Row = tuple[str, str, tuple[float, float] | None, tuple[float, float] | None, int]
"""The words of a row, our name of the measure, the paper's (mean, two standard deviations) of Gibbs and MAP, digits."""


def table_of(found: Runs, rows: list[Row]) -> list[list[str]]:
    """Theirs and ours, side by side."""
    header = ["", "theirs, Gibbs", "ours, Gibbs", "theirs, MAP-DPM", "ours, MAP-DPM", "ours, MAPDPM"]
    lines = [header]
    for words, name, gibbs, by_map, digits in rows:
        ours = [
            mean_and_spread(found.figures[each][name], digits) if known(found, each, name) else ""
            for each in (GIBBS, MAP, FULL)
        ]
        theirs = [pair(*printed, digits) if printed else "" for printed in (gibbs, by_map)]
        lines.append([words, theirs[0], ours[0], theirs[1], ours[1], ours[2]])
    return lines


def known(found: Runs, algorithm: str, name: str) -> bool:
    """Whether the algorithm has the measure."""
    return name in found.figures[algorithm] and bool(np.isfinite(found.figures[algorithm][name]).any())


def claims_of(found: Runs, rows: list[Row], setting: Setting, why: dict[tuple[str, str], str]) -> list[Claim]:
    """A claim for each figure that the paper prints."""
    return [
        same_mean(f"{words}, {each}", (*printed, 100), found.figures[each][name], setting, digits=digits, why=reason)
        for words, name, gibbs, by_map, digits in rows
        for each, printed in ((GIBBS, gibbs), (MAP, by_map))
        if printed
        for reason in [why.get((name, each), "Not known.")]
    ]


RATIO, CLIMBS = "Gibbs needs approximately 152 times the iterations", "a sweep never increases the NLL, minus (16)"
UNSTEADY = (
    *("iterations, Gibbs", "iterations, MAP-DPM", "empty clusters, Gibbs", "empty clusters, MAP-DPM"),
    *(RATIO, CLIMBS, "Gibbs is closest to the true K"),
)


def table_1(setting: Setting) -> Exhibit:
    """MAP-DPM and Gibbs on drawn sets."""
    found = runs(n_sets(setting))
    gibbs, by_map = found.figures[GIBBS], found.figures[MAP]
    rows: list[Row] = [
        ("NMI", "NMI sum", (0.67, 0.23), (0.71, 0.23), 2),
        ("iterations", "iterations", (2020, 900), (13.3, 13.9), 1),
        ("difference in K", "difference in K", (-0.91, 7.12), (-6.94, 6.93), 2),
        ("empty clusters", "emptied", (5900, 3600), (10.33, 22.1), 1),
        ("test set NMI", "test NMI sum", (0.72, 0.20), (0.71, 0.23), 2),
    ]
    own = (
        "The paper does not say of which quantity it takes the diagnostic. Ours is that of the log joint; for K it "
        f"asks for {np.nanmean(gibbs['iterations, K']):,.0f}, and for the log joint with r = .1, as printed, for "
        f"{np.nanmean(gibbs['iterations, r']):,.0f}."
    )
    start = (
        "The paper does not give its start, which is not the one cluster of Algorithm 1 (that one gives a much lower "
        "NMI). A sequential start is a pass by itself, not counted here, and leaves little to the sweeps."
    )
    why = {
        ("iterations", GIBBS): own,
        ("iterations", MAP): start,
        ("emptied", MAP): f"There are fewer sweeps to lose clusters in. {start}",
        ("emptied", GIBBS): "Not known: the paper does not say what it counts.",
    }
    claims = [*claims_of(found, rows, setting, why), *sentences_of_table_1(gibbs, by_map)]
    claims = steady(claims, setting, UNSTEADY)
    others: list[Row] = [
        ("seconds", "seconds", (7300, 4000), (28, 32), 3),
        ("log joint above the best of Gibbs", "above Gibbs", None, None, 1),
    ]
    words = SIMULATED.format(sets=n_sets(setting), sweeps=SWEEPS, late=LATE, warm_up=WARM_UP)
    table = table_of(found, [*rows, *others])
    return Exhibit("MAP-DPM and Gibbs sampling on drawn sets", claims, table, note=words)


def sentences_of_table_1(gibbs: dict[str, Array], by_map: dict[str, Array]) -> list[Claim]:
    """What section 4.1 says of the table."""
    times = np.nanmean(gibbs["iterations"]) / by_map["iterations"].mean()
    spread = times * np.hypot(
        standard_error(gibbs["iterations"]) / np.nanmean(gibbs["iterations"]),
        standard_error(by_map["iterations"]) / by_map["iterations"].mean(),
    )
    theirs_error = 152 * np.hypot(45 / 2020, 0.695 / 13.3)
    apart = abs(152 - times) / np.hypot(spread, theirs_error)
    seconds = [each["seconds"].mean() for each in (gibbs, by_map)]
    alike = [np.abs(np.mean(gibbs[name] - by_map[name])) for name in ("NMI sum", "test NMI sum")]
    return [
        verdict(
            RATIO,
            ("152", f"{times:.0f}"),
            apart <= FULL_LIMIT,
            f"the ratios are at most {FULL_LIMIT} standard errors apart; here {apart:.1f}",
            "It follows from the two rows of iterations. Gibbs does need many times more.",
        ),
        above_zero(
            "Gibbs needs more iterations",
            ("2,020 and 13.3", f"{np.nanmean(gibbs['iterations']):,.0f} and {by_map['iterations'].mean():.1f}"),
            gibbs["iterations"] - by_map["iterations"],
        ),
        verdict(
            "this is reflected in the CPU times",
            ("7,300 s and 28 s", f"{seconds[0]:.2f} s and {1e3 * seconds[1]:.1f} ms"),
            seconds[0] > 10.0 * seconds[1],
            "ten times as long at least: the noise of times is far below that",
        ),
        verdict(
            "both achieve similar NMI, in training and test",
            ("differences .04 and .01", f"{alike[0]:.2f} and {alike[1]:.2f}"),
            max(alike) < 0.115,
            "the mean differences are below one standard deviation of the paper's NMI over sets, .115",
        ),
        above_zero(
            "the number of empty clusters is higher in Gibbs",
            ("5,900 and 10.3", f"{gibbs['emptied'].mean():,.0f} and {by_map['emptied'].mean():.1f}"),
            gibbs["emptied"] - by_map["emptied"],
        ),
        above_zero(
            "MAP-DPM produces significant underestimates of K",
            ("-6.94", f"{by_map['difference in K'].mean():.2f}"),
            -by_map["difference in K"],
            named="the mean shortfall",
        ),
        above_zero(
            "Gibbs is closest to the true K",
            ("-.91 and -6.94", f"{gibbs['difference in K'].mean():.2f} and {by_map['difference in K'].mean():.2f}"),
            np.abs(by_map["difference in K"]) - np.abs(gibbs["difference in K"]),
            named="the mean difference of absolute errors",
        ),
    ]


def table_4(setting: Setting) -> Exhibit:
    """More measures of the same sets."""
    rows: list[Row] = [
        ("NMI sum", "NMI sum", (0.67, 0.23), (0.71, 0.23), 2),
        ("NMI max", "NMI max", (0.64, 0.24), (0.64, 0.27), 2),
        ("AMI", "AMI max", (0.62, 0.25), (0.62, 0.27), 2),
    ]
    found = runs(n_sets(setting))
    mean = found.figures[MAP]["AMI"].mean()
    more = (
        "Table 1 has the other rows. AMI is normalised by the larger entropy, as NMI max is; the paper does not say "
        f"so, but by the mean of the entropies the AMI of MAP-DPM would be {mean:.2f}."
    )
    full = table_of(found, [*rows, ("AMI, by the mean", "AMI", None, None, 2)])
    return Exhibit(
        "Agreement with the true clusters", claims_of(found, rows, setting, {}), full, note=note(setting, more)
    )


def table_5(setting: Setting) -> Exhibit:
    """The test set, and the negative log likelihood."""
    rows: list[Row] = [
        ("NMI sum", "test NMI sum", (0.72, 0.20), (0.71, 0.23), 2),
        ("NMI max", "test NMI max", (0.68, 0.22), (0.64, 0.27), 2),
        ("AMI", "test AMI max", (0.67, 0.23), (0.62, 0.27), 2),
        ("NLL (leave-one-out)", "NLL", (7.17, 1.10), (7.20, 1.11), 2),
    ]
    found = runs(n_sets(setting))
    gap = found.figures[MAP]["NLL"] - found.figures[GIBBS]["NLL"]
    similar = verdict(
        "the NLL is similar for Gibbs and MAP-DPM",
        ("7.17 and 7.20", f"{found.figures[GIBBS]['NLL'].mean():.2f} and {found.figures[MAP]['NLL'].mean():.2f}"),
        abs(gap.mean()) < 0.55,
        "the mean difference is below one standard deviation of the paper's NLL over sets, .55",
    )
    more = (
        "NLL is minus the mean log density (17) of the test points: the paper names its section 3.3, which has (17). "
        "The two rows below it are of the points themselves, each left out of its cluster: minus the mean log density "
        "given its own cluster, and minus (16), `MAPDPM.pseudo_log_likelihood`, for each point."
    )
    falls = found.figures[MAP]["falls"].sum()
    sweeps = (found.figures[MAP]["iterations"] - 1).sum()
    climbs = verdict(
        CLIMBS,
        (
            "guaranteed",
            f"{falls:.0f} of {sweeps:.0f} sweeps do, by up to {found.figures[MAP]['largest fall'].max():.1f} nats",
        ),
        falls == 0,
        "no sweep after the first does, but for rounding",
        "Sweeps climb the log joint, and (16) is not it: see [the limits of a mode](maths.md#6-limits-of-a-mode).",
    )
    others: list[Row] = [
        ("points left out, own cluster", "NLL, left out", None, None, 2),
        ("(16) for each point", "(16)", None, None, 2),
    ]
    claims = steady([*claims_of(found, rows, setting, {}), similar, climbs], setting, UNSTEADY)
    return Exhibit("The test set", claims, table_of(found, [*rows, *others]), note=note(setting, more))


EXHIBITS: dict[str, Measure] = {
    "figure-1": drawing("The collapsed model", "The model is (1) to (4) of [the mathematics](maths.md#1-the-model)."),
    "figure-2": figure_2,
    "table-1": table_1,
    "figure-3": figure_3,
    "table-2": table_2,
    "table-3": table_3,
    "table-4": table_4,
    "table-5": table_5,
    "figure-4": figure_4,
}
QUICK = ("figure-2", "table-1", "figure-3", "table-4", "table-5", "figure-4")

if __name__ == "__main__":
    run("raykov2014", EXHIBITS, QUICK, __doc__)
