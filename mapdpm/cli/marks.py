"""The marks in numbers: the decimal one, and that between thousands, so that 1.234,5 and 1,234.5 are one number.

A mark between thousands is known by a number that has both marks, or the same one twice, as 1.234.567. Without such a
number a column tells: its numbers with the mark have three digits after it, and those without are below 1000. A number
with the mark that is written otherwise, as 0.5, says that it is decimal.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

POINT, COMMA, SPACE, NONE = ".", ",", "space", "none"
_SEEN = {POINT: r"\.", COMMA: ",", "'": "['\u2019]", SPACE: "[ \xa0\u202f]"}
THOUSANDS = (*_SEEN, NONE)
"""What ``--thousands`` may be."""
DECIMALS = (POINT, COMMA)
_OTHER = {POINT: COMMA, COMMA: POINT}
_FEWEST = 3  # different numbers with the mark, and as many without
_DIGIT = re.compile(r"\d")
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
_WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
_DECIMAL = {POINT: _WITH_POINT, COMMA: WITH_COMMA}
DOUBTED = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+\s*")
"""Where decimals have commas: a number with points that are likely between thousands."""
_DOUBT = "?"
"""Ends a doubted number, which is none until ``--thousands`` says what its point is."""


class _Patterns(NamedTuple):
    grouped: re.Pattern[str]
    """A number with this mark between thousands."""
    clear: re.Pattern[str]
    """One that nothing else explains."""
    small: re.Pattern[str]
    """A number below 1000 beside them."""


def _patterns_of(mark: str) -> _Patterns:
    group, decimal = rf"{_SEEN[mark]}\d{{3}}", re.escape(_OTHER[mark]) if mark in _OTHER else "[.,]"
    begins = r"\s*[+-]?[1-9]\d{0,2}"
    return _Patterns(
        re.compile(rf"{begins}({group})+({decimal}\d+)?\s*"),
        re.compile(rf"{begins}(({group})+{decimal}\d+|({group}){{2,}})\s*"),
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
        thousands = next((mark for mark in _SEEN if mark != decimal and _is_between(mark, cells, rows, width)), None)
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

    Where the mark between thousands is not known, a number that may be a thousand times another one ends with a "?";
    with ``NONE`` a mark that comes once is decimal.
    """
    if decimal == COMMA and WITH_COMMA.fullmatch(cell):  # nearly all
        return cell.replace(COMMA, POINT)
    is_known = thousands in PATTERNS
    for mark in [thousands] if thousands in PATTERNS else PATTERNS:
        of = PATTERNS[mark]
        if mark != decimal and (of.grouped if is_known else of.clear).fullmatch(cell):
            return re.sub(_SEEN[mark], "", cell.strip()).replace(COMMA, POINT)
    if decimal == COMMA and thousands is None and DOUBTED.fullmatch(cell):
        return f"{cell.strip()}{_DOUBT}"
    return cell


def doubted(text: str) -> str | None:
    """The number that ``plain_number`` doubts, as the file has it; None for other texts."""
    number = text.removesuffix(_DOUBT)
    return number if number != text and DOUBTED.fullmatch(number) else None


def _is_between(mark: str, cells: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> bool:
    """Whether a mark stands between thousands in the ``cells`` of ``rows``."""
    grouped, clear, small = PATTERNS[mark]
    is_decimal = _DECIMAL.get(mark)
    if is_decimal and any(is_decimal.fullmatch(cell) and not grouped.fullmatch(cell) for cell in cells):
        return False
    if any(map(clear.fullmatch, cells)):
        return True
    table = [row for row in rows[1:] if len(row) == width]
    for column in zip(*table, strict=True):
        numbers = {cell.strip() for cell in column if _DIGIT.search(cell)}
        high = {cell for cell in numbers if grouped.fullmatch(cell)}
        low = {cell for cell in numbers - high if small.fullmatch(cell)}
        if len(high) >= _FEWEST and len(low - {"0"}) >= _FEWEST and high | low == numbers:
            return True
    return False
