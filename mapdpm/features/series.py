"""Features of the shape of a series: its period, windows of it, and their principal components (decision 165)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from mapdpm.features.c_pipeline import Step
from mapdpm.features.feature import Feature, feature
from mapdpm.features.transformer import Transformer
from mapdpm.validation import check_count, refuse_value

_MOST_COMPONENTS = 256
_LEAST_OF_SERIES = 24


class _WarmsUp(Feature):
    """A step whose first ``n`` points, a warm-up, have no result before the last one of them."""

    @property
    def waits(self) -> bool:
        """Whether the first points, a warm-up, have no result."""
        return True


@feature
class Autoperiod(_WarmsUp):
    """Means of ``parts`` equal parts of the last half period, whose length the first ``n`` points tell: (187).

    ``period_`` is the lag of the highest local maximum of the autocorrelation, 4 to n / 2, if it is above 3 / sqrt(n).
    Where there is none, windows are those of n / 4. A part has at least one point. The D columns of the newest part
    come first, then those of the part before. A result comes out from the n-th point on. A missing value is left out of
    means; a part without any gives NaN. The formula is in docs/maths.md. O(D n^2) once, then O(D) for each point of the
    window; D n reals.

    Parameters
    ----------
    n : int
        Number of points of the warm-up, 8 to 65535.
    parts : int
        Number of parts, 2 to n / 2.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import Autoperiod
    >>> windows = Autoperiod(40, parts=2)
    >>> rows = windows.transform_many([[1.0 if i % 8 < 4 else 0.0] for i in range(80)])
    >>> windows.period_, rows.shape, rows[0].tolist()
    (8, (41, 2), [0.0, 0.0])
    """

    n: int = 256
    parts: int = 12
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 14, "Autoperiod(16, 3)"
    least, most = 8, 65535

    def settings(self) -> dict[str, Any]:
        """The members of the step besides its kind; ValueError for a wrong parameter."""
        length = super().settings()
        parts = check_count("parts", self.parts, 2)
        if parts > length["n"] // 2:
            refuse_value(f"parts must be at most n / 2 = {length['n'] // 2}", self.parts)
        return length | {"first": parts}

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} part {k}" for k in range(1, self.parts + 1) for name in names]


@feature
class PCA(_WarmsUp):
    """``m`` principal components of the first ``n`` rows, and the logarithm of what they leave of a row: (188).

    Behind the components stands log(r / v + 1e-9), r the squared distance of the row from the plane of the components,
    v the mean squared distance of the first n rows from their mean: it sees a row that is like none of them. Axes are
    fixed after n rows, so that a learner behind sees one space; the largest entry of each is positive. A result comes
    out from the n-th row on. A row with a missing value is not among the n, and has no result. The formula is
    in docs/maths.md. O(D^3) once, then O(D m) a row; D (2 D + 1) reals.

    Parameters
    ----------
    m : int
        Number of components, at most the number D of columns; D is at most 256.
    n : int
        Number of rows of the warm-up, 2 to 2^20.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid; or, of the first point, there are fewer columns than components.

    Examples
    --------
    >>> from mapdpm.features import PCA
    >>> rows = PCA(1, n=5).transform_many([[3.0 * i, 4.0 * i] for i in range(6)] + [[8.0, 9.0]])
    >>> rows.round(2).tolist()
    [[10.0, -20.72], [15.0, -20.72], [2.0, -3.91]]
    """

    m: int
    n: int = 144
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 15, "PCA(1, 4)"
    most = _MOST_COMPONENTS

    def settings(self) -> dict[str, Any]:
        """The members of the step besides its kind; ValueError for a wrong parameter."""
        m = super().settings()["n"]
        n = check_count("n", self.n, 2)
        if n > Feature.most:
            refuse_value(f"n must be at most {Feature.most}", self.n)
        return {"n": n, "first": m}

    def names_for(self, names: list[str]) -> list[str]:  # noqa: ARG002  (of all columns together)
        """Names of the columns of results."""
        return [f"component {k}" for k in range(1, self.m + 1)] + ["residual"]


@feature
class Series(Transformer):
    """The shape of a series: components of its last half period. ``Autoperiod(256, 12) | PCA(6, 144)``.

    For anomalies that last: a beat that is other than all before, a period that is too long, noise that stops. A
    learner behind gives each point a surprise; the mean of their logarithms, as in docs/alarms.md, finds them better
    than single points do. The first 398 points have no result, nor has a point after a gap, while a part of the window
    has no value. For spikes and for levels take the values, too. Some 5 kB for one column in float64; the cost is that
    of its two parts.

    Parameters
    ----------
    n : int
        Number of points that the period is found from, 24 to 65535.
    parts : int
        Number of parts of a window.
    m : int
        Number of components, at most ``parts`` times the number of columns.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm.features import Series
    >>> x = np.sin(2 * np.pi * np.arange(1000) / 50)
    >>> x[800:825] *= 0.5
    >>> series = Series()
    >>> rows, points = series.transform_many(x[:, None], indices=True)
    >>> series.period_, rows.shape, int(points[np.argmax(rows[:, -1])])
    (50, (602, 7), 835)
    """

    n: int = 256
    parts: int = 12
    m: int = 6
    _: KW_ONLY
    dtype: str = "float64"

    example = "Series(24, 3, 2)"

    def __post_init__(self) -> None:
        """Check the parameters, by making the steps."""
        self.compile_into(0, [])
        self._begin()

    @property
    def waits(self) -> bool:
        """Whether the first points, a warm-up, have no result."""
        return True

    def _parts(self) -> tuple[Autoperiod, PCA]:
        n = check_count("n", self.n, _LEAST_OF_SERIES)
        return Autoperiod(n, self.parts, dtype=self.dtype), PCA(self.m, n * 9 // 16, dtype=self.dtype)

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        for part in self._parts():
            source = part.compile_into(source, steps)
        return source

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return self._parts()[1].names_for(names)
