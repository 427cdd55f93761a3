"""The alarm of ``mapdpm stream``: it takes the surprise of each point, and writes a line of JSON for each alert."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any, NamedTuple

import numpy as np

from mapdpm.assessment import Assessment
from mapdpm.cli.cells import value_of
from mapdpm.cli.checkpoint import ALARM, ANOTHER, Saved
from mapdpm.cli.feed import Signals
from mapdpm.cli.mqtt import Subscription
from mapdpm.cli.results import STDOUT
from mapdpm.cli.sinks import Printed, Publication, Reported, Sink, Written
from mapdpm.cli.source import Source
from mapdpm.cli.stuck import AFTER, Watch
from mapdpm.cli.tables import Table
from mapdpm.cli.usage import UsageError, refuse, refuse_argument
from mapdpm.files.errors import refuse_damaged
from mapdpm.stream.alarm import Alarm

ALERT_CODE = 3
"""The exit code of ``--alarm-exit``."""

_DEFAULTS = {"alarm_hold": 100.0, "alarm_debounce": 1, "alarm_smooth": 1, "alarm_stuck": AFTER}
_NEEDS_ALARM = (*ALARM[1:], "alerts", "alarm_exit", "alert_topic", "alert_qos")


class _Point(NamedTuple):
    """A point as the learner takes it, its time if the alarm is timed, and the time as the input has it."""

    x: list[float]
    t: float | None
    written: str | None


class Alarms:
    """An alarm, and the sink of its alerts.

    ``early`` are the points of a warm-up that lasts. They have no surprise until it ends: then they are assessed, and
    alerts for them are written, once. ``timed`` says that the alarm holds for seconds, where points have times.
    """

    def __init__(self, alarm: Alarm, sink: Sink, early: list[_Point] | None, watch: Watch | None, timed: bool) -> None:
        self._alarm, self.sink, self._early, self._watch, self._timed = alarm, sink, early, watch, timed
        self.n_alerts = 0

    def learn(
        self, model: Any, x: list[float], t: float | None, names: list[str] | None, written: str | None
    ) -> tuple[int, float]:
        """Learn a point, and write an alert if it makes one; the id and the log density before.

        ``written`` is the time as the input has it.
        """
        found, point = model.learn_assessed(x, t), _Point(x, t if self._timed else None, written)
        if self._early is None or not math.isnan(found.surprise):
            self._early = None
            self._take(found, point, names)
            return found.id, found.log_density
        self._early.append(point)
        if model.n_clusters:
            self._look_back(model, names)
        else:
            self._alarm.update(math.nan, point.t)
        return found.id, found.log_density

    def _look_back(self, model: Any, names: list[str] | None) -> None:
        """The warm-up has ended: its points are assessed, as if the alarm had waited for this."""
        early, self._early = self._early or [], None
        self._alarm = Alarm(*_settings_of(self._alarm))
        values = np.array([point.x for point in early])
        all_of = model.assess_many(values if names is None else Table(tuple(names), values))
        for i, point in enumerate(early):
            found = Assessment(*(column[i] for column in all_of)).with_contributions(all_of.contributions[i])
            self._take(found, point, names)

    def _take(self, found: Assessment, point: _Point, names: list[str] | None) -> None:
        begun = self._alarm.update(found.surprise, point.t)
        if begun is None:
            return
        self.n_alerts += 1
        told = [None if math.isnan(value) else value for value in point.x]
        nats = [None] * len(told) if found.contributions is None else list(map(_rounded, found.contributions))
        alert = {
            "point": self._alarm.number,
            "time": None if point.written is None else _as_written(point.written),
            "id": int(found.id),
            "surprise": begun.surprise,
            "novelty": _finite(found.novelty),
            "score": _finite(found.log_density),
            "values": told if names is None else dict(zip(names, told, strict=True)),
            "contributions": nats if names is None else dict(zip(names, nats, strict=True)),
        }
        self.sink.write(json.dumps(alert) + "\n")

    def watch(self, x: list[float], t: float | None, names: list[str] | None, written: str | None) -> None:
        """Look at a reading, before features: whether a column is stuck, or it came after a silence."""
        if self._watch is not None:
            self._write(self._watch.take(x, t, names, written))

    def waited(self, *, came: bool) -> None:
        """Look at a wait for live readings, which ``came`` or not."""
        if self._watch is not None:
            self._write(self._watch.waited(came=came))

    def _write(self, alerts: list[dict[str, Any]]) -> None:
        for alert in alerts:
            self.n_alerts += 1
            written = alert["time"]
            self.sink.write(json.dumps(alert | {"time": None if written is None else _as_written(written)}) + "\n")

    def saved(self) -> dict[str, Any]:
        """The alarm, the warm-up, and the position in the alerts, for a checkpoint; alerts are on disk then."""
        early = {} if self._early is None else {"early": self._early}
        watch = {} if self._watch is None else {"watch": self._watch.saved()}
        return {"state": self._alarm.to_dict(), "output": self.sink.sync(), **early, **watch}


def check(arguments: argparse.Namespace, settings: dict[str, Any], saved: Saved | None) -> None:
    """UsageError for options of alarms that do not go together."""
    if settings["alarm"] is None:
        given = (name for name in _NEEDS_ALARM if getattr(arguments, name, None) not in {None, False})
        refuse((True, f"--{name.replace('_', '-')}: needs --alarm") for name in given)
        return
    output, alerts = arguments.output, arguments.alerts
    prints = not arguments.publish and (output is None or str(output) == STDOUT)
    wrongs = (
        (settings["states"], "--alarm: not with --states"),
        (
            saved and not getattr(saved.model, "surprise", True),
            f"--alarm: the learner of --state knows no surprise; {ANOTHER}",
        ),
        (alerts and arguments.alert_topic, "--alert-topic: alerts go there or to --alerts, not both"),
        (str(alerts) == STDOUT and prints, "--alerts: results go to standard output; send them to --output"),
        (alerts and alerts.suffix == ".gz", "--alerts: alerts are not compressed as they come"),
        (
            alerts and str(alerts) != STDOUT and output and alerts.resolve() == output.resolve(),
            "--alerts: name another file than --output",
        ),
        (arguments.alert_qos is not None and not alert_topic(arguments), "--alert-qos: needs --alert-topic"),
    )
    refuse(wrongs)


def alert_topic(arguments: argparse.Namespace) -> str | None:
    """The topic of the alerts; None where they go elsewhere."""
    if arguments.alerts is not None or arguments.mqtt is None:
        return None
    named: str | None = arguments.alert_topic
    return named or (f"{arguments.publish}/alerts" if arguments.publish else None)


def alarms_of(
    arguments: argparse.Namespace, settings: dict[str, Any], saved: Saved | None, source: Source, signals: Signals
) -> Alarms | None:
    """The alarm of a run, as a checkpoint left it; None without ``--alarm``."""
    if settings["alarm"] is None:
        return None
    held = None if saved is None else saved.alarm
    try:
        given = {name: settings[name] for name in ALARM if settings.get(name) is not None}
        *of_alarm, after = ((_DEFAULTS | given)[name] for name in ALARM)
        alarm, position = Alarm(*of_alarm), None
        live = arguments.mqtt is not None or arguments.follow
        # 100 seconds would end an episode of slow readings at each of them. A state goes on as it began.
        timed = "alarm_hold" in given or (held is not None and bool(held["state"]["timed"]))
        watch = Watch(alarm.level, alarm.hold, after, live=live, timed=timed) if after else None
        early: list[_Point] | None = [] if saved is None else None
        if held is not None:
            before, position = Alarm.from_dict(held["state"]), dict(held["output"])
            alarm = before if _settings_of(before) == _settings_of(alarm) else alarm
            early = [_point(*values) for values in held["early"]] if "early" in held else None
            if watch is not None and "watch" in held:
                watch.resume(held["watch"])
        sink = _sink(arguments, position, source, signals)
    except UsageError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        if held is None or ANOTHER in str(error):
            raise
        refuse_damaged(f"its alarm cannot be read ({error})", arguments.state)
    return Alarms(alarm, sink, early, watch, timed)


def _settings_of(alarm: Alarm) -> tuple[float, float, int, int]:
    return alarm.level, alarm.hold, alarm.debounce, alarm.smooth


def _sink(arguments: argparse.Namespace, position: dict[str, Any] | None, source: Source, signals: Signals) -> Sink:
    topic = alert_topic(arguments)
    if topic is not None and isinstance(source, Subscription):
        if topic == arguments.publish:
            refuse_argument(f"--alert-topic: must be another topic than that of the results, got {topic!r}")
        return Publication(
            source, topic, position, "--alert-topic", 1 if arguments.alert_qos is None else arguments.alert_qos
        )
    if arguments.alerts is None:
        return Reported()
    if str(arguments.alerts) == STDOUT:
        return Printed("", signals)
    return Written(arguments.alerts, "", position, arguments.state)


def _as_written(time: str) -> str | int | float:
    """A time as the input has it; a number of nanoseconds keeps all its digits."""
    number = value_of(time)
    if number is None:
        return time
    return int(time) if number.is_integer() and time.strip().lstrip("+-").isdecimal() else number


def _point(x: Any, t: Any, written: Any) -> _Point:
    """A point of a checkpoint; ValueError or TypeError where it is damaged."""
    if written is not None and not isinstance(written, str):
        raise TypeError(written)
    return _Point(list(map(float, x)), None if t is None else float(t), written)


def _rounded(nats: float) -> float | None:
    return round(float(nats), 3) if math.isfinite(nats) else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
