"""The times of a stream: read as they are written, and believed as far as its clock goes on."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

from mapdpm.cli.checkpoint import Saved
from mapdpm.cli.clock import Clock, Moment
from mapdpm.cli.time_text import TimeReader

_QUARTER = 900.0  # seconds
UNTIMED = Moment(None, None, 0.0)
"""The moment of points without times."""


class StreamTimes:
    """Reads the times of one run; ``settings`` get what the first of them decide, the unit and the zone."""

    def __init__(self, settings: dict[str, Any], say: Callable[[str], None]) -> None:
        self.n_doubted = 0
        self._settings = settings
        self._reader = TimeReader(settings["time_unit"], settings["time_zone"], settings["date_order"], say)
        self._clock = Clock()
        self._decided: tuple[str | None, ...] = ()
        self._quarter, self._offset = math.nan, 0.0

    def resume(self, saved: Saved) -> None:
        """Go on with the clock of a checkpoint; KeyError or TypeError where it is damaged."""
        if saved.clock is not None:
            self._clock = Clock.revived(saved.clock)
        elif saved.model.last_time is not None:  # what Python has learned
            self._clock = Clock(saved.model.last_time, f"{saved.model.last_time:.15g}")

    def moment(self, text: str) -> Moment:
        """The time of the next point; ValueError with the complaint where the text is none."""
        t = self._reader.seconds(text, self._clock.last)
        decided = (self._reader.unit, self._reader.zone, self._reader.order)
        if decided != self._decided:
            self._settings |= dict(zip(("time_unit", "time_zone", "date_order"), decided, strict=True))
            self._decided = decided
        self._clock, moment = self._clock.taken(t, text, self._settings["largest_step"])
        self.n_doubted += moment.doubted
        return moment

    def local(self, wall: float | None) -> float | None:
        """The time that clocks show in the zone of ``--time-zone``, for features of the hour and the day."""
        zone = self._reader.tzinfo
        if wall is None or zone in {None, dt.UTC}:
            return wall
        quarter = math.floor(wall / _QUARTER)  # clocks are set at such times
        if quarter != self._quarter:
            offset = dt.datetime.fromtimestamp(quarter * _QUARTER, zone).utcoffset()
            self._quarter, self._offset = quarter, 0.0 if offset is None else offset.total_seconds()
        return wall + self._offset

    def saved(self) -> dict[str, Any] | None:
        """The clock, for a checkpoint; None where points have no times."""
        if self._clock.last is None:
            return None
        held = self._clock._asdict()
        return held | {"steps": list(self._clock.steps), "doubted": list(self._clock.doubted)}
