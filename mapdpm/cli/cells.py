"""Cells of CSV files: the number in each, what is missing, and what to say of a cell that has no number."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import ClassVar

from mapdpm.cli.marks import SPACE, doubted
from mapdpm.data.columns import CATEGORY, FLAG, NUMBER

MISSING = ("", "na", "n/a", "#n/a", "#nv", "#div/0!", "#value!", "#wert!", "#num!", "null", r"\n", "none", "?", "-")
_OF_SENSORS = ("unavailable", "unknown")
SWITCHES = frozenset(("on", "off", "true", "false", "open", "closed", "home", "not_home", "locked", "unlocked"))
"""Beside such texts what a sensor gives for a number is no level of a category: the sensor is not there."""
MISSING_NUMBERS = (*MISSING, *_OF_SENSORS)
"""Also what home automation writes for a number that a sensor does not give; a category may be called so."""

_COMMA = re.compile(r"[+-]?\d*,\d+")
_NO_TEXT = re.compile(r"^\s*'?[+\u2212-]?\s?[$€£]?\s?[\d.,]|[;\t]")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?P<mark>[., '\u2019\xa0\u202f])\d{3}((?P=mark)\d{3})*([.,]\d+)?")
_OPTION = {".": ".", ",": ",", "'": '"\'"', "\u2019": '"\'"'}  # in a shell
_WITH_UNIT = re.compile(r"[$€£¥]?\s?[+-]?\d+([.,]\d+)?\s*[^\W\d_%°$€£¥]?[%°$€£¥a-zA-Zµ/²³]{0,6}")
_DATE = re.compile(r"\d{1,4}([-/.:])\d{1,2}\1\d{1,4}.*|\d{1,2}:\d\d")


class CellReader:
    """Turns the cells of a column into numbers: a category by the place of its text among those that came before.

    Where the kind is not known, the first cell that is not missing says it: a number, or else a category.
    """

    _FLAGS: ClassVar[dict[str, float]] = {
        **dict.fromkeys(("true", "yes", "on"), 1.0),
        **dict.fromkeys(("false", "no", "off"), 0.0),
    }

    def __init__(self, kind: str | None, *, gaps: bool = False) -> None:
        self.kind, self._gaps, self._finds = kind, gaps, kind is None
        self.places: dict[str, int] = {}

    def forget(self, n: int) -> None:
        """Know only the first n texts again: the others were of a row that is refused."""
        for text in list(self.places)[n:]:
            del self.places[text]

    def absent(self) -> list[str]:
        """The texts of a category of switches that say that its sensor is not there."""
        words = [text for text in self.places if text.lower() in _OF_SENSORS]
        others = {text.lower() for text in self.places} - set(_OF_SENSORS)
        return words if self.kind == CATEGORY and self._finds and others and others <= SWITCHES else []

    def value(self, cell: str) -> float | None:
        """The number of a cell; None where it has none."""
        number = value_of(cell)
        # Where cells may be missing, what sensors give for a number that is not there is no first text of a category.
        if self.kind == NUMBER or is_missing(cell, number, NUMBER if self._gaps and self.kind is None else None):
            return number
        if self.kind is None:  # a cell that begins as a number, or has another separator, is a wrong number
            self.kind = NUMBER if number is not None or _NO_TEXT.search(cell) else CATEGORY
            return self.value(cell)
        if self.kind == FLAG:
            return self._FLAGS.get(cell.strip().lower()) if number is None else number
        return number if self.kind != CATEGORY else float(self.places.setdefault(cell.strip(), len(self.places)))


def value_of(cell: str) -> float | None:
    """The number in a cell, which may be NaN or infinite; None where there is none."""
    try:
        return None if "_" in cell else float(cell)  # Python's own 1_000 is no number elsewhere
    except ValueError:
        return None


def numbers_of(cells: Sequence[str]) -> list[float] | None:
    """The numbers in cells that all hold a finite one, as nearly all rows do; None where any is to be looked at."""
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return None
    return numbers if math.isfinite(sum(numbers)) and "_" not in "".join(cells) else None


def is_grouped(text: str) -> bool:
    """Whether a text is a number with marks between thousands, whichever they are."""
    return _GROUPED.fullmatch(text) is not None


def is_text(cell: str) -> bool:
    """Whether a cell is neither blank, a number, nor what a sensor without a number gives: headers have such cells."""
    return bool(cell.strip()) and value_of(cell) is None and cell.strip() not in _OF_SENSORS


def is_missing(cell: str, value: float | None, kind: str | None = None) -> bool:
    """Whether a cell of a column of this kind, whose ``value_of`` is ``value``, means a missing value."""
    return math.isnan(value) if value is not None else cell.strip().lower() in _words(kind)


def _words(kind: str | None) -> tuple[str, ...]:
    return MISSING_NUMBERS if kind in {NUMBER, FLAG} else MISSING


def complaint_of(cell: str, value: float | None, row: Sequence[str], kind: str | None = NUMBER) -> str:
    """The error message for a cell that holds no finite number: the problem, and what to do."""
    text = cell.strip()
    if text.lower() in _words(kind):
        found = f"missing: {text!r}" if text else "blank"
        return f"is {found}; remove or fill such rows, or learn with --missing skip"
    if kind == FLAG:
        return f"is no flag: {text[:40]!r}; flags are two numbers, true and false, yes and no, on and off"
    if value is not None:
        return f"is not a finite number: {text[:40]!r}; remove or fill such rows"
    number = doubted(text)
    if number is not None:
        hint = "if its point stands between thousands, say --thousands ., and if it is decimal, --thousands none"
        return f"is {number!r}, where others have decimal commas or points between thousands; {hint}"
    return f"is not a number: {text[:40]!r}; {_hint(text, row)}"


def _hint(text: str, row: Sequence[str]) -> str:
    """What to do with a text where a number should be."""
    numbers = [place for place, other in enumerate(row, 1) if value_of(other) is not None]
    grouped = _GROUPED.fullmatch(text)
    decimal = "if its comma is a decimal mark, say so: --decimal ," if _COMMA.fullmatch(text) else ""
    if grouped or decimal:
        mark = _OPTION.get(grouped["mark"], SPACE) if grouped else ""
        between = f"if it has marks between thousands, say so: --thousands {mark}" if grouped else ""
        return "; ".join(filter(None, (decimal, between)))
    if "\u2212" in text:
        return "write - for minus"
    if _DATE.match(text):
        return f"a date or a time is no feature; {_choose(numbers)}"
    if _WITH_UNIT.fullmatch(text):
        return "write the number alone, and its unit into the name of the column"
    if any(mark in text for mark in ";\t ") or not numbers:
        return "if cells are not separated by commas, say by what: --delimiter"
    return _choose(numbers)


def _choose(numbers: Sequence[int]) -> str:
    return f"the columns of numbers are --columns {ranges(numbers)}" if numbers else "choose others with --columns"


def ranges(positions: Sequence[int]) -> str:
    """``1-3,5`` for 1, 2, 3, 5."""
    known = set(positions)
    first = [p for p in positions if p - 1 not in known]
    last = [p for p in positions if p + 1 not in known]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(first, last, strict=True))
