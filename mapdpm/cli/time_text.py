"""Times as files and messages write them: numbers since 1970 in some unit, or dates, with or without a zone."""

from __future__ import annotations

import argparse
import datetime as dt
import difflib
import re
import zoneinfo
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from mapdpm.cli.cells import is_text, value_of

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of them a second has."""
_NAMES = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_LATEST = 1e12  # seconds; more would overflow 64 bits of microseconds
_TOLD = 1e8
"""A number from here on says its unit: 1973 in seconds. Smaller ones may count from any origin."""
_HINT = "times are numbers since 1970, or dates such as 2026-10-25T10:00:00+02:00 or 2026-10-25 10:00"
ORDERS = ("dmy", "mdy")
_MONTHS, _SHORT = 12, 2  # the digits of a short year
_LARGEST = {"s": 1e11, "ms": 1e14, "us": 1e17}  # the year 5138; 1973 in the next unit

TIME = re.compile(
    r"(^|[^a-z])(time|date|datetime|epoch)([^a-z]|$)|timestamp|^ts$|^(zeit|datum|uhrzeit)$", re.IGNORECASE
)
"""In the name of a column: it is likely one of times."""
_DATE = re.compile(
    r"(?:(?P<Y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})"  # 2026-10-25
    r"|(?P<d2>\d{1,2})\.(?P<m2>\d{1,2})\.(?P<Y2>\d{4}|\d\d)"  # 25.10.2026: with points the day is first everywhere
    r"|(?P<first>\d{1,2})(?P<slash>[/-])(?P<second>\d{1,2})(?P=slash)"  # 10/25/2026 or 25/10/2026; 10/25/26 2:30 PM,
    r"(?P<Y4>\d{4}|\d\d(?=.*[ap]\.?m))"  # but 26/10/25 may begin with its year
    r"|(?P<Y3>\d{4})(?P<m3>\d\d)(?P<d3>\d\d)(?=[T ]))"  # 20261025T
    r"(?:[T ]\s*(?P<H>\d{1,2}):?(?P<M>\d\d)(?::?(?P<S>\d\d)(?:[.,](?P<f>\d+))?)?(?:\s*(?P<half>[ap])\.?m\.?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?(?:\[[^\]]*\])?",
    re.IGNORECASE,
)
_ISO = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:)[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?([^0-9.,].*)?", re.ASCII)
_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?")
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)?")


class _Hour(NamedTuple):
    """The hour of the last date, for most dates differ from the one before only in minutes and seconds."""

    begins: str
    """As in ``2026-10-25T10:``."""
    ends: str
    """The zone as it is written."""
    at: float
    """Its first second."""

    @classmethod
    def of(cls, text: str, date: dt.datetime, zone: dt.tzinfo) -> _Hour | None:
        """The hour of a date in ISO 8601; None of others, and where the clocks are set about then."""
        found = _ISO.fullmatch(text)
        if found is None:
            return None
        first = date.replace(minute=0, second=0, tzinfo=zone)
        last = date.replace(minute=59, second=59, tzinfo=zone)
        if len({each.replace(fold=fold).utcoffset() for each in (first, last) for fold in (0, 1)}) > 1:
            return None
        return cls(found[1], found[2] or "", first.timestamp())

    def seconds(self, text: str) -> float | None:
        """The time of a date that begins so; None where it goes on otherwise."""
        minute, second, tail, fraction = text[14:16], text[17:19], text[19:], 0.0
        if tail != self.ends:
            digits = tail[1 : len(tail) - len(self.ends)]
            if tail[:1] not in {".", ","} or not tail.endswith(self.ends) or not digits.isdecimal():
                return None
            fraction = float(f"0.{digits}")
        is_time = text[16:17] == ":" and len(second) == 2 and minute.isdecimal() and second.isdecimal()  # noqa: PLR2004
        if not is_time or minute > "59" or second > "59":
            return None
        return self.at + 60.0 * int(minute) + int(second) + fraction


class TimeReader:
    """Reads times; what the first ones decide, the unit of numbers and the zone of dates, holds for all.

    ``unit``, ``zone`` and ``order`` (of day and month where there are slashes) are None until they are decided; ``say``
    gets a sentence for what is decided so, once.
    """

    def __init__(
        self,
        unit: str | None = None,
        zone: str | None = None,
        order: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.unit, self.zone, self.order, self._say = unit, zone, order, say
        self._zone = None if zone is None else zone_of(zone)
        self._told: set[str] = set()
        self._hour = _Hour("\0", "", 0.0)  # no date begins so

    @property
    def tzinfo(self) -> dt.tzinfo | None:
        """The zone, as far as it is decided."""
        return self._zone

    def seconds(self, text: str, last: float | None = None) -> float:
        """The time in seconds since 1970 (UTC), or from the origin of the numbers; ValueError with the complaint.

        ``last`` is the time before: where clocks are set back, and an hour comes twice, the first is taken that is
        not before it.
        """
        if text.startswith(self._hour.begins):
            within = self._hour.seconds(text)
            if within is not None:
                return within
        number = value_of(text)
        found = self._of_date(text.strip(), last) if number is None else self._of_number(number)
        if not abs(found) <= _LATEST:
            _refuse(text)
        return found

    def _of_number(self, number: float) -> float:
        if self.unit is None and abs(number) >= _TOLD:
            self.unit = next((unit for unit, most in _LARGEST.items() if abs(number) < most), "ns")
            if self.unit != "s":
                self._say(f"times are in {_NAMES[self.unit]}, by their size; --time-unit says it otherwise")
        return number / UNITS[self.unit or "s"]

    def _of_date(self, text: str, last: float | None) -> float:
        found = _DATE.fullmatch(text)
        if found is None:
            _refuse(text)
        part = found.groupdict()
        if part["slash"]:
            written, (month, day) = part["Y4"], self._ordered(text, int(part["first"]), int(part["second"]))
        else:
            written, *others = (part[name] or part[f"{name}2"] or part[f"{name}3"] for name in ("Y", "m", "d"))
            month, day = map(int, others)
        year = int(written) + (2000 if len(written) == _SHORT else 0)
        hour, minute, second = (int(part[name] or 0) for name in ("H", "M", "S"))
        if part["half"]:
            hour = hour % 12 + 12 * (part["half"].lower() == "p") if 1 <= hour <= 12 else 99  # noqa: PLR2004
        leap = second == 60  # noqa: PLR2004  (a leap second is the first one of the next minute)
        try:
            date = dt.datetime(year, month, day, hour, minute, second - leap)  # noqa: DTZ001  (its zone comes now)
            zone = self._zone_without() if part["zone"] is None else zone_of(part["zone"].upper())
            at = self._at(date, zone, text, last)
        except (ValueError, OverflowError):
            _refuse(text)
        self._hour = _Hour.of(text, date, zone) or self._hour
        return at + leap + (float(f"0.{part['f']}") if part["f"] else 0.0)

    def _ordered(self, text: str, first: int, second: int) -> tuple[int, int]:
        """Month and day of a date with slashes; the first date that tells says the order for all."""
        if self.order is None:
            if max(first, second) <= _MONTHS:
                _refuse(text, "which number is the day? --date-order dmy or mdy says it")
            self.order = "dmy" if first > _MONTHS else "mdy"
            self._say(f"{text!r} says that the {'day' if self.order == 'dmy' else 'month'} comes first in dates")
        return (second, first) if self.order == "dmy" else (first, second)

    def _at(self, date: dt.datetime, zone: dt.tzinfo, text: str, last: float | None) -> float:
        """The time of a date; where clocks are set, it comes twice or never, and that is said."""
        first = date.replace(tzinfo=zone)
        second = first.replace(fold=1)
        if isinstance(zone, dt.timezone) or first.utcoffset() == second.utcoffset():
            return first.timestamp()
        if first.utcoffset() < second.utcoffset():  # type: ignore[operator]  # a zone has them
            self._once("never", f"{text!r} never comes in {zone}, where clocks go forward: read as if they did not")
            return first.timestamp()
        self._once("twice", f"{text!r} comes twice in {zone}, where clocks are set back: the first not before the last")
        before = last is not None and first.timestamp() < int(last)
        return second.timestamp() if before else first.timestamp()

    def _zone_without(self) -> dt.tzinfo:
        if self._zone is None:
            self.zone, self._zone = "UTC", dt.UTC
            self._say("times without a zone are taken for UTC; --time-zone says another one")
        return self._zone

    def _once(self, kind: str, text: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            self._say(text)


def is_time(text: str) -> bool:
    """Whether a cell is a number or a date: that of a header is neither."""
    return value_of(text) is not None or _DATE.fullmatch(text.strip()) is not None


def is_name(text: str) -> bool:
    """Whether a cell is a text and neither a date nor a time of day, as names of columns are."""
    return is_text(text) and not (_DATE.fullmatch(text.strip()) or _OF_DAY.fullmatch(text.strip()))


def check_time(text: str) -> None:
    """ValueError with the complaint where a text cannot be a time."""
    if not is_time(text):
        _refuse(text)


def zone_of(text: str) -> dt.tzinfo:
    """A zone by its name or its offset; ValueError with near names for what is none."""
    if text in {"UTC", "GMT", "Z"}:
        return dt.UTC
    offset = _OFFSET.fullmatch(text)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return dt.timezone(dt.timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return zoneinfo.ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        known = zoneinfo.available_timezones()
        if not known:
            hint = "this machine knows no names (pip install tzdata)"
        else:
            ends = sorted(name for name in known if name.lower().endswith(f"/{text.lower()}"))
            near = [*ends, *difflib.get_close_matches(text, known, 1)]
            hint = f"did you mean {near[0]}?" if near else "names are those of the IANA data base"
        msg = f"must be a zone, such as Europe/Berlin, UTC or +02:00, got {text!r}; {hint}"
        raise ValueError(msg) from None


def zone_name(text: str) -> str:
    """The value of ``--time-zone``."""
    try:
        zone_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _refuse(text: str, hint: str = _HINT) -> NoReturn:
    shown = text.strip()[:40]
    msg = f"is no time: {shown!r}; {hint}" if shown else "is blank: each point needs its time"
    raise ValueError(msg)
