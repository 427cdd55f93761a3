"""``mapdpm stream``: learns lines and prints a result for each; with ``--state`` it resumes where it ended."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

from mapdpm.cli import alarms, checkpoint, mqtt, stream_arguments
from mapdpm.cli.beginning import STDIN
from mapdpm.cli.checkpoint import Saved
from mapdpm.cli.clock import Moment
from mapdpm.cli.feed import Lines, Signals
from mapdpm.cli.fields import Fields
from mapdpm.cli.json_records import Cells
from mapdpm.cli.records import RecordReader
from mapdpm.cli.refused import OtherInputError, RefusedInputError, refuse_input, refuse_other
from mapdpm.cli.results import STDOUT
from mapdpm.cli.resuming import begun, of_another_input
from mapdpm.cli.sinks import Printed, Publication, Sink, Written
from mapdpm.cli.source import Source
from mapdpm.cli.stderr import report
from mapdpm.cli.stdout import BlockedError
from mapdpm.cli.stream_columns import StreamColumns
from mapdpm.cli.stream_features import StreamFeatures
from mapdpm.cli.stream_results import GROUP, HEADER, RUN, as_csv, as_json
from mapdpm.cli.stream_times import UNTIMED, StreamTimes
from mapdpm.cli.table_rows import counted
from mapdpm.cli.text_rows import name_of
from mapdpm.files.errors import ModelFileError, UnwritableError, refuse_damaged
from mapdpm.stream import OnlineHDP, OnlineHDPHMM, OnlineMAPDPM, StreamFullError

_MOST_WARNINGS = 10  # refused lines with a warning; others are only counted
_Place: TypeAlias = tuple[Any, int]  # an item, and the number of a point in it; 0 where it is the only one
_REPLACE = "set when_groups_full='replace'"
_PATIENCE = 1.0  # seconds to wait for input before looking at the clock


def run(arguments: argparse.Namespace) -> None:
    """Learn points until the input ends or a signal comes."""
    stream_arguments.check(arguments)
    saved = begun(arguments.state, restart=arguments.restart)
    settings = checkpoint.merged_settings(stream_arguments.given(arguments), saved, arguments.state)
    stream_arguments.check_settings(arguments, settings, saved)
    alarms.check(arguments, settings, saved)
    model = stream_arguments.learner(settings) if saved is None else saved.model
    features = StreamFeatures.of(settings, saved, arguments.state)
    with Signals() as signals, contextlib.ExitStack() as stack:
        source = _source(arguments, settings, signals)
        stack.callback(source.close)
        sink = _sink(arguments, settings, saved, source, signals)
        stack.callback(sink.close)
        alarm = alarms.alarms_of(arguments, settings, saved, source, signals)
        if alarm is not None:
            stack.callback(alarm.sink.close)
        Stream(arguments, settings, (features, model), source, sink, alarm).run(saved, signals)
    signals.end()
    if arguments.alarm_exit and alarm is not None and alarm.n_alerts:
        sys.exit(alarms.ALERT_CODE)


class Stream:
    """One run: features of the items of ``source`` are learned, and the results go to ``sink``."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        settings: dict[str, Any],
        learns: tuple[StreamFeatures, OnlineMAPDPM | OnlineHDPHMM | OnlineHDP],
        source: Source,
        sink: Sink,
        alarm: alarms.Alarms | None = None,
    ) -> None:
        self._arguments, self._settings = arguments, settings
        self._features, self._model = learns
        self._source, self._sink, self._alarm = source, sink, alarm
        self._sinks = [sink] if alarm is None else [sink, alarm.sink]
        say = lambda text: self._report(f"{source.name}: {text}")  # noqa: E731  (for both)
        self._columns = StreamColumns(arguments, settings, learns, source, say)
        self._times = StreamTimes(settings, say)
        self._counts = {"learned": 0, "skipped": 0}
        self._n_warnings = self._uncommitted = self._n_used = self._n_refused = 0
        self._first_refused = ""
        self._n_events = self._model.n_events  # those that results have told
        self._within = self._ended = False  # within a message of several points; at the end of the input
        self._committed = time.monotonic()
        self._gaps = self._model.missing == "skip"
        self._states = self._model if isinstance(self._model, OnlineHDPHMM) else None
        self._groups = isinstance(self._model, OnlineHDP)
        self._text = as_csv if settings["format"] == "csv" else as_json

    def run(self, saved: Saved | None, signals: Signals) -> None:
        """Learn until the end, a signal or an error, then commit what was learned, unless it cannot be written."""
        if saved is not None:
            self._resume(saved)
        try:
            self._loop(signals)
            for sink in self._sinks:
                sink.finish()
        except UnwritableError:
            raise
        except BlockedError as error:
            kept = "; the file stays at its last checkpoint, and the next run prints them"
            self._report(f"{error}{kept if self._arguments.state else ''}")
            return
        except (OSError, ValueError, OverflowError):
            # Else files stay as they are: where nothing is new, or a message was learned in part.
            if self._uncommitted and not (self._within and self._arguments.state):
                self._commit()
            raise
        self._commit(anyway=True)
        more = "" if self._alarm is None else f", {counted(self._alarm.n_alerts, 'alert')}"
        if self._times.n_doubted:
            more += f", {counted(self._times.n_doubted, 'time')} doubted"
        self._report(
            f"{counted(self._counts['learned'], 'point')} learned, {self._counts['skipped']} skipped, "
            f"{counted(self._model.n_clusters, 'cluster')}{more}; {self._source.progress()}"
        )
        if self._ended:
            self._check_used()

    def _resume(self, saved: Saved) -> None:
        """Resume at the position of the input that a checkpoint holds."""
        path = self._arguments.state
        try:
            self._columns.resume(saved)
            self._times.resume(saved)
            if saved.counts is not None:
                self._counts = {name: saved.counts[name] for name in self._counts}
            if saved.input is None:
                return
            if saved.input["path"] == self._source.identity:
                self._report(f"{path}: {self._source.resume(saved.input, path)}")
                self._columns.header_allowed = False
            else:
                told = of_another_input(saved, path, self._source.name, go_on=self._arguments.go_on)
                self._report(told)
        except (KeyError, TypeError, ModelFileError) as error:
            refuse_damaged(f"its position cannot be read ({error})", path)

    def _loop(self, signals: Signals) -> None:
        left = self._arguments.count or math.inf
        while left > 0 and not signals.number:
            items = self._source.read(_PATIENCE)
            if items is None:
                self._ended = True
                return
            if self._alarm is not None:
                self._alarm.waited(came=bool(items))
            for item in items:
                left -= self._process(item)
                if self._due():
                    self._commit()
                if left <= 0:
                    break
            self._flush()
            if self._arguments.state is None or self._source.wants_commit() or self._due():
                self._commit()

    def _process(self, item: Any) -> int:
        """Learn the points of an item, or refuse them; their number, without a header."""
        try:
            records = self._source.records(item)
        except RefusedInputError as refused:
            self._refuse((item, 0), refused)
            n = 1
        else:
            n = self._take((item, 0), records[0]) if len(records) == 1 else self._take_all(item, records)
        self._source.taken(item)
        if n:
            self._uncommitted += 1
        return n

    def _take_all(self, item: Any, records: list[Cells]) -> int:
        """Learn the points of a message; their number."""
        for number, cells in enumerate(records, 1):
            self._take((item, number), cells)
            self._within = number < len(records)
        return len(records)

    def _take(self, at: _Place, cells: Cells) -> int:
        """Learn a point, or refuse it; 0 where it was a header."""
        chooses = self._columns.fields is None and not self._source.headed
        try:
            if self._columns.header_allowed and self._columns.is_header(self._where(at), cells):
                return 0
            fields = self._columns.fields
            assert fields is not None  # noqa: S101  (is_header saw to it)
            row = fields.row(cells, gaps=self._gaps)
            x = fields.point(row, gaps=self._gaps)
            moment, written = (UNTIMED, None) if fields.time is None else self._moment(at, fields, row)
            group = self._source.group(at[0]) if self._groups else None
            group = group or fields.group_of(row)
            wall = self._times.local(moment.wall) if self._features.has_seasons else moment.wall
            result = self._features.result(x, wall)
            if result is not None:
                if self._states is not None:
                    self._pause(moment, self._states)
                number, score = self._learned(result, moment.t, written, group)
        except RefusedInputError as refused:
            if self._columns.are_names(cells):  # after the restart of a logger
                self._columns.say_again(self._where(at))
                return 0
            self._refuse(at, refused)
            if chooses:
                self._columns.forget()
            return 1
        self._n_used += 1
        if self._alarm is not None:
            self._alarm.watch(x, moment.t, fields.chosen_names(), written)
        if result is not None:
            self._counts["learned"] += 1
            told, self._n_events = self._n_events, self._model.n_events
            events = self._model.events[told - self._n_events :] if self._n_events > told else []
            run = None if self._states is None else self._states.run_length
            self._sink.write(self._text(number, score, events, run, group))
        return 1

    def _moment(self, at: _Place, fields: Fields, row: list[str]) -> tuple[Moment, str]:
        """The time of a point, also as it is written; RefusedInputError where it is none."""
        written = fields.when(row)
        try:
            moment = self._times.moment(written)
        except ValueError as error:
            fields.refuse_time(str(error))
        if moment.said:
            self._warn(f"{self._where(at)}: {moment.said}")
        return moment, written

    def _learned(self, x: list[float], t: float | None, written: str | None, group: str | None) -> tuple[int, float]:
        """Learn a point; RefusedInputError where the learner refuses it, and the features forget it, too."""
        assert self._columns.fields is not None  # noqa: S101  (it has chosen x)
        if self._gaps and all(map(math.isnan, x)):
            self._features.undo()
            refuse_other(" has no value in these columns")
        try:
            if isinstance(self._model, OnlineHDP):
                return self._model.learn_scored(x, group, t)
            if self._alarm is None:
                return self._model.learn_scored(x, t)
            return self._alarm.learn(
                self._model, x, t, self._features.names(self._columns.fields.chosen_names()), written
            )
        except (ValueError, StreamFullError) as error:
            self._features.undo()
            refuse_input(f": {_as_options(str(error))}")

    def _flush(self) -> None:
        for sink in self._sinks:
            sink.flush()

    def _pause(self, moment: Moment, states: OnlineHDPHMM) -> None:
        """End the sequence if the point comes after a pause, by its clock or by that of the learner."""
        pause, last = self._settings["pause"], self._model.last_time
        if pause is None or last is None or moment.t is None:
            return
        if max(moment.step, 0.0 if moment.said else moment.t - last) > pause:
            states.gap()

    def _where(self, at: _Place) -> str:
        """The name of a point in messages."""
        item, number = at
        return f"{self._source.where(item)}{f', point {number}' if number else ''}"

    def _refuse(self, at: _Place, refused: RefusedInputError) -> None:
        text, is_other = f"{self._where(at)}{refused}", isinstance(refused, OtherInputError)
        if self._arguments.on_error == "fail" or (self._arguments.on_error is None and not is_other):
            msg = f"{text}; --on-error skip leaves out what cannot be learned"
            raise ValueError(msg)
        self._counts["skipped"] += 1
        self._n_refused += not is_other
        self._first_refused = self._first_refused or text
        self._warn(f"{text}; skipped")

    def _check_used(self) -> None:
        """ValueError where an input has ended, and none of it, or less than half, was used."""
        if self._first_refused and (self._n_used == 0 or self._n_refused > self._n_used):
            n = self._n_used + self._n_refused
            used = f"{self._n_used} of {counted(n, 'point')} used" if n else "no message has the columns"
            msg = f"{self._source.name}: {used}; the first that was skipped: {self._first_refused}"
            raise ValueError(msg)

    def _warn(self, text: str) -> None:
        self._n_warnings += 1
        if self._n_warnings <= _MOST_WARNINGS:
            last = "; others are only counted" if self._n_warnings == _MOST_WARNINGS else ""
            self._report(f"warning: {text}{last}")

    def _due(self) -> bool:
        if self._arguments.state is None or not self._uncommitted:
            return False
        late = time.monotonic() - self._committed >= self._arguments.checkpoint_seconds
        return late or self._uncommitted >= self._arguments.checkpoint_points

    def _commit(self, *, anyway: bool = False) -> None:
        """Bring output to disk, then a checkpoint, then tell the input: a crash between loses and repeats nothing."""
        if self._arguments.state is not None and self._columns.fields is not None and (anyway or self._uncommitted):
            output = self._sink.sync()
            alarm = None if self._alarm is None else self._alarm.saved()
            columns, place = self._columns.fields._asdict(), self._source.position()
            features = self._features.transformer
            saved = Saved(
                self._model, self._settings, columns, place, output, self._counts, alarm, self._times.saved(), features
            )
            checkpoint.write(self._arguments.state, saved)
        else:
            self._flush()
        self._source.committed()
        self._uncommitted, self._committed = 0, time.monotonic()

    def _report(self, text: str) -> None:
        if not self._arguments.quiet:
            report(text)


def _as_options(text: str) -> str:
    """An error of a learner with the options of the command line for its parameters."""
    for name in ("max_clusters", "max_groups"):
        text = text.replace(f"raise {name}", f"raise --{name.replace('_', '-')}")
    return text.replace("set when_full to", "set --when-full to").replace(_REPLACE, "say --when-groups-full replace")


def _source(arguments: argparse.Namespace, settings: dict[str, Any], signals: Signals) -> Source:
    path = arguments.data or Path(STDIN)
    name = name_of(path) if arguments.mqtt is None else f"topic {arguments.topic}"
    reader = RecordReader(settings, lambda text: None if arguments.quiet else report(f"{name}: {text}"))
    if arguments.mqtt is not None:
        return mqtt.Subscription(arguments, reader, signals)
    return Lines(path, reader, signals, follow=arguments.follow)


def _sink(
    arguments: argparse.Namespace, settings: dict[str, Any], saved: Saved | None, source: Source, signals: Signals
) -> Sink:
    position = None if saved is None else saved.output
    if isinstance(source, mqtt.Subscription) and arguments.publish is not None:
        try:
            return Publication(source, arguments.publish, position)
        except (KeyError, TypeError) as error:
            refuse_damaged(f"its position cannot be read ({error})", arguments.state)
    more = f"{RUN if settings['states'] else ''}{GROUP if settings['groups'] else ''}"
    header = f"{HEADER}{more}\n" if settings["format"] == "csv" else ""
    if arguments.output is None or str(arguments.output) == STDOUT:
        return Printed(header, signals)
    return Written(arguments.output, header, position, arguments.state)
