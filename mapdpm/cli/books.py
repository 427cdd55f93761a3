"""Tables of Excel and Parquet files as rows of text, by openpyxl and pyarrow, which are extras."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import ParseError

EXCEL, PARQUET = "excel", "parquet"
ZIP, OLD_EXCEL, PARQUET_BEGINS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1"
_DAMAGED = (zipfile.BadZipFile, zlib.error, ParseError, EOFError, KeyError, ValueError, OSError)
_WORKBOOK = "xl/workbook.xml"


def book_of(path: str | Path, begins: bytes) -> str | None:
    """EXCEL or PARQUET, where a file that begins so is one, else None; ValueError for archives and old files."""
    if begins.startswith(PARQUET_BEGINS):
        kind = PARQUET
    elif begins.startswith(ZIP):
        kind = EXCEL
    elif begins.startswith(OLD_EXCEL):
        _refuse(f"{path} is an old file of Excel (.xls); save it as .xlsx or as CSV")
    else:
        return None
    if not Path(path).is_file():
        _refuse("Excel and Parquet are not read from standard input; name the file")
    if kind == EXCEL and not _is_workbook(path):
        _refuse(f"{path} is a ZIP archive and no file of Excel; unpack it, or save the table as .xlsx or CSV")
    return kind


def is_book(path: str | Path) -> bool:
    """Whether a file is of Excel or Parquet, by its first bytes."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(len(ZIP)) in {ZIP, PARQUET_BEGINS}


def book_rows(path: str | Path, kind: str, sheet: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """The rows of a sheet, the first if None, or of a Parquet file, whose names are row 0: their numbers and cells.

    Cells of a row of Excel end with its last value; a row without any is empty. ImportError where the extra is not
    installed, ValueError where the file is damaged or has no such sheet.
    """
    source = _excel_rows(path, sheet) if kind == EXCEL else _parquet_rows(path)
    try:
        for number, values in source:
            cells = [_text(value) for value in values]
            while kind == EXCEL and cells and not cells[-1].strip():
                cells.pop()
            yield number, cells
    except _NoSheetError:
        raise
    except _DAMAGED as error:
        _refuse(f"{path} is no whole file of {kind.title()}: {error}")


def sheets_of(path: str | Path) -> list[str]:
    """The names of the sheets of a file of Excel that have cells; errors as of ``book_rows``."""
    try:
        with contextlib.closing(_workbook(path)) as book:
            return [sheet.title for sheet in book.worksheets]
    except _DAMAGED as error:
        _refuse(f"{path} is no whole file of {EXCEL.title()}: {error}")


class _NoSheetError(ValueError):
    """There is no sheet of this name."""


def _workbook(path: str | Path) -> Any:
    try:
        import openpyxl  # noqa: PLC0415  (an extra)
    except ImportError:
        msg = f"{path} is a file of Excel, which needs openpyxl: pip install 'mapdpm[excel]'"
        raise ImportError(msg) from None
    with warnings.catch_warnings():  # of what openpyxl would lose if it saved the file
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(path, read_only=True, data_only=True)


def _excel_rows(path: str | Path, name: str | None) -> Iterator[tuple[int, Any]]:
    with contextlib.closing(_workbook(path)) as book:
        yield from enumerate(_sheet_of(book, name, path).iter_rows(values_only=True), 1)


def _sheet_of(book: Any, name: str | None, path: str | Path) -> Any:
    """The sheet of this name, or of this number, from 1 on."""
    titles = [sheet.title for sheet in book.worksheets]
    if name is None:
        return book.worksheets[0]
    if name in titles:
        return book.worksheets[titles.index(name)]
    if name.isdecimal() and 1 <= int(name) <= len(titles):
        return book.worksheets[int(name) - 1]
    msg = f"{path} has no sheet {name!r} for --sheet; it has {', '.join(titles)}"
    raise _NoSheetError(msg)


def _parquet_rows(path: str | Path) -> Iterator[tuple[int, Any]]:
    try:
        import pyarrow.parquet  # noqa: PLC0415  (an extra)
    except ImportError:
        msg = f"{path} is a Parquet file, which needs pyarrow: pip install 'mapdpm[parquet]'"
        raise ImportError(msg) from None
    with pyarrow.parquet.ParquetFile(path) as file:
        batches = ([column.to_pylist() for column in batch.columns] for batch in file.iter_batches())
        rows = itertools.chain.from_iterable(zip(*columns, strict=True) for columns in batches)
        yield from enumerate(itertools.chain([file.schema_arrow.names], rows))


def _text(value: Any) -> str:
    """A cell as CSV files have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


def _is_workbook(path: str | Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return _WORKBOOK in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)
