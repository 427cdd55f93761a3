"""The rows of a table: those of a file without what stands beside the table, and all of one width."""

from __future__ import annotations

import itertools
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mapdpm.cli.beside_table import BELOW, Line, rows_below
from mapdpm.cli.books import book_rows, is_book
from mapdpm.cli.forms import PLAIN, Form, left_out
from mapdpm.cli.refusals import Refusals
from mapdpm.cli.text_rows import Row, name_of, text_rows

_MOST_BLANK = 1000  # lines in a row


def rows(path: str | Path, form: Form = PLAIN, refusals: Refusals | None = None) -> Iterator[Row]:
    """The rows of a file of separated values, at least one and all of one width; errors as in ``read_csv``."""
    refusals = refusals or Refusals()
    source = text_rows(path, form) if form.book is None else book_rows(path, form.book, form.sheet)
    if form.beside or form.trailing or form.empty:
        source = _of_table(path, source, form)
    width, of_text = form.width, form.book is None
    for line, cells in _with_blanks(path, _without_below(path, source)):
        width = width or len(cells)
        if len(cells) == width:  # nearly all rows
            yield line, cells
        elif cells and (of_text or len(cells) > width):
            wrong = f"has {counted(len(cells), 'column')}, but the first row has {width}"
            refusals.refuse(line, f"{where(path, line)} {wrong}")
            yield line, [""] * width
        else:
            yield line, [*cells, *[""] * (width - len(cells))]


def _with_blanks(path: str | Path, source: Iterable[Row]) -> Iterator[Row]:
    """The rows, without blank ones at either end; those between have no cells."""
    begun, blanks = False, list[int]()
    for row in source:
        if row[1]:
            if len(blanks) > _MOST_BLANK:
                msg = f"{where(path, blanks[0])} is blank, and so are the {_MOST_BLANK} after it"
                raise ValueError(msg)
            yield from ((line, []) for line in blanks)
            begun, blanks = True, []
            yield row
        elif begun and len(blanks) <= _MOST_BLANK:
            blanks.append(row[0])
    if not begun:
        msg = f"{name_of(path)} is empty"
        raise ValueError(msg)


def _of_table(path: str | Path, source: Iterable[Row], form: Form) -> Iterator[Row]:
    """The rows without lines that are none, and without the blank cell after a separator at the end."""
    for line, cells in source:
        if line in form.beside:
            continue
        for place in form.empty:
            if place < len(cells) and cells[place].strip():
                wrong = "has a value, but neither a name nor a value before"
                msg = f"{where(path, line)}, column {place + 1} {wrong}; name the column, or clear the cell"
                raise ValueError(msg)
        yield line, cells[:-1] if form.trailing and cells and not cells[-1] else cells


def _without_below(path: str | Path, source: Iterable[Row]) -> Iterator[Row]:
    """The rows without those below the table; a warning says which they are."""
    source = iter(source)
    held = deque(itertools.islice(source, BELOW))
    for row in source:
        held.append(row)
        yield held.popleft()
    numbers = rows_below([Line(line, "", cells) for line, cells in held])
    if numbers:
        warnings.warn(f"{name_of(path)}: {left_out(numbers, _thing(path))}", stacklevel=2)
    yield from (row for row in held if row[0] not in numbers)


def without_repeats(
    path: str | Path, source: Iterable[Row], names: list[str], reads_numbers: Callable[[], bool]
) -> Iterator[Row]:
    """The rows without those that repeat the names of columns; a warning says how many they are.

    Where no column is of numbers, they may be values.
    """
    found = []
    for row in source:
        if row[1] == names and reads_numbers():
            found.append(row[0])
        else:
            yield row
    if found:
        said = f"the names of columns come again in {_thing(path)} {found[0]}"
        more = f" and {len(found) - 1} more" if found[1:] else ""
        warnings.warn(f"{name_of(path)}: {said}{more}: left out", stacklevel=2)


def where(path: str | Path, line: int) -> str:
    """The name of a file in messages, with that of a line, or of a row in a file of Excel or Parquet."""
    return f"{name_of(path)}: {_thing(path)} {line}"


def _thing(path: str | Path) -> str:
    return "row" if is_book(path) else "line"


def counted(number: int, thing: str) -> str:
    """``1 column``, ``2 columns``."""
    return f"{number} {thing}{'s' * (number != 1)}"
