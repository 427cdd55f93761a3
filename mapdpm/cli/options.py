"""The parser of the command line: its commands, and help with examples."""

from __future__ import annotations

import argparse
import difflib
import re
from pathlib import Path
from typing import Any, NoReturn

import mapdpm
from mapdpm.cli import values
from mapdpm.cli.stderr import report
from mapdpm.cli.stream_options import stream_options
from mapdpm.cli.table_options import fit_options, predict_options, score_options, show_options, tune_options
from mapdpm.names import DTYPES, INT16

_ABOUT = "Clustering when nobody knows the number of clusters. `mapdpm COMMAND --help` has the options of a command."


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Values, and no options: not only -999 but also -999,-1 (--na) and -05:00 (--time-zone).
        self._negative_number_matcher = re.compile(r"-\.?\d")
        self.commands: dict[str, _Parser] = {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Let each command report its own unknown arguments, with the nearest option, or whose it is."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = difflib.get_close_matches(unknown[0], self.options(), 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            others = [name for name, other in self.commands.items() if unknown[0] in other.options()]
            if others:
                hint = f"; {unknown[0]} is an option of mapdpm {' and '.join(others)}"
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed, unknown

    def options(self) -> Any:
        """The names of its options."""
        return self._option_string_actions.keys()

    def error(self, message: str) -> NoReturn:
        report(f"error: {message} (see {self.prog} --help)")
        self.exit(2)


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
        added.commands = commands.choices
        added.set_defaults(run=run, quiet=False, verbose=False, old_names=())
        return added

    fit_options(command("fit", "fit", "cluster the rows of a CSV file", _FIT_EXAMPLES))
    text = "choose alpha for the rows of a CSV file"
    tune_options(command("tune", "tune", text, _TUNE_EXAMPLES))
    predict_options(command("predict", "predict", "print the cluster of each row of a CSV file", _PREDICT_EXAMPLES))
    text = "print the log predictive density of each row of a CSV file, in nats: high is normal"
    score_options(command("score", "score", text, _SCORE_EXAMPLES))
    show_options(command("show", "show", "print the clusters of a model, in the units of its columns", _SHOW_EXAMPLES))
    text = "cluster points as they come, line by line or by MQTT, in fixed memory"
    stream_options(command("stream", "stream", text, _STREAM_EXAMPLES))
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
_SHOW_EXAMPLES = """\
mapdpm show model.mdpm
mapdpm show state.mdpm --all
mapdpm show model.mdpm --format csv > clusters.csv"""
_STREAM_EXAMPLES = """\
mapdpm stream < data.csv
mapdpm stream data.csv --columns height,width --state state.mdpm --output results.jsonl
tail -n +1 -f sensor.csv | mapdpm stream --half-life 10000 --on-error skip
mapdpm stream --mqtt localhost --topic sensor --publish clusters --state state.mdpm"""
_EXPORT_EXAMPLES = """\
mapdpm export model.mdpm --c firmware
mapdpm export model.mdpm --c firmware --name wristband --max-clusters 8
cc -std=c99 -O2 firmware/main.c firmware/mapdpm.c -o learn && ./learn < data.csv
./learn learned.mdpm < data.csv   # and the learner goes to a file, at the end"""
_DEMO_EXAMPLES = """\
mapdpm demo --picture demo.png"""


def _export_options(export: argparse.ArgumentParser) -> None:
    export.add_argument("model", type=Path, metavar="MODEL", help="model file of fit --out, stream --state or a device")
    text = "the folder to write; a main.c that is there already is kept"
    export.add_argument("--c", type=Path, metavar="FOLDER", required=True, help=text)
    export.add_argument("--name", default="model", help="name of the header and its definitions (%(default)s)")
    text = "slots of the learner (as in the stream; twice the clusters of a fit)"
    export.add_argument("--max-clusters", type=values.count, metavar="K", help=text)
    text = "the real type of the device (%(default)s)"
    export.add_argument("--dtype", choices=(*DTYPES, INT16), default="float32", help=text)
    export.add_argument("--quiet", action="store_true", help="no summary")


def _demo_options(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("data", type=Path, nargs="?", help="the recording (the one that comes with mapdpm)")
    pictures = demo.add_mutually_exclusive_group()
    pictures.add_argument("--picture", type=Path, metavar="PNG", help="file of the picture (mapdpm_demo.png)")
    pictures.add_argument("--no-picture", action="store_true", help="draw nothing")
    demo.add_argument("--quiet", action="store_true", help="print nothing but errors")
