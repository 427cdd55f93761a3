"""A source of points for a stream: a file, a pipe, or a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from mapdpm.cli.json_records import Cells


class Source(Protocol):
    """A source of points: each item holds one."""

    name: str
    identity: str

    @property
    def headed(self) -> bool:
        """Whether the first item may be a header."""
        return False

    @property
    def years(self) -> bool:
        """Whether the first item has years as names."""
        return False

    @property
    def width(self) -> int | None:
        """How many cells nearly all items have, where that is known."""
        return None

    def named(self, cells: list[str]) -> list[str]:
        """The names of columns in the first item, where it is a header."""
        return cells

    def resume(self, position: dict[str, Any], saved: Path) -> str:
        """Go to ``position``, and describe it for a message; ValueError where the input does not have it."""

    def read(self, timeout: float) -> list[Any] | None:
        """The items that came within ``timeout`` seconds; None at the end."""

    def where(self, item: Any) -> str:
        """The name of an item in messages."""

    def records(self, item: Any) -> list[Cells]:
        """The cells of each point in an item; RefusedInputError where it has none."""

    def group(self, item: Any) -> str | None:  # noqa: ARG002  (of those that know it)
        """The group that the source itself knows of an item: by its topic."""
        return None

    def taken(self, item: Any) -> None:
        """Record that an item was learned or refused."""

    def progress(self) -> str:
        """The position, in words."""

    def wants_commit(self) -> bool:
        """Whether the source waits for a commit before it sends more: a file never does."""
        return False

    def position(self) -> dict[str, Any]:
        """The position after the last item that was taken."""

    def committed(self) -> None:
        """Record that the checkpoint with all taken items is on disk."""

    def close(self) -> None:
        """Stop reading."""
