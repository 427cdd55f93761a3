"""Tables of numbers from CSV files, for the command line: every complaint names the line and the column."""

from __future__ import annotations

import csv
import math
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from mapdpm.protocol import Matrix

Row: TypeAlias = tuple[int, list[str]]
"""The line of a row in its file, counted from 1, and its cells."""


class Table(NamedTuple):
    """Names of the columns, or None where the file has no header, and finite values of shape (rows, columns)."""

    names: tuple[str, ...] | None
    values: Matrix


def read_csv(path: str | os.PathLike[str]) -> Table:
    """The numbers in a comma-separated UTF-8 file.

    The first row is a header if one of its cells is text. Blank lines before the first row and after the last are
    skipped; one between them is an error, for it may be a missing point.

    Raises
    ------
    ValueError
        In one sentence, with line and column counted from 1: the file is empty or not text, a row is longer or shorter
        than the first, or a cell is blank, not a number, NaN or infinite.
    OSError
        The file cannot be read.
    """
    source = rows(path)
    first = next(source)
    names = tuple(cell.strip() for cell in first[1]) if any(map(_is_text, first[1])) else None
    values = numbers(path, source if names else _chained(first, source), names, range(len(first[1])))
    if not len(values):
        msg = f"{path} has a header but no rows of data"
        raise ValueError(msg)
    return Table(names, values)


def rows(path: str | os.PathLike[str]) -> Iterator[Row]:
    """The rows of a CSV file, at least one and all of one width; errors as in ``read_csv``."""
    width, blank = 0, 0
    for line, cells in _lines(path):
        if not cells:
            blank = blank or line
            continue
        if blank and width:
            msg = f"{path}: line {blank} is blank"
            raise ValueError(msg)
        width, blank = width or len(cells), 0
        if len(cells) != width:
            msg = f"{path}: line {line} has {len(cells)} columns, but the first row has {width}"
            raise ValueError(msg)
        yield line, cells
    if not width:
        msg = f"{path} is empty"
        raise ValueError(msg)


def numbers(
    path: str | os.PathLike[str], source: Iterable[Row], names: Sequence[str] | None, columns: Sequence[int]
) -> Matrix:
    """The given columns of ``source`` as finite float64; errors as in ``read_csv``, with names where there are any."""
    values = array("d")
    for line, cells in source:
        for column in columns:
            value = _value(cells[column])
            if value is None or not math.isfinite(value):
                name = f" ({names[column]})" if names and names[column] else ""
                msg = f"{path}: line {line}, column {column + 1}{name} {_complaint(cells[column], value)}"
                raise ValueError(msg)
            values.append(value)
    return np.array(values, dtype=np.float64).reshape(-1, len(columns))


def _lines(path: str | os.PathLike[str]) -> Iterator[Row]:
    end = 0
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        try:
            for cells in reader:
                # A quoted cell may span lines: a row is known by its first.
                yield end + 1, cells
                end = reader.line_num
        except UnicodeDecodeError:
            msg = f"{path} is not a text file in UTF-8"
            raise ValueError(msg) from None
        except csv.Error as error:
            msg = f"{path}: line {reader.line_num} is not CSV: {error}"
            raise ValueError(msg) from None


def _chained(first: Row, others: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from others


def _value(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)  # Python's own 1_000 is no number elsewhere
    except ValueError:
        return None


def _is_text(cell: str) -> bool:
    return bool(cell.strip()) and _value(cell) is None


def _complaint(cell: str, value: float | None) -> str:
    text = cell.strip()
    if not text:
        return "is blank; remove or fill such rows"
    if value is None:
        hint = "; cells are separated by commas" if any(mark in text for mark in ";\t") else ""
        return f"is not a number: {text[:40]!r}{hint}"
    return f"is not a finite number: {text[:40]!r}; remove or fill such rows"
