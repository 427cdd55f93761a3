"""Standard output: all of a text is printed, or an error says why not."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import TYPE_CHECKING

from mapdpm.files.errors import UnwritableError

if TYPE_CHECKING:
    from mapdpm.cli.feed import Signals

_GRACE = 1.0  # seconds that a reader has to go on reading after a signal


class BlockedError(OSError):
    """A signal came while nobody read standard output."""


def write(text: str, signals: Signals | None = None) -> None:
    """Print ``text``, however little each write takes.

    Raises
    ------
    BrokenPipeError
        The reader has ended.
    UnwritableError
        It cannot be written, for example on a full disk.
    BlockedError
        One of ``signals`` came, and for a second nobody has read.
    """
    if sys.stdout is None:
        msg = "standard output is closed"
        raise OSError(msg)
    try:
        file = sys.stdout.fileno()
    except (AttributeError, io.UnsupportedOperation):  # no file of the system: a notebook, or a test
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        sys.stdout.flush()
        _write_all(file, text.encode(), signals)
    except (BrokenPipeError, BlockedError):
        raise
    except OSError as error:
        msg = f"cannot write standard output: {error.strerror}"
        raise UnwritableError(msg) from None


def _write_all(file: int, data: bytes, signals: Signals | None) -> None:
    done = 0
    while done < len(data):
        if signals is None:
            select.select([], [file], [])  # a pipe may be set not to block
        elif not signals.wait_writable(file, _GRACE):
            lines = data.count(b"\n", done)
            msg = f"nobody reads standard output: {lines} line{'s' * (lines != 1)} not printed"
            raise BlockedError(msg)
        # A pipe that can be written takes this much at once; whole lines, so that a reader never has a part of one.
        end = done + select.PIPE_BUF
        end = end if end >= len(data) else data.rfind(b"\n", done, end) + 1 or end
        done += os.write(file, data[done:end])
