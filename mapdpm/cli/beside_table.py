"""Rows of a file that are none of its table: what loggers and spreadsheets say first, units, and totals."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from mapdpm.cli.cells import MISSING_NUMBERS, is_grouped, value_of
from mapdpm.cli.time_text import is_name, is_time

BELOW = 64
"""How many lines at the end are looked at for ``rows_below``."""
_MOST_BELOW = 8
_MOST_UNITS = 3  # rows below the names
_COMMENT = re.compile(r"\s*\"?(#|//|sep=)", re.IGNORECASE)
_YEARS = range(1900, 2101)
_FEW = 5  # rows: fewer show no empty column
_RULE = re.compile(r"[-+=|: ]+")
_SUMS = frozenset(("total", "totals", "grand total", "sum", "summe", "gesamt", "suma", "somme", "totale", "soma"))
_STATISTICS = frozenset(
    (
        *("average", "avg", "mean", "median", "min", "max", "minimum", "maximum", "std", "stdev", "count"),
        *("mittelwert", "mittel", "durchschnitt", "anzahl", "promedio", "media", "moyenne", "mínimo", "máximo"),
    )
)


class Line(NamedTuple):
    """A line of a file: its number, its text, and its cells."""

    number: int
    text: str
    cells: list[str]

    def padded(self, width: int) -> Line:
        """The line with blank cells up to this width."""
        return self._replace(cells=self.cells + [""] * (width - len(self.cells)))

    @property
    def filled(self) -> list[str]:
        """The cells that are not blank."""
        return [cell for cell in self.cells if cell.strip()]

    @property
    def has_value(self) -> bool:
        """Whether a cell is a number or a time."""
        return any(map(_is_value, self.cells))

    @property
    def has_names(self) -> bool:
        """Whether all cells that are not blank are texts, as names of columns are."""
        return bool(self.filled) and all(map(is_name, self.filled))

    @property
    def is_note(self) -> bool:
        """Whether it has one text, and no value."""
        return len(self.filled) == 1 and self.has_names

    @property
    def is_title(self) -> bool:
        """Whether only the first of several cells is filled, by a text: names stand in more columns than one."""
        return len(self.cells) > 1 and len(self.filled) == 1 and bool(self.cells[0].strip()) and self.has_names


class Beside(NamedTuple):
    """What the first lines of a file hold besides rows."""

    beside: frozenset[int] = frozenset()
    """The numbers of lines that are no rows of the table."""
    above: tuple[str, ...] = ()
    """What stands above the name of each column, where a line of names has names for several columns each."""
    upper: int = 0
    """The number of that line; 0 where there is none."""
    empty: frozenset[int] = frozenset()
    """Columns without a name and without a value in all of the lines, below names of others."""


def lines_beside(found: Sequence[Line], width: int, missing: frozenset[str]) -> Beside:
    """What is no row of a table of ``width`` columns among its first lines, none of them blank.

    ``missing`` are more words for a missing value: a row of them is a row.

    Before the names of columns these are lines of another width, titles, and comments; below them, texts above numbers.
    A line above numbers is taken for names, so that a row of the wrong width stays an error.
    """
    missing |= set(MISSING_NUMBERS)
    at = next((place for place, line in enumerate(found) if _is_row(line, width)), 0)
    above: tuple[str, ...] = ()
    upper = 0
    if at + 1 < len(found) and _spans(found[at], found[at + 1], width, missing):
        above, upper, at = _above(found[at], found[at + 1], width), found[at].number, at + 1
    elif at and _spans(found[at - 1], found[at], width, missing):
        above, upper = _above(found[at - 1], found[at], width), found[at - 1].number
    names, rest = found[at], found[at + 1 :]
    units = _units(names, rest, width, missing)
    before = found[:at]
    below = rest[len(units) :]
    if not (names.has_names and any(line.has_value for line in below[:_MOST_UNITS])):
        comments = [line for line in before if _COMMENT.match(line.text)]
        if len(comments) < len(before):
            return Beside()
        if before and len(before[-1].cells) == width:  # its names, as numpy.savetxt writes them
            before = before[:-1]
        units, above, upper = [], (), 0
    blank = range(before[-1].number, names.number) if before and before[-1] is found[at - 1] else ()
    beside = frozenset((*(line.number for line in (*before, *units)), *blank))
    return Beside(beside, above, upper, _empty([names, *below], width))


def squared(lines: Sequence[Line]) -> list[Line]:
    """The first lines of a sheet, whose cells end with the last value: those of the table in one width.

    It is that of most rows with values, or of the names above them if they are wider: the last cells may be blank.
    """
    widths = Counter(len(line.cells) for line in lines if line.has_value).most_common(1)
    most = widths[0][0] if widths else 0
    exact = (at for at, line in enumerate(lines) if len(line.cells) == most and line.has_names and not line.is_title)
    at = next(exact, next((at for at, line in enumerate(lines) if len(line.cells) >= most), 0))
    width = len(lines[at].cells) if lines else 0
    upper = len(lines[at - 1].cells) if at else 0
    if upper > width and _spans(lines[at - 1], lines[at].padded(upper), upper, frozenset()):
        width = upper
    return [*lines[:at], *(line.padded(width) for line in lines[at:])]


def rows_below(last: Sequence[Line]) -> list[int]:
    """The numbers of those ``last`` lines of a table that are no rows of it: totals, and texts after a blank line.

    The first of them is a row. No more than eight at the end are looked at, for words that do not come before.
    """
    at = end = len(last)
    least = max(1, len(last) - _MOST_BELOW)
    while at > least:
        if not last[at - 1].filled:
            at -= 1
            continue
        totals = _totals(last[:at])
        if totals:
            at = end = max(least, at - totals)
            continue
        note = at - 1
        while note > least and last[note].is_note and last[note - 1].is_note:
            note -= 1
        is_below = last[note].is_note and not last[note - 1].cells
        if not is_below or all(line.is_note for line in last[:note] if line.filled):  # a column of texts
            break
        at = end = note
    return [line.number for line in last[min(at, end) :] if line.cells] if end < len(last) else []


def _totals(lines: Sequence[Line]) -> int:
    """How many of these lines, at their end, have totals or statistics of those above, by the words in a first cell.

    The words come once. A sum of numbers that are not negative is none of them; where names stand above, statistics are
    names, too, unless they come with a sum.
    """
    place = next((place for place, cell in enumerate(lines[-1].cells) if cell.strip()), None)
    if place is None:
        return 0
    n, words = 0, [_word_of(line, place) for line in lines]
    while n < len(lines) and words[-n - 1] in _SUMS | _STATISTICS:
        n += 1
    above = [line for line in lines[: len(lines) - n] if line.filled and not _is_alone(line, lines[-1])]
    known = {_word_of(line, place) for line in above}
    block = words[len(words) - n :]
    if not (above and block) or known & set(block) or len(set(block)) < n:
        return 0
    sums = [line for line, word in zip(lines[len(lines) - n :], block, strict=True) if word in _SUMS]
    if any(_is_less(line, above, place) for line in sums) or (not sums and is_name(_word_of(above[-1], place))):
        return 0
    return n


def _is_alone(line: Line, other: Line) -> bool:
    """Whether a line is a text by itself, where another one has cells."""
    return len(line.cells) == 1 < len(other.cells)


def _is_less(line: Line, above: Sequence[Line], first: int) -> bool:
    """Whether a row is no sum of those above: they are not negative, and one is larger."""
    for place in range(first + 1, len(line.cells)):
        texts = [each.cells[place].strip() for each in (line, *above) if place < len(each.cells)]
        numbered = [text for text in texts if text and not is_name(text)]
        if is_grouped(texts[0]) and not all(map(is_grouped, numbered)):  # 12.345, of numbers below 1000
            continue
        total, *found = (value_of(text.replace(",", ".", 1)) for text in texts)
        numbers = [number for number in found if number is not None]
        if total is not None and numbers and min(numbers) >= 0.0 and max(numbers) > total:
            return True
    return False


def are_years(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has names that are years, one after the other, and the second row has other values."""
    if len(rows) < 2 or len(rows[0]) != len(rows[1]):  # noqa: PLR2004
        return False
    places = [place for place, cell in enumerate(rows[0]) if cell.strip() and not is_name(cell)]
    above, below = ([value_of(row[place]) for place in places] for row in rows[:2])
    rises = len(places) > 1 and all(_is_year(a) and a + 1 == b for a, b in itertools.pairwise(above))
    return rises and not all(map(_is_year, below))


def _is_year(value: float | None) -> TypeGuard[float]:
    return value is not None and value in _YEARS


def _word_of(line: Line, place: int) -> str:
    return line.cells[place].strip().rstrip(":").lower() if place < len(line.cells) else ""


def _spans(upper: Line, lower: Line, width: int, missing: frozenset[str]) -> bool:
    """Whether two lines are names together: some of the upper are of several columns, as ``Indoor,,Outdoor,``."""
    if len(lower.cells) != width or len(upper.cells) > width or len(upper.filled) < 2:  # noqa: PLR2004
        return False
    if _COMMENT.match(upper.text) or not (upper.has_names and lower.has_names):
        return False
    if any(_is_word(cell, missing) for cell in lower.filled):
        return False
    over = [cell.strip() for cell in (*upper.cells, *[""] * (width - len(upper.cells)))]
    return any(not over[place] and over[place - 1] and lower.cells[place].strip() for place in range(1, width))


def _above(upper: Line, lower: Line, width: int) -> tuple[str, ...]:
    """The name in the upper line for each column; those of the lower one are as many."""
    found, last = [], ""
    for place in range(width):
        own = upper.cells[place].strip() if place < len(upper.cells) else ""
        last = own or (last if lower.cells[place].strip() else "")
        found.append(last)
    return tuple(found)


def _empty(rows: Sequence[Line], width: int) -> frozenset[int]:
    if len(rows) < _FEW or not any(map(is_name, rows[0].filled)):
        return frozenset()
    return frozenset(
        place
        for place in range(width)
        if not any(line.cells[place].strip() for line in rows if len(line.cells) == width)
    )


def _is_row(line: Line, width: int) -> bool:
    if len(line.cells) != width or line.is_title or not line.filled:
        return False
    return not _COMMENT.match(line.text) or line.text.startswith('"#",')


def _units(names: Line, rest: Sequence[Line], width: int, missing: frozenset[str]) -> list[Line]:
    """The lines below the names that hold texts where all others hold numbers or times."""
    units: list[Line] = []
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
    return value_of(text) is not None or is_grouped(cell.strip()) or is_time(cell.strip())
