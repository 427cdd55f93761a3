"""Rows of a table that cannot be read: the first is an error, or they are counted and have no values."""

from __future__ import annotations

import warnings

FAIL, SKIP = "fail", "skip"
ON_ERROR = (FAIL, SKIP)


class Refusals:
    """The refused rows of one file, by their lines; ``fails`` says that the first is an error."""

    def __init__(self, on_error: str = FAIL) -> None:
        self.fails = on_error == FAIL
        self.lines: set[int] = set()
        self._first = ""

    def refuse(self, line: int, text: str, *, of_file: bool = False) -> None:
        """Take the complaint about a row, which names the line; ValueError where that is an error.

        One ``of_file``, and not of this row, always is.
        """
        if self.fails or of_file:
            hint = "" if ";" in text else "; --on-error skip leaves out what cannot be read"
            msg = f"{text}{hint}"
            raise ValueError(msg)
        self.lines.add(line)
        self._first = self._first or text

    def say(self, name: str, n_rows: int) -> None:
        """Warn of them; ValueError where more than half of the rows were refused: then it is the file that is wrong."""
        n = len(self.lines)
        if not n:
            return
        if 2 * n > n_rows:
            msg = f"{name}: {n_rows - n} of {n_rows} rows can be read; the first that cannot: {self._first}"
            raise ValueError(msg)
        warnings.warn(f"{name}: {n} of {n_rows} rows left out; the first: {self._first}", stacklevel=2)
