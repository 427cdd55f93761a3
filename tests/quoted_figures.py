"""Figures of bench/papers/ that other pages quote: test_papers.py looks them up in the records."""

from typing import NamedTuple


class Quote(NamedTuple):
    """``text`` stands on ``page``, its braces filled with cells of our table of an exhibit, as (row, column)."""

    page: str
    text: str
    paper: str
    exhibit: str
    cells: tuple[tuple[str, str], ...]


QUOTES: list[Quote] = [
    Quote(
        "docs/drift.md",
        "{} of neighbouring clusters in neighbouring images have one label, and with them {}.",
        "porteous2006",
        "figure-4",
        (("without exchanges", "neighbours with one label"), ("with exchanges", "neighbours with one label")),
    ),
    Quote(
        "docs/samplers.md",
        "labels a chain is with one block {} and with the other {} of the time, and with them {} and {}.",
        "porteous2006",
        "figure-1",
        (
            ("Gibbs alone", "with one side"),
            ("Gibbs alone", "with the other"),
            ("with moves", "with one side"),
            ("with moves", "with the other"),
        ),
    ),
]
