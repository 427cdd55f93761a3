"""Liang2007, Figure 2: the terms of the sum over beginnings of the last cluster, and what a beam loses of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from exhibits import Claim, Exhibit, Setting
from matplotlib.figure import Figure

from mapdpm import NormalKnownVariance
from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors import DirichletProcess
from mapdpm.samplers._orders import UNIFORM
from mapdpm.samplers._segment_tables import SegmentTable, TableOptions, segment_table
from mapdpm.special import digamma_of

N, K, ORDERS, EPSILON = 500, 10, 20, 1e-32
ENDS = (100, 200, 300, 400)
RECENT = 8
FEATURES = (2, 10, 20, 40)

table_of = compiled_if_possible(segment_table)


def points(D: int) -> tuple[Any, Any]:
    """500 points of ten normal clusters, and their clusters."""
    rng = np.random.default_rng([2, D])
    z = rng.integers(0, K, N)
    return rng.normal(0.0, np.sqrt(2.0), (K, D))[z] + rng.normal(size=(N, D)), z


def tables(D: int, epsilon: float, n_recent: int) -> list[SegmentTable]:
    """A table for each of some orders in which the clusters are contiguous."""
    X, z = points(D)
    family = NormalKnownVariance(0.0, 100.0, 1.0).for_data(X)
    options = TableOptions(UNIFORM, -digamma_of(K + 1.0), epsilon, n_recent)
    found = []
    for seed in range(ORDERS):
        rng = np.random.default_rng(seed)
        order = np.lexsort((rng.random(N), rng.permutation(K)[z])).astype(np.int64)
        found.append(table_of(family, DirichletProcess(1.0), X, order, options))
    return found


def terms_of(table: SegmentTable, end: int) -> tuple[Any, Any]:
    """The starts at an end, and the share of the sum of each."""
    kept = slice(table.first[end], table.first[end + 1])
    return table.starts[kept], np.exp(table.terms[kept] - table.totals[end + 1])


def figure2(setting: Setting) -> Exhibit:
    """The summation profile, and the beam of section 3.3."""
    rows, found = [], {}
    for D in FEATURES:
        whole = tables(D, 0.0, 0)
        largest = np.array([[terms_of(table, end)[1].max() for end in range(N)] for table in whole])
        cells = [f"{np.mean(largest > 0.5):.2f}"]
        for n_recent in (0, RECENT):
            beams = tables(D, EPSILON, n_recent)
            share = np.exp([b.totals[-1] - w.totals[-1] for b, w in zip(beams, whole, strict=True)])
            kept = np.mean([np.diff(beam.first).mean() for beam in beams])
            found[D, n_recent] = share, kept
            cells += [f"{np.median(share):.3g}", f"{share.min():.2g}", f"{kept:.1f}"]
        rows.append((str(D), *cells))
        found[D] = largest
    draw(tables(2, 0.0, 0)[0]).savefig(setting.pictures / "liang2007-profile.png", dpi=100)
    single = {D: float(np.mean(found[D] > 0.5)) for D in FEATURES}
    printed = {D: found[D, 0] for D in FEATURES}
    claims = (
        Claim(
            "A sum is dominated by few terms, most of the time by a single one.",
            "one term (a picture)",
            ", ".join(f"{share:.0%} of sums with {D} features" for D, share in single.items()),
            min(single.values()) > 0.5,
            "in most sums one term is more than half",
        ),
        Claim(
            "With n = 500 and a beam that may lose 1e-32, g'(n) is 0.97 of the true one.",
            "0.97",
            ", ".join(f"{np.median(share):.3g} with {D} features" for D, (share, _) in printed.items()),
            all(np.median(share) > 0.9 for share, _ in printed.values()),
            "above 0.9 in the median of orders, for all numbers of features",
        ),
        Claim(
            "It keeps about 5 cluster sizes instead of 250.",
            "5",
            ", ".join(f"{kept:.1f} with {D} features" for D, (_, kept) in printed.items()),
            None,
            why="The paper does not say how many features its points had, and the number depends on them.",
        ),
    )
    head = ("features", "sums with one term above half")
    head += tuple(
        f"{what}, {beam}" for beam in ("as printed", "ours") for what in ("share of g'", "smallest", "starts")
    )
    note = (
        f"{N} points of {K} normal clusters (means of variance 2, 100 in inference), {ORDERS} orders in which these "
        "are contiguous, alpha 1, beta exp psi(K + 1). The picture has one order and 2 features."
    )
    alt = "Contributions by the beginning of the last cluster, in logs and as shares, at four ends"
    return Exhibit("The summation profile", claims, (head, *rows), "liang2007-profile.png", alt, note)


def draw(table: SegmentTable) -> Figure:
    """Contributions at some ends, by the size of the last cluster."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots(2, len(ENDS), sharex="col", sharey="row")
    for (above, below), end in zip(axes.T, ENDS, strict=True):
        starts, shares = terms_of(table, end)
        sizes = end + 1 - starts
        above.plot(sizes, table.terms[table.first[end] : table.first[end + 1]] - table.totals[end + 1], linewidth=1.0)
        below.vlines(sizes, 0.0, shares, linewidth=1.5)
        above.set_title(f"r = {end + 1}", fontsize="medium")
        above.set_ylim(-250.0, 5.0)
        below.set_xlabel("size m")
    axes[0, 0].set_ylabel("log of the share")
    axes[1, 0].set_ylabel("share of g'(r)")
    return figure
