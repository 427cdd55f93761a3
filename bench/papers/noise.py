"""The noise of figures: means with standard errors, and whether a difference is clear of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t

LEVEL = 0.01


def mean_and_error(values: Any) -> tuple[float, float]:
    """The mean, and its standard error; that is 0 of a single value."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def shown(values: Any, digits: int = 2) -> str:
    """The mean and its standard error as text."""
    mean, error = mean_and_error(values)
    return f"{mean:,.{digits}f} ± {error:,.{digits}f}"


def margin(differences: Any) -> float:
    """How far the verdict of ``clearly_above`` is from flipping, in standard deviations of its statistic.

    Student's t, the mean of n differences over its standard error, has a variance of about 1 + t^2 / 2n over
    repetitions, so sqrt(2n) asinh(t / sqrt(2n)) has one of about 1. A verdict of margin m flips by chance in a share
    Phi(-|m|) of repetitions: one in 1,000 for 3.1.
    """
    mean, error = mean_and_error(differences)
    if error == 0.0:
        return float(np.sign(mean)) * float("inf") if mean else 0.0
    scale = np.sqrt(2.0 * len(differences))
    needed = t.ppf(1.0 - LEVEL, len(differences) - 1)
    return float(scale * (np.arcsinh(mean / error / scale) - np.arcsinh(needed / scale)))


def clearly_above(differences: Any) -> bool:
    """Whether the mean of ``differences`` is above 0 at a level of 1 in 100, by Student's t."""
    return margin(differences) > 0.0


def may_be_zero(differences: Any) -> bool:
    """Whether the mean of ``differences`` is as near to 0 as all but one in 10,000 are by Student's t if it is 0."""
    mean, error = mean_and_error(differences)
    return abs(mean) <= error * float(t.ppf(1.0 - 0.5e-4, len(differences) - 1))
