"""The options of ``mapdpm stream``: those of learners come from the table of their settings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mapdpm.cli import forms, values
from mapdpm.cli.broker_options import alarm_options, broker_options
from mapdpm.cli.records import INFLUX, INPUTS
from mapdpm.cli.table_options import FORMATS, column_options
from mapdpm.cli.time_text import ORDERS, UNITS, zone_name
from mapdpm.likelihoods import STREAM_FAMILIES
from mapdpm.names import AUTO
from mapdpm.stream import kinds
from mapdpm.stream.settings import ClusterSettings, GroupSettings, Setting, StateSettings, on_command_line

STREAM_LIKELIHOODS = tuple(family.name for family in STREAM_FAMILIES)
_READERS = {
    kinds.POSITIVE.check: values.positive,
    kinds.NOT_NEGATIVE.check: values.not_negative,
    kinds.STEPS.check: values.steps,
}


def _other_input_options(kept: Any) -> None:
    """``--continue`` and ``--restart``."""
    other = kept.add_mutually_exclusive_group()
    text = "where the checkpoint was at another input: the same learner goes on, at the beginning of this one"
    other.add_argument("--continue", dest="go_on", action="store_true", help=text)
    text = "forget the checkpoint: a new learner begins, and its files are written over"
    other.add_argument("--restart", action="store_true", help=text)


def stream_options(stream: argparse.ArgumentParser) -> None:
    """The options of ``mapdpm stream``."""
    # No defaults here: a missing option comes from the state, or else from the table of settings.
    text = "CSV file of numbers, one point a line; - is stdin (the default)"
    stream.add_argument("data", type=Path, nargs="?", help=text)
    text = "wait for more at the end of the file, until a signal comes"
    stream.add_argument("--follow", action="store_true", help=text)
    column_options(stream, "all")
    forms.add_options(stream)
    text = "CSV, JSON lines or InfluxDB line protocol (found from the first line, or from each message)"
    stream.add_argument("--input-format", choices=INPUTS, help=text)
    _time_options(stream)
    text = 'features that the learner gets instead of the columns, as "Lag(2) | Centre(100)" (none)'
    stream.add_argument("--features", metavar="TEXT", help=text)
    text = "stop at a line that cannot be learned, or skip and count it (fail, but for messages without the columns)"
    stream.add_argument("--on-error", choices=("fail", "skip"), help=text)
    text = "stop after so many points, skipped ones included"
    stream.add_argument("--count", type=values.count, metavar="N", help=text)
    results = stream.add_argument_group("results")
    text = "write id, score and event of each point here (stdout)"
    results.add_argument("--output", type=Path, metavar="FILE", help=text)
    text = "CSV with a header, or JSON lines (jsonl); influx is short for --input-format influx"
    results.add_argument("--format", choices=(*FORMATS, INFLUX), help=text)
    results.add_argument("--quiet", action="store_true", help="print nothing but errors")
    model = stream.add_argument_group("model")
    of_clusters, of_states, of_groups = map(on_command_line, (ClusterSettings, StateSettings, GroupSettings))
    _setting_options(model, of_clusters, "")
    text = "family with all of --prior; auto: the warm-up sets a prior of normal-gamma (auto)"
    model.add_argument("--likelihood", choices=(AUTO, *STREAM_LIKELIHOODS), help=text)
    text = "instead of a warm-up: all parameters of the prior, as m0=0 or m0=0,2 (one a column)"
    model.add_argument("--prior", type=values.assignment, action="append", default=[], metavar="NAME=VALUE", help=text)
    text = (
        "clusters are states in time, with transitions between them; each result has the points in a row, 1 at a change"
    )
    model.add_argument("--states", action="store_const", const=True, help=text)
    _setting_options(model, _beside(of_states, of_clusters), "with --states: ")
    text = "the column with the group of each point: groups share clusters, each in shares of its own (none)"
    model.add_argument("--groups", metavar="COLUMN", help=text)
    _setting_options(model, _beside(of_groups, of_clusters | of_states), "with --groups: ")
    text = "with --states and --time: a longer pause, in seconds, ends the sequence (never)"
    model.add_argument("--pause", type=values.positive, metavar="T", help=text)
    kept = stream.add_argument_group("checkpoints")
    text = "file of checkpoints: resume from it if it exists, and write to it, at the end too"
    kept.add_argument("--state", type=Path, metavar="FILE", help=text)
    _other_input_options(kept)
    text = "most points between checkpoints (10000)"
    kept.add_argument("--checkpoint-points", type=values.count, metavar="N", help=text)
    text = "most seconds between checkpoints, where points come (10)"
    kept.add_argument("--checkpoint-seconds", type=values.positive, metavar="T", help=text)
    alarm_options(stream.add_argument_group("alarms"))
    broker_options(stream.add_argument_group("MQTT"))


def _beside(settings: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """The settings that the others do not have."""
    return {name: found for name, found in settings.items() if name not in others}


def _setting_options(group: Any, settings: dict[str, tuple[str, Setting]], where: str) -> None:
    """The options of some settings of a stream; ``where`` begins their help."""
    for name, (_, row) in settings.items():
        metavar, text = row.option or ("", "")
        text = f"{where}{text} ({'never' if row.default is None else row.default})"
        kind = values.count if row.kind.type is int else _READERS.get(row.kind.check)
        how = {"choices": row.kind.words} if row.kind.words else {"type": kind, "metavar": metavar}
        group.add_argument(f"--{name.replace('_', '-')}", help=text, **how)


def _time_options(stream: argparse.ArgumentParser) -> None:
    text = "the column with the time of each point, in seconds or as a date, or two columns, as date,time (none)"
    stream.add_argument("--time", metavar="COLUMN", help=text)
    text = "zone of dates that have none, as Europe/Berlin or +02:00 (UTC)"
    stream.add_argument("--time-zone", type=zone_name, metavar="ZONE", help=text)
    text = "unit of times that are numbers (found by their size: those since 1970 in s, ms, us or ns; else s)"
    stream.add_argument("--time-unit", choices=tuple(UNITS), help=text)
    text = "order in dates with slashes: day or month first (found from the first date that tells)"
    stream.add_argument("--date-order", choices=ORDERS, help=text)
    text = "largest step of times, in seconds, that is believed at once (100 times the largest of the last steps)"
    stream.add_argument("--largest-step", type=values.positive, metavar="T", help=text)
