"""The command line: ``mapdpm fit | tune | show | predict | score | stream | export | demo``.

Exit code 0 for success, 1 for an error in data or files, 2 for an error in the command. An error is one line on stderr,
never a traceback. Files are written wholly or not at all; only the output of ``stream`` grows.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TypeAlias

import numpy as np

from mapdpm.cli import options, usage
from mapdpm.cli.stderr import report

_INTERRUPTED = 128 + signal.SIGINT

_Handler: TypeAlias = Callable[[int, object], object]


class _Interrupted(KeyboardInterrupt):
    """Ctrl-C. A KeyboardInterrupt itself that has left ``exec``, as in a dataclass, makes Python die of the signal."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (``sys.argv`` if None) and return its exit code."""
    parser = options.parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        with contextlib.suppress(ImportError):
            import argcomplete  # noqa: PLC0415  (an extra)

            argcomplete.autocomplete(parser)
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:  # argparse has printed the error
        return int(stop.code or 0)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return 2
    stops: list[int] = []
    try:
        commands = _loaded(functools.partial(_raise, stops) if argv is None else None)
        with _warnings_as_lines(quiet=arguments.quiet), np.errstate(all="ignore"):
            for text in arguments.old_names:
                warnings.warn(text, stacklevel=1)
            getattr(commands, arguments.run)(arguments)
    except BrokenPipeError:  # the reader of the output has ended
        _drop_stdout()
    except (ValueError, OSError, ImportError, OverflowError, MemoryError, RuntimeError) as error:
        # RuntimeError: the C library is not built, or refuses a call.
        _drop_stdout()
        if stops:  # a module turned the interruption of its import into another error
            return stops[0]
        report(f"error: {_one_line(error)}")
        return 2 if isinstance(error, usage.UsageError) else 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _loaded(handler: _Handler | None) -> ModuleType:
    """The commands (their modules are slow to load, and --help needs none); ``handler`` then gets the signals."""
    if handler is not None:
        _take_signals(_leave)
    from mapdpm.cli import commands  # noqa: PLC0415

    if handler is not None:
        _take_signals(handler)
    return commands


def _take_signals(handler: _Handler) -> None:
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as a shell may have it
        signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)


def _leave(number: int, _: object) -> None:
    """End at once, while modules are loaded: nothing is written, and an import may drop an exception or change it."""
    os._exit(128 + number)


def _raise(stops: list[int], number: int, _: object) -> None:
    """End the program by an exception, so that half-written files are removed; ``stops`` gets the exit code."""
    stops.append(128 + number)
    raise _Interrupted if number == signal.SIGINT else SystemExit(128 + number)


def _drop_stdout() -> None:
    """Drop unwritten output, for Python would try it again at exit, and print a traceback."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # not a real file, or closed
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


@contextlib.contextmanager
def _warnings_as_lines(*, quiet: bool = False) -> Iterator[None]:
    def show(message: Warning | str, *_: object, **__: object) -> None:
        if not quiet:
            report(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # whatever the environment makes of warnings
        warnings.showwarning = show
        yield
