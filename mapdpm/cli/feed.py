"""The input of a stream, line by line, and signals that end the waiting for it."""

from __future__ import annotations

import codecs
import math
import os
import select
import signal
import stat
import sys
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from mapdpm.cli import checkpoint, text_rows
from mapdpm.cli.beginning import MODEL, STDIN
from mapdpm.cli.beside_table import BELOW
from mapdpm.cli.books import OLD_EXCEL, PARQUET_BEGINS, ZIP
from mapdpm.cli.decoding import Decoder
from mapdpm.cli.json_records import Cells
from mapdpm.cli.records import RecordReader
from mapdpm.cli.source import Source
from mapdpm.cli.table_rows import counted
from mapdpm.cli.text_rows import name_of

_CHUNK = 1 << 16
_LOOKED_AT = 50  # lines, to find their form
_POLL = 0.1  # seconds between looks at a file that others write
_LONG = 3600.0  # seconds
_TAIL = 8192  # bytes at the end that are looked at


class Signals:
    """SIGINT and SIGTERM as events to wait for, so that no step is interrupted half-way."""

    def __enter__(self) -> Self:
        self.number = 0
        self._wakeup_reader, self._wakeup_writer = os.pipe()
        os.set_blocking(self._wakeup_reader, False)
        os.set_blocking(self._wakeup_writer, False)
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():  # other threads cannot have handlers
            self._before = {n: signal.signal(n, self._record) for n in (signal.SIGINT, signal.SIGTERM)}
            self._fd = signal.set_wakeup_fd(self._wakeup_writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.set_wakeup_fd(self._fd)
            for number, handler in self._before.items():
                signal.signal(number, handler)
        os.close(self._wakeup_reader)
        os.close(self._wakeup_writer)

    def wait(
        self, timeout: float, reads: Sequence[int] = (), writes: Sequence[int] = (), *, interruptible: bool = True
    ) -> list[int]:
        """The files that can be read, after ``timeout`` seconds at most; a signal ends it if ``interruptible``."""
        if interruptible and self.number:
            return []
        ours = [self._wakeup_reader] if interruptible else []
        ready, _, _ = select.select([*reads, *ours], writes, [], max(0.0, timeout))
        return [file for file in ready if file not in ours]

    def wait_writable(self, file: int, patience: float) -> bool:
        """Wait until ``file`` can be written; False where a signal has come, and it stays blocked for ``patience``."""
        if not self.number:
            _, ready, _ = select.select([self._wakeup_reader], [file], [])
            if ready:
                return True
        return bool(select.select([], [file], [], patience)[1])

    def opened(self, path: Path) -> IO[bytes] | None:
        """The file ``path``, open for reading; None where a signal comes while a named pipe waits for its writer."""
        if not path.is_fifo():
            return path.open("rb", buffering=0)
        found: list[IO[bytes]] = []
        errors: list[OSError] = []
        reader, writer = os.pipe()

        def wait_for_a_writer() -> None:
            try:
                found.append(path.open("rb", buffering=0))
            except OSError as error:
                errors.append(error)
            os.close(writer)

        threading.Thread(target=wait_for_a_writer, daemon=True).start()  # it may wait for ever
        while not (found or errors or self.number):
            self.wait(_LONG, [reader])
        os.close(reader)
        if errors:
            raise errors[0]
        return found[0] if found else None

    def end(self) -> None:
        """End the program as the signal asks, if there was one."""
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.number:
            sys.exit(128 + self.number)

    def _record(self, number: int, _: object) -> None:
        self.number = number


class Line(NamedTuple):
    """A line of the input: its number, its text without the end of line, and its bytes with it."""

    number: int
    text: bytes
    length: int


class Lines(Source):
    """The complete lines of a file or a pipe; with ``follow`` it waits for more at the end of a file."""

    def __init__(self, path: Path, reader: RecordReader, signals: Signals, *, follow: bool) -> None:
        self.name = name_of(path)
        self._reader, self._begun = reader, False
        self._signals, self._follow = signals, follow
        if str(path) == STDIN and sys.stdin is None:
            msg = "standard input is closed"
            raise ValueError(msg)
        self._opened = None if str(path) == STDIN else signals.opened(path)
        held = sys.stdin if str(path) == STDIN else self._opened
        self._file = -1 if held is None else held.fileno()
        self._ended = held is None
        self._seekable = self._opened is not None and stat.S_ISREG(os.fstat(self._file).st_mode)
        self.identity = str(path.resolve()) if self._seekable else STDIN
        self._offset = self._line = self._read = 0
        self._rest, self._open = b"", False
        self._decoder: Decoder | None = None
        self._crc = 0  # of the decoded text up to the offset
        self._size, self._end = 0, math.inf  # the offset of what stands below the rows, while the file has this size

    def resume(self, position: dict[str, Any], saved: Path) -> str:
        """Go on after the line that was committed last."""
        self._line = int(position["line"])
        if not self._seekable:
            return f"{self.name} must go on with line {self._line + 1}"
        self._begin_decoding(os.pread(self._file, _CHUNK, 0))
        if self._decoder is None:
            self._offset = self._read = checkpoint.check(self._file, position, self.name, saved)
            os.lseek(self._file, self._offset, os.SEEK_SET)
        else:
            self._skip(position, saved)
        self._open = bool(position["open"])
        return f"{self.name} goes on with line {self._line + 1}"

    def read(self, timeout: float) -> list[Line] | None:
        """The complete lines that are available now; None at the end."""
        if self._ended:
            return None
        waits = self._decoder is not None and self._decoder.holds
        if not waits and not self._seekable and not self._signals.wait(timeout, [self._file]):
            return []
        raw = b"" if waits else os.read(self._file, _CHUNK)
        if not self._read:
            self._check_beginning(raw)
            self._begin_decoding(raw)
        self._read += len(raw)
        ends = not raw and not waits
        if ends and self._follow:
            if self._size_now() < self._read:
                msg = f"{self.name} has become shorter while it was followed; {checkpoint.ANOTHER}"
                raise ValueError(msg)
            self._signals.wait(min(timeout, _POLL))
            return []
        data = raw if self._decoder is None else self._decoder.decoded(raw, final=ends)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > text_rows.LONGEST_LINE:
            msg = f"{self.name}: line {self._line + len(whole) + 1} is longer than {text_rows.LONGEST_LINE} bytes"
            raise ValueError(msg)
        self._begin(whole or [self._rest] * ends)
        if self._open and (whole or self._rest):
            self._finish_line(whole)
        lines = [Line(number, text, len(text) + 1) for number, text in enumerate(whole, self._line + 1)]
        if ends:
            self._ended = True
            if self._rest:
                lines.append(Line(self._line + 1 + len(whole), self._rest, len(self._rest)))
        return lines

    def where(self, item: Line) -> str:
        """The name of the file and the number of the line, as in the other commands."""
        return f"{self.name}: line {item.number}"

    @property
    def headed(self) -> bool:
        """Whether the first line may be a header: it may in tables."""
        return self._reader.headed

    @property
    def years(self) -> bool:
        """Whether the first line has years as names of columns."""
        return self._reader.years

    @property
    def width(self) -> int | None:
        """How many cells nearly all of the first lines have, where that is known."""
        return self._reader.width

    def named(self, cells: list[str]) -> list[str]:
        """The names of columns in the first line: with those of the line above, where there are two."""
        return self._reader.named(cells)

    def records(self, item: Line) -> list[Cells]:
        """The cells of a line, if it is one of the table; RefusedInputError where it is blank or not text."""
        if item.number in self._reader.beside or self._is_below():
            return []
        return self._reader.records(item.text.removeprefix(codecs.BOM_UTF8) if item.number == 1 else item.text)

    def taken(self, item: Line) -> None:
        """Move the position behind this line; not behind what stands below the rows, for more may come after it."""
        if self._is_below():
            return
        self._offset += item.length
        self._line = item.number
        self._open = item.length == len(item.text)
        if self._decoder is not None:
            self._crc = zlib.crc32(item.text + b"\n" * (not self._open), self._crc)

    def progress(self) -> str:
        """The number of the last line that was taken."""
        return f"{self.name} up to line {self._line}"

    def position(self) -> dict[str, Any]:
        """The number of the line; in a file also the byte."""
        found: dict[str, Any] = {"path": self.identity, "line": self._line, "open": self._open}
        if self._seekable and self._decoder is not None:
            return found | {"offset": self._offset, "crc": self._crc}
        return found | (checkpoint.mark(self._file, self._offset) if self._seekable else {})

    def committed(self) -> None:
        """Nothing to do: a file never waits for a commit."""

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._opened is not None:
            self._opened.close()

    def _begin(self, lines: list[bytes]) -> None:
        """Find the form of the lines from the first ones."""
        if not self._begun and any(map(bytes.strip, lines)):
            sample = b"\n".join(lines[:_LOOKED_AT])[:_CHUNK].removeprefix(codecs.BOM_UTF8)
            self._reader.begin(sample, resumed=self._line > 0)
            self._begun = True
            if self._seekable and self._decoder is None and not self._follow:
                self._find_end()

    def _is_below(self) -> bool:
        return self._offset >= self._end and self._size == self._size_now()

    def _size_now(self) -> int:
        return os.fstat(self._file).st_size

    def _find_end(self) -> None:
        """Find where the rows end, for totals and notes may stand below them."""
        self._size = self._size_now()
        tail = os.pread(self._file, _TAIL, max(0, self._size - _TAIL))
        last = tail.rstrip(b"\r\n").split(b"\n")[-BELOW:]
        n = self._reader.n_below(last)
        self._end = self._size - len(tail) + len(tail.rstrip(b"\r\n")) - len(b"\n".join(last[len(last) - n :]))
        if n:
            self._reader.say(f"the last {counted(n, 'line')} left out, as no row of the table")

    def _begin_decoding(self, data: bytes) -> None:
        """Find whether the text of a file that begins so is compressed, or in an encoding without lines of bytes."""
        self._decoder = Decoder.of(data, self._reader.encoding, self.name)
        if self._decoder is not None:
            self._reader.decodes(self._decoder.encoding)

    def _skip(self, position: dict[str, Any], saved: Path) -> None:
        """Go to ``position`` in the decoded text; ValueError where it is another one."""
        assert self._decoder is not None  # noqa: S101
        offset, raw = checkpoint.offset_of(position), b""
        while self._offset < offset:
            raw = b"" if self._decoder.holds else os.read(self._file, _CHUNK)
            self._read += len(raw)
            if not raw and not self._decoder.holds:
                checkpoint.refuse_shorter(self.name, self._offset, offset, saved)
            data = self._decoder.decoded(raw)
            more = offset - self._offset
            self._crc, self._rest = zlib.crc32(data[:more], self._crc), data[more:]
            self._offset += min(more, len(data))
        if self._crc != position.get("crc"):
            checkpoint.refuse_changed(self.name, offset, saved)

    def _check_beginning(self, data: bytes) -> None:
        """ValueError for a file of another kind, which its first bytes show."""
        if data.startswith((ZIP, OLD_EXCEL, PARQUET_BEGINS)):
            msg = f"{self.name} is a file of Excel, Parquet or ZIP, and streams read text; save it as CSV"
            raise ValueError(msg)
        if data.startswith(MODEL):
            msg = f"{self.name} is a model file, not a CSV file of points; --state names the file of a stream"
            raise ValueError(msg)

    def _finish_line(self, whole: list[bytes]) -> None:
        """Take the end of the last learned line, which had none; ValueError where the line has grown."""
        if not whole and self._rest == b"\r":
            return
        if not whole or whole[0].strip(b"\r"):
            msg = f"{self.name}: line {self._line} has grown since it was learned; {checkpoint.ANOTHER}"
            raise ValueError(msg)
        end = whole.pop(0) + b"\n"
        self._offset, self._crc, self._open = self._offset + len(end), zlib.crc32(end, self._crc), False
