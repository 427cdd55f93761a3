"""A table on the terminal, for benches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A title, and columns as wide as they must be."""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print(f"\n{title}")
    for row in table:
        first, *others = (
            cell.rjust(w) if j else cell.ljust(w) for j, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)), flush=True)
