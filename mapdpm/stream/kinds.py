"""The kinds of values that a setting of a stream may have: each has its check, its words, and its form in C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods import STREAM_FAMILIES
from mapdpm.names import AUTO
from mapdpm.validation import check_choice, check_count, check_number, refuse_value

LEAST_NUMBER = 1e-9
"""The least alpha, gamma and half-life. OnlineMAPDPM takes the log of a smaller alpha."""
LARGEST_NUMBER = 1e9

_LARGEST_COUNT = 10**6
_MOST_ALPHAS = 1 << 16


class Kind(NamedTuple):
    """The values that a setting may have: in words, by a check that is given the name, and as C has them."""

    text: str
    check: Callable[[str, Any], Any]
    type: type = float
    words: tuple[str, ...] = ()
    """All values, where they are words; in C their numbers."""
    optional: bool = False
    """Whether it may be None, which is 0 in C."""

    def checked(self, name: str, value: Any) -> Any:
        """The value; ValueError where it is none of this kind."""
        return None if value is None and self.optional else self.check(name, value)

    def to_c(self, value: Any) -> Any:
        """A checked value as C has it."""
        return self.words.index(value) if self.words else value or 0

    def from_c(self, value: Any, real: Any) -> Any:
        """The inverse; of a number of the type ``real`` the shortest that has this real, as 0.7 for 0.699999988."""
        if self.words:
            return self.words[value]
        if self.optional and not value:
            return None
        return float(str(real(value))) if self.type is float else self.type(value)

    def or_none(self) -> Kind:
        """The same, or None."""
        return self._replace(text=f"{self.text} or None", optional=True)


def count(least: int, most: int = _LARGEST_COUNT) -> Kind:
    """The kind of whole numbers between two."""

    def check(name: str, value: Any) -> int:
        number = check_count(name, value, least)
        if number > most:
            msg = f"{name} must be at most {most}, got {value}"
            raise ValueError(msg)
        return number

    return Kind(f"int >= {least}" if most == _LARGEST_COUNT else f"int, {least} to {most}", check, int)


def _positive(name: str, value: Any) -> float:
    number = check_number(name, value)
    if not LEAST_NUMBER <= number <= LARGEST_NUMBER:
        rule = "> 0" if number <= 0.0 else f"between {LEAST_NUMBER:g} and {LARGEST_NUMBER:g}"
        refuse_value(f"{name} must be {rule}", value)
    return number


def _not_negative(name: str, value: Any) -> float:
    number = check_number(name, value)
    if not 0.0 <= number <= LARGEST_NUMBER:
        refuse_value(f"{name} must be from 0 to {LARGEST_NUMBER:g}", value)
    return number


def _share(name: str, value: Any) -> float:
    number = check_number(name, value)
    if not 0.0 <= number < 1.0:
        refuse_value(f"{name} must be a share of all points, at least 0 and less than 1", value)
    return number


def _grid(name: str, value: Any) -> Any:
    try:
        grid = np.array(value, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        refuse_value(f"{name} must be numbers > 0", value)
    if grid.ndim != 1 or not 1 <= len(grid) <= _MOST_ALPHAS or not np.all((grid > 0.0) & np.isfinite(grid)):
        refuse_value(f"{name} must be one or more numbers > 0", value)
    return grid


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        refuse_value(f"{name} must be True or False", value)
    return bool(value)


def _prior(_: str, value: Any) -> Any:
    """The likelihood with its prior, or None where the warm-up sets that."""
    if value is None or (isinstance(value, str) and value == AUTO):
        return None
    if isinstance(value, type) or type(value) not in STREAM_FAMILIES:
        msg = (
            f"a stream knows NormalGamma and NormalKnownVariance, each with its prior, got {value!r}; MAPDPM runs any "
            "other in batch"
        )
        raise ValueError(msg)
    return value


def _steps(name: str, value: Any) -> Any:
    """The word "auto", or steps as numbers."""
    if isinstance(value, str) and value == AUTO:
        return AUTO
    try:
        steps = np.array(value, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        refuse_value(f'{name} must be "auto" or numbers >= 0', value)
    if steps.ndim != 1 or not len(steps) or not np.all((steps >= 0.0) & np.isfinite(steps)):
        refuse_value(f'{name} must be "auto" or numbers >= 0', value)
    return tuple(steps.tolist())


def choice(words: tuple[str, ...]) -> Kind:
    """The kind of a setting that is one of some words."""

    def check(name: str, value: Any) -> Any:
        check_choice(name, value, words)
        return value

    return Kind("{" + ", ".join(f'"{word}"' for word in words) + "}", check, str, words)


FAMILY = Kind('"auto", NormalGamma or NormalKnownVariance', _prior, object)
FLAG = Kind("bool", _flag, bool)
GRID = Kind("sequence of float > 0", _grid, object)
NOT_NEGATIVE = Kind("float >= 0", _not_negative)
NUMBER = Kind("float", check_number)
POSITIVE = Kind("float > 0", _positive)
SHARE = Kind("float >= 0, < 1", _share)
SIZE = count(1)
STEPS = Kind('"auto", float >= 0 or sequence of them', _steps, object)


def at_least(least: float, unit: str) -> Kind:
    """The kind of numbers that are not below ``least``, in a unit that the message names."""

    def check(name: str, value: Any) -> float:
        number = check_number(name, value)
        if not number >= least:
            refuse_value(f"{name} must be >= {least:g} {unit}", value)
        return number

    return Kind(f"float >= {least:g}", check)
