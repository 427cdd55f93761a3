"""The table of clusters, as ``mapdpm fit`` and ``mapdpm show`` print it: the largest first, the rest counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mapdpm.cli.profiles import Cell, Cluster, Profile
from mapdpm.cli.stderr import printable

MOST_CLUSTERS, MOST_COLUMNS = 12, 6
"""The limits of a table without ``--all``."""
_GROUP = "group"
_MOST_LEVELS = 3
_MOST_GROUPS = 2
_WIDEST = 24  # characters of a name
_APART = 0.01  # nats a point: less sets nothing apart
_LEAST = 0.005  # of a share: less is 0 %


def cluster_table(profile: Profile, *, everything: bool = False) -> str:
    """The clusters in the units of the columns, and what sets each apart; a last line counts what is left out."""
    rows, left_out = table_rows(profile, everything=everything)
    n_right = 3 + (rows[0][3:4] == [_GROUP])
    more = [f"{left_out}: mapdpm show --all MODEL"] if left_out else []
    return "\n".join([*_aligned(rows, n_right), *more])


def table_rows(profile: Profile, *, everything: bool = False) -> tuple[list[list[str]], str]:
    """The titles and the rows of the table, and what it leaves out."""
    clusters = profile.clusters if everything else profile.clusters[:MOST_CLUSTERS]
    places = list(range(len(profile.columns))) if everything else _telling(profile)[:MOST_COLUMNS]
    names = [_short(profile.columns[place].name) for place in places]
    has_groups = any(each.group is not None for each in clusters)
    of_fleet = any(each.shares_in_groups for each in clusters)
    is_one = len(profile.clusters) == 1
    title = ["cluster", "size", "share", *[_GROUP] * has_groups, *names, *["in groups"] * of_fleet]
    rows = [[*title, *["apart by (nats)"] * (not is_one)]]
    for each in clusters:
        row = [str(each.number), _size(each.size), f"{each.share:.1%}", *[str(each.group)] * has_groups]
        row += [cell_text(each.cells[place]) for place in places]
        row += [_in_groups(each)] * of_fleet
        rows.append([*row, *[_apart(profile, each)] * (not is_one)])
    return rows, _left_out(profile, len(clusters), len(places))


def sizes_text(sizes: Sequence[float]) -> str:
    """Sizes, the largest first; the rest is counted."""
    ordered = sorted(sizes, reverse=True)
    shown = " ".join(_size(size) for size in ordered[:MOST_CLUSTERS])
    rest = ordered[MOST_CLUSTERS:]
    return f"{shown}, and {len(rest)} more with {_size(sum(rest))}" if rest else shown


def cell_text(cell: Cell) -> str:
    """``16.02 ± 0.98``; ``cook 60%, eat 30%``; ``0 47%, else 15.0 ± 6.9``; a rate of counts ``3.2``."""
    levels = [f"{_short(name)} {share:.0%}" for name, share in cell.levels[:_MOST_LEVELS] if share >= _LEAST]
    if len(cell.levels) > _MOST_LEVELS:
        levels.append(f"{len(cell.levels) - _MOST_LEVELS} more")
    if cell.centre is None:
        if cell.levels and not levels:
            levels = [f"{_short(cell.levels[0][0])} 0%"]
        return ", ".join(levels) or "-"
    numbers = _number(cell.centre, cell.spread)
    if levels:
        return f"{', '.join(levels)}, else {numbers}"
    return numbers


def _number(centre: float, spread: float | None) -> str:
    """A centre with as many digits as its spread makes sense of."""
    if not spread:
        return f"{centre:.4g}"
    digits = int(np.clip(1 - np.floor(np.log10(spread)), 0, 12))
    if abs(centre) >= 1e7 or digits > 6:  # noqa: PLR2004  (too long to read)
        return f"{centre:.4g} ± {spread:.2g}"
    centre = round(centre, digits) + 0.0  # no -0.0
    return f"{centre:.{digits}f} ± {spread:.{digits}f}"


def _telling(profile: Profile) -> list[int]:
    """The columns in the order of what they tell the clusters apart; those that carry none only where nothing does."""
    shares = np.array([each.share for each in profile.clusters])
    nats = np.array([[cell.nats or 0.0 for cell in each.cells] for each in profile.clusters])
    relevant = np.array([column.relevant for column in profile.columns])
    order = np.lexsort((-(shares @ nats), ~relevant)) if len(nats) else np.arange(len(relevant))
    kept = [int(place) for place in order if relevant[place]] or order.tolist()
    return sorted(kept) if len(kept) <= MOST_COLUMNS else kept


def _apart(profile: Profile, cluster: Cluster) -> str:
    found = [(cell.nats, column.name) for cell, column in zip(cluster.cells, profile.columns, strict=True) if cell.nats]
    told = [f"{_short(name)} {nats:.2g}" if nats < 10.0 else f"{_short(name)} {nats:.0f}"  # noqa: PLR2004
            for nats, name in sorted(found, key=lambda each: -each[0])[:_MOST_LEVELS] if nats >= _APART]  # fmt: skip
    return ", ".join(told) or "-"


def _in_groups(cluster: Cluster) -> str:
    found = sorted(cluster.shares_in_groups.items(), key=lambda each: -each[1])
    told = [f"{_short(name)} {share:.0%}" for name, share in found[:_MOST_GROUPS] if share >= _LEAST]
    rest = sum(share >= _LEAST for _, share in found[_MOST_GROUPS:])
    return ", ".join([*told, f"{rest} more"] if rest else told) or "-"


def _left_out(profile: Profile, n_clusters: int, n_columns: int) -> str:
    said = []
    rest = profile.clusters[n_clusters:]
    if rest:
        share = sum(each.share for each in rest)
        said.append(f"and {len(rest)} more clusters with {_size(sum(each.size for each in rest))} points ({share:.1%})")
    hidden = len(profile.columns) - n_columns
    if hidden:
        said.append(f"{hidden} more column{'s' * (hidden != 1)}")
    return "; ".join(said)


def _aligned(rows: Sequence[Sequence[str]], n_right: int) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if place < n_right and place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _size(size: float) -> str:
    return f"{size:.0f}" if size >= 100.0 or size == int(size) else f"{size:.3g}"  # noqa: PLR2004  (decayed weights)


def _short(name: str) -> str:
    text = printable(name)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."
