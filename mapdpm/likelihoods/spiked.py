"""Columns that a product reads in a way of its own: with a spike, as a flag of any two values, on a circle."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from mapdpm.likelihoods._measured import Measured
from mapdpm.likelihoods._readings import Values
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.validation import check_number, check_positive, refuse_value

_ON_A_CIRCLE = Measured(NormalGamma, (0.4, 0.4))
"""Points of a circle are on a curve: without a step, ever smaller pieces of it would have ever higher densities."""


def is_open(family: Any) -> bool:
    """Whether a family is one whose prior is to be fitted: a class, or a form of one."""
    return isinstance(family, type) or bool(getattr(family, "is_open", False))


class _Spiked(NamedTuple):
    value: float | Values
    family: Any
    flag: Any


class Spiked(_Spiked):
    """A column in which one value is repeated far too often, as a part of ``Mixed``.

    A product of two: ``flag`` says whether a value is ``value``, and ``family`` describes the others; for it the spike
    is a missing value. So log marginals are exact sums: maths (174). Zeros of rain or power, ends of a clipped range,
    a value that stands for an error.

    Parameters
    ----------
    value : float or tuple of float
        The value that is repeated; of a part with several columns one for each, or one for all.
    family : class or family
        That of the other values, as a part of ``Mixed``: a class, whose prior is fitted, a family with its prior, or
        ``Spiked`` again for a second value.
    flag : class or BetaBernoulli
        The prior of the share of the spike.

    Raises
    ------
    ValueError
        ``value`` is no finite number, or ``flag`` no ``BetaBernoulli``.

    Notes
    -----
    A density with a spike is a probability where a value is ``value``, and a density in units of the data elsewhere:
    ``score_samples`` adds their logarithms. Compare points that have the same spikes, or ranks.

    Examples
    --------
    >>> from mapdpm import MAPDPM, Mixed
    >>> rng = np.random.default_rng(0)
    >>> rain = np.where(rng.random(200) < 0.5, 0.0, rng.gamma(9.0, 1.0, 200))
    >>> X = np.stack([rain, rng.normal(20.0, 1.0, 200)], axis=1)
    >>> parts = {0: Spiked(0.0, NormalGamma), 1: NormalGamma}
    >>> MAPDPM(likelihood=Mixed(parts)).fit(X).n_clusters_
    1
    >>> Spiked(0.0, Spiked(100.0, NormalGamma))
    Spiked(0.0, Spiked(100.0, NormalGamma))
    """

    __slots__ = ()

    def __new__(cls, value: float | Values, family: Any, flag: Any = BetaBernoulli) -> Self:
        values = np.ravel(np.asarray(value, dtype=object)).tolist()
        if not values:
            refuse_value("value must be a number, or one for each column", value)
        checked = tuple(check_number("value", each) for each in values)
        if not issubclass(flag if isinstance(flag, type) else type(flag), BetaBernoulli):
            refuse_value("flag must be BetaBernoulli, or one with its prior", flag)
        return super().__new__(
            cls, checked if isinstance(value, (tuple, list, np.ndarray)) else checked[0], family, flag
        )

    @property
    def is_open(self) -> bool:
        """Whether a prior of it is to be fitted."""
        return is_open(self.family) or is_open(self.flag)

    def __repr__(self) -> str:
        flag = "" if self.flag is BetaBernoulli else f", {_text(self.flag)}"
        return f"Spiked({self.value!r}, {_text(self.family)}{flag})"


class _Flag(NamedTuple):
    values: tuple[Values, Values]
    family: Any


class Flag(_Flag):
    """Columns of two values each, which need not be 0 and 1, as a part of ``Mixed``.

    Parameters
    ----------
    values : pair of tuples of float
        For each column the value that counts as 0, and the one that counts as 1.
    family : class or BetaBernoulli
        The prior.

    Examples
    --------
    >>> Flag(((3.0,), (7.0,)))
    Flag(((3.0,), (7.0,)), BetaBernoulli)
    """

    __slots__ = ()

    def __new__(cls, values: tuple[Values, Values], family: Any = BetaBernoulli) -> Self:
        low, high = values
        return super().__new__(cls, (tuple(map(float, low)), tuple(map(float, high))), family)

    @property
    def is_open(self) -> bool:
        """Whether its prior is to be fitted."""
        return is_open(self.family)

    def __repr__(self) -> str:
        return f"Flag({self.values!r}, {_text(self.family)})"


class _Circular(NamedTuple):
    period: float
    family: Any


class Circular(_Circular):
    """An angle, a direction of wind, an hour of the day, as a part of ``Mixed``: read as its cosine and its sine.

    Parameters
    ----------
    period : float > 0
        The value at which the column begins anew: 360 for degrees, 24 for hours.
    family : class or family
        That of the two features; the default is ``NormalGamma`` with a step of 0.4 radii, 23 degrees, for its prior is
        fitted to points on a curve: without a step, many small pieces of the circle would describe them best. Clusters
        are as narrow as 7 degrees, and those much wider than 20 become several.

    Raises
    ------
    ValueError
        ``period`` is no number > 0.

    Notes
    -----
    A density is one of the two features. The means of a cluster are directions; their variances are NaN.

    Examples
    --------
    >>> from mapdpm import MAPDPM, Mixed
    >>> rng = np.random.default_rng(0)
    >>> wind = np.mod(np.concatenate([rng.normal(0.0, 10.0, 50), rng.normal(180.0, 10.0, 50)]), 360.0)[:, None]
    >>> model = MAPDPM(likelihood=Mixed({0: Circular(360.0)})).fit(wind)
    >>> model.means_.round().ravel().tolist()
    [1.0, 180.0]
    """

    __slots__ = ()

    def __new__(cls, period: float, family: Any = _ON_A_CIRCLE) -> Self:
        return super().__new__(cls, check_positive("period", period), family)

    @property
    def is_open(self) -> bool:
        """Whether its prior is to be fitted."""
        return is_open(self.family)

    def __repr__(self) -> str:
        family = "" if self.family == _ON_A_CIRCLE else f", {_text(self.family)}"
        return f"Circular({self.period!r}{family})"


def _text(family: Any) -> str:
    return family.__name__ if isinstance(family, type) else repr(family)
