"""Transformers for what stays: a value that is held, and readings that do not come."""

from __future__ import annotations

from dataclasses import KW_ONLY

from mapdpm.features.feature import Feature, feature


@feature
class Stuck(Feature):
    """How improbable it is that a value is held so long, and for how many readings it is held: docs/maths.md (139).

    A run is a number of equal readings in a row; missing ones equal each other. The first D columns are surprises: the
    probability that a run of this column is so long or longer, from the 16 longest of its runs before. The next D
    columns are the readings of the run so far. A column that has never changed has a surprise of 1, and so have the
    first ``n`` readings. Runs of values that are common, as 0 is at night, are compared with runs of common values
    only. A run with a surprise of 1e-4 or less is left out of the comparison, while such runs hold at most 2 % of the
    readings. O(D) a point; 5 D reals and 42 D counters.

    Parameters
    ----------
    n : int
        Number of readings before the first surprise, 1 to 2^20: they should hold a day and a night.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import Stuck
    >>> stuck = Stuck(100)
    >>> rows = stuck.transform_many([[0.1 * i] for i in range(1000)] + [[7.0]] * 20)
    >>> [float(f"{surprise:.1g}") for surprise in rows[[500, 1001, 1003, 1007, 1019], 0]]
    [1.0, 0.001, 0.0001, 2e-05, 3e-06]
    >>> int(rows[-1, 1])
    20
    """

    n: int
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 9, "Stuck(5)"

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} {what}" for what in ("stuck", "held") for name in names]


@feature
class Silence(Feature):
    """How improbable the gap of time before a point is, and its length in seconds: docs/maths.md (139).

    The first column is the probability that a gap is so long or longer, from the 16 longest of the gaps before; 1 for
    the first ``n`` points. Gaps are compared in whole milliseconds, and one of more than 24 days as one of 24. A gap
    with a surprise of 1e-4 or less is left out of the comparison, while such gaps hold at most 2 % of the time. The
    points themselves may be missing. To ask about a silence that lasts, give a copy a point at the present time. O(1) a
    point; 22 counters.

    Parameters
    ----------
    n : int
        Number of points before the first surprise, 1 to 2^20.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid; or, of a point, its time ``t`` is missing.

    Examples
    --------
    >>> from mapdpm.features import Silence
    >>> times = [60.0 * i for i in range(1000)] + [60_000.0 + 3 * 3600]
    >>> surprise, seconds = Silence(100).transform_many([[0.0]] * 1001, times)[-1].tolist()
    >>> f"{surprise:.1g}", seconds
    ('5e-08', 10860.0)
    """

    n: int
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 10, "Silence(5)"

    @property
    def needs_times(self) -> bool:
        """Whether each point needs its time ``t``."""
        return True

    def names_for(self, names: list[str]) -> list[str]:  # noqa: ARG002  (whatever the columns are)
        """Names of the columns of results."""
        return ["silent", "gap"]
