"""Rules of the verdicts on Raykov2014, from standard errors over sets, and its way of printing them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from exhibits import Claim, Setting
from noise import mean_and_error
from numpy.typing import NDArray

Array = NDArray[Any]

FULL_LIMIT, QUICK_LIMIT = 3.3, 6.5
"""Standard errors. Means of equal expectation differ by more than 3.3 once in 1,000 runs. The short form has fewer
sets: with 6.5, means up to 3.2 of its standard errors apart agree in all but one of 1,000 runs. Claims between 3.2 and
9.8, and positive means below 6.6, are left out of it (``steady``). Of 3,000 samples of 20 of the 100 sets of
Raykov2014, at most two changed a verdict that stays."""


def limit(setting: Setting) -> float:
    """How many standard errors of their difference two means may be apart."""
    return QUICK_LIMIT if setting.quick else FULL_LIMIT


def mean_and_spread(values: Array, digits: int = 2) -> str:
    """The mean, and in brackets two standard deviations, as papers print them."""
    known = values[np.isfinite(values)]
    return pair(float(known.mean()), 2.0 * float(known.std()), digits)


def pair(mean: float, spread: float, digits: int) -> str:
    """A mean, and in brackets its spread; without digits behind the point where they are large."""
    return f"{number(mean, digits)} ({number(spread, digits)})"


def number(x: float, digits: int) -> str:
    """A number of a cell."""
    return f"{x:,.{digits if abs(x) < 100 else 0}f}"


def standard_error(values: Array) -> float:
    """That of the mean of independent values; NaN is left out."""
    return mean_and_error(values[np.isfinite(values)])[1]


def same_mean(says: str, theirs: tuple[float, float, int], values: Array, setting: Setting, **more: Any) -> Claim:
    """A mean with two standard deviations over n sets, as they print it, beside our values over sets of our own.

    ``more``: ``digits`` of the cells, and the ``why`` of a difference.
    """
    mean, spread, n = theirs
    digits, most = more.get("digits", 2), limit(setting)
    error = math.hypot(0.5 * spread / math.sqrt(n), standard_error(values))
    apart = abs(float(np.nanmean(values)) - mean) / error
    rule = f"the means are at most {most:g} standard errors apart; here {apart:.1f}"
    cells = pair(mean, spread, digits), mean_and_spread(values, digits)
    return verdict(says, cells, apart <= most, rule, more.get("why", ""))


def above_zero(says: str, cells: tuple[str, str], values: Array, **more: Any) -> Claim:
    """Whether the mean of ``values`` over sets, such as differences of pairs, is surely positive; ``why`` if not."""
    at = float(np.nanmean(values)) / standard_error(values)
    named = more.get("named", "the mean difference")
    rule = f"{named} is more than {FULL_LIMIT} standard errors above 0; here {at:.1f}"
    return verdict(says, cells, at > FULL_LIMIT, rule, more.get("why", ""))


def steady(claims: Sequence[Claim], setting: Setting, unsteady: Sequence[str]) -> list[Claim]:
    """The claims of the short form: without those that are so near to their limit that few sets may tip them over."""
    return [claim for claim in claims if not (setting.quick and claim.says in unsteady)]


def verdict(says: str, cells: tuple[str, str], agrees: bool, rule: str, why: str = "") -> Claim:
    """A claim; an agreement needs no why."""
    return Claim(says, *cells, bool(agrees), rule, "" if agrees else why)
