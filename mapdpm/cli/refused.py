"""Items of a stream that cannot be learned."""

from __future__ import annotations

from typing import NoReturn


class RefusedInputError(ValueError):
    """A line that cannot be learned; the text continues a message that begins with the name of the line."""


class OtherInputError(RefusedInputError):
    """A message without the columns, or without a value in them; it is only skipped, unless that is forbidden.

    Others send to the topic, too, and a sensor that is away is no mistake of the feed.
    """


def refuse_input(text: str) -> NoReturn:
    """RefusedInputError with the continuation of a message."""
    raise RefusedInputError(text) from None


def refuse_other(text: str) -> NoReturn:
    """OtherInputError with the continuation of a message."""
    raise OtherInputError(text) from None
