"""Alarms: from the surprise of each point to a few alerts, with a rate of false ones that is known beforehand."""

from __future__ import annotations

import math
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.dates import in_seconds
from mapdpm.special import log_cycle
from mapdpm.stream.c_options import modules
from mapdpm.stream.points import MICROSECONDS, microseconds
from mapdpm.validation import check_count, check_number, check_positive, refuse_value

_DAY = 86_400.0
_MOST_EVENTS = 100
_MOST_HOLD = 1e12
_LARGEST = 2**62
_HALVINGS = 200
_LOG_LEAST = -700.0  # nats: about the log of the least float
_STATE = ("now", "last", "run", "active")


class Alert(NamedTuple):
    """The beginning of an episode: the ``number`` of the point, from 1, its time or None, and its surprise.

    With ``smooth`` that is the combined surprise, which the alarm judges.
    """

    number: int
    t: float | None
    surprise: float


class Episode(NamedTuple):
    """A time of low surprises, from its first point to its last one so far, and the lowest surprise in it.

    The first point is that which began the run of ``debounce`` points. Times are None where points have none.
    """

    start: int
    end: int
    t_start: float | None
    t_end: float | None
    lowest: float


class Alarm:
    r"""Alerts on surprises: one for each episode in which surprises are at or below a level.

    On normal data, P(surprise <= level) = level. So ``false_alarms`` knows how many alerts there are on normal data
    (docs/maths.md (140) to (143)). O(1) a point, in fixed memory. Chips run the same C code (decision 142).

    Parameters
    ----------
    level : float in (0, 1)
        A point is low if its surprise is at or below it.
    hold : float >= 0
        An episode ends after so many points in a row that are not low, rounded down; in seconds without a low point,
        where points have times.
    debounce : int >= 1
        Number of low points in a row that make an alert.
    smooth : int >= 1
        For anomalies that last: each surprise is combined with those before it, with weights that fade with a span of
        so many points (``combined``). 1: each point is judged by itself.

    Attributes
    ----------
    active : bool
        Whether an episode lasts.
    number : int
        Number of points so far.
    events : list of Episode
        The last 100 episodes, the oldest first; while ``active``, the last one has not ended.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> alarm = Alarm(level=0.01, hold=2)
    >>> [alarm.update(s) is not None for s in (0.4, 0.001, 0.3, 0.002, 0.5, 0.6, 0.003)]
    [False, True, False, False, False, False, True]
    >>> alarm.events[0]
    Episode(start=2, end=4, t_start=None, t_end=None, lowest=0.001)
    """

    def __init__(self, level: float = 1e-5, hold: float = 100, debounce: int = 1, smooth: int = 1) -> None:
        self.level = check_number("level", level)
        if not 0.0 < self.level < 1.0:
            refuse_value("level must be > 0 and < 1", level)
        self.hold = check_number("hold", hold)
        if not 0.0 <= self.hold <= _MOST_HOLD:
            refuse_value(f"hold must be from 0 to {_MOST_HOLD:g} points or seconds", hold)
        self.debounce = check_count("debounce", debounce)
        if self.debounce >= 2**32:
            refuse_value("debounce must be less than 2**32", debounce)
        self.smooth = check_count("smooth", smooth)
        if self.smooth >= 2**32:
            refuse_value("smooth must be less than 2**32", smooth)
        self._lib, self._ffi = modules("float64")
        self._mean = self._ffi.new("double *")
        self._alarm = self._ffi.new("mapdpm_alarm *")
        self._lib.mapdpm_alarm_init(self._alarm, self.level, 0, self.debounce)
        self.number = 0
        self._timed: bool | None = None
        self._t: float | None = None
        self._run: Episode | None = None
        self._events: deque[Episode] = deque(maxlen=_MOST_EVENTS)

    @property
    def active(self) -> bool:
        """Whether an episode lasts."""
        return bool(self._alarm.active)

    @property
    def events(self) -> list[Episode]:
        """The last 100 episodes, the oldest first."""
        return list(self._events)

    def update(self, surprise: float, t: float | None = None) -> Alert | None:
        """Take the surprise of a point; return an ``Alert`` if it begins an episode.

        nan, as in a warm-up, is no evidence: it counts as a point, and neither starts nor ends anything. ``t`` is the
        time in seconds, or a date, for all points or none, and never less than before. ValueError where either is
        invalid; the alarm is unchanged then.
        """
        value = _probability(surprise)
        t = in_seconds(t)
        at = self._checked_time(t)
        self.number += 1
        value = self._combine(self._mean, value)
        if math.isnan(value):
            return None
        alerts = self._take(value, at)
        if value > self.level:
            return None
        if self.active and not alerts:
            self._events[-1] = _longer(self._events[-1], self.number, t, value)
            return None
        if self._run is None or self._alarm.run == 1:
            self._run = Episode(self.number, self.number, t, t, value)
        else:
            self._run = _longer(self._run, self.number, t, value)
        if not alerts:
            return None
        self._events.append(self._run)
        return Alert(self.number, t, value)

    def combined(self, surprises: Any) -> NDArray[np.float64]:
        r"""The surprises that an alarm with this ``smooth`` would judge, shape (n,); this one does not change.

        With a = 2 / (smooth + 1) and m_0 = 0: m_t = m_(t-1) + a (log s_t - m_(t-1)), and min(1, e exp(m_t)): e times a
        weighted geometric mean. It is at most p with a probability of at most p, however the points depend on each
        other (Vovk and Wang 2020; docs/maths.md (189)). nan stays, and changes nothing.

        Examples
        --------
        >>> Alarm(smooth=4).combined([0.5, 0.001, 0.001, 0.001]).round(4).tolist()
        [1.0, 0.1452, 0.0296, 0.0114]
        """
        mean = self._ffi.new("double *")
        return np.array(
            [self._combine(mean, _probability(each)) for each in np.asarray(surprises, dtype=float).tolist()]
        )

    # ---- rates -------------------------------------------------------------------------------------------------------

    def false_alarms(self, rate: float) -> float:
        """Expected number of alerts a day on normal data, with ``rate`` points a day, maths (143).

        Exact for independent surprises, in the long run. Where the points have had times, ``hold`` is in seconds, and
        points are taken as evenly spaced. With ``smooth`` it is a bound, whatever the dependence: the number of low
        points, ``rate * level``.
        """
        points = check_positive("rate", rate)
        if self.smooth > 1:
            return points * self.level
        return points * math.exp(-log_cycle(math.log(self.level), self._hold_in_points(points), self.debounce))

    @classmethod
    def level_for(cls, per_day: float, rate: float, hold: float = 100, debounce: int = 1) -> float:
        """The level at which ``false_alarms(rate)`` is ``per_day``, with ``hold`` in points; the inverse.

        ValueError where there is none: an episode counts once, so no level has more alerts than a certain number.

        Examples
        --------
        >>> level = Alarm.level_for(per_day=1.0, rate=86_400, debounce=3)
        >>> round(level, 6), round(Alarm(level, debounce=3).false_alarms(86_400), 9)
        (0.02283, 1.0)
        """
        made = cls(0.5, hold, debounce)
        wanted = math.log(check_positive("rate", rate)) - math.log(check_positive("per_day", per_day))
        held = math.floor(made.hold)
        low = _LOG_LEAST
        peak = _shortest_cycle(held, made.debounce)
        if log_cycle(peak, held, made.debounce) > wanted:
            most = rate * math.exp(-log_cycle(peak, held, made.debounce))
            how = f"rate={rate!r}, hold={hold!r}, debounce={debounce!r}"
            refuse_value(f"per_day must be at most {most:.6g} with {how}", per_day)
        high = peak
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if log_cycle(middle, held, made.debounce) > wanted:
                low = middle
            else:
                high = middle
        return math.exp(high)

    # ---- state -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of the alarm, in values that JSON can hold; ``from_dict`` makes the same alarm of it."""
        return {
            "level": self.level,
            "hold": self.hold,
            "debounce": self.debounce,
            "smooth": self.smooth,
            "mean": float(self._mean[0]),
            "number": self.number,
            "timed": self._timed,
            "t": self._t,
            **{name: int(getattr(self._alarm, name)) for name in _STATE},
            "begun": None if self._run is None else list(self._run),
            "events": [list(event) for event in self._events],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Alarm:
        """The alarm of which ``to_dict`` has made ``state``; ValueError where it is damaged."""
        try:
            # Before 0.3.0 an alarm judged each point by itself.
            alarm = cls(state["level"], state["hold"], state["debounce"], state.get("smooth", 1))
            alarm._mean[0] = _log(state.get("mean", 0.0))
            alarm.number = check_count("number", state["number"], least=0)
            alarm._timed, alarm._t = _optional(bool, state["timed"]), _optional(float, state["t"])
            for name in _STATE:
                setattr(alarm._alarm, name, _whole(state[name]))
            alarm._run = None if state["begun"] is None else _episode(state["begun"])
            alarm._events.extend(map(_episode, state["events"]))
            damaged = alarm._alarm.active > 1 or (alarm._alarm.active and not alarm._events)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            msg = f"this is not the state of an alarm: {type(error).__name__}: {error}"
            raise ValueError(msg) from None
        if damaged:
            msg = "this is not the state of an alarm: it lasts, but has no episode"
            raise ValueError(msg)
        alarm._set_hold()
        return alarm

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: as the dict of the state."""
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        """The parameters."""
        more = f", smooth={self.smooth!r}" if self.smooth > 1 else ""
        return f"Alarm(level={self.level!r}, hold={self.hold!r}, debounce={self.debounce!r}{more})"

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _checked_time(self, t: float | None) -> int | None:
        at = None if t is None else microseconds(t)
        if self._timed is not None and self._timed != (at is not None):
            msg = "all points must have a time t, or none"
            raise ValueError(msg)
        if t is not None and self._t is not None and t < self._t:
            msg = f"t must not go backwards, got {t!r} after {self._t!r}"
            raise ValueError(msg)
        if self._timed is None:
            self._timed = at is not None
            self._set_hold()
        self._t = None if t is None else float(t)
        return at

    def _set_hold(self) -> None:
        self._alarm.hold = round(self.hold * MICROSECONDS) if self._timed else math.floor(self.hold)

    def _combine(self, mean: Any, surprise: float) -> float:
        return float(self._lib.mapdpm_combine_surprise(mean, surprise, self.smooth))

    def _take(self, surprise: float, at: int | None) -> bool:
        if at is None:
            return bool(self._lib.mapdpm_alarm_update(self._alarm, surprise))
        return bool(self._lib.mapdpm_alarm_update_at(self._alarm, surprise, at))

    def _hold_in_points(self, rate: float) -> int:
        return math.floor(self.hold * rate / _DAY if self._timed else self.hold)


def _probability(surprise: Any) -> float:
    value = float(surprise)
    if not (math.isnan(value) or 0.0 <= value <= 1.0):
        refuse_value("surprise must be a probability, or nan", surprise)
    return value


def _log(mean: Any) -> float:
    value = float(mean)
    if not -math.inf < value <= 0.0:
        raise ValueError(mean)
    return value


def _shortest_cycle(hold: int, debounce: int) -> float:
    """The log level of the shortest cycle: it is convex in the level, so thirds find its minimum."""
    low, high = _LOG_LEAST, -1e-9
    for _ in range(_HALVINGS):
        first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
        if log_cycle(first, hold, debounce) > log_cycle(second, hold, debounce):
            low = first
        else:
            high = second
    return 0.5 * (low + high)


def _longer(episode: Episode, number: int, t: float | None, surprise: float) -> Episode:
    return episode._replace(end=number, t_end=t, lowest=min(episode.lowest, surprise))


def _episode(values: Any) -> Episode:
    start, end, t_start, t_end, lowest = values
    found = Episode(_whole(start), _whole(end), _optional(float, t_start), _optional(float, t_end), float(lowest))
    if not (0 < found.start <= found.end and 0.0 <= found.lowest <= 1.0):
        msg = f"{values!r} is no episode"
        raise ValueError(msg)
    return found


def _optional(kind: Any, value: Any) -> Any:
    if value is not None and not isinstance(value, (kind, int)):
        raise TypeError(value)
    return None if value is None else kind(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_LARGEST <= value <= _LARGEST:
        raise TypeError(value)
    return value
