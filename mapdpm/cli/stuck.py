"""Alerts of ``mapdpm stream --alarm`` for what stays: a column that holds its value, and readings that do not come."""

from __future__ import annotations

import base64
import math
import time
from typing import Any

from mapdpm.cli.clock import duration
from mapdpm.cli.table_rows import counted
from mapdpm.features import Silence, Stuck, Transformer

A_DAY = 86_400.0
AFTER = 1440
"""Readings before the first alert, unless ``--alarm-stuck`` says another number: a day of minutes."""
_SILENT = "silent"


class Watch:
    """Watches the readings of one run. ``live`` ones are timed as they come, others by their own times, if any.

    ``hold`` is in seconds where readings are ``timed``.
    """

    def __init__(self, level: float, hold: float, after: int, *, live: bool, timed: bool) -> None:
        self._level, self._hold, self._live, self._timed = level, hold, live, timed
        self._stuck: Transformer = Stuck(after)
        self._silence: Transformer = Silence(after)
        self._number = 0
        self._begun: float | None = None  # the first time
        self._told: dict[str, float] = {}  # the last low place of each column, in points or seconds
        self._written: str | None = None  # the last time, as the input has it
        self._clock = 0.0  # seconds of this and earlier runs, without the time between them
        self._came: float | None = None
        self._waits = False

    def take(
        self, x: list[float], t: float | None, names: list[str] | None, written: str | None
    ) -> list[dict[str, Any]]:
        """Take a reading; its alerts, in values that JSON can hold, with the ``written`` time."""
        self._number += 1
        self._written = written
        self._begun = t if self._begun is None else self._begun
        found = []
        if t is not None and not self._live:
            found += self._silent(self._silence.transform_one([0.0], t), t)
        result = self._stuck.transform_one(x, t) or []
        at = t if t is not None and self._timed else float(self._number)
        if t is not None and self._begun is not None and t - self._begun < A_DAY:
            return []
        for d, value in enumerate(x):
            surprise, n = min(1.0, len(x) * result[d]), int(result[len(x) + d])
            if self._begins(str(d), surprise, at):
                missing = math.isnan(value)
                found.append(
                    {
                        "alert": f"{'missing' if missing else 'stuck'} for {counted(n, 'reading')}",
                        "column": d + 1 if names is None else names[d],
                        "value": None if missing else value,
                        "surprise": surprise,
                    }
                )
        return [self._said(alert) for alert in found]

    def waited(self, *, came: bool) -> list[dict[str, Any]]:
        """The alerts of a wait for live readings: they ``came``, or the silence goes on.

        A wait counts if nothing was there at first: readings that have queued up come as fast as they are read.
        """
        if not self._live:
            return []
        now = time.monotonic()
        passed = 0.0 if self._came is None else now - self._came
        found: list[dict[str, Any]] = []
        if not came:
            self._waits = True
            if self._came is not None:
                before = self._silence.copied_pipeline()
                found = self._silent(self._silence.transform_one([0.0], self._clock + passed), self._clock + passed)
                self._silence.adopt(before, None)
        else:
            if self._waits:
                self._clock += passed
                self._silence.transform_one([0.0], self._clock)
            self._came, self._waits = now, False
        return [self._said(alert) for alert in found]

    def saved(self) -> dict[str, Any]:
        """All of it, in values that JSON can hold."""
        kept = {"stuck": self._stuck, "silence": self._silence}
        return {
            "number": self._number,
            "begun": self._begun,
            "told": self._told,
            "clock": self._clock,
            **{name: _text(each) for name, each in kept.items() if each.nbytes},
        }

    def resume(self, held: dict[str, Any]) -> None:
        """Go on where a run was saved; KeyError, TypeError or ValueError where that is damaged."""
        self._number, self._clock = int(held["number"]), float(held["clock"])
        self._begun = None if held["begun"] is None else float(held["begun"])
        self._told = {str(name): float(at) for name, at in held["told"].items()}
        if "stuck" in held:
            self._stuck = _revived(held["stuck"], self._stuck)
        if "silence" in held:
            self._silence = _revived(held["silence"], self._silence)

    def _silent(self, result: list[float] | None, at: float) -> list[dict[str, Any]]:
        surprise, seconds = result or (1.0, 0.0)
        place = at - seconds if self._live else at  # one alert, however often a silence is looked at
        if not self._begins(_SILENT, surprise, place):
            return []
        return [{"alert": f"silent for {duration(seconds)}", "seconds": round(seconds, 3), "surprise": surprise}]

    def _begins(self, name: str, surprise: float, at: float) -> bool:
        """Whether an episode begins: it lasts until ``hold`` points or seconds are not low."""
        if surprise > self._level:
            return False
        last = self._told.get(name)
        self._told[name] = at
        return last is None or at - last > self._hold

    def _said(self, alert: dict[str, Any]) -> dict[str, Any]:
        return {"point": self._number, "time": self._written, **alert}


def _text(transformer: Transformer) -> str:
    return base64.b64encode(transformer.to_bytes()).decode()


def _revived(text: str, like: Transformer) -> Transformer:
    """The transformer of a checkpoint; a new one where the command line says another number of readings."""
    found = Transformer.from_bytes(base64.b64decode(text))
    return found if repr(found) == repr(like) else like
