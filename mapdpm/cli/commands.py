"""What the commands do: read, fit or score, write. ``cli`` has their options, and what becomes of errors."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mapdpm import MAPDPM, NormalGamma, NormalKnownVariance, OnlineMAPDPM, load, plots, select_alpha
from mapdpm.cli import demo, records, tables
from mapdpm.cli import stream as streaming
from mapdpm.cli.columns import chosen, of_the_model, warned
from mapdpm.cli.options import UsageError
from mapdpm.cli.tables import Table, counted, name_of
from mapdpm.files.c_export import as_stream, c_files
from mapdpm.files.container import ModelFileError, write_file
from mapdpm.likelihoods._parameters import described
from mapdpm.plots.canvas import KINDS
from mapdpm.search.ascent import FitProgress
from mapdpm.selection import Selection, Step
from mapdpm.selection.settings import ALPHAS, Setting, changed, parted

FAMILIES: dict[str, Any] = {"normal-gamma": NormalGamma, "normal-known-variance": NormalKnownVariance}
PICTURE = Path("mapdpm_demo.png")

_STARTS = {"map": (0.1, 1.0, 10.0), "empirical-bayes": (0.1, 1.0, 10.0)}  # of alpha, as select_alpha has them
_MOST_NAMES = 6
_PATIENCE = 0.5  # seconds before a terminal is told that something is going on
_INTERVAL = 0.1


def fit(arguments: argparse.Namespace) -> None:
    """``mapdpm fit``."""
    _check_targets([arguments.data], arguments.out, _file(arguments.labels), arguments.picture)
    if arguments.picture is not None:
        _check_picture(arguments.picture)
    choice = warned if arguments.columns is None else chosen(",".join(arguments.columns))
    table = tables.read_csv(arguments.data, choice, arguments.delimiter)
    reporter = Reporter(quiet=arguments.quiet, verbose=arguments.verbose)
    model = MAPDPM(
        arguments.alpha,
        likelihood=_likelihood(arguments, table),
        discount=arguments.discount,
        max_clusters=arguments.max_clusters,
        init=arguments.init,
        moves=arguments.moves,
        n_restarts=arguments.restarts,
        max_sweeps=arguments.max_sweeps,
        time_limit=arguments.time_limit,
        backend=arguments.backend,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        callback=reporter,
    )
    started = time.perf_counter()
    try:
        model.fit(table)
    finally:
        reporter.end()
    seconds = time.perf_counter() - started
    if arguments.out is not None:
        model.save(arguments.out)
    if arguments.picture is not None:
        write_file(arguments.picture, _picture(model, table, arguments.picture))
    if arguments.labels is not None:
        records.put(arguments.labels, records.lines(["label"], model.labels_[:, None].tolist(), arguments.format))
    if not arguments.quiet:
        to_stdout = arguments.labels is None or str(arguments.labels) != records.STDOUT
        summary = _summary(model, table, seconds, arguments.format)
        print(summary, file=sys.stdout if to_stdout else sys.stderr, flush=True)


def tune(arguments: argparse.Namespace) -> None:
    """``mapdpm tune``."""
    _check_targets([arguments.data], arguments.out, arguments.picture)
    if arguments.picture is not None:
        _check_picture(arguments.picture)
    choice = warned if arguments.columns is None else chosen(",".join(arguments.columns))
    table = tables.read_csv(arguments.data, choice, arguments.delimiter)
    reporter = Reporter(quiet=arguments.quiet, verbose=arguments.verbose)
    capped = {} if arguments.max_clusters is None else {"max_clusters": arguments.max_clusters}
    prior = _likelihood(arguments, table)
    grid = _settings(arguments, prior, table)
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
            callback=reporter,
            **capped,
        )
    finally:
        reporter.end()
    if arguments.out is not None:
        found.model.save(arguments.out)
    if arguments.picture is not None:
        write_file(arguments.picture, plots.image(found.plot(), arguments.picture.suffix[1:]))
    records.put(None, _tried(found, arguments.format))
    if not arguments.quiet:
        setting = found.params | {"alpha": found.alpha}
        shown = ", ".join(f"{name} {value:.6g}" for name, value in setting.items())
        print(f"{shown}, by {found.method}", file=sys.stderr, flush=True)


def predict(arguments: argparse.Namespace) -> None:
    """``mapdpm predict``."""
    _check_targets([arguments.model, arguments.data], _file(arguments.out))
    model, table = _model_and_table(arguments)
    if arguments.proba:
        names = [*(f"cluster_{k}" for k in range(model.n_clusters_)), "new"]
        rows = model.predict_proba(table).tolist()
    else:
        novelty = {"novelty": True} if arguments.novelty else {}  # which streams do not know
        names, rows = ["label"], model.predict(table, **novelty)[:, None].tolist()
    records.put(arguments.out, records.lines(names, rows, arguments.format))


def score(arguments: argparse.Namespace) -> None:
    """``mapdpm score``."""
    _check_targets([arguments.model, arguments.data], _file(arguments.out))
    model, table = _model_and_table(arguments)
    if not arguments.mean:
        rows = model.score_samples(table)[:, None].tolist()
        text = records.lines(["log_density"], rows, arguments.format)
    elif arguments.format == "jsonl":
        text = records.lines(["mean_log_density"], [[model.score(table)]], arguments.format)
    else:
        text = f"{model.score(table)!r}\n"
    records.put(arguments.out, text)


def stream(arguments: argparse.Namespace) -> None:
    """``mapdpm stream``."""
    _check_targets([arguments.data], arguments.state, _file(arguments.output))
    streaming.run(arguments)


def export(arguments: argparse.Namespace) -> None:
    """``mapdpm export``."""
    try:
        saved = load(arguments.model)
        _check_convertible(saved, arguments)
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
        print(f"{arguments.c}: {', '.join(files)}; {model.n_clusters} clusters, {model.nbytes} bytes of memory")


def show(arguments: argparse.Namespace) -> None:
    """``mapdpm demo``."""
    target = arguments.picture or PICTURE
    if not arguments.no_picture:
        _check_targets([arguments.data], target)
    found = demo.run(arguments.data)
    if not arguments.quiet:
        print(demo.report(found), flush=True)
    if arguments.no_picture:
        return
    try:
        write_file(target, demo.picture(found))
    except plots.MissingMatplotlibError as error:
        if arguments.picture is not None:
            raise
        print(f"no picture: {error}", flush=True)
        return
    if not arguments.quiet:
        print(f"picture: {target}", flush=True)


class Reporter:
    """Tells of a fit on stderr: a line a step with --verbose; else, on a terminal, one line that is overwritten."""

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self._verbose = verbose and sys.stderr is not None
        self._live = not (quiet or verbose or sys.stderr is None) and sys.stderr.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def __call__(self, progress: FitProgress | Step) -> None:
        """Tell of one step."""
        if self._verbose:
            self._write(f"{progress}\n")
        elif self._live and time.monotonic() >= self._next:
            self._write(f"\r\033[K{progress}")
            self._next, self._shown = time.monotonic() + _INTERVAL, True

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        """Nobody listens any more: that is no reason to lose the fit."""
        try:
            print(text, end="", file=sys.stderr, flush=True)
        except OSError:
            self._verbose = self._live = self._shown = False


def _likelihood(arguments: argparse.Namespace, table: Table) -> Any:
    """The family with its prior from the data, but for what ``--prior`` says; None is MAPDPM's own default."""
    family, changes = FAMILIES[arguments.likelihood], dict(arguments.prior)
    if len(changes) < len(arguments.prior):
        names = ", ".join(name for name, _ in arguments.prior)
        msg = f"argument --prior: each parameter at most once, got {names}"
        raise UsageError(msg)
    if arguments.standardize and not changes:
        warnings.warn("--standardize changes nothing without --prior, whose units it chooses", stacklevel=2)
    if family is NormalGamma and not changes:
        return None
    unknown = [name for name in changes if name not in family._fields]
    if unknown:
        known = ", ".join(family._fields)
        msg = f"argument --prior: {arguments.likelihood} has no parameter {unknown[0]!r}; it has {known}"
        raise UsageError(msg)
    prior = family.empirical(table)
    try:
        if not arguments.standardize:
            return prior._replace(**changes)
        # The model is the same in any units: the prior is put into standard ones and back, and the data stays.
        _, centre, variance = described(table)
        scale = np.sqrt(variance)
        return prior.shifted(centre).scaled(1.0 / scale)._replace(**changes).scaled(scale).shifted(-centre)
    except ValueError as error:
        msg = f"argument --prior: {error}"
        raise UsageError(msg) from None


def _settings(arguments: argparse.Namespace, prior: Any, table: Table) -> Any:
    """What ``tune`` tries: the alphas, each with every combination of what ``--vary`` says."""
    if not arguments.vary:
        return arguments.alphas
    family = FAMILIES[arguments.likelihood]
    fields = [name.removesuffix("_scale") for name, _ in arguments.vary]
    for (name, _), field in zip(arguments.vary, fields, strict=True):
        if field not in family._fields:
            known = ", ".join(family._fields)
            msg = f"argument --vary: {arguments.likelihood} has no parameter {field!r}; it has {known}"
            raise UsageError(msg)
        if fields.count(field) > 1:
            msg = f"argument --vary: each parameter at most once, got {', '.join(name for name, _ in arguments.vary)}"
            raise UsageError(msg)
        if arguments.standardize and name == field:
            msg = f"argument --vary: with --standardize name multiples of what the prior has, as {field}_scale=0.1,1"
            raise UsageError(msg)
    alphas = arguments.alphas or _STARTS.get(arguments.method, ALPHAS)
    names, values = zip(("alpha", alphas), *arguments.vary, strict=True)
    settings: list[Setting] = [dict(zip(names, each, strict=True)) for each in itertools.product(*values)]
    try:
        for setting in settings:
            changed(prior, parted(setting)[1], table.values)
    except ValueError as error:
        msg = f"argument --vary: {error}"
        raise UsageError(msg) from None
    return settings


def _tried(found: Selection, kind: str) -> str:
    """A line for each setting: its parameters, its score, and a mark at the one that was chosen."""
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
        return records.lines(names, [[*row, number == found.chosen] for number, row in enumerate(rows)], kind)
    cells = [["" if value is None else f"{value:.6g}" for value in row] for row in rows]
    marks = ["*" if number == found.chosen else "" for number in range(len(rows))]
    lines = [names, *([*row, mark] for row, mark in zip(cells, marks, strict=True))]
    return "".join(",".join(line) + "\n" for line in lines)


def _hint(error: str) -> str:
    """What to do about a file that is no model."""
    if "it starts with b'PK" in error:
        return "; if it is a trace of samples, read it in Python with mapdpm.samplers.Trace.load"
    return "; the model comes first, then the data" if "not a mapdpm model" in error else ""


def _check_kind(model: MAPDPM | OnlineMAPDPM, arguments: argparse.Namespace) -> None:
    """UsageError for what a stream's file cannot be asked; ValueError where it has no clusters yet."""
    if not isinstance(model, OnlineMAPDPM):
        return
    for option in ("novelty", "proba"):
        if getattr(arguments, option, False):
            msg = (
                f"argument --{option}: is for models of mapdpm fit, and {arguments.model} holds a stream; "
                "leave it out, or ask mapdpm score for densities"
            )
            raise UsageError(msg)
    if not model.n_clusters:
        msg = (
            f"{arguments.model} holds a stream that has no clusters yet, after {counted(model.n_seen, 'point')}; "
            "let mapdpm stream learn more"
        )
        raise ValueError(msg)


def _model_and_table(arguments: argparse.Namespace) -> tuple[Any, Table]:
    """The model, and the columns of the data that it was fitted on."""
    try:
        model = load(arguments.model)
    except ModelFileError as error:
        msg = f"{error}{_hint(str(error))}"
        raise ValueError(msg) from None
    _check_kind(model, arguments)
    names = getattr(model, "feature_names_in_", None)
    if arguments.columns is not None:
        choice = chosen(",".join(arguments.columns))
    else:
        choice = tables.every if names is None else of_the_model(list(names), str(arguments.model))
    gaps = isinstance(model, OnlineMAPDPM) and model.missing == "skip"
    table = tables.read_csv(arguments.data, choice, arguments.delimiter, gaps=gaps)
    found, wanted = table.values.shape[1], model.n_features_in_
    if found != wanted:
        given = f"--columns has {counted(found, 'column')}"
        given = given if arguments.columns else f"{name_of(arguments.data)} has {counted(found, 'column')}"
        hint = "" if arguments.columns else "; choose them with --columns"
        msg = f"{given}, but {arguments.model} was fitted on {wanted}{hint}"
        raise ValueError(msg)
    return model, Table(None if names is None else tuple(names), table.values)


def _check_convertible(model: MAPDPM | OnlineMAPDPM, arguments: argparse.Namespace) -> None:
    """UsageError for a stream in its warm-up that would change its type or its room: only clusters can."""
    if not isinstance(model, OnlineMAPDPM) or model.likelihood_ is not None:
        return
    if model.dtype != arguments.dtype or arguments.max_clusters not in {None, model.max_clusters}:
        msg = (
            f"{arguments.model} holds a stream in its warm-up, which can only be exported as it is; "
            f"say --dtype {model.dtype} and leave out --max-clusters, or let mapdpm stream learn more"
        )
        raise UsageError(msg)


def _check_picture(path: Path) -> None:
    plots.check_matplotlib()
    if path.suffix[1:] not in KINDS:
        kinds = ", ".join(f".{kind}" for kind in KINDS)
        msg = f"argument --picture: the name of a picture ends in one of {kinds}, got {path}"
        raise UsageError(msg)


def _picture(model: MAPDPM, table: Table, path: Path) -> bytes:
    """Clusters in a plane; of a single column, the density."""
    one = model.n_features_in_ == 1
    ax = plots.density(model, table) if one else plots.clusters(model, table, labels=model.labels_)
    return plots.image(ax, path.suffix[1:])


def _summary(model: MAPDPM, table: Table, seconds: float, kind: str) -> str:
    rows, columns = table.values.shape
    if kind == "jsonl":
        facts = {
            "rows": rows,
            "columns": columns if table.columns is None else list(table.columns),
            "clusters": model.n_clusters_,
            "sizes": model.cluster_sizes_.tolist(),
            "log_joint": model.log_joint_,
            "sweeps": model.n_sweeps_,
            "converged": model.converged_,
            "backend": model.backend_,
            "seconds": round(seconds, 3),
        }
        return json.dumps(facts)
    names = "" if table.columns is None else f" ({_shortened(table.columns)})"
    shown = {
        "rows": rows,
        "columns": f"{columns}{names}",
        "clusters": model.n_clusters_,
        "sizes": " ".join(map(str, model.cluster_sizes_.tolist())),
        "log joint": f"{model.log_joint_:.6f} nats",
        "sweeps": model.n_sweeps_,
        "converged": "yes" if model.converged_ else "no",
        "backend": model.backend_,
        "seconds": f"{seconds:.3f}",
    }
    return "\n".join(f"{name:<10} {value}" for name, value in shown.items())


def _shortened(names: Sequence[str]) -> str:
    """All of a few names; of many the first ones and the last."""
    few = [*names[:_MOST_NAMES], "...", names[-1]] if len(names) > _MOST_NAMES + 1 else names
    return ", ".join(few)


def _file(path: Path | None) -> Path | None:
    """``path`` where it is one, and not standard output."""
    return None if path is None or str(path) == records.STDOUT else path


def _check_targets(sources: list[Path | None], *targets: Path | None) -> None:
    """OSError for a path that cannot become a file, or that is read or written besides: said before the work."""
    taken = [path.resolve() for path in sources if path is not None]
    for path in targets:
        if path is None:
            continue
        if str(path) == records.STDOUT:
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
