"""The commands: each reads, fits or scores, and writes. ``cli`` handles options and errors."""

from __future__ import annotations

import argparse
import functools
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mapdpm import columns, load, plots, select_alpha
from mapdpm.cli import demo, html_report, results, stderr, stdout, tables, tuning
from mapdpm.cli import show as showing
from mapdpm.cli import stream as streaming
from mapdpm.cli.columns import beside_groups, chosen, warned, with_others
from mapdpm.cli.kinds import kinds_of, named_kinds, of_cells
from mapdpm.cli.likelihoods import likelihood_of_table
from mapdpm.cli.models import check_convertible, form_of_arguments, model_and_table, model_of
from mapdpm.cli.progress import ProgressLine
from mapdpm.cli.summary import summary
from mapdpm.cli.table_options import FORMATS
from mapdpm.cli.table_rows import counted
from mapdpm.cli.tables import Table
from mapdpm.cli.usage import UsageError, refuse_argument
from mapdpm.files.c_export import as_stream, c_files
from mapdpm.files.disk import write_file
from mapdpm.files.errors import ModelFileError
from mapdpm.files.locks import locked
from mapdpm.names import AUTO
from mapdpm.plots.canvas import KINDS
from mapdpm.search.widths import asks_for_prior

PICTURE = Path("mapdpm_demo.png")


def fit(arguments: argparse.Namespace) -> None:
    """``mapdpm fit``."""
    _check_targets([arguments.data], arguments.out, _file(arguments.labels), arguments.picture, arguments.report)
    if arguments.picture is not None:
        _check_picture(arguments.picture)
    if arguments.report is not None:
        plots.check_matplotlib()
    if arguments.beside is not None and arguments.labels is None:
        refuse_argument("--with: needs --labels, which it is written to")
    choice = warned if arguments.columns is None else chosen(",".join(arguments.columns))
    whole, stated = _table(arguments, with_others(beside_groups(choice, arguments.groups), arguments.beside))
    table, there = whole.with_values(arguments.data)
    progress = ProgressLine(
        quiet=arguments.quiet, verbose=arguments.verbose, runs=arguments.restarts, seconds=arguments.time_limit
    )
    likelihood = likelihood_of_table(arguments, table, stated)
    model = model_of(arguments, likelihood, progress)
    if stated and likelihood == AUTO:
        model.kinds = stated
    started = time.perf_counter()
    size = f"{counted(len(table.values), 'row')} of {counted(table.values.shape[1], 'column')}"
    progress.begin(f"{size}: {'looking for the prior' if asks_for_prior(likelihood) else 'the first pass'}")
    try:
        model.fit(table, **table.metadata())
    finally:
        progress.end()
    seconds = time.perf_counter() - started
    if isinstance(arguments.merge_to, int):
        _merge(arguments, model)
    if arguments.out is not None:
        model.save(arguments.out)
    if arguments.picture is not None:
        write_file(arguments.picture, _picture(model, table, model.labels_, arguments.picture))
    if arguments.labels is not None:
        rows = results.in_place(model.labels_[:, None].tolist(), there, [-1])
        results.write_text(
            arguments.labels, results.lines(*results.beside(whole.beside, ["label"], rows), arguments.format)
        )
    if not arguments.quiet or arguments.report is not None:
        found = columns(table, stated) if likelihood == AUTO else None
        _summarise(arguments, html_report.Found(model, table, np.flatnonzero(there) + 1, found), seconds)


def _summarise(arguments: argparse.Namespace, found: html_report.Found, seconds: float) -> None:
    """Write the report, and print the summary."""
    shape, names = found.table.values.shape, found.table.columns
    told = functools.partial(summary, found.model, shape, names, seconds, found=found.kinds)
    if arguments.report is not None:
        lines = told(kind=FORMATS[0]).split("\n\n")[0]
        drawn = functools.partial(_drawn, found.model)
        write_file(arguments.report, html_report.page(arguments, found, lines, drawn))
    if arguments.quiet:
        return
    text = f"{told(kind=arguments.format)}\n"
    if arguments.labels is not None and str(arguments.labels) == results.STDOUT:
        stderr.write(text)
    else:
        stdout.write(text)


def tune(arguments: argparse.Namespace) -> None:
    """``mapdpm tune``."""
    _check_targets([arguments.data], arguments.out, arguments.picture)
    if arguments.picture is not None:
        _check_picture(arguments.picture)
    choice = warned if arguments.columns is None else chosen(",".join(arguments.columns))
    table, stated = _table(arguments, choice)
    progress = ProgressLine(quiet=arguments.quiet, verbose=arguments.verbose)
    given = {name: getattr(arguments, name) for name in ("max_clusters", "discount", "missing")}
    common = {name: value for name, value in given.items() if value}
    prior = likelihood_of_table(arguments, table, stated)
    common |= {"kinds": stated} if stated and prior == AUTO else {}
    grid = tuning.settings(arguments, prior, table)
    try:
        found = select_alpha(
            table,
            grid,
            method=arguments.method,
            likelihood=prior,
            folds=arguments.folds,
            blocked=arguments.blocked,
            warm_start=not arguments.cold,
            one_standard_error=arguments.one_standard_error,
            random_state=arguments.seed,
            n_jobs=arguments.jobs,
            callback=progress,
            **common,
        )
    finally:
        progress.end()
    if arguments.out is not None:
        found.model.save(arguments.out)
    if arguments.picture is not None:
        write_file(arguments.picture, plots.image(found.plot(), arguments.picture.suffix[1:]))
    results.write_text(None, tuning.table_of_settings(found, arguments.format))
    if not arguments.quiet:
        setting = found.params | {"alpha": found.alpha}
        shown = ", ".join(f"{name} {value:.6g}" for name, value in setting.items())
        stderr.write(f"{shown}, by {found.method}{tuning.verdict(found)}\n")


def _table(arguments: argparse.Namespace, choice: tables.Choice) -> tuple[Table, dict[Any, str]]:
    """The data of ``fit`` and ``tune``; and the kinds of ``--kinds``, by the names or the places of its columns."""
    named, kinds = named_kinds(arguments.kinds), list[str | None]()

    def of_columns(cells: Sequence[str], places: Sequence[int]) -> list[str | None]:
        kinds[:] = kinds_of(named, cells, places)
        return [of_cells(kind) for kind in kinds]

    gaps = arguments.missing == "skip"
    table = tables.read_csv(
        arguments.data, choice, form_of_arguments(arguments), gaps=gaps, kinds=of_columns, on_error=arguments.on_error
    )
    return table, {name: kind for name, kind in zip(table.names, kinds, strict=True) if kind is not None}


def predict(arguments: argparse.Namespace) -> None:
    """``mapdpm predict``."""
    _check_targets([arguments.model, arguments.data], _file(arguments.out))
    model, whole = model_and_table(arguments)
    table, there = whole.with_values(arguments.data)
    absent: list[int | None] = [-1]
    if arguments.proba:
        found = model.predict_proba(table, **table.metadata())
        names, rows = [*(f"cluster_{k}" for k in range(found.shape[1] - 1)), "new"], found.tolist()
        absent = [None] * found.shape[1]
    else:
        novelty = {"novelty": True} if arguments.novelty else {}  # streams have no such argument
        names, rows = ["label"], model.predict(table, **novelty, **table.metadata())[:, None].tolist()
    named = results.beside(whole.beside, names, results.in_place(rows, there, absent))
    results.write_text(arguments.out, results.lines(*named, arguments.format))


def score(arguments: argparse.Namespace) -> None:
    """``mapdpm score``."""
    _check_targets([arguments.model, arguments.data], _file(arguments.out))
    if arguments.mean and arguments.beside is not None:
        refuse_argument("--with: not with --mean, which has no rows")
    model, whole = model_and_table(arguments)
    table, there = whole.with_values(arguments.data)
    if not hasattr(model, "score_samples"):
        msg = f"{arguments.model} holds states in time, which score whole sequences; use HDPHMM.score in Python"
        raise ValueError(msg)
    if not arguments.mean:
        rows = model.score_samples(table, **table.metadata())[:, None].tolist()
        named = results.beside(whole.beside, ["log_density"], results.in_place(rows, there, [None]))
        text = results.lines(*named, arguments.format)
    elif arguments.format == "jsonl":
        text = results.lines(["mean_log_density"], [[model.score(table, **table.metadata())]], arguments.format)
    else:
        text = f"{model.score(table, **table.metadata())!r}\n"
    results.write_text(arguments.out, text)


def show(arguments: argparse.Namespace) -> None:
    """``mapdpm show``."""
    showing.run(arguments)


def stream(arguments: argparse.Namespace) -> None:
    """``mapdpm stream``."""
    _check_targets([arguments.data], arguments.state, _file(arguments.output))
    with locked(arguments.state, _file(arguments.output), _file(arguments.alerts)):
        streaming.run(arguments)


def export(arguments: argparse.Namespace) -> None:
    """``mapdpm export``."""
    try:
        saved = load(arguments.model)
        check_convertible(saved, arguments)
        model = as_stream(saved, max_clusters=arguments.max_clusters, dtype=arguments.dtype)
        files = c_files(model, arguments.name)
    except ModelFileError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None
    arguments.c.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        target = arguments.c / name
        if name == "main.c" and target.exists() and target.read_bytes() != data:
            warnings.warn(f"{target} is there already, and is kept", stacklevel=1)
            continue
        write_file(target, data)
    if not arguments.quiet:
        was = getattr(saved, "dtype", model.dtype)
        facts = f"{counted(model.n_clusters, 'cluster')}, {model.nbytes} bytes of memory"
        facts += f"; from {was} to {model.dtype}: --dtype {was} keeps all digits" if was != model.dtype else ""
        stdout.write(f"{arguments.c}: {', '.join(files)}; {facts}\n")


def demonstrate(arguments: argparse.Namespace) -> None:
    """``mapdpm demo``."""
    target = arguments.picture or PICTURE
    if not arguments.no_picture:
        _check_targets([arguments.data], target)
    found = demo.run(arguments.data)
    if not arguments.quiet:
        stdout.write(f"{demo.report(found)}\n")
    if arguments.no_picture:
        return
    try:
        write_file(target, demo.picture(found))
    except plots.MissingMatplotlibError as error:
        if arguments.picture is not None:
            raise
        stdout.write(f"no picture: {error}\n")
        return
    if not arguments.quiet:
        stdout.write(f"picture: {target}\n")


def _merge(arguments: argparse.Namespace, model: Any) -> None:
    """Let the labels of the model be those of the groups that ``--merge-to`` leaves."""
    try:
        model._set_groups(model.merge_tree(arguments.merge_by).groups(arguments.merge_to))  # noqa: SLF001  (one package)
    except ValueError as error:
        refuse_argument(f"--merge-to: {error}")


def _check_picture(path: Path) -> None:
    plots.check_matplotlib()
    if path.suffix[1:] not in KINDS:
        kinds = ", ".join(f".{kind}" for kind in KINDS)
        refuse_argument(f"--picture: the name of a picture ends in one of {kinds}, got {path}")


def _picture(model: Any, table: Table, labels: Any, path: Path) -> bytes:
    return plots.image(_drawn(model, table, labels), path.suffix[1:])


def _drawn(model: Any, table: Table, labels: Any) -> Any:
    """The axes of clusters in a plane; for a single column, of the density, or of the shares in groups."""
    one = model.n_features_in_ == 1
    if one and table.groups is not None:
        return plots.groups(model)
    if table.kinds is not None:
        return plots.columns(model, table, labels=labels)[0]
    return plots.density(model, table) if one else plots.clusters(model, table, labels=labels)


def _file(path: Path | None) -> Path | None:
    """``path``, or None where it is standard output."""
    return None if path is None or str(path) == results.STDOUT else path


def _check_targets(sources: list[Path | None], *targets: Path | None) -> None:
    """Before any work, OSError for a path that cannot become a file, UsageError for one that is used twice."""
    taken = [path.resolve() for path in sources if path is not None]
    for path in targets:
        if path is None:
            continue
        if str(path) == results.STDOUT:
            msg = "models and pictures are no text, and cannot be written to standard output; name a file"
            raise UsageError(msg)
        if path.absolute().is_relative_to("/dev"):
            msg = f"cannot write {path}: it is not a file; standard output is what there is without the option"
            raise OSError(msg)
        if not path.parent.is_dir():
            msg = f"cannot write {path}: there is no folder {path.parent}"
            raise OSError(msg)
        if path.exists() and not path.is_file():
            msg = f"cannot write {path}: it is not a file"
            raise OSError(msg)
        if path.resolve() in taken:
            msg = f"{path} cannot be written: another file of this command has that name"
            raise UsageError(msg)
        taken.append(path.resolve())
