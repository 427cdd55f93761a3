"""The clock of a stream that may stand, go back and jump: which times are believed, and what the learner is told.

A time is believed if it is not before the last believed one, and not further ahead than the largest step: a hundred
times the largest of the last steps. Any other time is an outlier of the clock, and its point is learned at the last
believed time: so no point is lost, and one wrong time ages nothing. When ``AGREE`` doubted times come in a row, on one
side of the last believed time, none before the one before it and not all the same, the clock was set, or the feed
paused: it is followed. Time that the learner knows never goes back. Where a clock was set back, it is shifted.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

AGREE = 5
"""Doubted times in a row after which they are believed."""
FURTHER = 100.0
"""How many times the largest of the last steps a step may be."""
_STEPS = 32  # that are remembered
_NEVER_SET = 1e9  # seconds, September 2001: clocks without a battery begin at 1970 or 2000
_UNITS = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"))


class Moment(NamedTuple):
    """The time of a point, as a clock takes it."""

    t: float | None
    """For the learner: it never goes back. None of points without times."""
    wall: float | None
    """For features, which ask for the hour."""
    step: float
    """Seconds since the point before by the clock's own count, believed or not: a pause is seen at once."""
    said: str = ""
    """The warning about this time, if there is one."""
    doubted: bool = False


class Clock(NamedTuple):
    """The clock of a stream, as far as it is known. It is a value: ``taken`` gives the next one.

    Examples
    --------
    >>> clock, told = Clock(), []
    >>> for t in (0.0, 1.0, 2.0, 9000.0, 4.0):
    ...     clock, moment = clock.taken(t)
    ...     told.append(moment.t)
    >>> told
    [0.0, 1.0, 2.0, 2.0, 4.0]
    """

    last: float | None = None
    """The last believed time, as it was read; None before the first."""
    text: str = ""
    """The same as it was written."""
    shift: float = 0.0
    """The time of the learner less ``last``."""
    steps: tuple[float, ...] = ()
    """The last steps, without those of 0."""
    doubted: tuple[float, ...] = ()
    """The times of the last points, where they agree with each other, and not with ``last``."""

    @classmethod
    def revived(cls, held: dict[str, Any]) -> Clock:
        """The clock of a checkpoint; TypeError or KeyError where it is damaged."""
        last, text, shift = held["last"], held["text"], held["shift"]
        steps, doubted = tuple(held["steps"]), tuple(held["doubted"])
        numbers = (shift, *steps, *doubted, *(() if last is None else (last,)))
        if not isinstance(text, str) or not all(isinstance(n, float) and math.isfinite(n) for n in numbers):
            msg = "its clock is none"
            raise TypeError(msg)
        return cls(last, text, shift, steps, doubted)

    def taken(self, t: float, text: str = "", largest: float | None = None) -> tuple[Clock, Moment]:
        """The clock after a point of time ``t``, written as ``text``, and what the learner is told.

        ``largest`` is the largest step in seconds that is believed at once; None: found from the last steps.
        """
        if self.last is None:
            return self._replace(last=t, text=text), Moment(t + self.shift, t, 0.0)
        step = t - self.last
        if 0.0 <= step <= self.limit(largest):
            steps = (*self.steps, step)[-_STEPS:] if step > 0.0 else self.steps
            return Clock(t, text, self.shift, steps), Moment(t + self.shift, t, step)
        agree = self.doubted and t >= self.doubted[-1] and (t > self.last) == (self.doubted[-1] > self.last)
        doubted = (*self.doubted[1 - AGREE :], t) if agree else (t,)
        step = t - doubted[-2] if agree else step
        if len(doubted) == AGREE and t > doubted[0]:
            return self._followed(doubted, text, step)
        said = "" if agree else self._doubt(t, text, largest)
        return self._replace(doubted=doubted), Moment(self.last + self.shift, self.last, step, said, doubted=True)

    def limit(self, largest: float | None) -> float:
        """The largest step that is believed at once."""
        if largest is not None:
            return largest
        return FURTHER * max(self.steps) if self.steps else math.inf

    def _followed(self, doubted: tuple[float, ...], text: str, step: float) -> tuple[Clock, Moment]:
        assert self.last is not None  # noqa: S101  (there are times that it disagrees with)
        t = doubted[-1]
        told, shift = self.last + self.shift, self.shift
        passes = t > self.last and (self.last >= _NEVER_SET or t < _NEVER_SET)
        if not passes:
            shift = told - t
            while t + shift < told:  # by rounding
                shift = math.nextafter(shift + math.ulp(told), math.inf)
        if passes:
            said = f"the clock stays ahead: {duration(t - self.last)} have passed"
        else:
            said = f"the clock was set {'forward' if t > self.last else 'back'} by {duration(t - self.last)}"
        steps = (*self.steps, *(b - a for a, b in itertools.pairwise(doubted) if b > a))[-_STEPS:]
        return Clock(t, text, shift, steps), Moment(t + shift, t, step, f"{said}, from {self.text} to {text}")

    def _doubt(self, t: float, text: str, largest: float | None) -> str:
        assert self.last is not None  # noqa: S101
        where = f"{duration(t - self.last)} {'after' if t > self.last else 'before'} the last one, {self.text}"
        most = f"; the largest step believed at once is {duration(self.limit(largest))}" if t > self.last else ""
        return (
            f"the time {text} is {where}{most}. The point is learned at the time of the last one; after {AGREE} such "
            "times in a row the clock is followed"
        )


def duration(seconds: float) -> str:
    """Seconds in words, with two digits: ``2 days``."""
    size = abs(seconds)
    for length, name in _UNITS:
        if size >= length:
            number = f"{size / length:.3g}"
            return f"{number} {name}{'s' * (number != '1')}"
    return f"{size:.3g} s"
