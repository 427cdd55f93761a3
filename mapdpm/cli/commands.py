"""The commands: each reads, fits or scores, and writes. ``cli`` handles options and errors."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mapdpm import NormalGamma, load, plots, select_alpha
from mapdpm.cli import demo, results, stderr, stdout, tables, tuning
from mapdpm.cli import stream as streaming
from mapdpm.cli.columns import beside_groups, chosen, warned
from mapdpm.cli.kinds import kinds_of, mixed, named_kinds, warn
from mapdpm.cli.models import check_convertible, model_and_table, model_of
from mapdpm.cli.progress import ProgressLine
from mapdpm.cli.tables import Table
from mapdpm.cli.usage import UsageError, refuse_argument
from mapdpm.files.c_export import as_stream, c_files
from mapdpm.files.disk import write_file
from mapdpm.files.errors import ModelFileError
from mapdpm.likelihoods._parameters import described
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.likelihoods.mixed import parameters_of
from mapdpm.names import AUTO
from mapdpm.plots.canvas import KINDS

PICTURE = Path("mapdpm_demo.png")

_MOST_NAMES = 6
_MOST_NUMBERS = 3


def fit(arguments: argparse.Namespace) -> None:
    """``mapdpm fit``."""
    _check_targets([arguments.data], arguments.out, _file(arguments.labels), arguments.picture)
    if arguments.picture is not None:
        _check_picture(arguments.picture)
    choice = warned if arguments.columns is None else chosen(",".join(arguments.columns))
    table = _table(arguments, beside_groups(choice, arguments.groups))
    progress = ProgressLine(quiet=arguments.quiet, verbose=arguments.verbose)
    model = model_of(arguments, _likelihood(arguments, table), progress)
    started = time.perf_counter()
    try:
        model.fit(table, **table.metadata())
    finally:
        progress.end()
    seconds = time.perf_counter() - started
    if arguments.out is not None:
        model.save(arguments.out)
    labels = _labels(arguments, model)
    if arguments.picture is not None:
        write_file(arguments.picture, _picture(model, table, labels, arguments.picture))
    if arguments.labels is not None:
        results.write_text(arguments.labels, results.lines(["label"], labels[:, None].tolist(), arguments.format))
    if not arguments.quiet:
        merged = None if arguments.merge_to is None else np.bincount(labels).tolist()
        summary = _summary(model, table, seconds, arguments.format, merged)
        if arguments.labels is not None and str(arguments.labels) == results.STDOUT:
            stderr.write(f"{summary}\n")
        else:
            stdout.write(f"{summary}\n")


def tune(arguments: argparse.Namespace) -> None:
    """``mapdpm tune``."""
    _check_targets([arguments.data], arguments.out, arguments.picture)
    if arguments.picture is not None:
        _check_picture(arguments.picture)
    choice = warned if arguments.columns is None else chosen(",".join(arguments.columns))
    table = _table(arguments, choice)
    progress = ProgressLine(quiet=arguments.quiet, verbose=arguments.verbose)
    given = {name: getattr(arguments, name) for name in ("max_clusters", "discount", "missing")}
    common = {name: value for name, value in given.items() if value}
    prior = _likelihood(arguments, table)
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
        stderr.write(f"{shown}, by {found.method}\n")


def _table(arguments: argparse.Namespace, choice: tables.Choice) -> Table:
    """The data of ``fit`` and ``tune``, whose columns have the kinds of ``--kinds``, or those that their cells show."""
    named = named_kinds(arguments.kinds) if arguments.kinds else {}
    kinds = partial(kinds_of, named)
    return tables.read_csv(arguments.data, choice, arguments.delimiter, gaps=arguments.missing == "skip", kinds=kinds)


def predict(arguments: argparse.Namespace) -> None:
    """``mapdpm predict``."""
    _check_targets([arguments.model, arguments.data], _file(arguments.out))
    model, table = model_and_table(arguments)
    if arguments.proba:
        names = [*(f"cluster_{k}" for k in range(model.n_clusters_)), "new"]
        rows = model.predict_proba(table, **table.metadata()).tolist()
    else:
        novelty = {"novelty": True} if arguments.novelty else {}  # streams have no such argument
        names, rows = ["label"], model.predict(table, **novelty, **table.metadata())[:, None].tolist()
    results.write_text(arguments.out, results.lines(names, rows, arguments.format))


def score(arguments: argparse.Namespace) -> None:
    """``mapdpm score``."""
    _check_targets([arguments.model, arguments.data], _file(arguments.out))
    model, table = model_and_table(arguments)
    if not hasattr(model, "score_samples"):
        msg = f"{arguments.model} holds states in time, which score whole sequences; use HDPHMM.score in Python"
        raise ValueError(msg)
    if not arguments.mean:
        rows = model.score_samples(table, **table.metadata())[:, None].tolist()
        text = results.lines(["log_density"], rows, arguments.format)
    elif arguments.format == "jsonl":
        text = results.lines(["mean_log_density"], [[model.score(table, **table.metadata())]], arguments.format)
    else:
        text = f"{model.score(table, **table.metadata())!r}\n"
    results.write_text(arguments.out, text)


def stream(arguments: argparse.Namespace) -> None:
    """``mapdpm stream``."""
    _check_targets([arguments.data], arguments.state, _file(arguments.output))
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
        facts = f"{model.n_clusters} clusters, {model.nbytes} bytes of memory"
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


def _likelihood(arguments: argparse.Namespace, table: Table) -> Any:
    """The family whose prior is to be fitted; or with the prior of all points, changed by ``--prior``.

    That is the prior where it is asked for, where a parameter is given or varied, and with groups.
    """
    family, changes = arguments.likelihood, dict(arguments.prior)
    if len(changes) < len(arguments.prior):
        names = ", ".join(name for name, _ in arguments.prior)
        refuse_argument(f"--prior: each parameter at most once, got {names}")
    if arguments.standardize and not changes:
        warnings.warn("--standardize changes nothing without --prior, whose units it chooses", stacklevel=2)
    if table.kinds is not None:
        return _mixed(arguments, table)
    fitted = not (changes or arguments.empirical_prior or vars(arguments).get("vary") or table.groups is not None)
    if fitted:
        return AUTO if family is NormalGamma else family
    if family is NormalGamma and not changes:
        return None
    unknown = [name for name in changes if name not in family._fields]
    if unknown:
        known = ", ".join(family._fields)
        refuse_argument(f"--prior: {family.name} has no parameter {unknown[0]!r}; it has {known}")
    missing = arguments.missing or "error"
    prior = empirical_prior(family, table, missing=missing)
    if arguments.standardize and not (hasattr(family, "shifted") and hasattr(family, "scaled")):
        refuse_argument(f"--standardize: {family.name} has no units to choose; leave it out")
    try:
        if not arguments.standardize:
            return prior._replace(**changes)
        # The model is the same in any units: the prior is put into standard units, changed, put back (decision 40).
        _, centre, variance = described(table, missing=missing)
        scale = np.sqrt(variance)
        return prior.shifted(centre).scaled(1.0 / scale)._replace(**changes).scaled(scale).shifted(-centre)
    except ValueError as error:
        refuse_argument(f"--prior: {error}")


def _mixed(arguments: argparse.Namespace, table: Table) -> Any:
    """The product for columns of several kinds; its priors are fitted, or those of all points where that is asked."""
    for option in ("prior", "standardize", "vary"):
        if getattr(arguments, option, None):
            refuse_argument(f"--{option}: is for columns of numbers only; choose these with --columns")
    warn(table, named_kinds(arguments.kinds) if arguments.kinds else {})
    likelihood = mixed(table.names, table.kinds or (), arguments.likelihood).bound_to(table)
    if not arguments.empirical_prior:
        return likelihood
    missing = arguments.missing or "error"
    return likelihood.empirical(likelihood.read_table(table, missing == "skip"), missing=missing)


def _labels(arguments: argparse.Namespace, model: Any) -> Any:
    """The labels of the rows: clusters, or the merged clusters that ``--merge-to`` leaves."""
    if arguments.merge_to is None:
        return model.labels_
    try:
        return model.merge_tree(arguments.merge_by).labels(arguments.merge_to)
    except ValueError as error:
        refuse_argument(f"--merge-to: {error}")


def _check_picture(path: Path) -> None:
    plots.check_matplotlib()
    if path.suffix[1:] not in KINDS:
        kinds = ", ".join(f".{kind}" for kind in KINDS)
        refuse_argument(f"--picture: the name of a picture ends in one of {kinds}, got {path}")


def _picture(model: Any, table: Table, labels: Any, path: Path) -> bytes:
    """A picture of the clusters in a plane; for a single column, of the density, or of the shares in groups."""
    one = model.n_features_in_ == 1
    if one and table.groups is not None:
        return plots.image(plots.groups(model), path.suffix[1:])
    if table.kinds is not None:
        return plots.image(plots.columns(model, table, labels=labels)[0], path.suffix[1:])
    ax = plots.density(model, table) if one else plots.clusters(model, table, labels=labels)
    return plots.image(ax, path.suffix[1:])


def _summary(model: Any, table: Table, seconds: float, kind: str, merged: list[int] | None) -> str:
    rows, columns = table.values.shape
    prior = {name: np.asarray(value).tolist() for name, value in parameters_of(model.likelihood_).items()}
    facts = {
        "rows": rows,
        "columns": columns if table.columns is None else list(table.columns),
        **_relevant(model, table),
        **({} if table.groups is None else {"groups": len(model.group_names_)}),
        "clusters": model.n_clusters_,
        "sizes": model.cluster_sizes_.tolist(),
        **({} if merged is None else {"merged": merged}),
        "prior": prior,
        "log_joint": model.log_joint_,
        "sweeps": model.n_sweeps_,
        "converged": model.converged_,
        "backend": model.backend_,
        "seconds": round(seconds, 3),
    }
    if kind == "jsonl":
        return json.dumps(facts)
    shown = facts | {
        "columns": str(columns) if table.columns is None else f"{columns} ({_shortened(table.columns)})",
        **({"relevant": _relevant_line(facts["relevant"], columns)} if "relevant" in facts else {}),
        "prior": _prior_line(prior),
        "log_joint": f"{model.log_joint_:.6f} nats",
        "converged": "yes" if model.converged_ else "no",
        "seconds": f"{seconds:.3f}",
    }
    texts = {name: " ".join(map(str, each)) if isinstance(each, list) else each for name, each in shown.items()}
    return "\n".join(f"{name.replace('_', ' '):<10} {text}" for name, text in texts.items())


def _relevant(model: Any, table: Table) -> dict[str, Any]:
    """The columns that carry clusters, by name or by position from 1; nothing where all do."""
    columns = np.arange(1, len(model.relevant_) + 1) if table.columns is None else np.array(table.columns, dtype=object)
    return {} if model.relevant_.all() else {"relevant": columns[model.relevant_].tolist()}


def _relevant_line(relevant: list[Any], n_columns: int) -> str:
    names = f" ({_shortened([str(each) for each in relevant])})" if relevant else ""
    return f"{len(relevant)} of {n_columns}{names}"


def _prior_line(prior: dict[str, Any]) -> str:
    """The parameters of the prior, six digits each; a few of a vector."""

    def text(value: Any) -> str:
        if not isinstance(value, list):
            return f"{value:.6g}"
        entries = np.ravel(value).tolist()
        return " ".join([f"{each:.6g}" for each in entries[:_MOST_NUMBERS]] + ["..."] * (len(entries) > _MOST_NUMBERS))

    return ", ".join(f"{name} {text(value)}" for name, value in prior.items())


def _shortened(names: Sequence[str]) -> str:
    """All names if they are few, else the first ones and the last."""
    few = [*names[:_MOST_NAMES], "...", names[-1]] if len(names) > _MOST_NAMES + 1 else names
    return stderr.printable(", ".join(few))


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
