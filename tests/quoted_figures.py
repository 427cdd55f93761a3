"""Figures of bench/papers/ that other pages quote: test_papers.py looks them up in the records."""

from typing import NamedTuple


class Quote(NamedTuple):
    """``text`` stands on ``page``, its braces filled with cells of our table of an exhibit, as (row, column)."""

    page: str
    text: str
    paper: str
    exhibit: str
    cells: tuple[tuple[str, str], ...]


QUOTES: list[Quote] = []
