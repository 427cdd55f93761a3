"""The command line: ``mapdpm fit | tune | predict | score | stream | export | demo``.

Exit code 0 for success, 1 for an error in data or files, 2 for an error in the command. An error is one line on stderr,
never a traceback. Files are written wholly or not at all; only the output of ``stream`` grows.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from mapdpm.cli import options, usage
from mapdpm.cli.stderr import report

_INTERRUPTED = 128 + signal.SIGINT
_TERMINATED = 128 + signal.SIGTERM


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
        if argv is None:
            _take_signals(stops)
        from mapdpm.cli import commands  # noqa: PLC0415  (slow, and --help and --version do not need it)

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


def _take_signals(stops: list[int]) -> None:
    """Let SIGINT and SIGTERM end the program, so that half-written files are removed; ``stops`` gets exit codes."""

    def terminate(*_: object) -> None:
        stops.append(_TERMINATED)
        sys.exit(_TERMINATED)

    def interrupt(*_: object) -> None:
        stops.append(_INTERRUPTED)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have it ignored
        signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, terminate)


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
