"""The command line: ``mapdpm fit | tune | predict | score | stream | export | demo``.

Exit code 0, 1 for data (what was read, or could not be read or written), 2 for usage. An error is one line on stderr,
never a traceback. Files are written whole or not at all, but for the output of ``stream``, which grows.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from mapdpm.cli import options

_INTERRUPTED = 128 + signal.SIGINT
_TERMINATED = 128 + signal.SIGTERM


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (``sys.argv`` if None) and return its exit code."""
    parser = options.parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could come next
        with contextlib.suppress(ImportError):
            import argcomplete  # noqa: PLC0415  (an extra)

            argcomplete.autocomplete(parser)
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:  # argparse has said what there is to say
        return int(stop.code or 0)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return 2
    if argv is None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # so that what is half-written is removed
    try:
        from mapdpm.cli import commands  # noqa: PLC0415  (costs what --help and --version need not pay)

        with _warnings_as_lines(quiet=arguments.quiet), np.errstate(all="ignore"):
            getattr(commands, arguments.run)(arguments)
    except BrokenPipeError:  # whoever reads has seen enough
        _drop_stdout()
    except (ValueError, OSError, ImportError, OverflowError, MemoryError, RuntimeError) as error:
        # RuntimeError: the C library is not built, or refuses a call.
        _drop_stdout()
        _say(f"mapdpm: error: {_one_line(error)}")
        return 2 if isinstance(error, options.UsageError) else 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        if sys.stderr is not None:  # else print would take standard output
            print(line, file=sys.stderr)


def _drop_stdout() -> None:
    """What could not be written shall not be tried again at exit, with a traceback."""
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
            _say(f"mapdpm: warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # whatever the environment makes of warnings
        warnings.showwarning = show
        yield
