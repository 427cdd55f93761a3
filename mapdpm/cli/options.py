"""The options of the command line: what they are called, what they take, and help with examples."""

from __future__ import annotations

import argparse
import difflib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import mapdpm

LIKELIHOODS = ("normal-gamma", "normal-known-variance")
STARTS = ("sequential", "random-order", "single")
MOVES = ("merge", "split", "permutation", "regroup")
BACKENDS = ("auto", "c", "numba", "python")
FORMATS = ("csv", "jsonl")
_ABOUT = "Clustering when nobody knows the number of clusters. `mapdpm COMMAND --help` has the options of a command."


class UsageError(ValueError):
    """A command line that asks for what cannot be: exit code 2."""


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What a command does not know is its own complaint, not that of the whole, and says what may be meant."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = difflib.get_close_matches(unknown[0], self._option_string_actions, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"mapdpm: error: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; ``run`` of what it parses names a function of ``commands``."""
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
        added.set_defaults(run=run, quiet=False, verbose=False)
        return added

    _fit_options(command("fit", "fit", "cluster the rows of a CSV file", _FIT_EXAMPLES))
    _predict_options(command("predict", "predict", "print the cluster of each row of a CSV file", _PREDICT_EXAMPLES))
    text = "print the log predictive density of each row of a CSV file, in nats: high is normal"
    _score_options(command("score", "score", text, _SCORE_EXAMPLES))
    _demo_options(command("demo", "show", "cluster a smart watch's recording into activities", _DEMO_EXAMPLES))
    return whole


_FIT_EXAMPLES = """\
mapdpm fit data.csv --out model.mdpm --labels labels.csv --picture clusters.png
mapdpm fit data.csv --columns height,width --alpha 2 --restarts 5
mapdpm fit data.csv --standardize --prior b0=0.1   # narrower clusters
gzip -dc data.csv.gz | mapdpm fit - --quiet --labels -"""
_PREDICT_EXAMPLES = """\
mapdpm predict model.mdpm data.csv
mapdpm predict model.mdpm data.csv --novelty --format jsonl --out labels.jsonl
mapdpm predict model.mdpm - --proba < data.csv"""
_SCORE_EXAMPLES = """\
mapdpm score model.mdpm data.csv --out scores.csv
mapdpm score model.mdpm data.csv --mean"""
_DEMO_EXAMPLES = """\
mapdpm demo --picture demo.png"""


def _fit_options(fit: argparse.ArgumentParser) -> None:
    _input_options(fit, "all")
    results = fit.add_argument_group("results")
    results.add_argument("--out", type=Path, metavar="MODEL", help="write the model, for predict and score")
    results.add_argument("--labels", type=Path, metavar="FILE", help="write the cluster of each row; - is stdout")
    results.add_argument("--picture", type=Path, metavar="FILE", help="draw them: .png, .pdf or .svg")
    _format_option(results, "labels and the summary")
    model = fit.add_argument_group("model")
    model.add_argument("--alpha", type=_positive, metavar="A", default=1.0, help="concentration, > 0 (%(default)s)")
    model.add_argument(
        "--discount", type=_discount, metavar="D", default=0.0, help="Pitman-Yor discount in [0, 1) (%(default)s)"
    )
    model.add_argument("--likelihood", choices=LIKELIHOODS, default=LIKELIHOODS[0], help="family (%(default)s)")
    text = "set a parameter of the prior, as b0=0.5 or b0=0.5,2 (one a column); the others come from the data"
    model.add_argument("--prior", type=_assignment, action="append", default=[], metavar="NAME=VALUE", help=text)
    text = "--prior is in units of each column's mean and standard deviation; clusters and densities are as ever"
    model.add_argument("--standardize", action="store_true", help=text)
    model.add_argument("--max-clusters", type=_count, metavar="K", help="a hard cap (none)")
    search = fit.add_argument_group("search")
    search.add_argument("--init", choices=STARTS, default="sequential", help="how to start (%(default)s)")
    search.add_argument(
        "--moves",
        type=_moves,
        metavar="LIST",
        default=MOVES[:2],
        help=f"some of {','.join(MOVES)}, or none (merge,split)",
    )
    search.add_argument("--restarts", type=_count, default=1, metavar="R", help="runs; the best is kept (%(default)s)")
    text = "most sweeps in a row of a run (%(default)s)"
    search.add_argument("--max-sweeps", type=_count, default=100, metavar="S", help=text)
    text = "end with the best there is then (none)"
    search.add_argument("--time-limit", type=_positive, metavar="SECONDS", help=text)
    search.add_argument("--seed", type=_seed, metavar="N", help="of all that is random (every run draws the same)")
    search.add_argument("--jobs", type=_count, metavar="N", help="threads over restarts (1)")
    search.add_argument("--backend", choices=BACKENDS, default="auto", help="who computes (%(default)s)")
    _talk_options(fit, "each step on stderr")


def _predict_options(predict: argparse.ArgumentParser) -> None:
    _reader_options(predict)
    how = predict.add_mutually_exclusive_group()
    how.add_argument("--novelty", action="store_true", help="-1 where a new cluster would win")
    how.add_argument("--proba", action="store_true", help="probabilities of the K clusters, and of a new one")


def _score_options(score: argparse.ArgumentParser) -> None:
    _reader_options(score)
    score.add_argument("--mean", action="store_true", help="their mean only")


def _demo_options(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("data", type=Path, nargs="?", help="the recording (the one that comes with mapdpm)")
    pictures = demo.add_mutually_exclusive_group()
    pictures.add_argument("--picture", type=Path, metavar="PNG", help="where to draw it (mapdpm_demo.png)")
    pictures.add_argument("--no-picture", action="store_true", help="draw nothing")
    demo.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _input_options(command: argparse.ArgumentParser, default: str) -> None:
    text = "CSV file of numbers, one point a row, gzip too; - is stdin; a header is recognised"
    command.add_argument("data", type=Path, help=text)
    text = f"names or positions of the columns to use, as height,3 or 2-4 or 3- ({default})"
    command.add_argument("--columns", action="append", metavar="LIST", help=text)
    command.add_argument(
        "--delimiter", type=_character, default=",", metavar="CHAR", help="what separates cells; tab is one (comma)"
    )


def _reader_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, help="model file that fit --out wrote")
    _input_options(command, "those that the model was fitted on")
    command.add_argument("--out", type=Path, metavar="FILE", help="where to write (stdout); .gz compresses")
    _format_option(command, "CSV with a header, or JSON lines")
    command.add_argument("--quiet", action="store_true", help="no warnings")


def _format_option(command: Any, what: str) -> None:
    command.add_argument("--format", choices=FORMATS, default="csv", help=f"{what} (%(default)s)")


def _talk_options(command: argparse.ArgumentParser, verbose: str) -> None:
    talk = command.add_mutually_exclusive_group()
    talk.add_argument("--quiet", action="store_true", help="print nothing but errors")
    talk.add_argument("--verbose", action="store_true", help=verbose)


def _positive(text: str) -> float:
    return _checked(float, text, lambda value: 0.0 < value < math.inf, "a number > 0")


def _discount(text: str) -> float:
    return _checked(float, text, lambda value: 0.0 <= value < 1.0, "a number in [0, 1)")


def _count(text: str) -> int:
    return int(_checked(int, text, lambda value: 1 <= value < 2**63, "an integer >= 1"))


def _seed(text: str) -> int:
    return int(_checked(int, text, lambda value: value >= 0, "an integer >= 0"))


def _checked(kind: Callable[[str], float], text: str, fine: Callable[[float], bool], wanted: str) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not fine(value):
        msg = f"must be {wanted}, got {text}"
        raise argparse.ArgumentTypeError(msg)
    return value


def _moves(text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(text.split(","))
    for name in names:
        if name not in MOVES:
            msg = f"must be some of {','.join(MOVES)}, or none, got {name!r}"
            raise argparse.ArgumentTypeError(msg)
    return names


def _assignment(text: str) -> tuple[str, float | list[float]]:
    name, equals, value = text.partition("=")
    try:
        numbers = [float(word) for word in value.split(",")]
    except ValueError:
        equals = ""
    if not name or not equals:
        msg = f"must be NAME=NUMBER, or NAME=NUMBER,NUMBER,... with one a column, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return name, numbers if len(numbers) > 1 else numbers[0]


def _character(text: str) -> str:
    mark = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(text, text)
    if len(mark) != 1 or mark in '\r\n"':
        msg = f"must be one character, or tab, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return mark
