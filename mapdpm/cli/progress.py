"""Progress of a fit, on stderr: what was done, and where they are known the share that is done and the time left."""

from __future__ import annotations

import shutil
import sys
import time

from mapdpm.cli import stderr
from mapdpm.cli.table_rows import counted
from mapdpm.search.ascent import FitProgress
from mapdpm.selection import Step

_DELAY = 0.5  # seconds before the first line on a terminal
_INTERVAL = 0.1
_SURE = 2.0  # seconds, before which nobody knows how long the rest takes

_WORDS = {
    "sweep": ("point", "moved"),
    "pass": ("point", "moved"),
    "path": ("point", "moved with their sequences"),
    "cell": ("cell", "of a group moved"),
    "merge": ("merge", ""),
    "split": ("split", ""),
    "detour": ("gain", "by splits and merges together"),
    "regroup": ("neighbourhood", "clustered anew"),
    "permutation": ("start", "in another order"),
    "delete": ("cluster", "given up"),
}
"""What a step counts, and what happened to it, by the name of its move."""


class ProgressLine:
    """Progress of a fit on stderr: a line for each step with --verbose; else, on a terminal, one overwritten line.

    ``runs`` and ``seconds`` are how many runs there will be, and when the search ends, where that is known.
    """

    def __init__(self, *, quiet: bool, verbose: bool, runs: int = 1, seconds: float | None = None) -> None:
        self._verbose = verbose and sys.stderr is not None
        self._live = not (quiet or verbose or sys.stderr is None) and sys.stderr.isatty()
        self._began = time.monotonic()
        self._next = self._began + _DELAY
        self._runs, self._seconds = runs, seconds
        self._shown = False

    def begin(self, what: str) -> None:
        """Say what is done before the first step, of which nobody hears."""
        if self._live:
            self._overwrite(what)

    def __call__(self, progress: FitProgress | Step) -> None:
        """Report one step."""
        if not self._verbose and not (self._live and time.monotonic() >= self._next):
            return
        text = f"{self._place(progress)}{in_words(progress)}"
        if self._verbose:
            self._write(f"{text}\n")
        else:
            self._overwrite(text)

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            self._write("\r\033[K")

    def _place(self, progress: FitProgress | Step) -> str:
        """How far it is: ``run 2 of 5, 40 % of the time, 12 s left: ``; empty where nothing is known."""
        passed = time.monotonic() - self._began
        if isinstance(progress, Step):
            done = progress.done / progress.total
            told = [f"fit {progress.done} of {progress.total}", f"{done:.0%}"]
        else:
            done = progress.restart / self._runs  # runs that are over
            told = [f"run {progress.restart + 1} of {self._runs}"] * (self._runs > 1)
            if self._seconds is not None:
                done = max(done, min(passed / self._seconds, 1.0))
            told += [f"{done:.0%}"] * (done > 0.0)
        left = passed * (1.0 - done) / done if done > 0.0 else 0.0
        if self._seconds is not None:
            left = min(left, max(self._seconds - passed, 0.0))
        if not self._verbose and done > 0.0 and passed >= _SURE:  # lines of a log need no guess
            told.append(f"about {_duration(left)} left")
        return f"{', '.join(told)}: " if told else ""

    def _overwrite(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1  # a longer line would wrap, and stay
        self._write(f"\r\033[K{text[:width]}")
        self._next, self._shown = time.monotonic() + _INTERVAL, True

    def _write(self, text: str) -> None:
        """Write to stderr; if that fails, the fit goes on in silence."""
        if not stderr.write(text):
            self._verbose = self._live = self._shown = False


def in_words(progress: FitProgress | Step) -> str:
    """A step in words: ``12 points moved, 3 clusters, log joint -1234.500``."""
    if isinstance(progress, Step):
        return str(progress).split(": ", 1)[1]
    thing, happened = _WORDS.get(progress.move, (progress.move, ""))
    what = f"{counted(progress.moved, thing)} {happened}".rstrip()
    return f"{what}, {counted(progress.n_clusters, 'cluster')}, log joint {progress.log_joint:.3f}"


def _duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    minute, hour = 60.0, 3600.0
    if seconds < 2.0 * minute:
        return f"{seconds:.0f} s"
    return f"{seconds / minute:.0f} min" if seconds < 2.0 * hour else f"{seconds / hour:.1f} h"
