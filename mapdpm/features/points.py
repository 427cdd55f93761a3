"""Transformers with a result at each point: earlier points, differences, and what is left of a mean."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from mapdpm.features.feature import Feature, feature
from mapdpm.validation import check_choice, check_count, check_number, refuse_value

BINS = {"hour": 24, "day": 7, "week": 168}
_MINUTES, _MOST_HOURS = 60, 24
_LEAST_HALF_LIFE, _LARGEST_HALF_LIFE = 1e-6, 1e9


@feature
class Lag(Feature):
    """The point and the ``n`` points before it: x_t, x_(t-1), ..., x_(t-n), docs/maths.md (130).

    The D columns of x_t come first, then those of x_(t-1), and so on: D (n + 1) columns. Before n points are known, the
    first point stands for those before it. NaN passes through. O(D n) a point; D n reals.

    Parameters
    ----------
    n : int
        Number of points before, 1 to 65535.
    dtype : {"float64", "float32"}
        The real type, as on a chip. All parts of a pipeline have the same.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import Lag
    >>> Lag(2).transform_many([[1.0], [2.0], [4.0]]).tolist()
    [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [4.0, 2.0, 1.0]]
    """

    n: int
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 1, "Lag(3)"
    most = 65535

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return names + [f"{name} lag {k}" for k in range(1, self.n + 1) for name in names]


@feature
class Difference(Feature):
    """The point less that ``n`` points before it: x_t - x_(t-n), docs/maths.md (131).

    Before n points are known, the first point stands for those before it: so the first result is 0. NaN if one of the
    two is. O(D) a point; D n reals.

    Parameters
    ----------
    n : int
        Number of points between the two, 1 to 2^20.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import Difference
    >>> Difference().transform_many([[1.0], [2.0], [4.0]]).tolist()
    [[0.0], [1.0], [2.0]]
    """

    n: int = 1
    _: KW_ONLY
    dtype: str = "float64"

    kind, example, label = 2, "Difference(2)", "difference {n}"


@feature
class Centre(Feature):
    """The point less the mean of the ``window`` points before it, docs/maths.md (132).

    The point itself is not in the mean, so an outlier does not pull the mean towards itself. The first result is 0;
    until the window is full, the mean is that of all points so far. NaN gives NaN, and means leave it out. A constant
    stream gives exactly 0. The sum is replaced by a new one each ``window`` points, so rounding does not add up. O(D) a
    point; D (window + 4) reals.

    Parameters
    ----------
    window : int
        Number of points of the mean, 1 to 2^20.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import Centre
    >>> Centre(2).transform_many([[1.0], [3.0], [4.0], [9.5]]).tolist()
    [[0.0], [2.0], [2.0], [6.0]]
    """

    window: int
    _: KW_ONLY
    dtype: str = "float64"

    kind, example, label = 3, "Centre(5)", "centred"


@feature
class Smooth(Feature):
    """The mean of the point and the ``n`` - 1 points before it, docs/maths.md (186).

    Of features, or of scores: minus the logarithms of surprises, say. Until n points are known it is the mean of those.
    NaN is left out; where all n are NaN, the result is. Rounding does not add up, as in ``Centre``. O(D) a point;
    D (n + 4) reals.

    Parameters
    ----------
    n : int
        Number of points of the mean, 1 to 2^20.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import Smooth
    >>> Smooth(2).transform_many([[1.0], [3.0], [6.0]]).tolist()
    [[1.0], [2.0], [4.5]]
    """

    n: int
    _: KW_ONLY
    dtype: str = "float64"

    kind, example, label = 13, "Smooth(3)", "smooth"


class _ByTime(Feature):
    """A transformer with a bin for each hour or day of local time, whose visits fade."""

    by: str
    half_life: float | None
    utc_offset: float

    @property
    def needs_times(self) -> bool:
        """Whether each point needs its time ``t``."""
        return True

    def _half_life(self) -> float:
        if self.half_life is None:
            return 0.0
        number = check_number("half_life", self.half_life)
        if not _LEAST_HALF_LIFE <= number <= _LARGEST_HALF_LIFE:
            rule = "> 0" if number <= 0.0 else f"between {_LEAST_HALF_LIFE:g} and {_LARGEST_HALF_LIFE:g}"
            refuse_value(f"half_life must be {rule}, in visits", self.half_life)
        return number

    def _minutes(self) -> int:
        hours = check_number("utc_offset", self.utc_offset)
        minutes = round(hours * _MINUTES) if abs(hours) <= _MOST_HOURS else -1
        if abs(hours) > _MOST_HOURS or abs(hours * _MINUTES - minutes) > 1e-6:  # noqa: PLR2004  (5 + 1 / 3, rounded)
            refuse_value("utc_offset must be hours of whole minutes, -24 to 24", self.utc_offset)
        return minutes

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
class Window(Feature):
    """The point, and every ``step``-th of the ``n`` - 1 points before it, the newest first: docs/maths.md (184).

    ``Window(n)`` is ``Lag(n - 1)``. There are D ((n - 1) // step + 1) columns, so a long window may have few of
    them. Before n points are known, the first point stands for those before it. NaN passes through. D n reals.

    Parameters
    ----------
    n : int
        Number of points of the window, 1 to 2^20.
    step : int
        Of how many points one is taken, 1 to n.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import Window
    >>> Window(5, 2).transform_many([[1.0], [2.0], [3.0], [4.0], [5.0]])[-1].tolist()
    [5.0, 3.0, 1.0]
    """

    n: int
    step: int = 1
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 11, "Window(7, 3)"

    def settings(self) -> dict[str, Any]:
        """The members of the step besides its kind; ValueError for a wrong parameter."""
        length = super().settings()
        step = check_count("step", self.step)
        if step > length["n"]:
            refuse_value(f"step must be at most n={length['n']}", self.step)
        return length | {"first": step}

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} lag {k}" if k else name for k in range(0, self.n, self.step) for name in names]
