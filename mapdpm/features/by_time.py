"""Transformers by the hour or the day: a mean and a spread of each, and the time itself."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from mapdpm.features.feature import Feature, feature
from mapdpm.validation import check_choice, check_number, refuse_value

BINS = {"hour": 24, "day": 7, "week": 168}
TURNS = {"day": 24, "week": 168}
"""Hours of a turn of ``Clock``."""
_MINUTES, _MOST_HOURS = 60, 24
_LEAST_HALF_LIFE, _LARGEST_HALF_LIFE = 1e-6, 1e9


class AtTime(Feature):
    """A transformer that asks for the local time of each point."""

    utc_offset: float

    @property
    def needs_times(self) -> bool:
        """Whether each point needs its time ``t``."""
        return True

    def _minutes(self) -> int:
        hours = check_number("utc_offset", self.utc_offset)
        minutes = round(hours * _MINUTES) if abs(hours) <= _MOST_HOURS else -1
        if abs(hours) > _MOST_HOURS or abs(hours * _MINUTES - minutes) > 1e-6:  # noqa: PLR2004  (5 + 1 / 3, rounded)
            refuse_value("utc_offset must be hours of whole minutes, -24 to 24", self.utc_offset)
        return minutes


class _ByTime(AtTime):
    """A transformer with a bin for each hour or day of local time, whose visits fade."""

    by: str
    half_life: float | None

    def _half_life(self) -> float:
        if self.half_life is None:
            return 0.0
        number = check_number("half_life", self.half_life)
        if not _LEAST_HALF_LIFE <= number <= _LARGEST_HALF_LIFE:
            rule = "> 0" if number <= 0.0 else f"between {_LEAST_HALF_LIFE:g} and {_LARGEST_HALF_LIFE:g}"
            refuse_value(f"half_life must be {rule}, in visits", self.half_life)
        return number

    def settings(self) -> dict[str, Any]:
        """The members of the step besides its kind; ValueError for a wrong parameter."""
        check_choice("by", self.by, BINS)
        return {"n": BINS[self.by], "half_life": self._half_life(), "offset": self._minutes()}


@feature
class Seasonal(_ByTime):
    """The point less the mean of its hour or day, of the points before it: docs/maths.md (133).

    A bin's mean is plain, or its visits count half after ``half_life`` visits. A bin without a visit has the mean of
    all points so far; the first result is 0. NaN gives NaN, and means leave it out. O(D) a point; 2 D (bins + 1) reals.

    Parameters
    ----------
    by : {"hour", "day", "week"}
        Bins: 24 hours of the day, 7 days of the week, or 168 hours of the week.
    half_life : float > 0 or None
        Number of visits to a bin after which a visit counts half; None: all count in full for ever.
    utc_offset : float
        Hours of local time ahead of UTC, whole minutes, -24 to 24. There is no daylight saving time.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid; or, of a point, its time ``t`` is missing.

    Examples
    --------
    >>> from mapdpm.features import Seasonal
    >>> hour = 3600.0
    >>> Seasonal("hour").transform_many([[1.0], [5.0], [2.0]], t=[0.0, 12 * hour, 24 * hour]).tolist()
    [[0.0], [4.0], [1.0]]
    """

    by: str
    half_life: float | None = None
    utc_offset: float = 0.0
    _: KW_ONLY
    dtype: str = "float64"

    kind, example, label = 4, "Seasonal('hour')", "seasonal {by}"


@feature
class Spread(_ByTime):
    """The point over the root mean square of its hour or day, of the points before it: docs/maths.md (185).

    It follows ``Seasonal`` or ``Centre``, whose results are about 0: a deviation that is usual by day may be a fault at
    night. The mean square of all points counts as one visit to each bin. Until a point is not 0, results are 0, 1 or
    -1. NaN gives NaN, and means leave it out. O(D) a point; 2 D (bins + 1) reals.

    Parameters
    ----------
    by : {"hour", "day", "week"}
        Bins: 24 hours of the day, 7 days of the week, or 168 hours of the week.
    half_life : float > 0 or None
        Number of visits to a bin after which a visit counts half; None: all count in full for ever.
    utc_offset : float
        Hours of local time ahead of UTC, whole minutes, -24 to 24. There is no daylight saving time.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid; or, of a point, its time ``t`` is missing.

    Examples
    --------
    >>> from mapdpm.features import Spread
    >>> noon, night = [4.0], [1.0]
    >>> times = [43200.0 * i for i in range(7)]
    >>> Spread("hour").transform_many([night, noon] * 3 + [noon], times)[-1].round(2).tolist()
    [2.36]
    """

    by: str
    half_life: float | None = None
    utc_offset: float = 0.0
    _: KW_ONLY
    dtype: str = "float64"

    kind, example, label = 12, "Spread('hour')", "spread {by}"


@feature
class Clock(AtTime):
    """The cosine and the sine of the time of the day or the week: docs/maths.md (190).

    Midnight, or that of Monday, is (1, 0). Beside other columns, as in ``Window(1) + Clock("day")``, it lets clusters
    be of an hour: what is usual at noon may be new at night. Two columns, whatever those of the point, to a
    millisecond. O(1) a point, without a state.

    Parameters
    ----------
    by : {"day", "week"}
        What a turn of the clock is.
    utc_offset : float
        Hours of local time ahead of UTC, whole minutes, -24 to 24. There is no daylight saving time.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid; or, of a point, its time ``t`` is missing.

    Examples
    --------
    >>> from mapdpm.features import Clock
    >>> Clock("day").transform_many([[0.0], [0.0]], t=[0.0, 3 * 3600.0]).round(3).tolist()
    [[1.0, 0.0], [0.707, 0.707]]
    """

    by: str
    utc_offset: float = 0.0
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 16, "Clock('week')"

    def settings(self) -> dict[str, Any]:
        """The members of the step besides its kind; ValueError for a wrong parameter."""
        check_choice("by", self.by, TURNS)
        return {"n": TURNS[self.by], "offset": self._minutes()}

    def names_for(self, names: list[str]) -> list[str]:  # noqa: ARG002  (of the time alone)
        """Names of the columns of results."""
        return [f"{self.by} cosine", f"{self.by} sine"]
