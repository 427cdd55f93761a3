"""``mapdpm show``: what is in a model file, as a table, as JSON, or as CSV."""

from __future__ import annotations

import argparse
import csv
import io
import json
from typing import Any

from mapdpm.cli import stdout
from mapdpm.cli.cluster_table import MOST_CLUSTERS, cluster_table
from mapdpm.cli.kinds import unusual
from mapdpm.cli.models import check_clusters, loaded
from mapdpm.cli.profiles import Cell, Cluster, Profile, profile_of
from mapdpm.cli.summary import facts_of, lines_of
from mapdpm.cli.table_options import SHOWN
from mapdpm.kinds.columns import Columns
from mapdpm.likelihoods._shape import is_full

TEXT, JSON, CSV = SHOWN
_CONCENTRATIONS = ("alpha", "discount", "gamma", "kappa", "half_life")
_TITLE = ("cluster", "size", "share", "group", "column", "kind", "centre", "spread", "values", "nats")


def run(arguments: argparse.Namespace) -> None:
    """Print what the file holds."""
    model = loaded(arguments.model)
    check_clusters(model, arguments.model)
    stdout.write(text_of(model, arguments.format, everything=arguments.all))


def text_of(model: Any, kind: str, *, everything: bool = False) -> str:
    """A model that has clusters, in the form ``kind``."""
    profile = profile_of(model, None if everything or kind != TEXT else MOST_CLUSTERS)
    if kind == CSV:
        return _as_csv(profile)
    facts = _facts(model, profile)
    if kind == JSON:
        kinds = [column.kind.word() for column in profile.columns]
        columns = [
            {"column": each.name, "kind": word, "relevant": each.relevant, "gain": each.gain}
            for each, word in zip(profile.columns, kinds, strict=True)
        ]
        clusters = [_as_object(profile, each) for each in profile.clusters]
        whole = facts | {"of_columns": columns, "of_clusters": clusters}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    names = [column.name for column in profile.columns]
    found = unusual(Columns(column.kind for column in profile.columns), names, facts["rows"])
    return f"{lines_of(facts, len(names), found)}\n\n{cluster_table(profile, everything=everything)}\n"


def _facts(model: Any, profile: Profile) -> dict[str, Any]:
    """The facts of the file, by the words of the summary of a fit."""
    kinds = {column.name: column.kind.word() for column in profile.columns if column.kind.said()}
    own = {name: getattr(model, f"{name}_", getattr(model, name, None)) for name in _CONCENTRATIONS}
    own = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in own.items() if value}
    return {
        "model": type(model).__name__,
        "rows": model.n_seen if hasattr(model, "ids") else int(model.cluster_sizes_.sum()),
        "columns": [column.name for column in profile.columns],
        **({"kinds": kinds} if kinds else {}),
        **facts_of(model),
        **own,
        "covariance": "full" if is_full(model.likelihood_) else "diagonal",
    }


def _as_object(profile: Profile, cluster: Cluster) -> dict[str, Any]:
    cells = zip(profile.columns, cluster.cells, strict=True)
    return {
        "cluster": cluster.number,
        "size": cluster.size,
        "share": cluster.share,
        **({} if cluster.group is None else {"group": cluster.group}),
        **({"shares_in_groups": cluster.shares_in_groups} if cluster.shares_in_groups else {}),
        "columns": {column.name: _cell_as_object(cell) for column, cell in cells},
    }


def _cell_as_object(cell: Cell) -> dict[str, Any]:
    numbers = {name: value for name, value in cell._asdict().items() if name != "levels" and value is not None}
    return numbers | ({"values": dict(cell.levels)} if cell.levels else {})


def _as_csv(profile: Profile) -> str:
    """A line for each cluster and column; values as ``cook 0.6; eat 0.3``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_TITLE)
    for cluster in profile.clusters:
        for column, cell in zip(profile.columns, cluster.cells, strict=True):
            levels = "; ".join(f"{name} {share:.6g}" for name, share in cell.levels)
            of_cluster = (cluster.number, cluster.size, cluster.share, cluster.group)
            writer.writerow((*of_cluster, column.name, column.kind.word(), cell.centre, cell.spread, levels, cell.nats))
    return text.getvalue()
