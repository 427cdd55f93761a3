"""Rows of a text file, also gzip: bounded in length, and errors that name the line."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

from mapdpm.cli.beginning import GZIP, MODEL, STDIN, UTF_8
from mapdpm.cli.forms import Form, reader_of

LONGEST_LINE = 1 << 22
"""Characters of a line, some 200,000 numbers: an endless line must not fill the memory."""
MOST_COLUMNS = 1 << 17
"""Columns of a line: each cell takes some 60 bytes, however short it is."""


Row: TypeAlias = tuple[int, list[str]]
"""The number of a line, counted from 1, and its cells."""


def name_of(path: str | Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == STDIN else str(path)


@contextlib.contextmanager
def _opened(path: str | Path, encoding: str) -> Iterator[IO[str]]:
    """The text of a file or of standard input, uncompressed where it begins as gzip does."""
    with contextlib.ExitStack() as stack:
        if str(path) == STDIN and sys.stdin is None:
            msg = "standard input is closed"
            raise ValueError(msg)
        raw: Any = sys.stdin.buffer if str(path) == STDIN else stack.enter_context(Path(path).open("rb"))
        begins = raw.peek(len(MODEL))[: len(MODEL)]
        if begins == MODEL:
            msg = f"{name_of(path)} is a model file, not a CSV file of points; mapdpm predict and score use models"
            raise ValueError(msg)
        data = gzip.GzipFile(fileobj=raw) if begins.startswith(GZIP) else raw
        text = io.TextIOWrapper(data, encoding=encoding, newline="")
        try:
            yield text
        finally:
            text.detach()  # standard input stays open


class _Lines:
    """The lines of a file; ValueError where those of one row are longer than LONGEST_LINE, or of MOST_COLUMNS."""

    def __init__(self, file: IO[str], name: str, delimiter: str) -> None:
        self.first, self.length, self.columns = 1, 0, 0
        self._readline, self._name, self._delimiter = file.readline, name, delimiter

    def __iter__(self) -> Iterator[str]:
        for line in iter(partial(self._readline, LONGEST_LINE + 1), ""):
            self.length += len(line)
            if self.length > LONGEST_LINE:
                msg = f"{self._name}: line {self.first} is longer than {LONGEST_LINE} characters"
                raise ValueError(msg)
            self.columns += line.count(self._delimiter)
            if self.columns >= MOST_COLUMNS:
                msg = f"{self._name}: line {self.first} has more than {MOST_COLUMNS} columns"
                raise ValueError(msg)
            yield line


def text_rows(path: str | Path, form: Form) -> Iterator[Row]:
    """The rows of a file of separated values as they are; ValueError where it is no text or no CSV, or too long."""
    with _opened(path, form.encoding) as file:
        lines = _Lines(file, name_of(path), form.delimiter)
        reader = reader_of(lines, form.delimiter)
        try:
            for cells in reader:
                # A quoted cell may span lines: a row is known by its first.
                yield lines.first, cells
                lines.first, lines.length, lines.columns = reader.line_num + 1, 0, 0
        except UnicodeError:
            name = "UTF-8" if form.encoding == UTF_8 else form.encoding
            msg = f"{name_of(path)} is not a text file in {name}"
            raise ValueError(msg) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            msg = f"{name_of(path)} is not a whole gzip file: {error}"
            raise ValueError(msg) from None
        except csv.Error as error:
            msg = f"{name_of(path)}: line {reader.line_num} is not CSV: {error}"
            raise ValueError(msg) from None
