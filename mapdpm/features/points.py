"""Transformers with a result at each point: earlier points, differences, and what is left of a mean."""

from __future__ import annotations

from typing import Any

from mapdpm.features import c_pipeline
from mapdpm.features.c_pipeline import Step
from mapdpm.features.transformer import Transformer
from mapdpm.validation import check_choice, check_count, check_number

BINS = {"hour": 24, "day": 7, "week": 168}
LONGEST_LAG, LONGEST_WINDOW = 65535, 2**20
_MINUTES, _MOST_HOURS = 60, 24
_LEAST_HALF_LIFE, _LARGEST_HALF_LIFE = 1e-6, 1e9


def checked_window(name: str, value: Any, least: int = 1, most: int = LONGEST_WINDOW) -> int:
    """A number of points; ValueError where it is none, or too large."""
    n = check_count(name, value, least)
    if n > most:
        msg = f"{name} must be at most {most}, got {value}"
        raise ValueError(msg)
    return n


class _OnePoint(Transformer):
    """A transformer with a result at each point."""

    @property
    def every(self) -> int:
        """Number of points from one result to the next."""
        return 1


class Lag(_OnePoint):
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

    def __init__(self, n: int, *, dtype: str = "float64") -> None:
        self.n = n
        self.dtype = dtype
        checked_window("n", n, most=LONGEST_LAG)
        self._begin()

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        steps.append(Step(c_pipeline.LAG, source, n=int(self.n)))
        return len(steps)

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return names + [f"{name} lag {k}" for k in range(1, self.n + 1) for name in names]


class Difference(_OnePoint):
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

    def __init__(self, n: int = 1, *, dtype: str = "float64") -> None:
        self.n = n
        self.dtype = dtype
        checked_window("n", n)
        self._begin()

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        steps.append(Step(c_pipeline.DIFFERENCE, source, n=int(self.n)))
        return len(steps)

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} difference {self.n}" for name in names]


class Centre(_OnePoint):
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

    def __init__(self, window: int, *, dtype: str = "float64") -> None:
        self.window = window
        self.dtype = dtype
        checked_window("window", window)
        self._begin()

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        steps.append(Step(c_pipeline.CENTRE, source, n=int(self.window)))
        return len(steps)

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} centred" for name in names]


class Seasonal(_OnePoint):
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

    def __init__(
        self, by: str, half_life: float | None = None, utc_offset: float = 0.0, *, dtype: str = "float64"
    ) -> None:
        self.by = by
        self.half_life = half_life
        self.utc_offset = utc_offset
        self.dtype = dtype
        check_choice("by", by, BINS)
        self._half_life()
        self._minutes()
        self._begin()

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
            msg = f"half_life must be {rule}, in visits, got {self.half_life!r}"
            raise ValueError(msg)
        return number

    def _minutes(self) -> int:
        hours = check_number("utc_offset", self.utc_offset)
        minutes = round(hours * _MINUTES) if abs(hours) <= _MOST_HOURS else -1
        if abs(hours) > _MOST_HOURS or abs(hours * _MINUTES - minutes) > 1e-6:  # noqa: PLR2004  (5 + 1 / 3, rounded)
            msg = f"utc_offset must be hours of whole minutes, -24 to 24, got {self.utc_offset!r}"
            raise ValueError(msg)
        return minutes

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        step = Step(c_pipeline.SEASONAL, source, n=BINS[self.by], offset=self._minutes(), half_life=self._half_life())
        steps.append(step)
        return len(steps)

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} seasonal {self.by}" for name in names]
