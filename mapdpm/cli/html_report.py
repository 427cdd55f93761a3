"""``mapdpm fit --report``: one page with what a fit has found, in pictures and tables; it needs no network."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm import plots
from mapdpm.cli.cluster_table import MOST_CLUSTERS, table_rows
from mapdpm.cli.html_page import PAGE, escaped, paragraph, svg, table
from mapdpm.cli.profiles import Profile, profile_of
from mapdpm.cli.table_rows import counted
from mapdpm.cli.tables import Table
from mapdpm.cli.text_rows import name_of
from mapdpm.kinds.columns import Columns
from mapdpm.plots import canvas
from mapdpm.protocol import Labels, Vector

_MOST_POINTS = 4000  # in pictures: each is some bytes of the page
_MOST_ROWS = 10
_MOST_CELLS = 6
_SURPRISING = (
    "The log predictive density of each row, in nats, under all clusters together: the higher, the more normal. The "
    "rows below are the least normal ones; `surprise` is the share of ordinary rows expected to be as unusual. "
    "Each row is left out of its own cluster."
)
_OF_GROUPS = (
    "The log predictive density of each row in its group, in nats: the higher, the more normal. The rows below are the "
    "least normal ones."
)


class Found(NamedTuple):
    """A fit, and the rows that it has seen, whose numbers in the data are ``numbers``, from 1."""

    model: Any
    table: Table
    numbers: Labels
    kinds: Columns | None


def page(arguments: argparse.Namespace, found: Found, facts: str, picture: Callable[[Table, Labels], Any]) -> bytes:
    """The page; ``facts`` are the lines of the summary, and ``picture`` draws the clusters of some rows."""
    profile = profile_of(found.model, MOST_CLUSTERS)
    scores, surprise = _scores(found)
    some = _sample(len(found.table.values))
    few, labels = _rows(found.table, some), found.model.labels_[some]
    sampled = f" A sample of {counted(len(some), 'row')}." if len(some) < len(found.table.values) else ""
    rows, left_out = table_rows(profile)
    parts = [
        table([(line[:10].strip(), line[11:]) for line in facts.splitlines()]),
        "<h2>Clusters</h2>",
        table(rows[1:], rows[0]),
        paragraph(f"{left_out}. `mapdpm show --all` has all." if left_out else ""),
        paragraph(
            "A column shows mean ± standard deviation in its own units, shares of values, or the mean of counts. "
            "`apart by` says which columns set a cluster apart from all others, in nats a point: 3 nats say that a "
            "typical value is twenty times as likely in this cluster."
        ),
        svg(picture(few, labels), "clusters"),
        paragraph(sampled),
        *_groups(found.model, profile),
        "<h2>Columns</h2>",
        _columns(profile, found.kinds),
        svg(plots.columns(found.model, few, labels=labels)[0], "columns") if found.table.kinds is None else "",
        *_relevance(found.model),
        "<h2>Scores</h2>",
        paragraph(_OF_GROUPS if surprise is None else _SURPRISING),
        svg(_histogram(scores), "scores"),
        _lowest(found, scores, surprise),
        "<h2>How to use the model</h2>",
        *_usage(arguments),
    ]
    title = f"Clusters of {name_of(arguments.data)}"
    return PAGE.format(title=escaped(title), body="\n".join(filter(None, parts))).encode()


def _sample(n: int) -> Labels:
    """Numbers of rows for pictures, in order: all, or some."""
    if n <= _MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _MOST_POINTS, replace=False))


def _rows(whole: Table, rows: Labels) -> Table:
    groups = None if whole.groups is None else tuple(whole.groups[row] for row in rows.tolist())
    return whole._replace(values=whole.values[rows], groups=groups)


def _columns(profile: Profile, kinds: Columns | None) -> str:
    """The table of columns, with what a look at their values has noted."""
    notes = [""] * len(profile.columns) if kinds is None else [column.note for column in kinds]
    notes = notes if len(notes) == len(profile.columns) else [""] * len(profile.columns)
    rows = []
    for column, note in zip(profile.columns, notes, strict=True):
        gain = "" if column.gain is None else f"{column.gain:.1f}"
        rows.append((column.name, column.kind.word(), "yes" if column.relevant else "no", gain, note))
    return table(rows, ("column", "kind", "carries clusters", "gain (nats)", "note"))


def _groups(model: Any, profile: Profile) -> list[str]:
    """The groups of clusters that belong together, and of points."""
    parts = []
    if any(each.group is not None for each in profile.clusters):
        of_groups: dict[int, list[Any]] = {}
        for each in profile.clusters:
            of_groups.setdefault(-1 if each.group is None else each.group, []).append(each)
        rows = [
            (str(group), f"{sum(each.share for each in own):.1%}", " ".join(str(each.number) for each in own))
            for group, own in sorted(of_groups.items())
        ]
        parts += ["<h2>Groups of clusters</h2>", table(rows, ("group", "share", "clusters"))]
    if any(each.shares_in_groups for each in profile.clusters):
        parts += ["<h2>Groups of rows</h2>", svg(plots.groups(model), "groups")]
    return parts


def _relevance(model: Any) -> list[str]:
    return [svg(plots.relevance(model), "relevance")] if hasattr(model, "relevance_") else []


def _histogram(scores: Vector) -> Any:
    ax = canvas.axes(None)
    ax.hist(scores[np.isfinite(scores)], bins=min(60, max(10, round(len(scores) ** 0.5))), color="0.6")
    ax.set_xlabel("log density (nats)")
    ax.set_ylabel("rows")
    return ax


def _scores(found: Found) -> tuple[Vector, Vector | None]:
    """Log densities of all rows, and their surprise where the model knows one."""
    if hasattr(found.model, "assess"):
        assessed = found.model.assess(found.table)
        return assessed.log_density, assessed.surprise
    return found.model.score_samples(found.table, **found.table.metadata()), None


def _lowest(found: Found, scores: Vector, surprise: Vector | None) -> str:
    own = found.table
    names = [name if isinstance(name, str) else str(name + 1) for name in own.names[:_MOST_CELLS]]
    columns: list[Any] = [own.__getitem__(name) for name in own.names[:_MOST_CELLS]]
    order = np.lexsort((scores,) if surprise is None else (scores, surprise))[:_MOST_ROWS]
    rows = []
    for row in order.tolist():
        of_row = [str(found.numbers[row]), f"{scores[row]:.2f}", str(found.model.labels_[row])]
        of_row += [] if surprise is None else [f"{surprise[row]:.2g}"]
        rows.append([*of_row, *(_cell(values[row]) for values in columns)])
    return table(rows, ("row", "log density", "label", *["surprise"] * (surprise is not None), *names))


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None or np.isnan(value) else f"{value:g}"


def _usage(arguments: argparse.Namespace) -> list[str]:
    model = "model.mdpm" if arguments.out is None else str(arguments.out)
    groups = "" if arguments.groups is None else f" --groups {shlex.quote(arguments.groups)}"
    saved = "" if arguments.out is not None else "This fit was not saved: fit again with `--out model.mdpm`."
    lines = (
        f"mapdpm show {shlex.quote(model)}",
        f"mapdpm predict {shlex.quote(model)} new.csv{groups}",
        f"mapdpm score {shlex.quote(model)} new.csv{groups}",
    )
    python = f"from mapdpm import load\n\nmodel = load({model!r})\nmodel.predict(table)"
    return [
        paragraph(saved),
        paragraph("`predict` gives the label of each row of another file, `score` how normal it is."),
        f"<pre>{escaped(chr(10).join(lines), keep_lines=True)}</pre>",
        paragraph("In Python, a table is a DataFrame with the same columns:"),
        f"<pre>{escaped(python, keep_lines=True)}</pre>",
    ]
