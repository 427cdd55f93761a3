"""Lines of a file that are no rows of its table: what a logger or a spreadsheet says first, units below the names."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mapdpm.cli.cells import MISSING_NUMBERS, value_of
from mapdpm.cli.time_text import is_name, is_time

_MOST_UNITS = 3  # rows below the names
_COMMENT = re.compile(r"\s*\"?(#|//|sep=)", re.IGNORECASE)
_RULE = re.compile(r"[-+=|: ]+")


class _Line(NamedTuple):
    number: int
    text: str
    cells: list[str]

    @property
    def filled(self) -> list[str]:
        return [cell for cell in self.cells if cell.strip()]

    @property
    def has_value(self) -> bool:
        return any(map(_is_value, self.cells))

    @property
    def has_names(self) -> bool:
        return bool(self.filled) and all(map(is_name, self.filled))


def lines_beside(
    lines: Sequence[tuple[int, str]], parse: Callable[[str], list[str]], width: int, missing: frozenset[str]
) -> frozenset[int]:
    """The numbers of those first ``lines``, (number, text), that are no rows of a table of ``width`` columns.

    ``missing`` are more words for a missing value: a row of them is a row.

    Before the names of columns these are lines of another width, and comments; below them, texts above numbers. A line
    above numbers is taken for names, so that a row of the wrong width stays an error.
    """
    try:
        found = [_Line(number, text, parse(text)) for number, text in lines]
    except csv.Error:
        return frozenset()
    at = next((place for place, line in enumerate(found) if _is_row(line, width)), 0)
    names, rest = found[at], found[at + 1 :]
    units = _units(names, rest, width, missing | set(MISSING_NUMBERS))
    before = found[:at]
    below = rest[len(units) :]
    if not (names.has_names and any(line.has_value for line in below[:_MOST_UNITS])):
        comments = [line for line in before if _COMMENT.match(line.text)]
        if len(comments) < len(before):
            return frozenset()
        if before and len(before[-1].cells) == width:  # its names, as numpy.savetxt writes them
            before = before[:-1]
        units = []
    blank = range(before[-1].number, names.number) if before and before[-1] is found[at - 1] else ()
    return frozenset((*(line.number for line in (*before, *units)), *blank))


def _is_row(line: _Line, width: int) -> bool:
    return len(line.cells) == width and not (_COMMENT.match(line.text) and not line.text.startswith('"#",'))


def _units(names: _Line, rest: Sequence[_Line], width: int, missing: frozenset[str]) -> list[_Line]:
    """The lines below the names that hold texts where all others hold numbers or times."""
    units: list[_Line] = []
    for line in rest[:_MOST_UNITS]:
        if line.has_value or not line.filled or any(_is_word(cell, missing) for cell in line.filled):
            break
        units.append(line)
    below = rest[len(units) :]
    if not (names.has_names and below):
        return []
    for line in units:
        if _RULE.fullmatch(line.text):
            continue
        places = [place for place, cell in enumerate(line.cells) if cell.strip()]
        if len(line.cells) != width:
            return []
        cells = [row.cells[place] for row in below if len(row.cells) == width for place in places]
        if not all(_is_value(cell) or _is_word(cell, missing) for cell in cells):
            return []
    return units


def _is_word(cell: str, words: frozenset[str]) -> bool:
    return cell.strip() in words or cell.strip().lower() in words


def _is_value(cell: str) -> bool:
    text = cell.strip().replace(",", ".", 1)
    return value_of(text) is not None or is_time(cell.strip())
