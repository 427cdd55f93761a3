"""The output of a stream: standard output, or a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Protocol

from mapdpm.cli import checkpoint
from mapdpm.cli.tables import STDIN
from mapdpm.files.container import UnwritableError


class Sink(Protocol):
    """Where results go, one a line."""

    def put(self, line: str) -> None:
        """Take a result."""

    def flush(self) -> None:
        """Let others see what was put."""

    def sync(self) -> dict[str, Any]:
        """Make it safe, and return the position after it."""

    def finish(self) -> None:
        """The last result was put: bring it where it goes."""

    def close(self) -> None:
        """Nothing more will come."""


class Printed:
    """Results on standard output."""

    def __init__(self, header: str) -> None:
        self._lines = [header]

    def put(self, line: str) -> None:
        """Printed with the next flush."""
        self._lines.append(line)

    def flush(self) -> None:
        """Print; a reader that has gone is BrokenPipeError, and is not asked again."""
        if sys.stdout is None:
            msg = "standard output is closed"
            raise OSError(msg)
        text = "".join(self._lines)
        self._lines = []
        if not text:
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            msg = f"cannot write standard output: {error.strerror}"
            raise UnwritableError(msg) from None

    def sync(self) -> dict[str, Any]:
        """All that can be done; what a pipe has taken is not ours to know."""
        self.flush()
        return {"path": STDIN}

    def finish(self) -> None:
        """Print the last ones."""
        self.flush()

    def close(self) -> None:
        """Standard output is not ours to close."""


class Written:
    """Results in a file, which is cut to what was committed, and goes on there; a new one begins with ``header``."""

    def __init__(self, path: Path, header: str, position: dict[str, Any] | None, state: Path | None) -> None:
        self._path, self._lines, self._file = path, [header], -1
        self._bytes = 0
        if position is not None and state is not None and position["path"] == self._identity():
            self._lines = []
            if not path.exists():
                msg = f"{path} is gone, but {state} goes on after byte {position['offset']} of it; begin another state"
                raise ValueError(msg)
            with path.open("rb") as file:
                self._bytes = checkpoint.check(file.fileno(), position, str(path), state)

    def put(self, line: str) -> None:
        """Written with the next flush."""
        self._lines.append(line)

    def flush(self) -> None:
        """Write; UnwritableError where that cannot be."""
        data = "".join(self._lines).encode()
        try:
            if self._file < 0:  # not before there is something to write: the old results may be wanted
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                os.ftruncate(self._file, self._bytes)
                os.lseek(self._file, self._bytes, os.SEEK_SET)
            while data:
                done = os.write(self._file, data)
                self._bytes += done
                data = data[done:]
        except OSError as error:
            raise self._unwritable(error) from None
        self._lines = []

    def sync(self) -> dict[str, Any]:
        """Write, down to the disk."""
        self.flush()
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error) from None
        return {"path": self._identity()} | checkpoint.mark(self._file, self._bytes)

    def finish(self) -> None:
        """Write the last ones."""
        self.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)

    def _identity(self) -> str:
        return str(self._path.resolve())

    def _unwritable(self, error: OSError) -> UnwritableError:
        return UnwritableError(f"cannot write {self._path}: {error.strerror}")
