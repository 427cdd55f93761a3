"""Progress of a fit, on stderr."""

from __future__ import annotations

import sys
import time

from mapdpm.cli import stderr
from mapdpm.search.ascent import FitProgress
from mapdpm.selection import Step

_DELAY = 0.5  # seconds before the first line on a terminal
_INTERVAL = 0.1


class ProgressLine:
    """Progress of a fit on stderr: a line for each step with --verbose; else, on a terminal, one overwritten line."""

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self._verbose = verbose and sys.stderr is not None
        self._live = not (quiet or verbose or sys.stderr is None) and sys.stderr.isatty()
        self._next = time.monotonic() + _DELAY
        self._shown = False

    def __call__(self, progress: FitProgress | Step) -> None:
        """Report one step."""
        if self._verbose:
            self._write(f"{progress}\n")
        elif self._live and time.monotonic() >= self._next:
            self._write(f"\r\033[K{progress}")
            self._next, self._shown = time.monotonic() + _INTERVAL, True

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        """Write to stderr; if that fails, the fit goes on in silence."""
        if not stderr.write(text):
            self._verbose = self._live = self._shown = False
