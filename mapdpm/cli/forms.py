"""The form of a file of separated values: separator, decimal mark and encoding, found from its first lines."""

from __future__ import annotations

import argparse
import codecs
import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mapdpm.cli.beginning import LINES, STDIN, UTF_8, beginning, encoding_of, lines_of, numbered_lines
from mapdpm.cli.beside_table import Line, are_years, lines_beside, squared
from mapdpm.cli.books import EXCEL, book_of, book_rows, sheets_of
from mapdpm.cli.cells import ranges, value_of
from mapdpm.cli.marks import COMMA, DECIMALS, NONE, POINT, SPACE, THOUSANDS, WeakSigns, marks_of, plain_number
from mapdpm.cli.time_text import is_name
from mapdpm.cli.usage import refuse_argument

EMPTY = "(empty)"
"""Stands for the name of a column that is empty, and is left out."""
_FEW, _NEARLY_ALL = 5, 0.8
_SEPARATORS = (",", ";", "\t", "|", " ")
_VALUE = re.compile(r"\s*[+-]?[$€£]?[.,]?\d[^;\t|]*")  # also a date, or a number with its unit
_BETWEEN = {POINT: "points", COMMA: "commas", "'": "apostrophes", SPACE: "spaces"}
_NAMES = {"\t": "tabs", " ": "spaces", "cp1252": "Windows-1252 (Latin-1)", "utf-16": "UTF-16"}


class Form(NamedTuple):
    """How a file is written."""

    delimiter: str = ","
    decimal: str = POINT
    encoding: str = UTF_8
    missing: frozenset[str | float] = frozenset()
    """Texts and numbers besides the usual ones that stand for a missing value."""
    beside: frozenset[int] = frozenset()
    """The numbers of lines that are no rows of the table."""
    trailing: bool = False
    """Whether each row ends with a separator, after which nothing comes."""
    above: tuple[str, ...] = ()
    """What stands above the name of each column, in one of these lines."""
    upper: int = 0
    """The number of that line; 0 where there is none."""
    empty: frozenset[int] = frozenset()
    """Columns that have neither a name nor a value."""
    book: str | None = None
    """Which format a file has that is no text."""
    sheet: str | None = None
    """The sheet of a file of Excel; None: the first."""
    width: int = 0
    """The number of columns of a sheet, whose rows end with their last value; 0 where it is not known."""
    thousands: str | None = None
    """The mark between thousands, as ``--thousands`` has it; None where it is not known."""
    years: bool = False
    """Whether the names of columns are years, which are numbers, too."""

    @property
    def is_plain(self) -> bool:
        """Whether cells are as Python reads them."""
        return self.decimal == POINT and self.thousands in {None, NONE} and not self.missing

    @property
    def weak_signs(self) -> WeakSigns:
        """Those of a mark between thousands, before the first row."""
        return WeakSigns(self.decimal if self.delimiter != COMMA and self.thousands is None else None)

    def cells(self, cells: list[str]) -> list[str]:
        """Cells whose numbers have a point and no mark else, and ``NA`` for those that are missing by ``--na``."""
        if self.decimal != POINT or self.thousands not in {None, NONE}:
            cells = [plain_number(cell, self.decimal, self.thousands) for cell in cells]
        if self.missing:
            cells = ["NA" if {cell.strip(), value_of(cell)} & self.missing else cell for cell in cells]
        return cells

    def names(self, cells: list[str]) -> list[str]:
        """The names of columns: those of the first row, and what stands above them."""
        if self.above:
            cells = [f"{above} {cell}".strip() for above, cell in zip(self.above, cells, strict=False)]
        return [EMPTY if place in self.empty else cell for place, cell in enumerate(cells)] if self.empty else cells


PLAIN = Form()
"""Commas, points, and UTF-8."""


class Given(NamedTuple):
    """The form as far as options say it; None where it is to be found."""

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None

    @property
    def decimal_mark(self) -> str:
        """The decimal mark of texts among numbers, whose form is not looked for."""
        return marks_of([], None, False, self.decimal, self.thousands)[0]

    @classmethod
    def of(cls, options: dict[str, Any]) -> Given:
        """The form by these options; UsageError where they contradict each other."""
        given = cls(*(options[name] for name in cls._fields))
        if given.decimal is not None and given.decimal == given.thousands:
            refuse_argument(f"--thousands: {given.thousands} is the decimal mark")
        return given


def add_options(command: argparse.ArgumentParser) -> None:
    """``--decimal``, ``--thousands``, ``--encoding`` and ``--na``."""
    text = "decimal mark of numbers (found: a comma where cells are separated otherwise)"
    command.add_argument("--decimal", choices=DECIMALS, help=text)
    text = "mark between thousands, as in 1.234,5 (found, where numbers tell)"
    command.add_argument("--thousands", choices=THOUSANDS, help=text)
    text = "encoding of the file, such as cp1252 or utf-16 (found: UTF-8, else Windows-1252)"
    command.add_argument("--encoding", type=_encoding, metavar="NAME", help=text)
    text = "more words or numbers for a missing value, as -999,err (besides blank, NA, nan, null, none, unavailable...)"
    command.add_argument("--na", type=_words, action="extend", metavar="LIST", help=text)


def missing_of(words: Sequence[str] | None) -> frozenset[str | float]:
    """The missing values that ``--na`` names: the words, and the numbers that they are."""
    numbers = {value for value in map(value_of, words or ()) if value is not None}
    return frozenset(words or ()) | numbers


def form_of(
    path: str | Path,
    given: Given | None = None,
    missing: frozenset[str | float] = frozenset(),
    sheet: str | None = None,
) -> Form:
    """The form of a file, as far as it is not given; a warning says what is not usual. OSError as of the file."""
    begins, given = beginning(path), given or Given()
    book = book_of(path, begins)
    if book is not None:  # its numbers are numbers, and marks are those of texts
        form = Form(missing=missing, book=book, sheet=sheet)
        form = form._replace(decimal=given.decimal_mark, thousands=given.thousands or NONE)
        form, said = _form_of_book(path, form, given)
    else:
        form = form_of_bytes(begins, given, missing)
        said = unusual(form, given)
    if said:
        name = "standard input" if str(path) == STDIN else str(path)
        warnings.warn(f"{name}: {', '.join(said)}", stacklevel=2)
    return form


def form_of_bytes(sample: bytes, given: Given, missing: frozenset[str | float] = frozenset()) -> Form:
    """The form of a file that begins with ``sample``, as far as it is not given."""
    found_encoding = given.encoding or encoding_of(sample)
    lines = lines_of(sample, found_encoding)
    found = given.delimiter or _separator_of(lines)
    rows = _rows(lines, found)
    width = _usual_width(rows)
    decimal, thousands = marks_of(rows, width, found != COMMA, given.decimal, given.thousands)
    form = Form(found, decimal, found_encoding, missing, thousands=thousands, years=are_years(rows))
    if width is None or len(rows) < _FEW:
        return form
    numbered = numbered_lines(sample, found_encoding)
    try:
        found_lines = [Line(number, text, cells_of(text, found)) for number, text in numbered]
    except csv.Error:
        found_lines = []
    form = _with_beside(form, found_lines, width)
    form = form._replace(years=are_years([line.cells for line in found_lines if line.number not in form.beside]))
    return form._replace(trailing=True, empty=form.empty - {width - 1}) if _has_ends(rows, width) else form


def _with_beside(form: Form, lines: Sequence[Line], width: int) -> Form:
    if not lines:
        return form
    beside = lines_beside(lines, width, frozenset(word for word in form.missing if isinstance(word, str)))
    return form._replace(**beside._asdict())


def _form_of_book(path: str | Path, form: Form, given: Given) -> tuple[Form, list[str]]:
    """The form of a table of Excel or Parquet, and what is unusual about it."""
    if form.book != EXCEL:
        return form, []
    rows = islice(book_rows(path, EXCEL, form.sheet), LINES)
    lines = squared([Line(number, ",".join(cells), cells) for number, cells in rows if cells])
    if len(lines) >= _FEW:
        form = _with_beside(form, lines, len(lines[-1].cells))._replace(width=len(lines[-1].cells))
    form = form._replace(years=are_years([line.cells for line in lines if line.number not in form.beside]))
    said = unusual(form, given._replace(delimiter=None, encoding=None), thing="row")
    sheets = sheets_of(path) if form.sheet is None else []
    if len(sheets) > 1:
        said.insert(0, f"sheet {sheets[0]}, the first of {len(sheets)}; --sheet names another one")
    return form, said


def _has_ends(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether there is nothing after the last separator of each row, and no name for it."""
    names = rows[0]
    if width == 1 or not any(map(is_name, names)) or any(row[-1] for row in rows[1:] if len(row) == width):
        return False
    return len(names) == width - 1 or (len(names) == width and not names[-1])


def width_of(sample: bytes, form: Form) -> int | None:
    """The number of cells of nearly all lines, and of the last; None where there is none, or are few lines."""
    rows = _rows(lines_of(sample, form.encoding), form.delimiter)
    width = _usual_width(rows)
    return width if len(rows) >= _FEW and len(rows[-1]) == width else None


def _usual_width(rows: Sequence[Sequence[str]]) -> int | None:
    """The width of nearly all rows: a logger may say something else first."""
    (width, n), *_ = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    return width if n and n >= _NEARLY_ALL * len(rows) else None


def unusual(form: Form, given: Given, thing: str = "line") -> list[str]:
    """The parts of a form that are unusual and were not given, in words."""
    said = []
    if form.delimiter != (given.delimiter or PLAIN.delimiter):
        said.append(f"cells separated by {_NAMES.get(form.delimiter, repr(form.delimiter))}")
    if form.decimal != (given.decimal or PLAIN.decimal):
        said.append("decimals by commas")
    if form.thousands not in {None, NONE, given.thousands}:
        said.append(f"thousands by {_BETWEEN[form.thousands or NONE]}")
    if form.encoding != (given.encoding or PLAIN.encoding):
        said.append(f"text in {_NAMES.get(form.encoding, form.encoding)}")
    none = form.beside - {form.upper}
    if none:
        said.append(left_out(none, thing))
    if form.years:
        said.append("years as names of columns")
    if form.above:
        said.append(f"names of columns in two {thing}s")
    if form.empty:
        numbers = ranges([place + 1 for place in sorted(form.empty)])
        said.append(f"empty column{'s' * (len(form.empty) > 1)} {numbers} left out")
    return said


def left_out(numbers: Iterable[int], thing: str) -> str:
    """Which lines or rows are no rows of the table, in words."""
    found = sorted(numbers)
    return f"{thing}{'s' * (len(found) > 1)} {ranges(found)} left out, as no row of the table"


def _separator_of(lines: Sequence[str]) -> str:
    """The separator by which lines have one width and most cells are numbers; a comma where none is better."""
    best, most = _SEPARATORS[0], 0.0
    for mark in _SEPARATORS:
        rows = _rows(lines, mark)
        width = _usual_width(rows)
        if width is None or width == 1 or (mark == " " and most):  # dates have spaces, too
            continue
        rows = [row for row in rows if len(row) == width]
        cells = [cell for row in rows[1:] or rows for cell in row]
        numbers = sum(_VALUE.fullmatch(cell) is not None for cell in cells)
        if mark == " " and 2 * numbers < len(cells):
            continue
        if (1 + numbers) / len(cells) > most * 1.0001:
            best, most = mark, (1 + numbers) / len(cells)
    return best


def _rows(lines: Sequence[str], mark: str) -> list[list[str]]:
    try:
        return [row for row in reader_of(lines, mark) if row]
    except csv.Error:
        return []


def reader_of(lines: Iterable[str], mark: str) -> Any:
    """The ``csv.reader`` of lines with this separator; several spaces in a row are one."""
    return csv.reader(lines, delimiter=mark, skipinitialspace=mark == " ")


def cells_of(line: str, mark: str) -> list[str]:
    """The cells of one line."""
    return next(reader_of([line], mark), [])


def _words(text: str) -> list[str]:
    try:
        return [word.strip() for word in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        msg = f"must be words separated by commas, got {text!r}"
        raise argparse.ArgumentTypeError(msg) from None


def _encoding(text: str) -> str:
    try:
        name = codecs.lookup(text).name
    except LookupError:
        msg = f"must be the name of an encoding, such as utf-8, cp1252 or utf-16, got {text!r}"
        raise argparse.ArgumentTypeError(msg) from None
    return UTF_8 if name == "utf-8" else name
