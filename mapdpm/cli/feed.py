"""The input of a stream, line by line, and signals to wait for besides."""

from __future__ import annotations

import contextlib
import csv
import os
import select
import signal
import stat
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mapdpm.cli import checkpoint
from mapdpm.cli.tables import MODEL, STDIN, name_of

if TYPE_CHECKING:
    from typing_extensions import Self

_CHUNK = 1 << 16
_LONGEST = 1 << 24  # bytes of a line: an endless one shall not fill the memory
_POLL = 0.1  # seconds between looks at a file that others write
_GZIP = b"\x1f\x8b"


class Refused(ValueError):  # noqa: N818  (a line's fate, an error only with --on-error fail)
    """What is wrong with a line; its text goes on after the name of the line."""


class Signals:
    """SIGINT and SIGTERM as something to wait for, so that nothing is interrupted half-way."""

    def __enter__(self) -> Self:
        self.number = 0
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():  # others cannot have handlers
            self._before = {n: signal.signal(n, self._noted) for n in (signal.SIGINT, signal.SIGTERM)}
            self._fd = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.set_wakeup_fd(self._fd)
            for number, handler in self._before.items():
                signal.signal(number, handler)
        os.close(self._woken)
        os.close(self._waker)

    def wait(
        self, timeout: float, reads: Sequence[int] = (), writes: Sequence[int] = (), *, heed: bool = True
    ) -> list[int]:
        """Which files can be read, after so many seconds at most; a signal ends it at once, unless nobody heeds it."""
        if heed and self.number:
            return []
        ours = [self._woken] if heed else []
        ready, _, _ = select.select([*reads, *ours], writes, [], max(0.0, timeout))
        return [file for file in ready if file not in ours]

    def end(self) -> None:
        """End as the signal wants, if there was one."""
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.number:
            sys.exit(128 + self.number)

    def _noted(self, number: int, _: object) -> None:
        self.number = number


class Line(NamedTuple):
    """A line of the input, without its end, and how many bytes it takes there."""

    number: int
    text: bytes
    length: int


class Source(Protocol):
    """Where points come from, one an item."""

    name: str
    identity: str
    headed: bool
    """Whether the first item may be a header."""

    def resume(self, position: dict[str, Any], state: Path) -> str:
        """Go to ``position``, and say where that is; ValueError where it is not there."""

    def read(self, timeout: float) -> list[Any] | None:
        """What has come within so many seconds; None at the end."""

    def where(self, item: Any) -> str:
        """What messages call an item."""

    def cells(self, item: Any, delimiter: str) -> list[str] | dict[str, str]:
        """The cells of an item; Refused where it has none."""

    def taken(self, item: Any) -> None:
        """An item was learned, or refused for good."""

    def progress(self) -> str:
        """How far it is, for people."""

    def hungry(self) -> bool:
        """Whether a commit now would be answered with more."""

    def position(self) -> dict[str, Any]:
        """The position after what was taken."""

    def committed(self) -> None:
        """What was taken is safe."""

    def close(self) -> None:
        """Nothing more is wanted."""


class Lines:
    """The whole lines of a file or a pipe, as they come; ``follow`` waits for more at the end of a file."""

    headed = True

    def __init__(self, path: Path, signals: Signals, *, follow: bool) -> None:
        self.name = name_of(path)
        self._signals, self._follow = signals, follow
        self._stack = contextlib.ExitStack()
        if str(path) == STDIN:
            if sys.stdin is None:
                msg = "standard input is closed"
                raise ValueError(msg)
            self._file, self._sought = sys.stdin.fileno(), False
        else:
            self._file = self._stack.enter_context(path.open("rb", buffering=0)).fileno()
            self._sought = stat.S_ISREG(os.fstat(self._file).st_mode)
        self.identity = str(path.resolve()) if self._sought else STDIN
        self._offset = self._line = self._read = 0
        self._rest, self._ended, self._open = b"", False, False

    def resume(self, position: dict[str, Any], state: Path) -> str:
        """Go on after the line that was committed last."""
        self._line = int(position["line"])
        if not self._sought:
            return f"{self.name} must go on with line {self._line + 1}"
        self._offset = self._read = checkpoint.check(self._file, position, self.name, state)
        os.lseek(self._file, self._offset, os.SEEK_SET)
        self._open = bool(position["open"])
        return f"{self.name} goes on with line {self._line + 1}"

    def read(self, timeout: float) -> list[Line] | None:
        """The lines that are there by now; None at the end."""
        if self._ended:
            return None
        if not self._sought and not self._signals.wait(timeout, [self._file]):
            return []
        data = os.read(self._file, _CHUNK)
        if not self._read:
            self._check_beginning(data)
        self._read += len(data)
        if not data and self._follow:
            if os.fstat(self._file).st_size < self._read:
                msg = f"{self.name} has become shorter while it was followed; start again without the old state"
                raise ValueError(msg)
            self._signals.wait(min(timeout, _POLL))
            return []
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST:
            msg = f"{self.name}: line {self._line + len(whole) + 1} is longer than {_LONGEST} bytes"
            raise ValueError(msg)
        if self._open and (whole or self._rest):
            self._finish_line(whole)
        lines = [Line(number, text, len(text) + 1) for number, text in enumerate(whole, self._line + 1)]
        if not data:
            self._ended = True
            if self._rest:
                lines.append(Line(self._line + 1, self._rest, len(self._rest)))
        return lines

    def where(self, item: Line) -> str:
        """As the other commands have it."""
        return f"{self.name}: line {item.number}"

    def cells(self, item: Line, delimiter: str) -> list[str]:
        """The cells of a line; Refused where it is blank, or no text."""
        text = item.text.removeprefix(b"\xef\xbb\xbf") if item.number == 1 else item.text
        return cells_of(text, delimiter)

    def taken(self, item: Line) -> None:
        """The position is after this line."""
        self._offset += item.length
        self._line = item.number
        self._open = item.length == len(item.text)

    def progress(self) -> str:
        """The line that was taken last."""
        return f"{self.name} up to line {self._line}"

    def hungry(self) -> bool:
        """Nobody waits for a commit."""
        return False

    def position(self) -> dict[str, Any]:
        """The line, and in a file the byte."""
        found: dict[str, Any] = {"path": self.identity, "line": self._line, "open": self._open}
        return found | (checkpoint.mark(self._file, self._offset) if self._sought else {})

    def committed(self) -> None:
        """Nobody waits for it."""

    def close(self) -> None:
        """Standard input is not ours to close."""
        self._stack.close()

    def _check_beginning(self, data: bytes) -> None:
        """ValueError for a file that is no text by its first bytes."""
        if data.startswith(_GZIP):
            msg = f"{self.name} is compressed; gzip -dc {self.name} | mapdpm stream reads it"
            raise ValueError(msg)
        if data.startswith(MODEL):
            msg = f"{self.name} is a model file, not a CSV file of points; --state names the file of a stream"
            raise ValueError(msg)

    def _finish_line(self, whole: list[bytes]) -> None:
        """The last line that was learned had no end: that comes first, and nothing else."""
        if not whole and self._rest == b"\r":
            return
        if not whole or whole[0].strip(b"\r"):
            msg = f"{self.name}: line {self._line} has grown since it was learned; begin another state"
            raise ValueError(msg)
        self._offset += len(whole.pop(0)) + 1
        self._open = False


def cells_of(text: bytes, delimiter: str) -> list[str]:
    """The cells of a line of CSV."""
    try:
        line = text.decode().removesuffix("\r")
        if not line.strip():
            msg = " is blank"
            raise Refused(msg)
        return line.split(delimiter) if '"' not in line else next(csv.reader([line], delimiter=delimiter, strict=True))
    except UnicodeDecodeError:
        msg = " is not text in UTF-8"
    except csv.Error as error:
        msg = f" is not CSV: {error}"
    raise Refused(msg)
