"""The options of the command line: names, values, and help with examples."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import Any, NoReturn

import mapdpm
from mapdpm.cli import forms, values
from mapdpm.cli.broker_options import alarm_options, broker_options
from mapdpm.cli.kinds import kind_options, shape_options
from mapdpm.cli.stderr import report
from mapdpm.deprecated import said
from mapdpm.likelihoods import FAMILIES, STREAM_FAMILIES
from mapdpm.names import AUTO, BACKENDS, CRITERIA, DTYPES, HDP_MOVES, METHODS, MISSING, MOVES, STARTS
from mapdpm.stream import kinds
from mapdpm.stream.settings import ClusterSettings, Setting, StateSettings, on_command_line

STREAM_LIKELIHOODS = tuple(family.name for family in STREAM_FAMILIES)
FORMATS = ("csv", "jsonl")
_NUMBERS = {kinds.POSITIVE.check: values.positive, kinds.NOT_NEGATIVE.check: values.not_negative}
_ABOUT = "Clustering when nobody knows the number of clusters. `mapdpm COMMAND --help` has the options of a command."


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Let each command report its own unknown arguments, with the nearest known option."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = difflib.get_close_matches(unknown[0], self._option_string_actions, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        report(f"error: {message} (see {self.prog} --help)")
        self.exit(2)


class _OldName(argparse.Action):
    def __call__(self, _: Any, namespace: Any, value: Any, __: Any = None) -> None:
        """Set the option of now; ``old_names`` gets the warning, which ``main`` prints."""
        setattr(namespace, self.dest, value)
        namespace.old_names = (*namespace.old_names, self.const)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the parsed ``run`` is the name of a function in ``commands``."""
    # Abbreviated options would change their meaning when options are added.
    whole = _Parser(prog="mapdpm", description=_ABOUT, allow_abbrev=False)
    whole.add_argument("--version", action="version", version=f"mapdpm {mapdpm.__version__}")
    commands = whole.add_subparsers(metavar="command")
    whole.set_defaults(run=None)

    def command(name: str, run: str, text: str, examples: str) -> Any:
        added = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.splitlines()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        added.set_defaults(run=run, quiet=False, verbose=False, old_names=())
        return added

    _fit_options(command("fit", "fit", "cluster the rows of a CSV file", _FIT_EXAMPLES))
    text = "choose alpha for the rows of a CSV file"
    _tune_options(command("tune", "tune", text, _TUNE_EXAMPLES))
    _predict_options(command("predict", "predict", "print the cluster of each row of a CSV file", _PREDICT_EXAMPLES))
    text = "print the log predictive density of each row of a CSV file, in nats: high is normal"
    _score_options(command("score", "score", text, _SCORE_EXAMPLES))
    text = "cluster points as they come, line by line or by MQTT, in fixed memory"
    _stream_options(command("stream", "stream", text, _STREAM_EXAMPLES))
    text = "write a model as C: a header, the library, and an example that goes on learning"
    _export_options(command("export", "export", text, _EXPORT_EXAMPLES))
    _demo_options(command("demo", "demonstrate", "cluster a smart watch's recording into activities", _DEMO_EXAMPLES))
    return whole


_FIT_EXAMPLES = """\
mapdpm fit data.csv --out model.mdpm --labels labels.csv --picture clusters.png
mapdpm fit data.csv --columns height,width --alpha 2 --restarts 5
mapdpm fit data.csv --standardize --prior b0=0.1   # narrower clusters
mapdpm fit rooms.csv --groups room --out rooms.mdpm   # clusters that rooms share
gzip -dc data.csv.gz | mapdpm fit - --quiet --labels -"""
_TUNE_EXAMPLES = """\
mapdpm tune data.csv --method cv --folds 5 --alphas 0.1:30:10
mapdpm tune data.csv --alphas 0.5,1,2 --blocked --out model.mdpm --picture scores.png
mapdpm tune data.csv --alphas 0.1,1,10 --vary b0=0.1:10:5
mapdpm tune data.csv --method map"""
_PREDICT_EXAMPLES = """\
mapdpm predict model.mdpm data.csv
mapdpm predict model.mdpm data.csv --novelty --format jsonl --out labels.jsonl
mapdpm predict model.mdpm - --proba < data.csv"""
_SCORE_EXAMPLES = """\
mapdpm score model.mdpm data.csv --out scores.csv
mapdpm score model.mdpm data.csv --mean"""
_STREAM_EXAMPLES = """\
mapdpm stream < data.csv
mapdpm stream data.csv --columns height,width --state state.mdpm --output results.jsonl
tail -n +1 -f sensor.csv | mapdpm stream --half-life 10000 --on-error skip
mapdpm stream --mqtt localhost --topic sensor --publish clusters --state state.mdpm"""
_EXPORT_EXAMPLES = """\
mapdpm export model.mdpm --c firmware
mapdpm export model.mdpm --c firmware --name wristband --max-clusters 8
cc -std=c99 -O2 -DMAPDPM_REAL=float firmware/main.c firmware/mapdpm.c -o learn && ./learn < data.csv"""
_DEMO_EXAMPLES = """\
mapdpm demo --picture demo.png"""


def _fit_options(fit: argparse.ArgumentParser) -> None:
    _input_options(fit, "all")
    results = fit.add_argument_group("results")
    results.add_argument("--out", type=Path, metavar="MODEL", help="write the model, for predict and score")
    results.add_argument("--labels", type=Path, metavar="FILE", help="write the cluster of each row; - is stdout")
    results.add_argument("--picture", type=Path, metavar="FILE", help="draw the clusters: .png, .pdf or .svg")
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


def _old_name(group: Any, old: str, now: str, kind: Any) -> None:
    """The old name of an option, which the help leaves out: it works, and warns."""
    dest = now.removeprefix("--").replace("-", "_")
    group.add_argument(old, dest=dest, type=kind, action=_OldName, const=said(old, now), help=argparse.SUPPRESS)


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


def _tune_options(tune: argparse.ArgumentParser) -> None:
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


def _predict_options(predict: argparse.ArgumentParser) -> None:
    _reader_options(predict)
    how = predict.add_mutually_exclusive_group()
    how.add_argument("--novelty", action="store_true", help="-1 where a new cluster would win")
    how.add_argument("--proba", action="store_true", help="probabilities of the K clusters, and of a new one")


def _score_options(score: argparse.ArgumentParser) -> None:
    _reader_options(score)
    score.add_argument("--mean", action="store_true", help="print only the mean")


def _stream_options(stream: argparse.ArgumentParser) -> None:
    # No defaults here: a missing option comes from the state, or else from the table of settings.
    text = "CSV file of numbers, one point a line; - is stdin (the default)"
    stream.add_argument("data", type=Path, nargs="?", help=text)
    text = "wait for more at the end of the file, until a signal comes"
    stream.add_argument("--follow", action="store_true", help=text)
    _column_options(stream, "all")
    stream.add_argument("--time", metavar="COLUMN", help="the column with the time of each point, in seconds (none)")
    text = 'features that the learner gets instead of the columns, as "Lag(2) | Centre(100)" (none)'
    stream.add_argument("--features", metavar="TEXT", help=text)
    text = "stop at a line that cannot be learned, or skip and count it (%(default)s)"
    stream.add_argument("--on-error", choices=("fail", "skip"), default="fail", help=text)
    text = "stop after so many points, skipped ones included"
    stream.add_argument("--count", type=values.count, metavar="N", help=text)
    results = stream.add_argument_group("results")
    text = "write id, score and event of each point here (stdout)"
    results.add_argument("--output", type=Path, metavar="FILE", help=text)
    text = "CSV with a header, or JSON lines (jsonl)"
    results.add_argument("--format", choices=FORMATS, help=text)
    results.add_argument("--quiet", action="store_true", help="print nothing but errors")
    model = stream.add_argument_group("model")
    of_clusters, of_states = on_command_line(ClusterSettings), on_command_line(StateSettings)
    _setting_options(model, of_clusters, "")
    text = "family with all of --prior; auto: the warm-up sets a prior of normal-gamma (auto)"
    model.add_argument("--likelihood", choices=(AUTO, *STREAM_LIKELIHOODS), help=text)
    text = "instead of a warm-up: all parameters of the prior, as m0=0 or m0=0,2 (one a column)"
    model.add_argument("--prior", type=values.assignment, action="append", default=[], metavar="NAME=VALUE", help=text)
    text = (
        "clusters are states in time, with transitions between them; each result has the points in a row, 1 at a change"
    )
    model.add_argument("--states", action="store_const", const=True, help=text)
    only_of_states = {name: found for name, found in of_states.items() if name not in of_clusters}
    _setting_options(model, only_of_states, "with --states: ")
    text = "with --states and --time: a longer pause, in seconds, ends the sequence (never)"
    model.add_argument("--pause", type=values.positive, metavar="T", help=text)
    kept = stream.add_argument_group("checkpoints")
    text = "file of checkpoints: resume from it if it exists, and write to it, at the end too"
    kept.add_argument("--state", type=Path, metavar="FILE", help=text)
    text = "most points between checkpoints (10000)"
    kept.add_argument("--checkpoint-points", type=values.count, metavar="N", help=text)
    text = "most seconds between checkpoints, where points come (10)"
    kept.add_argument("--checkpoint-seconds", type=values.positive, metavar="T", help=text)
    alarm_options(stream.add_argument_group("alarms"))
    broker_options(stream.add_argument_group("MQTT"))


def _setting_options(group: Any, settings: dict[str, tuple[str, Setting]], where: str) -> None:
    """The options of some settings of a stream; ``where`` begins their help."""
    for name, (_, row) in settings.items():
        metavar, text = row.option or ("", "")
        text = f"{where}{text} ({'never' if row.default is None else row.default})"
        kind = values.count if row.kind.type is int else _NUMBERS.get(row.kind.check)
        how = {"choices": row.kind.words} if row.kind.words else {"type": kind, "metavar": metavar}
        group.add_argument(f"--{name.replace('_', '-')}", help=text, **how)


def _export_options(export: argparse.ArgumentParser) -> None:
    export.add_argument("model", type=Path, metavar="MODEL", help="model file of fit --out, stream --state or a device")
    text = "the folder to write; a main.c that is there already is kept"
    export.add_argument("--c", type=Path, metavar="FOLDER", required=True, help=text)
    export.add_argument("--name", default="model", help="name of the header and its definitions (%(default)s)")
    text = "slots of the learner (as in the stream; twice the clusters of a fit)"
    export.add_argument("--max-clusters", type=values.count, metavar="K", help=text)
    export.add_argument("--dtype", choices=DTYPES, default="float32", help="the real type of the device (%(default)s)")
    export.add_argument("--quiet", action="store_true", help="no summary")


def _demo_options(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("data", type=Path, nargs="?", help="the recording (the one that comes with mapdpm)")
    pictures = demo.add_mutually_exclusive_group()
    pictures.add_argument("--picture", type=Path, metavar="PNG", help="file of the picture (mapdpm_demo.png)")
    pictures.add_argument("--no-picture", action="store_true", help="draw nothing")
    demo.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _input_options(command: argparse.ArgumentParser, default: str) -> None:
    text = "CSV file, one point a row, gzip too; - is stdin; a header is recognised"
    command.add_argument("data", type=Path, help=text)
    _column_options(command, default)
    forms.add_options(command)


def _column_options(command: argparse.ArgumentParser, default: str) -> None:
    text = f"names or positions of the columns to use, as height,3 or 2-4 or 3- or all-but:label ({default})"
    command.add_argument("--columns", action="append", metavar="LIST", help=text)
    command.add_argument(
        "--delimiter",
        type=values.character,
        metavar="CHAR",
        help="separator of cells, such as tab (found; comma in streams)",
    )


def _reader_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, help="model file of fit --out, stream --state or a device")
    _input_options(command, "those that the model was fitted on")
    text = "the column that names the group of each row, for a model of fit --groups (rows of a new group)"
    command.add_argument("--groups", metavar="COLUMN", help=text)
    text = "MODULE:CLASS of a family of your own, which the model has"
    command.add_argument("--likelihood", type=values.family, metavar="FAMILY", help=text)
    command.add_argument("--out", type=Path, metavar="FILE", help="output file (stdout); .gz compresses")
    _format_option(command, "CSV with a header, or JSON lines")
    command.add_argument("--quiet", action="store_true", help="no warnings")


def _format_option(command: Any, what: str) -> None:
    command.add_argument("--format", choices=FORMATS, default="csv", help=f"{what} (%(default)s)")


def _verbosity_options(command: argparse.ArgumentParser, verbose: str) -> None:
    group = command.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")
    group.add_argument("--verbose", action="store_true", help=verbose)
