"""Tables of numbers from CSV files, for the command line; errors name the line and the column."""

from __future__ import annotations

import itertools
import math
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapdpm.cli.beginning import GZIP, STDIN
from mapdpm.cli.books import PARQUET, is_book
from mapdpm.cli.cells import CellReader, complaint_of, is_missing, is_text, numbers_of, value_of
from mapdpm.cli.forms import PLAIN, Form
from mapdpm.cli.marks import WeakSigns, doubted
from mapdpm.cli.refusals import FAIL, Refusals
from mapdpm.cli.table_rows import counted, rows, where, without_repeats
from mapdpm.cli.text_rows import Row, name_of
from mapdpm.data.columns import CATEGORY, FLAG, NUMBER
from mapdpm.files.json_text import RATIO, SPARE
from mapdpm.protocol import Matrix


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
    n_refused: int = 0
    """How many of the rows without values could not be read, as a warning has said."""

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
        """The values of the first column of this name."""
        return self.column(self.names.index(name))

    def column(self, place: int) -> Any:
        """The values of a column: texts of a category, None where they are missing."""
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
        n_blank = len(there) - int(there.sum()) - self.n_refused
        first = "" if self.n_refused else f", the first is row {int(np.argmin(there)) + 1} of the data"
        if n_blank:
            warnings.warn(f"{counted(n_blank, 'row')} without any value left out{first}", stacklevel=2)
        groups = None if self.groups is None else tuple(itertools.compress(self.groups, there))
        return self._replace(values=self.values[there], groups=groups), there

    def of_readers(self, readers: Sequence[CellReader]) -> Table:
        """The table with the kinds and levels that its cells have shown."""
        kinds = tuple(reader.kind or NUMBER for reader in readers)
        if all(kind == NUMBER for kind in kinds):
            return self
        return self._replace(kinds=kinds, levels=tuple(tuple(reader.places) for reader in readers))

    def metadata(self) -> dict[str, Any]:
        """The arguments of a model besides the points: ``groups``, where there are some."""
        return {} if self.groups is None else {"groups": self.groups}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values: NDArray[Any] = self.values
        if self.kinds is not None:
            every_column = (self.column(place) for place in range(len(self.kinds)))
            values = np.stack([np.asarray(column, dtype=object) for column in every_column], axis=1)
        return np.array(values, dtype=dtype) if copy else np.asarray(values, dtype=dtype)


def every(file: str, cells: list[str]) -> Columns:  # noqa: ARG001  (a Choice)
    """All columns."""
    return Columns(range(len(cells)))


Kinds: TypeAlias = Callable[[Sequence[str], Sequence[int]], Sequence[str | None]]
"""A function that says the kind of each column, given the cells of the header and the places of the columns."""


def read_csv(
    path: str | Path,
    choice: Choice = every,
    form: Form = PLAIN,
    *,
    gaps: bool = False,
    kinds: Kinds | None = None,
    on_error: str = FAIL,
) -> Table:
    """The chosen columns of a file of separated values in this form, also gzip; "-" is standard input.

    With ``gaps`` missing values are NaN, and no error. Without ``kinds`` all columns are numbers. With ``SKIP`` a row
    that cannot be read has no values.

    The first row is a header if one of the chosen cells is text, or another one above a number. Where it comes again,
    as after the restart of a logger, it is no row. Blank lines before the first row and after the last are skipped; one
    between them is a row of blanks, for it may be a missing point.

    Raises
    ------
    ValueError
        In one sentence, with line and column counted from 1: the file is empty or not text, a row is longer or shorter
        than the first, or a cell is blank, not a number, NaN or infinite.
    OSError
        The file cannot be read.
    """
    refusals = Refusals(on_error)
    source = rows(path, form, refusals)
    first = next(source)
    cells = form.names([cell.strip() for cell in form.cells(first[1])])
    columns = choice(name_of(path), cells)
    columns = columns._replace(places=[place for place in columns.places if place not in form.empty])
    second = next(source, None)
    named = columns.named or form.years or form.book == PARQUET
    header = named or any(is_text(cells[place]) for place in columns.places) or _is_header(cells, second, form)
    rest: Iterable[Row] = chain(() if header else (first,), () if second is None else (second,), source)
    if header:
        rest = without_repeats(path, rest, first[1], lambda: any(reader.kind == NUMBER for reader in readers))
    signs = form.weak_signs
    if form.delimiter != PLAIN.delimiter:
        rest = _looked_at(rest, signs)
    groups: list[str] = []
    texts: list[tuple[str, ...]] = []
    if columns.beside:
        rest = _keeping(rest, columns.beside, texts)
    if columns.group is not None:
        rest = _with_groups(path, rest, columns.group, groups, refusals)
    if not form.is_plain:
        rest = ((line, form.cells(row)) for line, row in rest)
    of_kinds = [NUMBER] * len(columns.places) if kinds is None else kinds(cells, columns.places)
    readers = [CellReader(kind, gaps=gaps) for kind in of_kinds]
    names_of_cells = cells if header else None
    values = numbers(path, rest, names_of_cells, columns.places, gaps=gaps, readers=readers, refusals=refusals)
    if not len(values):
        msg = f"{name_of(path)} has a header but no rows of data"
        raise ValueError(msg)
    refusals.say(name_of(path), len(values))
    for place in {*signs.columns()} & {*columns.places}:
        warnings.warn(f"{name_of(path)}: {signs.said(place, cells[place] if header else '')}", stacklevel=2)
    _leave_absent(path, names_of_cells, values, columns.places, readers, gaps=gaps)
    names = tuple(cells[place] for place in columns.places) if header else None
    groups_of_rows = None if columns.group is None else tuple(groups)
    titles = tuple(cells[place] if header else str(place + 1) for place in columns.beside)
    table = Table(names, values, groups_of_rows, beside=(titles, tuple(texts)), n_refused=len(refusals.lines))
    return table.of_readers(readers)


def _leave_absent(
    path: str | Path,
    names: Sequence[str] | None,
    values: Matrix,
    places: Sequence[int],
    readers: Sequence[CellReader],
    *,
    gaps: bool,
) -> None:
    """Make values missing where the sensor of a switch was not there; ValueError where none may be missing."""
    for place, column, reader in zip(places, values.T, readers, strict=True):
        absent = reader.absent()
        name = f"{name_of(path)}: column {place + 1}{f' ({names[place]})' if names and names[place] else ''}"
        for text in absent:
            others = ", ".join(each for each in reader.places if each not in absent)
            said = f"{name} has {text!r} beside {others}: it is missing"
            if not gaps:
                msg = f"{said}; learn with --missing skip"
                raise ValueError(msg)
            warnings.warn(said, stacklevel=2)
            number = reader.places.pop(text)
            column[column == number] = math.nan
            column[column > number] -= 1
            reader.places = {each: at for at, each in enumerate(reader.places)}


def _looked_at(source: Iterable[Row], signs: WeakSigns) -> Iterator[Row]:
    """The rows of ``source``, at which ``signs`` look."""
    for line, cells in source:
        signs.look(cells)
        yield line, cells


def _keeping(source: Iterable[Row], columns: Sequence[int], texts: list[tuple[str, ...]]) -> Iterator[Row]:
    """The rows of ``source``, of which some columns are added to ``texts`` as they are."""
    for line, cells in source:
        texts.append(tuple(cells[column] for column in columns))
        yield line, cells


def _with_groups(
    path: str | Path, source: Iterable[Row], column: int, groups: list[str], refusals: Refusals
) -> Iterator[Row]:
    """The rows of ``source``, whose groups are added to ``groups``; refused where one is blank."""
    known: dict[str, str] = {}  # one text for each group, not one for each row
    for line, cells in source:
        group = cells[column].strip()
        if not group and line not in refusals.lines:
            refusals.refuse(line, f"{where(path, line)}, column {column + 1} is blank; each row needs a group")
        groups.append(known.setdefault(group, group))
        yield line, cells


def numbers(
    path: str | Path,
    source: Iterable[Row],
    names: Sequence[str] | None,
    columns: Sequence[int],
    *,
    gaps: bool = False,
    readers: Sequence[CellReader] = (),
    refusals: Refusals | None = None,
) -> Matrix:
    """The given columns of ``source`` as finite float64; errors as in ``read_csv``.

    With ``gaps`` missing values are NaN. ``readers`` are those of columns that do not all hold numbers.
    """
    refusals = refusals or Refusals()
    readers = readers or [CellReader(NUMBER)] * len(columns)
    values, most, as_they_are = array("d"), _most_values(path), False
    absent = [math.nan] * len(columns)
    for line, cells in source:
        if line in refusals.lines:
            values.extend(absent)
            continue
        row = [cells[column] for column in columns]
        found = numbers_of(row) if as_they_are else None
        if found is None:
            found = _values(row, readers, gaps=gaps)
            as_they_are = all(reader.kind in {NUMBER, FLAG} for reader in readers)
        at = len(found)
        if at < len(row):
            kind, column = readers[at].kind, columns[at]
            name = f" ({names[column]})" if names and names[column] else ""
            complaint = complaint_of(row[at], readers[at].value(row[at]), cells, kind)
            wrong = f"{where(path, line)}, column {column + 1}{name} {complaint}"
            refusals.refuse(line, wrong, of_file=doubted(row[at].strip()) is not None)
            found = absent
        values.extend(found)
        if len(values) > most:
            hint = f"if you trust it: gzip -dc {name_of(path)} | mapdpm ... -, or save it as CSV"
            msg = f"{where(path, line)}: the numbers so far take {8 * len(values)} bytes of memory; {hint}"
            raise ValueError(msg)
    return np.asarray(values).reshape(-1, len(columns))


def _values(row: Sequence[str], readers: Sequence[CellReader], *, gaps: bool) -> list[float]:
    """The values of a row, cell by cell, up to the first cell that has none; then no text of it is a new level."""
    found, known = list[float](), [len(reader.places) for reader in readers]
    for cell, reader in zip(row, readers, strict=True):
        value = reader.value(cell)
        if gaps and is_missing(cell, value, reader.kind or NUMBER):
            value = math.nan
        elif value is None or not math.isfinite(value):
            for each, n in zip(readers, known, strict=True):
                each.forget(n)
            break
        found.append(value)
    return found


def _most_values(path: str | Path) -> float:
    """How many numbers a file may hold: a compressed one of a stranger may unpack to a thousand times its size."""
    if str(path) == STDIN or not Path(path).is_file():
        return math.inf
    with Path(path).open("rb") as file:
        compressed = file.read(len(GZIP)) == GZIP or is_book(path)
    return (SPARE + RATIO * Path(path).stat().st_size) / np.dtype(np.float64).itemsize if compressed else math.inf


def _is_header(cells: Sequence[str], second: Row | None, form: Form) -> bool:
    """Whether a text stands above a number; then columns 2020 and 2021 beside one named id are names too."""
    if second is None:
        return False
    return any(
        is_text(above) and value_of(below) is not None
        for above, below in zip(cells, form.cells(second[1]), strict=True)
    )
