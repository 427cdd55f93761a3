"""The options of the commands that read tables: ``fit``, ``tune``, ``predict``, ``score``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mapdpm.cli import forms, values
from mapdpm.cli.kinds import kind_options, shape_options
from mapdpm.cli.refusals import FAIL, ON_ERROR
from mapdpm.deprecated import said
from mapdpm.likelihoods import FAMILIES
from mapdpm.names import BACKENDS, CRITERIA, HDP_MOVES, METHODS, MISSING, MOVES, STARTS

FORMATS = ("csv", "jsonl")
SHOWN = ("text", "json", "csv")
"""The forms of ``mapdpm show``."""


class _OldName(argparse.Action):
    def __call__(self, _: Any, namespace: Any, value: Any, __: Any = None) -> None:
        """Set the option of now; ``old_names`` gets the warning, which ``main`` prints."""
        setattr(namespace, self.dest, value)
        namespace.old_names = (*namespace.old_names, self.const)


def fit_options(fit: argparse.ArgumentParser) -> None:
    """The options of ``mapdpm fit``."""
    _input_options(fit, "all")
    results = fit.add_argument_group("results")
    results.add_argument("--out", type=Path, metavar="MODEL", help="write the model, for predict and score")
    results.add_argument("--labels", type=Path, metavar="FILE", help="write the cluster of each row; - is stdout")
    _beside_option(results, "each label of --labels")
    results.add_argument("--picture", type=Path, metavar="FILE", help="draw the clusters: .png, .pdf or .svg")
    text = "write a page for a browser: clusters, columns, pictures, scores, how to use the model"
    results.add_argument("--report", type=Path, metavar="HTML", help=text)
    _format_option(results, "labels and the summary")
    text = "labels of groups of clusters: auto, those that belong together; N groups, by a tree; none (auto)"
    results.add_argument("--merge-to", type=values.merged_to, metavar="N", help=text)
    _old_name(results, "--n-groups", "--merge-to", values.count)
    text = "what merges first into N: what costs the log joint least, or is hardest to tell apart (%(default)s)"
    results.add_argument("--merge-by", choices=CRITERIA, default=CRITERIA[0], help=text)
    model = fit.add_argument_group("model")
    model.add_argument(
        "--alpha", type=values.positive, metavar="A", default=1.0, help="concentration, > 0 (%(default)s)"
    )
    model.add_argument(
        "--discount", type=values.discount, metavar="D", default=0.0, help="Pitman-Yor discount in [0, 1) (%(default)s)"
    )
    text = "the column that names the group of each row: clusters are shared by the groups, in shares of each"
    model.add_argument("--groups", metavar="COLUMN", help=text)
    text = "with --groups: concentration of the common shares, > 0 (1.0)"
    model.add_argument("--gamma", type=values.positive, metavar="G", help=text)
    _prior_options(model)
    shape_options(model)
    model.add_argument("--max-clusters", type=values.count, metavar="K", help="largest number of clusters (none)")
    search = fit.add_argument_group("search")
    search.add_argument("--init", choices=STARTS, help="start of the search (sequential)")
    search.add_argument(
        "--moves",
        type=values.moves,
        metavar="LIST",
        help=f"some of {','.join(MOVES)}, or none (merge,split); with --groups of {','.join(HDP_MOVES)} (all)",
    )
    search.add_argument(
        "--restarts", type=values.count, default=1, metavar="R", help="runs; the best is kept (%(default)s)"
    )
    text = "most sweeps in a row, without other moves (%(default)s)"
    search.add_argument("--max-sweeps", type=values.count, default=100, metavar="S", help=text)
    text = "end the search then, with the best result so far (none)"
    search.add_argument("--time-limit", type=values.positive, metavar="SECONDS", help=text)
    search.add_argument(
        "--seed", type=values.seed, metavar="N", help="seed of random numbers (every run draws the same)"
    )
    search.add_argument("--jobs", type=values.count, metavar="N", help="threads over restarts (1)")
    search.add_argument("--backend", choices=("auto", *BACKENDS), default="auto", help="implementation (%(default)s)")
    _verbosity_options(fit, "each step on stderr")


def tune_options(tune: argparse.ArgumentParser) -> None:
    """The options of ``mapdpm tune``."""
    _input_options(tune, "all")
    text = (
        "cv: held-out density; nll: log joint; map: mode of alpha; empirical-bayes: and of the prior; prequential: one "
        "pass of a stream (%(default)s)"
    )
    tune.add_argument("--method", choices=METHODS, default=METHODS[0], help=text)
    text = (
        "the grid, as FIRST:LAST:COUNT (evenly in logarithms) or a list, 0.5,1,2 (0.1:30:10; map and empirical-bayes "
        "start from 0.1,1,10)"
    )
    tune.add_argument("--alphas", type=values.grid, metavar="GRID", help=text)
    text = (
        "values of a parameter of the prior to try with each alpha, as b0=0.1:10:5; or multiples, as b0_scale=0.1,1; "
        "empirical-bayes starts from them (none)"
    )
    tune.add_argument("--vary", type=values.varied, action="append", default=[], metavar="NAME=GRID", help=text)
    tune.add_argument(
        "--folds", type=values.count, default=5, metavar="F", help="folds of cv, or blocks of prequential (%(default)s)"
    )
    tune.add_argument("--blocked", action="store_true", help="hold out consecutive rows: data in order of time")
    text = "choose the fewest clusters within one standard error of the best"
    tune.add_argument("--one-standard-error", action="store_true", help=text)
    tune.add_argument("--cold", action="store_true", help="fit each alpha from its own start (slow)")
    results = tune.add_argument_group("results")
    results.add_argument("--out", type=Path, metavar="MODEL", help="write the model of the chosen alpha")
    results.add_argument("--picture", type=Path, metavar="FILE", help="draw the scores: .png, .pdf or .svg")
    _format_option(results, "a line for each setting")
    model = tune.add_argument_group("model")
    text = "Pitman-Yor discount in [0, 1) (%(default)s)"
    model.add_argument("--discount", type=values.discount, metavar="D", default=0.0, help=text)
    _prior_options(model)
    model.add_argument("--max-clusters", type=values.count, metavar="K", help="most clusters (none; prequential: 64)")
    tune.add_argument("--seed", type=values.seed, metavar="N", help="seed of random numbers (every run draws the same)")
    tune.add_argument("--jobs", type=values.count, metavar="N", help="threads over folds (1)")
    _verbosity_options(tune, "each fit on stderr")


def predict_options(predict: argparse.ArgumentParser) -> None:
    """The options of ``mapdpm predict``."""
    _reader_options(predict)
    how = predict.add_mutually_exclusive_group()
    how.add_argument("--novelty", action="store_true", help="-1 where a new cluster would win")
    how.add_argument("--proba", action="store_true", help="probabilities of the K clusters, and of a new one")


def score_options(score: argparse.ArgumentParser) -> None:
    """The options of ``mapdpm score``."""
    _reader_options(score)
    score.add_argument("--mean", action="store_true", help="print only the mean")


def show_options(show: argparse.ArgumentParser) -> None:
    """The options of ``mapdpm show``."""
    show.add_argument("model", type=Path, help="model file of fit --out, stream --state or a device")
    text = "a table; json: one object; csv: a line for each cluster and column (%(default)s)"
    show.add_argument("--format", choices=SHOWN, default=SHOWN[0], help=text)
    show.add_argument("--all", action="store_true", help="all clusters and columns in the table, not the first ones")
    text = "MODULE:CLASS of a family of your own, which the model has"
    show.add_argument("--likelihood", type=values.family, metavar="FAMILY", help=text)


def _reader_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, help="model file of fit --out, stream --state or a device")
    _input_options(command, "those that the model was fitted on")
    text = "the column that names the group of each row, for a model of fit --groups (rows of a new group)"
    command.add_argument("--groups", metavar="COLUMN", help=text)
    text = "MODULE:CLASS of a family of your own, which the model has"
    command.add_argument("--likelihood", type=values.family, metavar="FAMILY", help=text)
    _beside_option(command, "each result")
    command.add_argument("--out", type=Path, metavar="FILE", help="output file (stdout); .gz compresses")
    _format_option(command, "CSV with a header, or JSON lines")
    command.add_argument("--quiet", action="store_true", help="no warnings")


def _input_options(command: argparse.ArgumentParser, default: str) -> None:
    text = "CSV file, one point a row, gzip too; - is stdin; a header is recognised; or .xlsx, .parquet, by extras"
    command.add_argument("data", type=Path, help=text)
    text = "sheet of a file of Excel, by name or by number from 1 on (the first)"
    command.add_argument("--sheet", metavar="NAME|NUMBER", help=text)
    column_options(command, default)
    forms.add_options(command)
    text = "a row that cannot be read is an error, or left out and counted (%(default)s)"
    command.add_argument("--on-error", choices=ON_ERROR, default=FAIL, help=text)


def column_options(command: argparse.ArgumentParser, default: str) -> None:
    """The options that choose columns, for tables and streams; ``default`` is told by the help."""
    text = f"names or positions of columns, as height,3 or 2-4 or 3- or height-width or all-but:label ({default})"
    command.add_argument("--columns", action="append", metavar="LIST", help=text)
    command.add_argument(
        "--delimiter",
        type=values.character,
        metavar="CHAR",
        help="separator of cells, such as tab (found)",
    )


def _prior_options(model: Any) -> None:
    text = "take the prior from all points, as the paper does; else its width is that of the clusters found"
    model.add_argument("--empirical-prior", action="store_true", help=text)
    text = f"family of the columns of numbers: {', '.join(each.name for each in FAMILIES)}, or MODULE:CLASS of your own"
    model.add_argument(
        "--likelihood", type=values.family, metavar="FAMILY", help=f"{text} (what the columns of the file are)"
    )
    kind_options(model)
    text = "set a parameter of the prior, as b0=0.5 or b0=0.5,2 (one a column); the others come from the data"
    model.add_argument("--prior", type=values.assignment, action="append", default=[], metavar="NAME=VALUE", help=text)
    model.add_argument("--missing", choices=MISSING, help="a blank cell, NA or nan is an error, or skipped (error)")
    text = "--prior is in units of each column's standard deviation, from its mean; the data keeps its units"
    model.add_argument("--standardize", action="store_true", help=text)


def _beside_option(command: Any, what: str) -> None:
    text = f"columns of the file to write before {what} as they are, such as id,time"
    command.add_argument("--with", dest="beside", action="append", metavar="LIST", help=text)


def _format_option(command: Any, what: str) -> None:
    command.add_argument("--format", choices=FORMATS, default="csv", help=f"{what} (%(default)s)")


def _verbosity_options(command: argparse.ArgumentParser, verbose: str) -> None:
    group = command.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")
    group.add_argument("--verbose", action="store_true", help=verbose)


def _old_name(group: Any, old: str, now: str, kind: Any) -> None:
    """The old name of an option, which the help leaves out: it works, and warns."""
    dest = now.removeprefix("--").replace("-", "_")
    group.add_argument(old, dest=dest, type=kind, action=_OldName, const=said(old, now), help=argparse.SUPPRESS)
