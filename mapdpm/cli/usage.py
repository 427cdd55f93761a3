"""A wrong use of the command line, and how it is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn


class UsageError(ValueError):
    """A wrong use of the command line: exit code 2."""


def refuse(wrongs: Iterable[tuple[Any, str]]) -> None:
    """UsageError with the first text, of an argument, that is beside something true."""
    for wrong, text in wrongs:
        if wrong:
            refuse_argument(text)


def refuse_argument(text: str) -> NoReturn:
    """UsageError for an argument; ``text`` names it, and says what is wrong."""
    msg = f"argument {text}"
    raise UsageError(msg) from None
