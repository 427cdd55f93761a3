"""The settings that ``mapdpm tune`` tries, and the table that it prints."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

from mapdpm import NormalGamma
from mapdpm.cli import results
from mapdpm.cli.tables import Table
from mapdpm.cli.usage import refuse_argument
from mapdpm.selection import Selection
from mapdpm.selection.grid import Setting, changed_likelihood, default_alphas, split_setting


def settings(arguments: argparse.Namespace, prior: Any, table: Table) -> Any:
    """The grid: each alpha with every combination of the values of ``--vary``."""
    if not arguments.vary:
        return arguments.alphas
    family: Any = NormalGamma if prior is None else type(prior)
    fields = [name.removesuffix("_scale") for name, _ in arguments.vary]
    for (name, _), field in zip(arguments.vary, fields, strict=True):
        if field not in family._fields:
            known = ", ".join(family._fields)
            refuse_argument(f"--vary: {family.name} has no parameter {field!r}; it has {known}")
        if fields.count(field) > 1:
            refuse_argument(f"--vary: each parameter at most once, got {', '.join(name for name, _ in arguments.vary)}")
        if arguments.standardize and name == field:
            refuse_argument(f"--vary: with --standardize name multiples of what the prior has, as {field}_scale=0.1,1")
    alphas = arguments.alphas or default_alphas(arguments.method)
    names, values = zip(("alpha", alphas), *arguments.vary, strict=True)
    grid: list[Setting] = [dict(zip(names, each, strict=True)) for each in itertools.product(*values)]
    try:
        for setting in grid:
            changed_likelihood(prior, split_setting(setting)[1], table.values)
    except ValueError as error:
        refuse_argument(f"--vary: {error}")
    return grid


def table_of_settings(found: Selection, kind: str) -> str:
    """The table as text: for each setting its parameters and scores, and a mark at the best."""
    varied = list(dict.fromkeys(name for setting in found.settings for name in setting if name != "alpha"))
    columns = (
        found.alphas,
        *([setting[name] for setting in found.settings] for name in varied),
        found.mean_scores,
        found.standard_errors,
        found.n_clusters.mean(axis=1),
    )
    rows = [[None if np.isnan(value) else float(value) for value in row] for row in zip(*columns, strict=True)]
    names = ["alpha", *varied, "score", "standard_error", "clusters", "chosen"]
    if kind == "jsonl":
        return results.lines(names, [[*row, number == found.chosen] for number, row in enumerate(rows)], kind)
    cells = [["" if value is None else f"{value:.6g}" for value in row] for row in rows]
    marks = ["*" if number == found.chosen else "" for number in range(len(rows))]
    lines = [names, *([*row, mark] for row, mark in zip(cells, marks, strict=True))]
    return "".join(",".join(line) + "\n" for line in lines)


def verdict(found: Selection) -> str:
    """Which settings are as good as the best, by the rule of ``--one-standard-error``; empty where it is alone."""
    S, near = len(found.settings), int(found.near_best.sum())
    if near == 1:
        return ""
    which = f"all {S}" if near == S else f"{near} of {S}"
    return f"; {which} settings are the same within the standard error"
