"""Tables of numbers from CSV files, for the command line; errors name the line and the column."""

from __future__ import annotations

import itertools
import math
import warnings
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapdpm.cli.beside_table import Line, rows_below
from mapdpm.cli.books import PARQUET, book_rows, is_book
from mapdpm.cli.cells import CellReader, complaint_of, is_missing, is_text, numbers_of, value_of
from mapdpm.cli.forms import GZIP, PLAIN, STDIN, Form, left_out
from mapdpm.cli.text_rows import Row, name_of, text_rows
from mapdpm.data.columns import CATEGORY, FLAG, NUMBER
from mapdpm.files.json_text import RATIO, SPARE
from mapdpm.protocol import Matrix

_BELOW = 8  # lines at the end that may be no rows


class Columns(NamedTuple):
    """The columns to read, counted from 0; ``named`` if they were found by name, so the file has a header."""

    places: Sequence[int]
    named: bool = False
    group: int | None = None
    """The column with the group of each row, which is any text."""
    beside: Sequence[int] = ()
    """Columns that are kept as texts, to be written beside results."""
    by_pattern: frozenset[int] = frozenset()
    """Those of ``places`` that no name, but a pattern such as ``readings.*`` has chosen."""


Choice: TypeAlias = Callable[[str, list[str]], Columns]
"""A function that chooses columns, given the name of a file and the cells of its first row."""


class Table(NamedTuple):
    """Finite values of shape (rows, columns), with the names of columns where the file had a header.

    Estimators take it as they take a DataFrame.
    """

    columns: tuple[str, ...] | None
    values: Matrix
    groups: tuple[str, ...] | None = None
    """The group of each row, where there is a column of groups."""
    kinds: tuple[str, ...] | None = None
    """What each column holds; None where all hold numbers."""
    levels: tuple[tuple[str, ...], ...] = ()
    """With kinds, the texts of each category, whose places are the values; none of other columns."""
    beside: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]] = ((), ())
    """Names of the columns that were kept as texts, and these texts of each row, also of those without values."""

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """The type of each column, as a DataFrame has them."""
        types = {CATEGORY: np.dtype(object), FLAG: np.dtype(np.bool_)}
        return [types.get(kind, np.dtype(np.float64)) for kind in self.kinds or ()]

    @property
    def names(self) -> list[str | int]:
        """The name of each column, or its place."""
        return list(range(self.values.shape[1])) if self.columns is None else list(self.columns)

    def __getitem__(self, name: Any) -> Any:
        """The values of a column: texts of a category, None where they are missing."""
        place = self.names.index(name)
        values = self.values[:, place]
        if self.kinds is None or self.kinds[place] != CATEGORY:
            return values
        texts = np.array([*self.levels[place], None], dtype=object)
        return texts[np.where(np.isnan(values), len(texts) - 1, values).astype(np.int64)]

    def with_values(self, path: str | Path) -> tuple[Table, NDArray[np.bool_]]:
        """The rows that have a value, and which rows those are; others warn, ValueError where there are none."""
        there = np.asarray(~np.isnan(self.values).all(axis=1))
        if there.all():
            return self, there
        if not there.any():
            msg = f"{name_of(path)} has no value at all in these columns"
            raise ValueError(msg)
        absent = counted(len(there) - int(there.sum()), "row")
        first = int(np.argmin(there)) + 1
        warnings.warn(f"{absent} without any value left out, the first is row {first} of the data", stacklevel=2)
        groups = None if self.groups is None else tuple(itertools.compress(self.groups, there))
        return self._replace(values=self.values[there], groups=groups), there

    def metadata(self) -> dict[str, Any]:
        """The arguments of a model besides the points: ``groups``, where there are some."""
        return {} if self.groups is None else {"groups": self.groups}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values: NDArray[Any] = self.values
        if self.kinds is not None:
            values = np.stack([np.asarray(self[name], dtype=object) for name in self.names], axis=1)
        return np.array(values, dtype=dtype) if copy else np.asarray(values, dtype=dtype)


def every(file: str, cells: list[str]) -> Columns:  # noqa: ARG001  (a Choice)
    """All columns."""
    return Columns(range(len(cells)))


Kinds: TypeAlias = Callable[[Sequence[str], Sequence[int]], Sequence[str | None]]
"""A function that says the kind of each column, given the cells of the header and the places of the columns."""


def read_csv(
    path: str | Path, choice: Choice = every, form: Form = PLAIN, *, gaps: bool = False, kinds: Kinds | None = None
) -> Table:
    """The chosen columns of a file of separated values in this form, also gzip; "-" is standard input.

    With ``gaps`` missing values are NaN, and no error. Without ``kinds`` all columns are numbers.

    The first row is a header if one of the chosen cells is text, or another one above a number. Blank lines before the
    first row and after the last are skipped; one between them is an error, for it may be a missing point.

    Raises
    ------
    ValueError
        In one sentence, with line and column counted from 1: the file is empty or not text, a row is longer or shorter
        than the first, or a cell is blank, not a number, NaN or infinite.
    OSError
        The file cannot be read.
    """
    source = rows(path, form)
    first = next(source)
    cells = form.names([cell.strip() for cell in form.cells(first[1])])
    columns = choice(name_of(path), cells)
    columns = columns._replace(places=[place for place in columns.places if place not in form.empty])
    second = next(source, None)
    named = columns.named or form.book == PARQUET
    header = named or any(is_text(cells[place]) for place in columns.places) or _is_header(cells, second, form)
    rest: Iterable[Row] = chain(() if header else (first,), () if second is None else (second,), source)
    groups: list[str] = []
    texts: list[tuple[str, ...]] = []
    if columns.beside:
        rest = _keeping(rest, columns.beside, texts)
    if not form.is_plain:
        rest = ((line, form.cells(row)) for line, row in rest)
    if columns.group is not None:
        rest = _with_groups(path, rest, columns.group, groups)
    of_kinds = [NUMBER] * len(columns.places) if kinds is None else kinds(cells, columns.places)
    readers = [CellReader(kind, gaps=gaps) for kind in of_kinds]
    values = numbers(path, rest, cells if header else None, columns.places, gaps=gaps, readers=readers)
    if not len(values):
        msg = f"{name_of(path)} has a header but no rows of data"
        raise ValueError(msg)
    names = tuple(cells[place] for place in columns.places) if header else None
    groups_of_rows = None if columns.group is None else tuple(groups)
    titles = tuple(cells[place] if header else str(place + 1) for place in columns.beside)
    table = Table(names, values, groups_of_rows, beside=(titles, tuple(texts)))
    found = tuple(reader.kind or NUMBER for reader in readers)
    if all(kind == NUMBER for kind in found):
        return table
    return table._replace(kinds=found, levels=tuple(tuple(reader.places) for reader in readers))


def _keeping(source: Iterable[Row], columns: Sequence[int], texts: list[tuple[str, ...]]) -> Iterator[Row]:
    """The rows of ``source``, of which some columns are added to ``texts`` as they are."""
    for line, cells in source:
        texts.append(tuple(cells[column] for column in columns))
        yield line, cells


def _with_groups(path: str | Path, source: Iterable[Row], column: int, groups: list[str]) -> Iterator[Row]:
    """The rows of ``source``, whose groups are added to ``groups``; ValueError where one is blank."""
    known: dict[str, str] = {}  # one text for each group, not one for each row
    for line, cells in source:
        group = cells[column].strip()
        if not group:
            msg = f"{where(path, line)}, column {column + 1} is blank; each row needs a group"
            raise ValueError(msg)
        groups.append(known.setdefault(group, group))
        yield line, cells


def rows(path: str | Path, form: Form = PLAIN) -> Iterator[Row]:
    """The rows of a file of separated values, at least one and all of one width; errors as in ``read_csv``."""
    width, blank, begun = form.width, 0, False
    source = text_rows(path, form) if form.book is None else book_rows(path, form.book, form.sheet)
    if form.beside or form.trailing or form.empty:
        source = _of_table(path, source, form)
    for line, cells in _without_below(path, source):
        if begun and not blank and len(cells) == width:  # nearly all rows
            yield line, cells
            continue
        if form.book is not None and 0 < len(cells) < width:
            cells.extend([""] * (width - len(cells)))
        if not cells:
            blank = blank or line
            continue
        if blank and begun:
            msg = f"{where(path, blank)} is blank"
            raise ValueError(msg)
        width, blank, begun = width or len(cells), 0, True
        if len(cells) != width:
            msg = f"{where(path, line)} has {counted(len(cells), 'column')}, but the first row has {width}"
            raise ValueError(msg)
        yield line, cells
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
    held = deque(itertools.islice(source, _BELOW))
    for row in source:
        held.append(row)
        yield held.popleft()
    numbers = rows_below([Line(line, "", cells) for line, cells in held])
    if numbers:
        warnings.warn(f"{name_of(path)}: {left_out(numbers, _thing(path))}", stacklevel=2)
    yield from (row for row in held if row[0] not in numbers)


def numbers(
    path: str | Path,
    source: Iterable[Row],
    names: Sequence[str] | None,
    columns: Sequence[int],
    *,
    gaps: bool = False,
    readers: Sequence[CellReader] = (),
) -> Matrix:
    """The given columns of ``source`` as finite float64; errors as in ``read_csv``.

    With ``gaps`` missing values are NaN. ``readers`` are those of columns that do not all hold numbers.
    """
    readers = readers or [CellReader(NUMBER)] * len(columns)
    values, most, as_they_are = array("d"), _most_values(path), False
    for line, cells in source:
        row = [cells[column] for column in columns]
        found = numbers_of(row) if as_they_are else None
        if found is None:  # cell by cell takes three times as long
            found = []
            for column, cell, reader in zip(columns, row, readers, strict=True):
                value = reader.value(cell)
                if gaps and is_missing(cell, value, reader.kind or NUMBER):
                    value = math.nan
                elif value is None or not math.isfinite(value):
                    name = f" ({names[column]})" if names and names[column] else ""
                    complaint = complaint_of(cell, value, cells, reader.kind)
                    msg = f"{where(path, line)}, column {column + 1}{name} {complaint}"
                    raise ValueError(msg)
                found.append(value)
            as_they_are = all(reader.kind in {NUMBER, FLAG} for reader in readers)
        values.extend(found)
        if len(values) > most:
            hint = f"if you trust it: gzip -dc {name_of(path)} | mapdpm ... -, or save it as CSV"
            msg = f"{where(path, line)}: the numbers so far take {8 * len(values)} bytes of memory; {hint}"
            raise ValueError(msg)
    return np.asarray(values).reshape(-1, len(columns))


def _most_values(path: str | Path) -> float:
    """How many numbers a file may hold: a compressed one of a stranger may unpack to a thousand times its size."""
    if str(path) == STDIN or not Path(path).is_file():
        return math.inf
    with Path(path).open("rb") as file:
        compressed = file.read(len(GZIP)) == GZIP or is_book(path)
    return (SPARE + RATIO * Path(path).stat().st_size) / np.dtype(np.float64).itemsize if compressed else math.inf


def where(path: str | Path, line: int) -> str:
    """The name of a file in messages, with that of a line, or of a row in a file of Excel or Parquet."""
    return f"{name_of(path)}: {_thing(path)} {line}"


def _thing(path: str | Path) -> str:
    return "row" if is_book(path) else "line"


def counted(number: int, thing: str) -> str:
    """``1 column``, ``2 columns``."""
    return f"{number} {thing}{'s' * (number != 1)}"


def _is_header(cells: Sequence[str], second: Row | None, form: Form) -> bool:
    """Whether a text stands above a number; then columns 2020 and 2021 beside one named id are names too."""
    if second is None:
        return False
    return any(
        is_text(above) and value_of(below) is not None
        for above, below in zip(cells, form.cells(second[1]), strict=True)
    )
