"""Lines on stderr. Nobody may be there to read them, and names in data may hold anything: neither ends a command."""

from __future__ import annotations

import sys

_LONGEST = 2000  # characters of a line


def report(text: str) -> None:
    r"""Print ``mapdpm: text`` as one line: a character that is not printable is escaped, and a long text is cut.

    So no text of others begins a line or moves the cursor of a terminal.

    Examples
    --------
    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     report("no column 'a\x1b[2J\n'")
    mapdpm: no column 'a\x1b[2J\n'
    """
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    write(f"mapdpm: {printable(shown)}\n")


def printable(text: str) -> str:
    """``text`` with its characters that are not printable escaped: a terminal would obey some of them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def write(text: str) -> bool:
    """Write ``text`` to stderr as it is; False where nobody can read it. The command goes on in silence then.

    BrokenPipeError must not escape: it would be taken for the end of the reader of standard output.
    """
    if sys.stderr is None:  # print(file=None) would write to standard output
        return False
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # ValueError: it is closed
        return False
    return True
