"""The marks in numbers: the decimal one, and that between thousands, so that 1.234,5 and 1,234.5 are one number.

A mark between thousands is known by a number with both marks; or by numbers that have the other mark where these have
this one, always before three digits; or by a column of many such numbers beside others below 1000. A number with the
mark that is written otherwise, as 0.5, says that it is decimal. Weaker signs decide nothing: ``WeakSigns`` says them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

POINT, COMMA, SPACE, NONE = ".", ",", "space", "none"
_SEEN = {POINT: r"\.", COMMA: ",", "'": "['\u2019]", SPACE: "[ \xa0\u202f]"}
THOUSANDS = (*_SEEN, NONE)
"""The choices of ``--thousands``."""
DECIMALS = (POINT, COMMA)
_OTHER = {POINT: COMMA, COMMA: POINT}
_HIGH, _LOW = 6, 3  # different numbers with the mark, and without: decimals of three digits are rarely so
_DIGIT = re.compile(r"\d")
_BEGINS = re.compile(r"\s*[+-]?[.,]?\d")  # as a number does, and no name
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
_DECIMAL = {POINT: WITH_POINT, COMMA: WITH_COMMA}
DOUBTED = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+\s*")
"""Where decimals have commas: a number with points that are likely between thousands."""
_DOUBT = "?"
"""Ends a doubted number, which is none until ``--thousands`` says what its point is."""


class _Patterns(NamedTuple):
    grouped: re.Pattern[str]
    """A number with this mark between thousands."""
    clear: re.Pattern[str]
    """One that has a decimal mark, too."""
    twice: re.Pattern[str]
    """One that has the mark more than once; so have addresses and versions."""
    small: re.Pattern[str]
    """A number below 1000 beside them."""


def _patterns_of(mark: str) -> _Patterns:
    group, decimal = rf"{_SEEN[mark]}\d{{3}}", re.escape(_OTHER[mark]) if mark in _OTHER else "[.,]"
    begins = r"\s*[+-]?[1-9]\d{0,2}"
    return _Patterns(
        re.compile(rf"{begins}({group})+({decimal}\d+)?\s*"),
        re.compile(rf"{begins}({group})+{decimal}\d+\s*"),
        re.compile(rf"{begins}({group}){{2,}}\s*"),
        re.compile(rf"\s*[+-]?\d{{1,3}}({decimal}\d+)?\s*"),
    )


PATTERNS = {mark: _patterns_of(mark) for mark in _SEEN}


def marks_of(
    rows: Sequence[Sequence[str]], width: int | None, commas: bool, decimal: str | None, thousands: str | None
) -> tuple[str, str | None]:
    """The decimal mark and that between thousands, None if unknown, as far as they are not given, of the first rows.

    ``width`` is that of the table. Without ``commas`` a comma is no decimal mark, for it separates cells.
    """
    cells = list(itertools.chain(*rows))
    if thousands is None:
        columns = list(zip(*[row for row in rows[1:] if len(row) == width], strict=True))
        tried = (mark for mark in _SEEN if mark != decimal)
        thousands = next((mark for mark in tried if _is_between(mark, cells, columns, commas)), None)
    if decimal is None:
        grouped = PATTERNS[thousands].grouped if thousands in PATTERNS else None
        found = (WITH_COMMA.fullmatch(cell) or (grouped and "," in cell and grouped.fullmatch(cell)) for cell in cells)
        decimal = _OTHER.get(thousands or NONE, COMMA if commas and any(found) else POINT)
    return decimal, thousands


def has_decimal_comma(cells: Iterable[str]) -> bool:
    """Whether one of the cells is a number with a comma."""
    return any(map(WITH_COMMA.fullmatch, cells))


def plain_number(cell: str, decimal: str, thousands: str | None) -> str:
    """A cell as Python reads it, without marks between thousands; what is no such number stays as it is.

    A number that may be a thousand times another one ends with a "?": one with points, where decimals have commas and
    the mark between thousands is not known, or with a point elsewhere than between thousands, where it stands there.
    With ``NONE`` marks that come once are decimal.
    """
    if decimal == COMMA and WITH_COMMA.fullmatch(cell):  # nearly all
        return cell.replace(COMMA, POINT)
    is_known = thousands in PATTERNS
    for mark in [thousands] if thousands in PATTERNS else PATTERNS:
        of = PATTERNS[mark]
        if mark != decimal and (of.grouped if is_known else of.clear).fullmatch(cell):
            return re.sub(_SEEN[mark], "", cell.strip()).replace(COMMA, POINT)
    is_doubted = thousands == POINT and WITH_POINT.fullmatch(cell)
    if is_doubted or (decimal == COMMA and thousands is None and DOUBTED.fullmatch(cell)):
        return f"{cell.strip()}{_DOUBT}"
    return cell


def doubted(text: str) -> str | None:
    """The number that ``plain_number`` doubts, as the file has it; None for other texts."""
    number = text.removesuffix(_DOUBT)
    return number if number != text and (DOUBTED.fullmatch(number) or WITH_POINT.fullmatch(number)) else None


class WeakSigns:
    """Columns whose numbers are below 1000, or have the decimal mark before three digits, in the rows so far.

    Such a mark may be one between thousands. ``decimal`` is None in files where it is none: those with commas between
    cells, and those whose mark between thousands is known.
    """

    def __init__(self, decimal: str | None) -> None:
        self._mark = decimal
        self._counts: dict[int, list[int]] | None = None if decimal else {}

    def look(self, cells: Sequence[str]) -> None:
        """Look at a row, as it is written. O(columns that may be such)."""
        if self._counts is None:
            self._counts = {place: [0, 0] for place in range(len(cells))}
        for place, counts in list(self._counts.items()):
            cell = cells[place] if place < len(cells) else ""
            if not _BEGINS.match(cell) or cell.strip() == "0":
                continue
            grouped, *_, small = PATTERNS[self._mark or POINT]
            is_grouped = grouped.fullmatch(cell) is not None
            counts[0 if is_grouped else 1] += 1
            if not (is_grouped or small.fullmatch(cell)):
                del self._counts[place]

    def columns(self, fewest: int = 1) -> list[int]:
        """Those with so many numbers of both kinds at least."""
        return [place for place, counts in (self._counts or {}).items() if min(counts) >= fewest]

    def said(self, place: int, name: str = "") -> str:
        """The warning for a column, of which there is one only."""
        (self._counts or {}).pop(place)
        mark, named = "points" if self._mark == POINT else "commas", f" ({name})" if name else ""
        wrong = f"in column {place + 1}{named} {mark} come before three digits only"
        return f"{wrong}; if they stand between thousands, say --thousands {self._mark}"


def _is_between(mark: str, cells: Sequence[str], columns: Sequence[Sequence[str]], commas: bool) -> bool:
    """Whether a mark stands between thousands in the ``cells`` of a table of ``columns``."""
    grouped, clear, twice, small = PATTERNS[mark]

    def is_decimal(other: str) -> bool:
        own = PATTERNS[other].grouped
        return any(_DECIMAL[other].fullmatch(cell) and not own.fullmatch(cell) for cell in cells)

    if mark in _OTHER and is_decimal(mark):
        return False
    if any(map(clear.fullmatch, cells)):
        return True
    if mark == POINT and not commas:  # decimals, as in most files
        return False
    fewest = 1 if mark not in _OTHER or is_decimal(_OTHER[mark]) else _HIGH
    for column in columns:
        numbers = {cell.strip() for cell in column if _DIGIT.search(cell)}
        high = {cell for cell in numbers if grouped.fullmatch(cell)}
        low = {cell for cell in numbers - high if small.fullmatch(cell)}
        varies = 0 < sum(map(bool, map(twice.fullmatch, high))) < len(numbers)
        enough = len(high) >= fewest and (fewest == 1 or len(low - {"0"}) >= _LOW)
        if high and high | low == numbers and (varies or enough):
            return True
    return False
