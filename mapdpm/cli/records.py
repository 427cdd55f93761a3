"""From the bytes of a line or a message to the cells of its points, by a form that is found from the first ones."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

from mapdpm.cli import text_rows
from mapdpm.cli.beginning import UTF_8
from mapdpm.cli.beside_table import Line, rows_below
from mapdpm.cli.forms import EMPTY, PLAIN, Form, Given, cells_of, form_of_bytes, missing_of, unusual, width_of
from mapdpm.cli.json_records import Cells, Record, records_of_json
from mapdpm.cli.line_protocol import is_line_protocol, record_of_line
from mapdpm.cli.marks import COMMA, NONE, has_decimal_comma
from mapdpm.cli.refused import RefusedInputError, refuse_input

CSV, JSON, INFLUX = "csv", "jsonl", "influx"
_FEWEST = 3  # numbers of each kind in a column
INPUTS = (CSV, JSON, INFLUX)
_NAMES = {JSON: "lines of JSON", INFLUX: "InfluxDB line protocol"}
_UTF_8 = "utf-8"


class RecordReader:
    """Reads the records of one run; ``settings`` get what ``begin`` finds.

    ``kind`` is None where each message says itself what it is.
    """

    def __init__(self, settings: dict[str, Any], say: Callable[[str], None]) -> None:
        self._settings, self.say = settings, say
        self._missing = missing_of(settings["na"])
        self.kind: str | None = settings["input_format"]
        self.width: int | None = None
        """How many cells nearly all of the first lines have, where that is known."""
        self.beside: frozenset[int] = frozenset()
        """The numbers of lines that are no rows of the table."""
        self._first = PLAIN  # the form of the first lines
        self._decoded = False  # the text comes in UTF-8, whatever the encoding of the file
        self._set_form()

    @property
    def encoding(self) -> str | None:
        """The encoding that the options say, or the lines before."""
        given: str | None = self._settings["encoding"]
        return given

    def decodes(self, encoding: str | None) -> None:
        """Take lines in UTF-8, which were decoded from this encoding; None: as they are in the file."""
        if encoding is not None:
            self._decoded = True
            if self._settings["encoding"] is None:
                self.say(f"text in {encoding.upper()}")
                self._settings["encoding"] = encoding
            self._set_form()

    def named(self, cells: list[str]) -> list[str]:
        """The names of columns in the first line of the table; ``EMPTY`` for those that are none."""
        names = self._first.names(cells)
        return [*names[:-1], EMPTY] if self._first.trailing and names and not names[-1] else names

    @property
    def years(self) -> bool:
        """Whether the first line of the table has years as names of columns."""
        return self._first.years

    @property
    def headed(self) -> bool:
        """Whether the first record may be a header."""
        return self.kind in {None, CSV}

    def begin(self, sample: bytes, *, resumed: bool = False) -> None:
        """Find what the options do not say from the first lines of a file, and say what is unusual."""
        settings = self._settings
        if self.kind is None:
            self.kind = kind_of(sample.decode(_UTF_8, errors="replace"))
        said = [_NAMES[self.kind]] if self.kind != CSV and settings["input_format"] is None else []
        given = Given.of(settings)
        given = given._replace(encoding=UTF_8) if self._decoded else given
        # What an earlier run did not know of thousands is not found in the middle.
        unknown = given.thousands is None and resumed
        form = form_of_bytes(sample, given._replace(thousands=NONE) if unknown else given, self._missing)
        form = form._replace(thousands=None) if unknown else form
        if self.kind != CSV:  # separators mean nothing in other kinds
            form = form._replace(delimiter=given.delimiter or PLAIN.delimiter)
            form = form._replace(decimal=given.decimal_mark, thousands=given.thousands)
        if self.kind != CSV or resumed:
            form = form._replace(beside=frozenset(), above=(), empty=frozenset(), years=False)
        self.beside = form.beside
        said += unusual(form, given)
        if said:
            self.say(", ".join(said))
        self.width = width_of(sample, form) if self.kind == CSV else None
        settings |= {"input_format": self.kind, "delimiter": form.delimiter}
        if not self._decoded:
            settings["encoding"] = form.encoding
        self._first = form
        if form.decimal != PLAIN.decimal or form.thousands:  # a point is not decided before a comma has come
            settings |= {"decimal": form.decimal, "thousands": form.thousands}
        self._set_form()

    def n_below(self, last: list[bytes]) -> int:
        """How many of the last lines of a file are no rows of its table: totals, and notes after a blank line."""
        if self.kind != CSV:
            return 0
        try:
            texts = [line.decode(self._encoding, errors="replace").strip("\r") for line in last]
            below = rows_below([Line(at, text, cells_of(text, self._form.delimiter)) for at, text in enumerate(texts)])
        except csv.Error:
            return 0
        first = below[0] if below else len(last)
        while first > 1 and below and not texts[first - 1].strip():
            first -= 1
        return len(last) - first

    def settle(self) -> None:
        """Let what the options do not say be as usual: messages have no first line that says it."""
        self._settings["delimiter"] = self._form.delimiter

    def records(self, data: bytes) -> list[Cells]:
        """The cells of each point in a line or a message; RefusedInputError where it holds none."""
        try:
            text = data.decode(self._encoding)
        except UnicodeDecodeError:
            refuse_input(f" is not text in {'UTF-8' if self._encoding == _UTF_8 else self._encoding}")
        kind = self.kind or kind_of(text)
        if kind == CSV:
            cells = self._cells(text)
            return [cells if self._plain else self._form.cells(cells)]
        found = _of_lines(text) if kind == INFLUX else self._of_json(text)
        return found if self._plain else [self._converted(cells) for cells in found]

    def _of_json(self, text: str) -> list[Cells]:
        try:
            return records_of_json(text)
        except RefusedInputError as refused:
            if self.kind is None or not isinstance(refused.__context__, json.JSONDecodeError):
                raise
            refuse_input(f"{refused}; each line is a message: jq -c . makes such lines")

    def _cells(self, text: str) -> list[str]:
        line, delimiter = text.removesuffix("\r"), self._form.delimiter
        if not line.strip():
            refuse_input(" is blank")
        if self.kind is None and "\n" in line.strip():
            refuse_input(" has more than one line")
        if line.count(delimiter) >= text_rows.MOST_COLUMNS:
            refuse_input(f" has more than {text_rows.MOST_COLUMNS} columns")
        try:
            plain = '"' not in line
            if plain:
                cells = line.split() if delimiter == " " else line.split(delimiter)
            else:
                cells = next(csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=delimiter == " "))
        except csv.Error as error:
            refuse_input(f" is not CSV: {error}")
        self._signs.look(cells)
        for place in self._signs.columns(_FEWEST):
            self.say(self._signs.said(place))
        if self._decides and "," in line and has_decimal_comma(cells):
            self.say("decimals by commas")
            self._settings["decimal"] = COMMA
            self._set_form()
        return cells

    def _set_form(self) -> None:
        delimiter, decimal, thousands, encoding = Given.of(self._settings)
        usual = (delimiter or PLAIN.delimiter, decimal or PLAIN.decimal, encoding or PLAIN.encoding)
        self._form = Form(*usual, self._missing, thousands=thousands)
        self._plain = self._form.is_plain
        self._signs = self._form.weak_signs
        self._encoding = _UTF_8 if self._decoded or self._form.encoding == UTF_8 else self._form.encoding
        self._decides = decimal is None and self._form.delimiter != PLAIN.delimiter

    def _converted(self, cells: Cells) -> Cells:
        """The cells of a message, whose numbers have points where they are none of texts."""
        form = self._form._replace(thousands=self._form.thousands or NONE)
        if not isinstance(cells, Record):
            return form.cells(cells)
        for name, text in zip(cells, form.cells(list(cells.values())), strict=True):
            cells[name] = text
        return cells


def kind_of(text: str) -> str:
    """The form of a text, by its first line that is not blank."""
    line = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    if line.startswith(("{", "[")):
        return JSON
    return INFLUX if is_line_protocol(line) else CSV


def _of_lines(text: str) -> list[Cells]:
    """The records of a message of several lines, or of one."""
    lines = text.strip().split("\n")
    return [record for record in map(record_of_line, lines) if record is not None]
