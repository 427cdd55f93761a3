"""Transformers with a result at each point: earlier points, differences, means, and what is left of a mean."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from mapdpm.features.feature import Feature, feature
from mapdpm.validation import check_count, refuse_value


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
